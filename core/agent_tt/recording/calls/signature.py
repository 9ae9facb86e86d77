"""What is known of a call before it is made: its function, its arguments by name, and the digest of what it asks.

By that digest a replay recognises the same question.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.history.digest import digest
from agent_tt.recording.calls.tool_contexts import asked_of, context, stable
from agent_tt.redaction.values import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.config import ToolEffect
    from agent_tt.model import CallKind, Effect
    from agent_tt.recording.calls.once_keys import Once

__all__ = ["CallSpec", "NamedArguments", "Parameters", "signature_of_call"]


class Parameters:
    """How one function names its arguments.

    `f("1")`, `f(order_id="1")` and a call that leaves a default to the function bind to the same names. `self` and
    `cls` of methods are dropped: they are who is asked, not what.

    Attributes:
        beside: the names of what is shown beside the question, and does not count when two are compared.
    """

    beside: frozenset[str] = frozenset()

    def __init__(self, function: Callable[..., object], *, has_receiver: bool | None = None) -> None:
        self._signature = _signature_of(function)
        self._receiver = (
            _receiver_of(function, self._signature) if has_receiver is None else self._first() if has_receiver else None
        )

    def _first(self) -> str | None:
        return None if self._signature is None else next(iter(self._signature.parameters), None)

    def __contains__(self, name: str) -> bool:
        return self._signature is not None and name in self._signature.parameters

    @property
    def takes_rest(self) -> bool:
        """Whether the function takes arguments by any name."""
        parameters = () if self._signature is None else self._signature.parameters.values()
        return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)

    @property
    def defaults(self) -> dict[str, object]:
        """What its arguments are called, with the values of those that a call may leave out; others are `empty`."""
        parameters = {} if self._signature is None else self._signature.parameters
        return {
            name: parameter.default
            for name, parameter in parameters.items()
            if name != self._receiver and parameter.kind is not inspect.Parameter.VAR_KEYWORD
        }

    def editable(self, named: Iterable[str]) -> tuple[str, ...]:
        """Which of the names that `bind` gave are parameters, so that `replace` can give them another value."""
        return () if self._signature is None else tuple(name for name in named if name in self._signature.parameters)

    def values(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The arguments by name, defaults included; none where they do not fit."""
        if self._signature is None:
            return dict(kwargs)
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return {}
        bound.apply_defaults()
        return dict(bound.arguments)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Wire]:
        """The arguments as wire values, as they are now, without secrets; of contexts only what they are.

        Where the function's parameters are not known, or do not take these arguments (the call will raise), the result
        is `{"args": [...], "kwargs": {...}}`.
        """
        objects = self.objects(args, kwargs)
        return {name: asked(asked_of(name, value, objects.keys()), name) for name, value in objects.items()}

    def objects(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The arguments by the names that `bind` has for them."""
        unnamed: dict[str, object] = {"args": list(args), "kwargs": dict(kwargs)}
        if self._signature is None:
            return unnamed
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return unnamed
        bound.apply_defaults()
        named: dict[str, object] = {}
        for name, value in bound.arguments.items():
            if name == self._receiver:
                continue
            is_rest = self._signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            named[name] = list(value) if is_rest else value
        return named

    def replace(
        self, args: Sequence[object], kwargs: Mapping[str, object], name: str, value: object
    ) -> tuple[Sequence[object], Mapping[str, object]]:
        """The same arguments with another value of one of the function's parameters."""
        if self._signature is None:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()  # else nothing could stand behind one that is left out
        bound.arguments[name] = value
        return bound.args, bound.kwargs


class NamedArguments(Parameters):
    """Arguments that have their names already, as a model gives them; beside them, what counts for no question.

    Args:
        contexts: what is shown by its type alone.
        shared: what is shown with all that it holds, before and after.
    """

    def __init__(self, contexts: Mapping[str, object], shared: Mapping[str, object]) -> None:
        self._signature = self._receiver = None
        self._contexts = contexts
        self._shared = shared
        self.beside = frozenset((*contexts, *shared))

    def editable(self, named: Iterable[str]) -> tuple[str, ...]:
        """The model's arguments."""
        return tuple(name for name in named if name not in self.beside)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Wire]:
        """The arguments as wire values, then what stands beside them."""
        named = {name: asked(asked_of(name, value, ()), name) for name, value in self.objects(args, kwargs).items()}
        return named | {name: context(value) for name, value in self._contexts.items() if name not in named}

    def objects(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:  # noqa: ARG002
        """The arguments, and the shared objects."""
        return {**self._shared, **kwargs}

    def replace(
        self, args: Sequence[object], kwargs: Mapping[str, object], name: str, value: object
    ) -> tuple[Sequence[object], Mapping[str, object]]:
        """The same arguments with another value of one."""
        return args, {**kwargs, name: value}


def signature_of_call(kind: CallKind, name: str, args: Mapping[str, Wire], *, without: Collection[str] = ()) -> str:
    """The hex digest (32 digits) of a question: kind, name and arguments, blind to the order of keys.

    Args:
        kind: kind of the call.
        name: name of what is called.
        args: arguments by name.
        without: the arguments that do not count.
    """
    asked: dict[str, Wire] = {key: stable(value) for key, value in args.items() if key not in without}
    return digest([kind, name, asked]).hex()


def _signature_of(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # functions written in C often have none
        return None


def _receiver_of(function: Callable[..., object], signature: inspect.Signature | None) -> str | None:
    """Name of the parameter that takes the object of a method, when `function` is written in a class."""
    if signature is None or not signature.parameters or inspect.ismethod(function):
        return None
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    first = next(iter(signature.parameters))
    in_class = bool(owner) and not owner.endswith("<locals>")
    return first if in_class and first in {"self", "cls"} else None


@dataclass(frozen=True, slots=True)
class CallSpec:
    """What is known of a function whose calls are recorded.

    Attributes:
        kind: `tool` or `llm`.
        name: what the calls are called.
        effect: what a tool does to the world; None for a model call.
        parameters: how the function names its arguments.
        idempotency_key: the argument by which the outside world recognises a repeated call.
        once: how the key is made for which it is done once; None for any other.
        model: the model that is called, where it is known.
        can_wait: whether a coroutine makes it, which awaits `until_live` before it does.
        seen: called as each call begins, recorded or not.
        made_of: of a framework's tool, the name of the tool that it was made of: a call of that inside it is no row of
            its own.
        answers: of a tool that a model asked for, the id that it was asked for under.
        is_effect_said: whether the tool itself says its effect; else the settings may (`[tool.agent-tt.effects]`).
    """

    kind: CallKind
    name: str
    effect: Effect | None
    parameters: Parameters
    idempotency_key: str | None = None
    model: str | None = None
    can_wait: bool = False
    seen: Callable[[], None] | None = None
    made_of: str | None = None
    answers: str | None = None
    is_effect_said: bool = False
    once: Once | None = None

    @property
    def uncompared(self) -> frozenset[str]:
        """The arguments that do not count when two calls are compared: an idempotency key is another one each time."""
        beside = self.parameters.beside
        return beside if self.idempotency_key is None else beside | {self.idempotency_key}

    def under(self, effects: Mapping[str, ToolEffect]) -> CallSpec:
        """The same with the effect that the settings say, where the tool says none itself."""
        if self.kind != "tool" or self.is_effect_said or not effects:
            return self
        from agent_tt.config import effect_of_tool  # not for every program that marks a tool

        return replace(self, effect=effect_of_tool(effects, self.name) or self.effect)

    @property
    def title(self) -> str:
        """What a step is called that holds such a call alone: of a request the model it asks, else where it goes."""
        method, _, address = self.name.partition(" ")
        place = address.partition("://")[2]
        return (self.model or f"{method} {place}") if place else self.name
