"""Reading what a person typed as a value of the type that was recorded there; the class of no value is imported."""

from __future__ import annotations

import base64
import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from agent_tt.codec.decode import check_envelopes, decode
from agent_tt.codec.encode import encode
from agent_tt.codec.wire import TYPE, VALUE, envelope_type
from agent_tt.errors import NotRebuildable

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["AS_TEXT", "like_recorded", "read_as"]

AS_TEXT: Final = frozenset({"Decimal", "UUID", "date", "datetime", "time"})
"""Types whose value is one text, which is what a person edits of it."""

_AS_LIST: Final = frozenset({"tuple", "set", "frozenset", "deque"})
_FROM_NUMBERS: Final = frozenset({"Decimal", "timedelta", "complex"})
_LOOSE: Final = frozenset({"int", "float", "str", "dict", "opaque"})
"""Envelopes whose type need not stay: JSON has it (a huge int), or it cannot be rebuilt (an opaque object)."""

_MOST_DIGITS: Final = 4000
"""Digits of an integer that is read; Python itself reads 4,300."""

_BOOLS: Final = {"true": True, "false": False}
_SPAN: Final = re.compile(r"(?:(-?\d+) days?,? *)?(?:(\d+):(\d\d?):(\d\d?)(?:\.(\d{1,6}))?)?")


def read_as(like: Wire, typed: str) -> Wire:
    """Read a text as a value of the type of another one.

    Raises:
        ValueError: It is none.
    """
    try:
        return _read(like, typed)
    except (ArithmeticError, NotRebuildable) as error:
        raise ValueError(typed) from error


def like_recorded(recorded: Wire, value: Wire, written: str) -> Wire:
    """Turn written JSON into the type of the value that it replaces, if JSON lacks that type.

    Args:
        recorded: what it replaces.
        value: the JSON that was written: null stays null, and a typed value stays what it says.
        written: its text: a Decimal keeps the digits of `12.50`.

    Raises:
        ValueError: it cannot be read as that type.
    """
    kind = envelope_type(recorded) if isinstance(recorded, dict) else None
    if not isinstance(recorded, dict) or kind is None or kind in _LOOSE or value is None:
        return value
    if isinstance(value, dict):
        if envelope_type(value) is None:
            raise ValueError("a plain object")
        return value
    if isinstance(value, list):
        if kind not in _AS_LIST:
            raise ValueError("a plain list")
        made: Wire = {**recorded, VALUE: value}
        try:
            check_envelopes(made)
        except NotRebuildable as error:
            raise ValueError(written) from error
        return made
    if not isinstance(value, str) and kind not in _FROM_NUMBERS:
        raise ValueError("a number")
    return read_as(recorded, value if isinstance(value, str) else written)


def _read(like: Wire, typed: str) -> Wire:
    text = typed.strip()
    match like:
        case str():
            return typed
        case bool():
            if text.lower() not in _BOOLS:
                raise ValueError(text)
            return _BOOLS[text.lower()]
        case int():
            if len(text) > _MOST_DIGITS:
                raise ValueError("too long")
            return encode(int(text))
        case float():
            return encode(float(text))
        case dict():
            return _read_typed(like, typed)
        case _:
            raise ValueError(text)


def _read_typed(like: dict[str, Wire], typed: str) -> Wire:
    text, kind = typed.strip(), like[TYPE]
    value: Wire
    match kind:
        case "Decimal":
            value = {**like, VALUE: str(Decimal(text))}
        case _ if kind in AS_TEXT:
            value = {**like, VALUE: text}
        case "bytes" | "bytearray":
            value = {**like, VALUE: base64.b64encode(typed.encode()).decode()}
        case "path":
            value = {**like, VALUE: typed}
        case "timedelta":
            value = encode(_span(text))
        case "complex":
            value = encode(complex(text.replace(" ", "")))
        case "enum" if like.get("name") == text:
            value = like
        case _:
            raise ValueError(text)
    check_envelopes(value)
    return encode(decode(value)) if kind in ("date", "UUID") else value


def _span(text: str) -> dt.timedelta:
    """Read `90`, seconds, or what a timedelta prints: `2 days, 3:04:05`."""
    found = _SPAN.fullmatch(text)
    if found is None or not text:
        return dt.timedelta(seconds=float(text))
    days, hours, minutes, seconds, part = found.groups(default="0")
    micros = int(part.ljust(6, "0"))
    return dt.timedelta(int(days), int(seconds), micros, minutes=int(minutes), hours=int(hours))
