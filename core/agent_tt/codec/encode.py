"""Python values to wire values. Every value can be encoded; what could not be rebuilt becomes an opaque envelope."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.codec.looking import looking, must_go_on, shown
from agent_tt.codec.parts import class_name, take_apart
from agent_tt.codec.plain import is_plain_dict, is_plain_scalar, is_plain_text
from agent_tt.codec.sharing import Copies, short_repr
from agent_tt.codec.tlv import tlv
from agent_tt.codec.tracked import TrackedDict, TrackedList
from agent_tt.codec.wire import MAX_DEPTH, TYPE, VALUE, Encoded

if TYPE_CHECKING:
    from agent_tt.codec.parts import Parts
    from agent_tt.codec.wire import Wire

__all__ = ["Encoder", "encode", "encode_with_plainness", "is_plain_dict", "is_plain_scalar", "is_plain_text"]

_REPR_LENGTH: Final = 400
_ADDRESS: Final = lazy_re(r" at 0x[0-9a-fA-F]+")
"""Where an object lies in memory, which is another place in every process."""
_UNORDERED: Final = frozenset({"set", "frozenset"})
_ENTANGLED: Final = frozenset({"cycle", "depth", "shared"})
"""Reasons for which a value is shown shortly: its own `repr` may take as long as encoding it would have."""


_KEPT_LEVELS: Final = 3
"""Levels whose containers are kept when what is in them is given up: the state's own fields, first of all."""


class _TooEntangled(Exception):
    """What is being encoded has no end. Taken by the container around it."""


def encode(value: object) -> Wire:
    """Encode a Python value as a wire value. Never raises; the result shares no container with `value`."""
    return Encoder().encode(value)


def encode_with_plainness(value: object) -> tuple[Wire, bool]:
    """Encode, and say whether `value` held exact JSON types alone (then the two are equal)."""
    encoder = Encoder()
    wire = encoder.encode(value)
    return wire, encoder.plain


class Encoder:
    """Encodes one value, or the parts of one value in turn.

    Whoever encodes a part on its own says first which containers it lies in (`enter`, `leave`), so that cycles and the
    greatest depth are seen exactly where they are seen when the whole is encoded.

    Attributes:
        plain: False once anything needed an envelope.
    """

    __slots__ = ("_copies", "_entered", "_inside", "_open", "plain")

    def __init__(self) -> None:
        self.plain = True
        self._open: set[int] = set()
        self._inside: list[object] = []
        self._entered = 0
        self._copies = Copies()

    def enter(self, container: object) -> None:
        """Note that what is encoded next lies inside `container`."""
        self._inside.append(container)
        self._open.add(id(container))
        self._entered += 1

    def leave(self) -> None:
        """End the last `enter`."""
        self._entered -= 1
        self._open.discard(id(self._inside.pop()))

    def is_blocked(self, value: object) -> bool:
        """Whether a container cannot be descended into here: it contains itself, or lies too deep."""
        return id(value) in self._open or len(self._inside) >= MAX_DEPTH

    def encode(self, value: object) -> Wire:
        """Encode `value` at this place."""
        kind = type(value)
        if kind is str or kind is int or kind is float or kind is bool or value is None:
            if is_plain_scalar(value):
                return value
        elif self._copies.is_one_too_many(value):
            if self._copies.is_hopeless and len(self._inside) - self._entered > _KEPT_LEVELS:
                raise _TooEntangled
            return self.opaque(value, "shared")
        elif id(value) in self._open:
            return self.opaque(value, "cycle")
        if len(self._inside) >= MAX_DEPTH:
            return self.opaque(value, "depth")
        self._inside.append(value)
        self._open.add(id(value))
        try:
            if kind is list or kind is TrackedList:
                return [self.encode(item) for item in value]  # type: ignore[attr-defined]  # its kind is known
            if (kind is dict or kind is TrackedDict) and is_plain_dict(value):
                # A list of the items first: another thread may add to the dict meanwhile.
                return {key: self.encode(item) for key, item in list(value.items())}
            with looking():
                parts = take_apart(value)
            return self._opaque_type(value) if parts is None else self.envelope(parts)
        except RecursionError:
            return self.opaque(value, "depth")
        except _TooEntangled:
            return self.opaque(value, "shared")
        except BaseException as error:  # an object's own attributes may raise anything, `SystemExit` too
            if must_go_on(error):
                raise
            return self.opaque(value, "type")
        finally:
            self._open.discard(id(self._inside.pop()))

    def header(self, parts: Parts) -> dict[str, Wire]:
        """An envelope without its payload. The object must have been entered."""
        self.plain = False
        header: dict[str, Wire] = {TYPE: parts.kind}
        for key, item in parts.header.items():
            header[key] = self.encode(item)
        return header

    def envelope(self, parts: Parts) -> Wire:
        """The envelope of an object taken apart. The object must have been entered."""
        envelope = self.header(parts)
        payload = self.encode(parts.payload)
        if parts.kind in _UNORDERED and type(payload) is list:
            payload.sort(key=tlv)
        envelope[VALUE] = payload
        return envelope

    def opaque(self, value: object, why: str) -> Wire:
        """The envelope of what can only be shown: why is `type`, `cycle`, `depth`, `shared` or `tzinfo`."""
        self.plain = False
        text = _ADDRESS.sub("", shown(short_repr if why in _ENTANGLED else repr, value, _REPR_LENGTH))
        return {TYPE: "opaque", "class": _clean(class_name(type(value))), "repr": _clean(text), "why": why, VALUE: None}

    def _opaque_type(self, value: object) -> Wire:
        if type(value) is Encoded:
            self.plain = False
            return value.wire
        zone = value.tzinfo if type(value) in (dt.datetime, dt.time) else None  # type: ignore[attr-defined]
        return self.opaque(value, "type" if zone is None else "tzinfo")


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
