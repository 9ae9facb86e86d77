"""An exception as a wire value, with all that its class, its builtin bases and Python itself keep of it.

The envelope is the codec's own, `{"$type": "exception", "class": …, "$v": {"args": […], "attrs": {…}}}`, and has before
its payload whatever there is of:

| key | what |
|---|---|
| `extra` | what builtin classes keep in C: `errno`, `filename`, `lineno`, … (never None) |
| `slots` | values of the `__slots__` of its classes |
| `group` | `message` and `members` of an exception group whose arguments do not show them |
| `special` | what a class with a constructor of its own is made from |
| `cause`, `context`, `suppress_context` | the exceptions before it |
| `number` | the name by which other envelopes of the same value refer to it |
| `same_as` | the number of the exception that this one is; then nothing else is said of it |

Exceptions among the arguments and attributes are written in the same way, each of them once: an error raised from
another often holds it three times, as its cause, its context and an argument.

Exceptions whose class has a constructor of its own, written in C or Rust, cannot be filled from outside. `DESCRIBED`
gives the facts that its public constructor makes such an object from again
(`agent_tt.replaying.answers.special_exceptions`).
"""

from __future__ import annotations

import builtins
import types
from typing import TYPE_CHECKING, Final, cast

from agent_tt.codec.encode import Encoder, encode
from agent_tt.codec.looking import looking, must_go_on
from agent_tt.codec.parts import class_name
from agent_tt.codec.wire import TYPE, VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_tt.codec.wire import Wire

__all__ = ["DESCRIBED", "KEPT_IN_C", "PYDANTIC_ERROR", "exception_value"]

PYDANTIC_ERROR: Final = "pydantic_core._pydantic_core:ValidationError"


def _pydantic(error: BaseException) -> dict[str, object]:
    """`title`, `errors` and `text` of pydantic's ValidationError (its `from_exception_data` takes the first two)."""
    errors = error.errors(include_url=False)  # type: ignore[attr-defined]  # its class is known by name
    return {"title": error.title, "errors": errors, "text": str(error)}  # type: ignore[attr-defined]


DESCRIBED: Final[dict[str, Callable[[BaseException], dict[str, object]]]] = {PYDANTIC_ERROR: _pydantic}
"""By `module:Qualified.Name`: the facts by name. May raise anything; the exception is then opaque."""

_LONGEST_CHAIN: Final = 20
_MOST_EXCEPTIONS: Final = 100

_BASE: Final = vars(BaseException)
_BUILTIN: Final = frozenset(kind for kind in vars(builtins).values() if isinstance(kind, type))
_UNICODE: Final = ("object", "start", "end", "reason")
KEPT_IN_C: Final[dict[type[BaseException], tuple[str, ...]]] = {
    OSError: ("errno", "strerror", "filename", "filename2", "characters_written"),
    ImportError: ("msg", "name", "path", "name_from"),
    AttributeError: ("name",),  # its `obj` is part of the agent, not of what happened
    NameError: ("name",),
    StopIteration: ("value",),
    SystemExit: ("code",),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text", "end_lineno", "end_offset", "print_file_and_line"),
    UnicodeDecodeError: ("encoding", *_UNICODE),
    UnicodeEncodeError: ("encoding", *_UNICODE),
    UnicodeTranslateError: _UNICODE,
}
"""What builtin classes keep outside `args` and `__dict__`; some of it only in newer versions of Python."""


def exception_value(error: BaseException) -> Wire:
    """The wire value of an exception. Never raises; what cannot be looked at is opaque."""
    return _Writer().error(error, 0)


class _Writer:
    """Writes one exception with all that it holds."""

    def __init__(self) -> None:
        # The exceptions are kept beside their envelopes: an id stays theirs as long as they live.
        self._written: dict[int, tuple[BaseException, dict[str, Wire]]] = {}
        self._numbers = 0

    def error(self, error: BaseException, depth: int) -> Wire:
        known = self._written.get(id(error))
        if known is not None:
            return self._reference(error, known[1])
        if depth >= _LONGEST_CHAIN or len(self._written) >= _MOST_EXCEPTIONS:
            return Encoder().opaque(error, "depth")
        envelope: dict[str, Wire] = {TYPE: "exception", "class": class_name(type(error))}
        self._written[id(error)] = error, envelope
        try:
            with looking():
                self._fill(envelope, error, depth)
        except BaseException as failure:
            if must_go_on(failure):
                raise
            return Encoder().opaque(error, "type")
        return envelope

    def _fill(self, envelope: dict[str, Wire], error: BaseException, depth: int) -> None:
        # Read through Python's own descriptors: properties of the agent's may lie before them.
        args = cast("list[object]", list(_BASE["args"].__get__(error)))
        attributes = cast("dict[object, object]", dict(_BASE["__dict__"].__get__(error)))
        payload: dict[str, Wire] = {
            "args": [self._value(value, depth) for value in args],
            "attrs": {name: self._value(value, depth) for name, value in attributes.items() if type(name) is str},
        }
        described = DESCRIBED.get(class_name(type(error)))
        facts = {
            "extra": {name: encode(value) for name, value in _in_c(error)},
            "slots": {name: self._value(value, depth) for name, value in _in_slots(error)},
            "group": self._group(error, args, depth),
            "special": encode(described(error)) if described is not None else None,
        }
        envelope.update((key, fact) for key, fact in facts.items() if fact)
        for key in ("cause", "context"):
            earlier = _BASE[f"__{key}__"].__get__(error)
            if earlier is not None and (depth + 1 < _LONGEST_CHAIN or id(earlier) in self._written):
                envelope[key] = self.error(earlier, depth + 1)
        if _BASE["__suppress_context__"].__get__(error):
            envelope["suppress_context"] = True
        envelope[VALUE] = payload

    def _value(self, value: object, depth: int) -> Wire:
        """The wire value of an argument or attribute; exceptions that it is, or that its list holds, stay whole."""
        # By type alone: a stand-in of a replay raises when it is asked for anything.
        kind = type(value)
        if issubclass(kind, BaseException):
            return self.error(cast("BaseException", value), depth + 1)
        if getattr(kind, "is_stand_in", False):
            return {TYPE: "opaque", "class": class_name(kind), "repr": "", "why": "type", VALUE: None}
        if kind in (list, tuple) and any(issubclass(type(item), BaseException) for item in cast("list[object]", value)):
            items: list[Wire] = [self._value(item, depth) for item in cast("list[object]", value)]
            return items if kind is list else {TYPE: "tuple", VALUE: items}
        return encode(value)

    def _group(self, error: BaseException, args: list[object], depth: int) -> dict[str, Wire] | None:
        if not issubclass(type(error), BaseExceptionGroup):
            return None
        error = cast("BaseExceptionGroup[BaseException]", error)
        shown = len(args) == 2 and args[0] == error.message and isinstance(args[1], (list, tuple))
        if shown and [id(item) for item in cast("list[object]", args[1])] == [id(item) for item in error.exceptions]:
            return None
        return {
            "message": encode(error.message),
            "members": [self.error(member, depth + 1) for member in error.exceptions],
        }

    def _reference(self, error: BaseException, written: dict[str, Wire]) -> Wire:
        if "number" not in written:
            payload = written.pop(VALUE, None)
            written["number"] = self._numbers
            self._numbers += 1
            if payload is not None:  # else it is being written: the payload comes last by itself
                written[VALUE] = payload
        return {
            TYPE: "exception",
            "class": class_name(type(error)),
            "same_as": written["number"],
            VALUE: {"args": [], "attrs": {}},
        }


def _in_c(error: BaseException) -> Iterable[tuple[str, object]]:
    """What the builtin classes keep, read through their own descriptors."""
    found: dict[str, object] = {}
    for base, names in KEPT_IN_C.items():
        if isinstance(error, base):
            for name in names:
                descriptor = vars(base).get(name)
                if descriptor is not None:
                    try:
                        found[name] = descriptor.__get__(error)
                    except AttributeError:  # `characters_written` where nothing was written
                        continue
    return [(name, value) for name, value in sorted(found.items()) if value is not None]


def _in_slots(error: BaseException) -> Iterable[tuple[str, object]]:
    found: dict[str, object] = {}
    for owner in type.__dict__["__mro__"].__get__(type(error)):
        if owner not in _BUILTIN:
            for name, member in type.__dict__["__dict__"].__get__(owner).items():
                if type(member) is types.MemberDescriptorType and name not in found:
                    try:
                        found[name] = member.__get__(error)
                    except AttributeError:  # never set
                        continue
    return sorted(found.items())
