"""What typed values hold, whatever their type: numbers, entries, members, and the plain value in their place."""

from __future__ import annotations

import base64
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import TYPE, VALUE, envelope_type

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["CONTAINERS", "by_key", "exact", "is_dict", "is_set", "number_of", "untyped"]

_LARGEST_EXPONENT: Final = 400
"""Decimals beyond 10 to this power are compared as they are written: as fractions they would take all memory."""

SETS: Final = frozenset({"frozenset", "set"})
CONTAINERS: Final = SETS | {"dataclass", "deque", "dict", "namedtuple", "pydantic", "sub", "tuple"}
"""Typed values that are looked into; all others are equal only as wholes."""

_TEXTS: Final = frozenset({"UUID", "date", "datetime", "path", "time"})
"""Typed values whose payload is the text that JSON would hold in their place."""


def number_of(value: Wire) -> tuple[str, Fraction] | None:
    """The type of a number and its exact value, a float's being that which is written; None for all else.

    `1.1` and `1.0` are 0.1 apart, although their binary values are a little more.
    """
    if type(value) is int:
        return "int", Fraction(value)
    if type(value) is float:
        return "float", Fraction(repr(value))
    kind = envelope_type(value)
    payload = value.get(VALUE) if isinstance(value, dict) else None
    if kind not in ("int", "Decimal") or not isinstance(payload, str):
        return None
    try:
        if kind == "int":
            return kind, Fraction(int(payload, 16))
        decimal = Decimal(payload)
        near = decimal.is_finite() and abs(decimal.adjusted()) <= _LARGEST_EXPONENT
        return (kind, Fraction(decimal)) if near else None
    except (InvalidOperation, ValueError):
        return None


def is_dict(envelope: dict[str, Wire]) -> bool:
    """Whether a typed value holds entries as pairs."""
    return envelope_type(envelope) == "dict" or (envelope_type(envelope) == "sub" and envelope.get("base") == "dict")


def by_key(pairs: list[Wire]) -> dict[bytes, Wire]:
    """The values of pairs by what tells their keys from others; what is not a pair stands for itself."""
    found: dict[bytes, Wire] = {}
    for at, pair in enumerate(pairs):
        if isinstance(pair, list) and len(pair) == 2:
            found[tlv(exact(pair[0]))] = pair[1]
        else:
            found[tlv([at])] = pair
    return found


def is_set(envelope: dict[str, Wire]) -> bool:
    """Whether a typed value is a set: what is in it has no order."""
    kind = envelope_type(envelope)
    return kind in SETS or (kind == "sub" and envelope.get("base") in SETS)


def exact(value: Wire) -> object:
    """A value with the keys of its dicts in order."""
    if isinstance(value, dict):
        return {key: exact(value[key]) for key in sorted(value)}
    return [exact(item) for item in value] if isinstance(value, list) else value


def untyped(envelope: dict[str, Wire]) -> Wire:
    """What JSON would hold in the place of a typed value; the value itself where that is not plain.

    Tuples are lists, datetimes and ids their text, enums their value, dataclasses and models their fields, bytes the
    text that they encode. A set is any set, but no list: its items have no order.
    """
    kind, payload = envelope_type(envelope), envelope.get(VALUE)
    if any(envelope.get(part) for part in ("attrs", "extra", "private")):
        return envelope
    if is_set(envelope):
        return {TYPE: "set", VALUE: payload}
    if kind in ("bytes", "bytearray") and isinstance(payload, str):
        try:
            return base64.b64decode(payload, validate=True).decode()
        except ValueError:
            return {TYPE: "bytes", VALUE: payload}
    if is_dict(envelope):
        return _plain_dict(envelope, payload)
    if kind in _TEXTS or kind in CONTAINERS or kind == "enum":
        return payload
    return envelope


def _plain_dict(envelope: dict[str, Wire], pairs: Wire) -> Wire:
    """A dict whose class is another; one with keys that no JSON object has stays what it is."""
    found: dict[str, Wire] = {}
    for pair in pairs if isinstance(pairs, list) else [None]:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str) or pair[0] in (TYPE, VALUE):
            return {TYPE: "dict", VALUE: envelope.get(VALUE)}
        found[pair[0]] = pair[1]
    return found
