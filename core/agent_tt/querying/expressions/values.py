"""What recorded values count as in an expression, and how they are compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard

from agent_tt.codec.wire import VALUE, envelope_type, is_envelope

if TYPE_CHECKING:
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

_TEXTS: Final = frozenset({"datetime", "date", "time", "path", "uuid"})
_INSIDE: Final = frozenset({"enum", "tuple", "set", "frozenset", "deque", "dataclass", "namedtuple", "pydantic"})
_MOST_DIGITS: Final = 400


def plain(value: Value) -> Value:
    """What a value counts as: an envelope is taken off, one layer."""
    for _ in range(4):  # an enum may hold a Decimal; nothing that we write is deeper
        if isinstance(value, Missing) or not is_envelope(value):
            break
        value = _unpacked(value)
    return value


def _unpacked(envelope: dict[str, Wire]) -> Value:
    kind, payload = envelope_type(envelope), envelope.get(VALUE)
    if kind in _INSIDE or (kind in _TEXTS and isinstance(payload, str)):
        return payload
    if kind in ("decimal", "Decimal", "float", "int") and isinstance(payload, str) and len(payload) <= _MOST_DIGITS:
        return _number(kind, payload)
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
    left, right = plain(left), plain(right)
    if isinstance(left, Missing) or isinstance(right, Missing):
        return False
    if is_number(left) and is_number(right):
        return left == right
    if type(left) is not type(right):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    return left == right


def ordered(sign: str, left: Value, right: Value) -> bool:
    """`<`, `<=`, `>` or `>=` of two numbers or two texts; anything else is no."""
    left, right = plain(left), plain(right)
    if not (is_number(left) and is_number(right)) and not (isinstance(left, str) and isinstance(right, str)):
        return False
    first, second = (left, right) if sign in ("<", "<=") else (right, left)
    return bool(first < second if len(sign) == 1 else first <= second)  # type: ignore[operator]


def lies_in(item: Value, container: Value) -> bool:
    """Whether a text is in a text, an item in a list, or a key in a mapping."""
    item, container = plain(item), plain(container)
    if isinstance(container, str):
        return isinstance(item, str) and item in container
    if isinstance(container, dict):
        return isinstance(item, str) and item in container
    return isinstance(container, list) and any(equal(item, each) for each in container)


def type_of(value: Value) -> Value:
    """`"int"`, `"str"`, `"null"`, ...; of a typed value the name of its type."""
    if isinstance(value, Missing):
        return MISSING
    if value is None:
        return "null"
    return envelope_type(value) or type(value).__name__


def bounded(number: float) -> Value:
    """A result of arithmetic, if it is one that can be gone on with."""
    if isinstance(number, int) and number.bit_length() > 1024:
        return MISSING
    return MISSING if isinstance(number, float) and not math.isfinite(number) else number
