"""Messages of protocol buffers, and those of OpenTelemetry, as what they say.

Of spans and records only the fields are read that are read of JSON.
"""

from __future__ import annotations

import base64
import struct
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt.interop.transcripts.any_value import plain
from agent_tt.providers.loose import text

if TYPE_CHECKING:
    from agent_tt.providers.shapes import Json

__all__ = [
    "FIRST", "INNER", "MORE", "MOST_VARINT", "OUTLINE", "RECORD", "RESOURCE", "SPAN", "VARINT", "Broken", "extent",
    "message", "sized", "varint",
]  # fmt: skip

VARINT: Final = 0
_FIXED64: Final = 1
_SIZED: Final = 2
_FIXED32: Final = 5
MORE: Final = 0x80
"""The bit of a varint's byte that says that another one follows."""

MOST_VARINT: Final = 10
_MOST_DEPTH: Final = 100
"""As deep as clients of protocol buffers read messages in messages by default."""

FIRST: Final = 0x0A
"""How each of these messages begins: field 1, of a size."""


class Broken(ValueError):
    """Bytes that are no message."""


def _text(given: bytes) -> Json:
    return given.decode("utf-8", "replace")


def _name(given: bytes) -> Json:
    """A text that stands in a file many times, once in memory."""
    return sys.intern(given.decode("utf-8", "replace"))


def _id(given: bytes) -> Json:
    return sys.intern(given.hex())


def _base64(given: bytes) -> Json:
    return base64.b64encode(given).decode()


def _signed(given: int) -> Json:
    return given - (1 << 64) if given >= 1 << 63 else given


def _double(given: int) -> Json:
    found: float = struct.unpack("<d", given.to_bytes(8, "little"))[0]
    return found


_Fields: TypeAlias = "dict[int, tuple[str, Any, bool]]"
"""The fields of a message by their tags, the number with the kind: the name in JSON; the fields of the message that it
is, or what makes a value of it; whether there may be several."""


def sized(number: int) -> int:
    """The tag of a field whose value stands behind its size, by its number."""
    return number << 3 | _SIZED


_ANY: _Fields = {}
_PAIR: Final[_Fields] = {sized(1): ("key", _name, False), sized(2): ("value", _ANY, False)}
_ANY.update(
    {
        sized(1): ("stringValue", _text, False),
        2 << 3 | VARINT: ("boolValue", bool, False),
        3 << 3 | VARINT: ("intValue", _signed, False),
        4 << 3 | _FIXED64: ("doubleValue", _double, False),
        sized(5): ("arrayValue", {sized(1): ("values", _ANY, True)}, False),
        sized(6): ("kvlistValue", {sized(1): ("values", _PAIR, True)}, False),
        sized(7): ("bytesValue", _base64, False),
    }
)
_SAID: Final[_Fields] = {**_PAIR}
"""Attributes, which are read as what they say by name: in the shape of JSON they would be most of a span."""

RESOURCE: Final[_Fields] = {sized(1): ("attributes", _SAID, True)}
_EVENT: Final[_Fields] = {sized(2): ("name", _name, False), sized(3): ("attributes", _SAID, True)}
_STATUS: Final[_Fields] = {sized(2): ("message", _text, False), 3 << 3 | VARINT: ("code", int, False)}
SPAN: Final[_Fields] = {
    sized(1): ("traceId", _id, False),
    sized(2): ("spanId", _id, False),
    sized(4): ("parentSpanId", _id, False),
    sized(5): ("name", _name, False),
    7 << 3 | _FIXED64: ("startTimeUnixNano", int, False),
    8 << 3 | _FIXED64: ("endTimeUnixNano", int, False),
    sized(9): ("attributes", _SAID, True),
    sized(11): ("events", _EVENT, True),
    sized(15): ("status", _STATUS, False),
}
OUTLINE: Final[_Fields] = {tag: SPAN[tag] for tag in (sized(1), 7 << 3 | _FIXED64)}
"""Of a span what tells where the spans of a trace are. What else it says is most of its bytes."""

RECORD: Final[_Fields] = {
    1 << 3 | _FIXED64: ("timeUnixNano", int, False),
    11 << 3 | _FIXED64: ("observedTimeUnixNano", int, False),
    sized(5): ("body", _ANY, False),
    sized(6): ("attributes", _SAID, True),
    sized(9): ("traceId", _id, False),
    sized(10): ("spanId", _id, False),
    sized(12): ("eventName", _text, False),
}

INNER: Final = sized(2)
"""The tag of the field that lists the scopes of a resource, and of the one that lists the spans or logs of a scope."""

_EMPTY_TEXT: Final = b"\x0a\x00"
_LEAST_PAIR: Final = 6
"""Bytes of an attribute with a text: tags and sizes of its key, its value and the text in that."""


def extent(body: bytes, tag: int, at: int) -> tuple[int, int]:
    """How many bytes the value of a field has, and where it begins, by its tag and what stands behind that.

    Raises:
        Broken, IndexError: it is no field.
    """
    kind = tag & 7
    if kind == _SIZED:
        return varint(body, at)
    if kind == VARINT:
        return varint(body, at)[1] - at, at
    if kind in (_FIXED64, _FIXED32):
        return 8 if kind == _FIXED64 else 4, at
    raise Broken(f"there is a field of the unknown kind {kind}")


def varint(body: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first; and where it ends."""
    found = 0
    for place in range(MOST_VARINT):
        byte = body[at + place]
        found |= (byte & ~MORE) << 7 * place
        if byte < MORE:
            return found & (1 << 64) - 1, at + place + 1
    raise Broken("there is a number without an end")


def message(body: bytes, at: int, end: int, fields: _Fields, depth: int = 0) -> dict[str, Json]:
    """Convert a message to JSON; unknown fields are skipped.

    Raises:
        Broken, IndexError: it is none.
    """
    if depth > _MOST_DEPTH:
        raise Broken("messages are nested too deeply")
    found: dict[str, Any] = {}
    while at < end:
        tag, at = (body[at], at + 1) if body[at] < MORE else varint(body, at)
        kind, value = tag & 7, 0
        if kind == _SIZED:
            size, at = (body[at], at + 1) if body[at] < MORE else _size(body, at)
            stop = at + size
        elif kind == VARINT:
            value, stop = (body[at], at + 1) if body[at] < MORE else varint(body, at)
        elif kind in (_FIXED64, _FIXED32):
            stop = at + (8 if kind == _FIXED64 else 4)
            value = int.from_bytes(body[at:stop], "little")
        else:
            raise Broken(f"there is a field of the unknown kind {kind}")
        if stop > end:
            raise Broken("a field is longer than what it stands in")
        known = fields.get(tag)
        if known is not None:
            name, made, is_many = known
            if made is _SAID:
                at = _pairs(body, at, stop, end, tag, found.setdefault(name, {}), depth + 1)
                continue
            if made.__class__ is dict:
                read = message(body, at, stop, made, depth + 1)
            else:
                read = made(body[at:stop] if kind == _SIZED else value)
            if not is_many:
                found[name] = read
            elif name in found:
                found[name].append(read)
            else:
                found[name] = [read]
        at = stop
    return found


def _pairs(body: bytes, at: int, stop: int, end: int, tag: int, into: dict[str, Json], depth: int) -> int:
    """Read an attribute, and those that follow it, into what they say by name; give where they end.

    Nearly all are texts: those are read in place, and what is another one, or no attribute, as any message is.
    """
    while True:
        is_text = False
        if stop - at >= _LEAST_PAIR and body[at] == FIRST and (long := body[at + 1]) < MORE:
            behind = at + 2 + long
            if behind + 4 <= stop and body[behind] == INNER:
                size, start = body[behind + 1], behind + 2
                if size >= MORE:
                    size, start = _size(body, behind + 1)
                if start + size == stop and size >= len(_EMPTY_TEXT) and body[start] == FIRST:
                    size, start = body[start + 1], start + 2
                    if size >= MORE:
                        size, start = _size(body, start - 1)
                    if start + size == stop:
                        into[_key(body[at + 2 : behind])] = body[start:stop].decode("utf-8", "replace")
                        is_text = True
        if not is_text:
            pair = message(body, at, stop, _PAIR, depth)
            into[text(pair.get("key"))] = plain(pair.get("value"))
        if stop >= end or body[stop] != tag:
            return stop
        size, at = body[stop + 1], stop + 2
        if size >= MORE:
            size, at = _size(body, at - 1)
        stop = at + size
        if stop > end:
            raise Broken("a field is longer than what it stands in")


def _size(body: bytes, at: int) -> tuple[int, int]:
    """A number of more than seven bits, mostly of fourteen; and where it ends."""
    more = body[at + 1]
    return (body[at] & ~MORE | more << 7, at + 2) if more < MORE else varint(body, at)


@lru_cache(1024)
def _key(given: bytes) -> str:
    return given.decode("utf-8", "replace")
