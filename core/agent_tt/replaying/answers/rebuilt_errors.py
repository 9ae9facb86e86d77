"""Recorded exceptions as objects again: same class, arguments, attributes, causes and notes.

No code of the agent's runs for it: the object is made by the constructor of its nearest builtin base, and filled
through the descriptors that Python itself made. Classes are looked up among those that are loaded; nothing is imported
but what lies below an HTTP client when it connects, and our own refusals; nothing is unpickled.
`agent_tt.recording.errors.exception_values` says how the envelopes are made.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import operator
import types
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.decode import decode
from agent_tt.codec.loaded_classes import LOADED, loaded_class
from agent_tt.codec.wire import TYPE, VALUE, envelope_type
from agent_tt.errors import NotRebuildable
from agent_tt.recording.errors.exception_values import KEPT_IN_C
from agent_tt.replaying.answers.special_exceptions import MADE_BY
from agent_tt.replaying.answers.unusable import Unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire

    Refuse = Callable[[str, str], BaseException]

__all__ = ["rebuild_error"]

_BUILTIN: Final = frozenset(
    kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)
)
_BASE: Final = vars(BaseException)
_FILES: Final = ("filename", "filename2")
_IMPORTED_TO_CONNECT: Final = frozenset({"anyio", "h11", "h2", "hpack", "hyperframe", "socksio", "ssl"})
"""What HTTP clients import when they connect, which in a replay they never do."""

_OUR_REFUSALS: Final = "agent_tt.intercepting.policy_enforcement"
"""What a fork loads whose policy answers calls. Beside these nothing is imported."""

_SHOWN_WHOLE: Final = 400
"""The recorder cuts the text of an opaque value at this length."""


def rebuild_error(value: Wire, *, text: str = "", unusable: Refuse | None = None) -> BaseException:
    """The exception that `agent_tt.recording.errors.exceptions` wrote down.

    Args:
        value: its envelope, `ErrorInfo.value`.
        text: its message as it was recorded, for refusals.
        unusable: makes what is raised when the agent uses a part that could not be rebuilt (a response object, say),
            from the part's class and the class of the exception that held it; else `NotRebuildable`.

    Returns:
        A new exception without a traceback.

    Raises:
        NotRebuildable: the class is not loaded, is not an exception, or has a constructor that cannot be avoided. The
            message names the class and the recorded text.
    """
    return _Rebuilding(text, unusable or _not_rebuildable).run(value)


def _not_rebuildable(class_name: str, holder: str) -> BaseException:
    return NotRebuildable(
        f"an attribute of {holder} was not recorded: its {class_name} could not be written down",
        path="",
        class_name=class_name,
    )


class _Refused(Exception):  # becomes NotRebuildable, or an unusable part
    """One exception cannot be rebuilt; says why."""


class _Rebuilding:
    """Rebuilds one exception with all those that it holds."""

    def __init__(self, text: str, unusable: Refuse) -> None:
        self._text = text
        self._unusable = unusable
        self._numbered: dict[int, BaseException] = {}

    def run(self, value: Wire) -> BaseException:
        name = _class_name(value)
        try:
            return self._error(value)
        except _Refused as refused:
            said = f" It said: {self._text}" if self._text else ""
            raise NotRebuildable(
                f"the recorded exception {name} cannot be raised again: {refused}.{said}",
                path="",
                class_name=name,
                hint="the agent's code must have imported its class before the call",
            ) from None

    def _error(self, envelope: Wire) -> BaseException:
        if not isinstance(envelope, dict) or envelope_type(envelope) != "exception":
            raise _Refused("it was recorded only as text")
        number, same_as = envelope.get("number"), envelope.get("same_as")
        if type(same_as) is int:
            if same_as not in self._numbered:
                raise _Refused("it holds itself")
            return self._numbered[same_as]
        kind = _exception_class(_class_name(envelope))
        special = MADE_BY.get(_class_name(envelope))
        if special is None:
            made = self._made(kind, envelope)
            self._remember(number, made)
            self._fill(made, kind, envelope)
        else:
            try:
                made = special(kind, self._mapping(envelope.get("special"), _class_name(envelope)))
            except Exception as error:  # noqa: BLE001  whatever a foreign constructor says to facts it does not like
                raise _Refused(f"its constructor refused what was recorded ({type(error).__name__}: {error})") from None
            self._remember(number, made)
            _BASE["args"].__set__(made, tuple(self._args(envelope)))
            self._put_attributes(made, envelope)
        self._chain(made, envelope)
        return made

    def _remember(self, number: Wire, made: BaseException) -> None:
        if type(number) is int:
            self._numbered[number] = made

    def _made(self, kind: type[BaseException], envelope: dict[str, Wire]) -> BaseException:
        native: Any = _native_base(kind)
        args = self._args(envelope)
        shape = self._group(envelope, args) if issubclass(kind, BaseExceptionGroup) else args
        try:
            made: BaseException = native.__new__(kind, *shape)
        except Exception as error:  # noqa: BLE001  its constructor looks at what it is given
            raise _Refused(f"{native.__name__} cannot be made of its arguments ({error})") from None
        # Sets what lies in C from the arguments. It refuses arguments that the class gave another shape; then they are
        # as recorded all the same, and what lies in C was recorded on its own.
        with contextlib.suppress(TypeError, ValueError):
            native.__init__(made, *args)
        _BASE["args"].__set__(made, tuple(args))
        return made

    def _group(self, envelope: dict[str, Wire], args: list[object]) -> list[object]:
        recorded = envelope.get("group")
        if not isinstance(recorded, dict):
            return args
        members = recorded.get("members")
        if not isinstance(members, list):
            raise _Refused("the members of the group are damaged")
        return [recorded.get("message"), [self._error(member) for member in members]]

    def _args(self, envelope: dict[str, Wire]) -> list[object]:
        args = _payload(envelope).get("args")
        if type(args) is not list:
            raise _Refused("its arguments are damaged")
        return [self._value(item, _class_name(envelope)) for item in args]

    # ------------------------------------------------------------ what it holds

    def _fill(self, made: BaseException, kind: type[BaseException], envelope: dict[str, Wire]) -> None:
        holder = _class_name(envelope)
        extra = envelope.get("extra")
        if extra is None and issubclass(kind, OSError):
            extra = self._files(envelope)
        for name, value in self._mapping(extra, holder).items():
            descriptor = _descriptor_in_c(made, name)
            if descriptor is not None:
                try:
                    descriptor.__set__(made, value)
                except (TypeError, AttributeError, ValueError) as error:
                    raise _Refused(f"its {name} is damaged ({error})") from None
        for name, value in self._mapping(envelope.get("slots"), holder).items():
            slot = _slot(kind, name)
            if slot is None:
                raise _Refused(f"its class has no slot {name} any more")
            slot.__set__(made, value)
        self._put_attributes(made, envelope)

    def _files(self, envelope: dict[str, Wire]) -> Wire:
        """The file names of an OSError that the codec wrote on its own, in the midst of another value."""
        attributes = _payload(envelope).get("attrs")
        return {name: attributes[name] for name in _FILES if name in attributes} if type(attributes) is dict else None

    def _put_attributes(self, made: BaseException, envelope: dict[str, Wire]) -> None:
        attributes = self._mapping(_payload(envelope).get("attrs"), _class_name(envelope))
        if attributes:
            _BASE["__dict__"].__get__(made).update(attributes)

    def _chain(self, made: BaseException, envelope: dict[str, Wire]) -> None:
        for key in ("cause", "context"):
            if key in envelope:
                earlier = self._earlier(envelope[key])
                if earlier is not None:
                    _BASE[f"__{key}__"].__set__(made, earlier)
        _BASE["__suppress_context__"].__set__(made, envelope.get("suppress_context") is True)

    def _earlier(self, envelope: Wire) -> BaseException | None:
        """A cause or context; None where it cannot be rebuilt, since Python takes nothing else in its place."""
        try:
            return self._error(envelope)
        except _Refused:
            return None

    def _mapping(self, wire: Wire, holder: str) -> dict[str, object]:
        if wire is None:
            return {}
        if not isinstance(wire, dict):
            raise _Refused("its attributes are damaged")
        return {name: self._value(item, holder) for name, item in wire.items()}

    def _value(self, wire: Wire, holder: str) -> object:
        """A part of an exception; what cannot be rebuilt of it is `Unusable`, however deep in lists and dicts it is."""
        kind = envelope_type(wire)
        if type(wire) is list:
            return [self._value(item, holder) for item in wire]
        if isinstance(wire, dict) and TYPE not in wire:
            return {name: self._value(item, holder) for name, item in wire.items()}
        try:
            if kind == "exception":
                return self._error(wire)
            if isinstance(wire, dict) and kind == "tuple" and type(wire.get(VALUE)) is list:
                return tuple(self._value(item, holder) for item in wire[VALUE])  # type: ignore[union-attr]
            return decode(wire, LOADED)
        except (_Refused, NotRebuildable):
            return self._stand_in(wire, holder)

    def _stand_in(self, wire: Wire, holder: str) -> Unusable:
        name = _class_name(wire)
        shown = wire.get("repr") if isinstance(wire, dict) and envelope_type(wire) == "opaque" else None
        whole = shown if type(shown) is str and len(shown) < _SHOWN_WHOLE else None
        return Unusable(lambda: self._unusable(name, holder), whole)


def _payload(envelope: dict[str, Wire]) -> Mapping[str, Wire]:
    payload = envelope.get(VALUE)
    if not isinstance(payload, dict):
        raise _Refused("its payload is damaged")
    return payload


def _class_name(wire: Wire) -> str:
    name = wire.get("class") if isinstance(wire, dict) else None
    return name if type(name) is str else "unknown"


def _exception_class(name: str) -> type[BaseException]:
    found = loaded_class(name) or _of_what_raised_it(name)
    if found is None:
        raise _Refused("its class is not loaded, or gone")
    if BaseException not in _mro(found):
        raise _Refused("what has its name now is not an exception")
    return found


def _of_what_raised_it(name: str) -> type | None:
    """The class of an error that came from what a replay does not come to: the network below a client, or a policy."""
    module, _, qualname = name.partition(":")
    if module != _OUR_REFUSALS and module.partition(".")[0] not in _IMPORTED_TO_CONNECT:
        return None
    try:
        found: object = operator.attrgetter(qualname)(importlib.import_module(module))  # some load a class when asked
    except (ImportError, AttributeError):
        return None
    return found if isinstance(found, type) else None


def _native_base(kind: type[BaseException]) -> type[BaseException]:
    """The nearest builtin base, if none of the classes between has a constructor that is not Python."""
    for base in _mro(kind):
        if base in _BUILTIN:
            return base
        own = type.__dict__["__dict__"].__get__(base)
        if isinstance(own.get("__new__"), types.BuiltinMethodType) or type(own.get("__init__")) is _SLOT_WRAPPER:
            raise _Refused("its class has a constructor of its own, not written in Python")
    raise _Refused("it has no builtin base")  # pragma: no cover  every exception derives from BaseException


_SLOT_WRAPPER: Final = types.WrapperDescriptorType


def _mro(kind: type) -> tuple[type, ...]:
    """The bases of a class, whatever its metaclass says when it is asked."""
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return mro


def _descriptor_in_c(made: BaseException, name: str) -> Any:
    """How a builtin class of `made` sets what it keeps as `name`; None where this Python keeps no such thing."""
    for base, names in KEPT_IN_C.items():
        if name in names and isinstance(made, base) and name in vars(base):
            return vars(base)[name]
    return None


def _slot(kind: type, name: str) -> Any:
    for owner in _mro(kind):
        member = type.__dict__["__dict__"].__get__(owner).get(name)
        if owner not in _BUILTIN and type(member) is types.MemberDescriptorType:
            return member
    return None
