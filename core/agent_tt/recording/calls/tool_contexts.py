"""What is given to a tool beside its question: contexts, run managers, callbacks and their configuration.

A framework hands such objects through its tools: they hold the run, its counters and ids of the moment, and no two runs
have the same. A question is what the model or the agent asks, so they are shown by their type and never compared. They
are told by what they are, not by a list of frameworks:

- an object of an installed library whose class, or one below it, has a name such as `RunContext`, `ToolRuntime`,
  `CallbackManager` or `RunnableConfig`;
- an object of an installed library that holds what cannot be recorded (a client, a lock, a function);
- LangChain's configuration as a dict, or spread over the parameters of a function that takes `callbacks` with it.

An object of the agent's own classes is data: what it holds is compared, and only what cannot be recorded counts by its
type alone.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.codec.encode import Encoder
from agent_tt.codec.looking import seen
from agent_tt.codec.parts import class_name
from agent_tt.codec.wire import TYPE, VALUE, is_envelope
from agent_tt.recording.calls.site import is_agent_file

if TYPE_CHECKING:
    from collections.abc import Collection

    from agent_tt.codec.wire import Wire

__all__ = ["CONTEXT", "asked_of", "context", "stable"]

CONTEXT: Final = "context"
"""Why an opaque value is one: it is not part of the question."""

_NAMED_SO: Final = lazy_re(
    r"(Context|ContextWrapper|Runtime|Callbacks?|CancellationToken|RunConfig|RunnableConfig|Tracer)$"
    r"|RunManager|CallbackManager|CallbackHandler"
)
_CONFIGURATION: Final = frozenset(
    {"tags", "metadata", "callbacks", "run_name", "max_concurrency", "recursion_limit", "configurable", "run_id"}
)
"""The fields of LangChain's `RunnableConfig`."""
_TELLING: Final = frozenset({"callbacks", "configurable"})
"""Those of them that nothing else has."""
_AS_PARAMETERS: Final = frozenset({"callbacks", "tags", "metadata"})
"""A function that takes these takes the fields of the configuration one by one."""
_OPAQUE: Final = "opaque"
_ADDRESS: Final = lazy_re(r" at 0x[0-9a-fA-F]{6,}(?=>|; to |, file )")
"""As it stands in `<Client object at 0x7f3a…>`: another one in every process."""


def asked_of(name: str, value: object, parameters: Collection[str]) -> Wire:
    """The wire value of one argument, as it is now: of a context only what it is.

    Args:
        name: of the parameter.
        value: what was given for it.
        parameters: the names of all parameters.
    """
    if value is not None and _AS_PARAMETERS.issubset(parameters) and (name in _CONFIGURATION or name == "config"):
        return context(value)
    # A class whose metaclass cannot even be put into a set is none that the encoder knows how to look at.
    return seen(lambda: _without_contexts(_Asked().encode(value)), context(value))


def context(value: object) -> Wire:
    """The wire value of what is a context, whatever its class is: what it is alone."""
    return _shown(class_name(type(value)))


def stable(wire: Wire) -> Wire:
    """A wire value as it is compared: what cannot be recorded counts by its type, addresses in texts not at all."""
    if isinstance(wire, str):
        return _ADDRESS.sub("", wire) if " at 0x" in wire else wire
    if isinstance(wire, list):
        return [stable(item) for item in wire]
    if isinstance(wire, dict):
        if wire.get(TYPE) == _OPAQUE:
            return {TYPE: _OPAQUE, "class": wire.get("class"), VALUE: None}
        return {key: stable(item) for key, item in wire.items()}
    return wire


def _shown(name: str) -> Wire:
    return {TYPE: _OPAQUE, "class": name, "repr": f"<{name.rpartition(':')[2]}>", "why": CONTEXT, VALUE: None}


class _Asked(Encoder):
    """Encodes what is asked, and of contexts only what they are."""

    __slots__ = ()

    def encode(self, value: object) -> Wire:
        """The wire value of `value` at this place."""
        kind: type = type(value)
        return context(value) if _is_context_class(kind) else super().encode(value)


@functools.lru_cache(maxsize=1024)
def _is_context_class(kind: type) -> bool:
    names = [class_name(owner).partition(":") for owner in type.__dict__["__mro__"].__get__(kind)[:-1]]
    return any(_NAMED_SO.search(name.rpartition(".")[2]) and _is_library(module) for module, _, name in names)


def _without_contexts(wire: Wire) -> Wire:
    """The value with contexts in it, at any depth, by what they are. Plain values are given as they are."""
    if isinstance(wire, list):
        return [_without_contexts(item) for item in wire]
    if not isinstance(wire, dict):
        return wire
    if not is_envelope(wire):
        if wire.keys() <= _CONFIGURATION and not _TELLING.isdisjoint(wire):
            return _shown("builtins:dict")
        return {key: _without_contexts(item) for key, item in wire.items()}
    name = wire.get("class")
    if isinstance(name, str) and wire.get(TYPE) != _OPAQUE:
        module, _, kind = name.partition(":")
        if _is_library(module) and (_NAMED_SO.search(kind) or _holds_opaque(wire)):
            return _shown(name)
    return {key: _without_contexts(item) for key, item in wire.items()}


def _holds_opaque(wire: Wire) -> bool:
    waiting = [wire]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get(TYPE) == _OPAQUE:
                return True
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return False


def _is_library(module: object) -> bool:
    """Whether a module is installed, and not the agent's own."""
    file = getattr(sys.modules.get(module), "__file__", None) if isinstance(module, str) else None
    return isinstance(file, str) and not is_agent_file(file)
