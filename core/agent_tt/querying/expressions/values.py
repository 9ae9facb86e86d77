"""What recorded values count as in an expression, and how they are compared."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from agent_tt.codec.wire import VALUE, envelope_type, is_envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.querying.expressions.tree import Place

__all__ = [
    "MISSING",
    "Missing",
    "Value",
    "at",
    "bounded",
    "equal",
    "is_number",
    "lies_in",
    "ordered",
    "plain",
    "truth",
    "type_of",
]


class Missing:
    """The class of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""In place of what is not there."""

Value: TypeAlias = "Wire | Missing"

_TEXTS: Final = frozenset({"datetime", "date", "time", "path", "UUID"})
_INSIDE: Final = frozenset({"enum", "tuple", "set", "frozenset", "deque", "dataclass", "namedtuple", "pydantic"})
_MOST_DIGITS: Final = 400
_MOST_LAYERS: Final = 4
"""An enum may hold a Decimal; nothing that we write is deeper."""

_LONGEST_MOMENT: Final = 40
_BEGINNING: Final = re.compile(r"\d{4}(-\d\d)?")
"""A year or a month, which stands for its beginning."""


def plain(value: Value) -> Value:
    """What a value counts as: an envelope is taken off, one layer."""
    for _ in range(_MOST_LAYERS):
        if isinstance(value, Missing) or not is_envelope(value):
            break
        value = _unpacked(value)
    return value


def _unpacked(envelope: dict[str, Wire]) -> Value:
    kind, payload = envelope_type(envelope), envelope.get(VALUE)
    if kind in _INSIDE or (kind in _TEXTS and isinstance(payload, str)):
        return payload
    if kind in ("Decimal", "float", "int") and isinstance(payload, str) and len(payload) <= _MOST_DIGITS:
        return _number(kind, payload)
    if kind == "timedelta":
        return _seconds(payload)
    if kind == "dict" or (kind == "sub" and envelope.get("base") == "dict"):
        return _mapping(payload)
    if kind == "sub":
        return payload
    return MISSING if kind == "damaged" else {key: item for key, item in envelope.items() if key != VALUE}


def _number(kind: str, text: str) -> Value:
    try:
        return int(text, 16) if kind == "int" else float(text.partition(":")[0])
    except ValueError:
        return MISSING


def _seconds(parts: Wire) -> Value:
    """A duration, which is kept as days, seconds and microseconds."""
    if not isinstance(parts, list) or len(parts) != 3:
        return MISSING
    days, seconds, microseconds = parts
    if not (type(days) is int and type(seconds) is int and type(microseconds) is int):
        return MISSING
    return days * 86_400 + seconds + microseconds / 1e6


def _mapping(pairs: Wire) -> Value:
    """A mapping whose keys are not all plain texts: those that are can be asked for."""
    if not isinstance(pairs, list):
        return MISSING
    return {
        pair[0]: pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
    }


def at(value: Value, place: Place) -> Value:
    """What lies at a place inside a value; negative positions count from the end."""
    for step in place:
        value = plain(value)
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def is_number(value: Value) -> TypeGuard[int | float]:
    """Whether it can be reckoned with; true and false cannot."""
    return type(value) in (int, float)


def truth(value: Value) -> bool:
    """Whether a value alone counts as yes."""
    value = plain(value)
    return not isinstance(value, Missing) and bool(value)


def equal(left: Value, right: Value) -> bool:
    """Whether two values that are there are equal: numbers by value, true and false apart from them."""
    pending: list[Iterator[tuple[Value, Value]]] = [iter([(left, right)])]
    while pending:  # not by recursion: a value may be nested deeper than Python goes
        found = next(pending[-1], None)
        if found is None:
            pending.pop()
            continue
        mine, theirs = map(_exact, found)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            if mine.keys() != theirs.keys():
                return False
            pending.append(zip(mine.values(), map(theirs.__getitem__, mine), strict=True))
        elif isinstance(mine, list) and isinstance(theirs, list):
            if len(mine) != len(theirs):
                return False
            pending.append(zip(mine, theirs, strict=True))
        else:
            pair = _matched(mine, theirs)
            if pair is None or pair[0] != pair[1]:
                return False
    return True


def ordered(sign: str, left: Value, right: Value) -> bool:
    """`<`, `<=`, `>` or `>=` of two numbers, two texts or two moments; anything else is no."""
    pair = _matched(_exact(left), _exact(right))
    if pair is None or not _has_order(pair[0]):
        return False
    first, second = pair if sign in ("<", "<=") else pair[::-1]
    return bool(first < second if len(sign) == 1 else first <= second)


def _has_order(value: object) -> bool:
    return isinstance(value, int | float | str | decimal.Decimal | dt.datetime) and not isinstance(value, bool)


_Exact: TypeAlias = "Value | decimal.Decimal | dt.datetime"


def _exact(value: Value) -> _Exact:
    """What a value is compared as: what it counts as, but a Decimal with all its digits, and a date as a moment."""
    for _ in range(_MOST_LAYERS):
        if isinstance(value, Missing) or not is_envelope(value):
            break
        kind, payload = envelope_type(value), value.get(VALUE)
        found: decimal.Decimal | dt.datetime | None = None
        if kind == "Decimal" and isinstance(payload, str) and len(payload) <= _MOST_DIGITS:
            found = _decimal(payload)
        elif kind in ("date", "datetime") and isinstance(payload, str):
            found = _moment(payload, value.get("zone"))
        if found is not None:
            return found
        value = _unpacked(value)
    return value


def _matched(left: _Exact, right: _Exact) -> tuple[Any, Any] | None:
    """Two values that hold no others, as Python compares them; None where they are of different natures."""
    if isinstance(left, dt.datetime) or isinstance(right, dt.datetime):
        return _moments(left, right)
    if isinstance(left, decimal.Decimal) or isinstance(right, decimal.Decimal):
        first, second = _with_all_digits(left), _with_all_digits(right)
        return None if first is None or second is None else (first, second)
    if isinstance(left, Missing) or isinstance(right, Missing):
        return None
    return (left, right) if type(left) is type(right) or (is_number(left) and is_number(right)) else None


def _decimal(text: str) -> decimal.Decimal | None:
    """A Decimal that can be compared: `nan` cannot."""
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None
    return None if number.is_nan() else number


def _with_all_digits(value: _Exact) -> decimal.Decimal | int | None:
    """A number beside a Decimal: a float is the number that it is written as, so that 0.1 is 0.1."""
    if isinstance(value, decimal.Decimal) or type(value) is int:
        return value
    return _decimal(repr(value)) if isinstance(value, float) else None


def _moments(left: _Exact, right: _Exact) -> tuple[dt.datetime, dt.datetime] | None:
    """Two moments, one of which may be written as a text; without zones where only one of them has one."""
    first = _moment(left) if isinstance(left, str) else left
    second = _moment(right) if isinstance(right, str) else right
    if not isinstance(first, dt.datetime) or not isinstance(second, dt.datetime):
        return None
    if (first.tzinfo is None) != (second.tzinfo is None):
        return first.replace(tzinfo=None), second.replace(tzinfo=None)
    return first, second


def _moment(text: str, zone: Wire = None) -> dt.datetime | None:
    """A date and time, or a date's first moment; None if the text is neither."""
    if len(text) > _LONGEST_MOMENT:
        return None
    if _BEGINNING.fullmatch(text):
        text = f"{text}-01-01"[:10]
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=_zone(zone))


def _zone(name: Wire) -> dt.tzinfo | None:
    """A zone by its name; None where this machine does not know it."""
    if not isinstance(name, str):
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None


def lies_in(item: Value, container: Value) -> bool:
    """Whether a text is in a text, an item in a list, or a key in a mapping."""
    container = plain(container)
    if isinstance(container, list):
        return any(equal(item, each) for each in container)
    item = plain(item)
    return isinstance(item, str) and isinstance(container, str | dict) and item in container


def type_of(value: Value) -> Value:
    """`"int"`, `"str"`, `"null"`, ...; of a typed value the name of its type."""
    if isinstance(value, Missing):
        return MISSING
    if value is None:
        return "null"
    return envelope_type(value) or type(value).__name__


def bounded(number: float) -> Value:
    """A result of arithmetic, if it is one that can be calculated with."""
    if isinstance(number, int) and number.bit_length() > 1024:
        return MISSING
    return MISSING if isinstance(number, float) and not math.isfinite(number) else number
