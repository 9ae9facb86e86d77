"""Traces and logs of OpenTelemetry as protocol buffers, in the shape that they have as JSON.

| file | is |
|---|---|
| one message | `TracesData`, `LogsData`, or a request of the exporters, which are the same on the wire |
| messages, each behind its length in 4 bytes, the highest first | what the collector's file exporter writes |
| messages, each behind its length as a varint | what the clients of protocol buffers write as delimited |

Only the fields that are read of JSON are read, by their numbers. A client of protocol buffers is not needed for that,
and would hold its own copy of a file beside what is made of it.

Sources of the format: github.com/open-telemetry/opentelemetry-proto, version 1.10; protobuf.dev, "Encoding"; the
collector's `fileexporter`.
"""

from __future__ import annotations

import base64
import struct
import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from agent_tt.providers.loose import dicts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.providers.shapes import Json

__all__ = ["could_be_protobuf", "read_protobuf"]

_VARINT: Final = 0
_FIXED64: Final = 1
_SIZED: Final = 2
_FIXED32: Final = 5
_MORE: Final = 0x80
"""The bit of a varint's byte that says that another one follows."""

_MOST_VARINT: Final = 10
_MOST_DEPTH: Final = 100
"""As deep as clients of protocol buffers read messages in messages by default."""

_FIRST: Final = 0x0A
"""How each of these messages begins: field 1, of a size."""

_SIZE: Final = 4
"""Bytes of a size before a message, as the collector writes it."""


class _Broken(ValueError):
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


def _sized(number: int) -> int:
    return number << 3 | _SIZED


_ANY: _Fields = {}
_PAIR: Final[_Fields] = {_sized(1): ("key", _name, False), _sized(2): ("value", _ANY, False)}
_ANY.update(
    {
        _sized(1): ("stringValue", _text, False),
        2 << 3 | _VARINT: ("boolValue", bool, False),
        3 << 3 | _VARINT: ("intValue", _signed, False),
        4 << 3 | _FIXED64: ("doubleValue", _double, False),
        _sized(5): ("arrayValue", {_sized(1): ("values", _ANY, True)}, False),
        _sized(6): ("kvlistValue", {_sized(1): ("values", _PAIR, True)}, False),
        _sized(7): ("bytesValue", _base64, False),
    }
)
_RESOURCE: Final[_Fields] = {_sized(1): ("attributes", _PAIR, True)}
_EVENT: Final[_Fields] = {_sized(2): ("name", _name, False), _sized(3): ("attributes", _PAIR, True)}
_STATUS: Final[_Fields] = {_sized(2): ("message", _text, False), 3 << 3 | _VARINT: ("code", int, False)}
_SPAN: Final[_Fields] = {
    _sized(1): ("traceId", _id, False),
    _sized(2): ("spanId", _id, False),
    _sized(4): ("parentSpanId", _id, False),
    _sized(5): ("name", _name, False),
    7 << 3 | _FIXED64: ("startTimeUnixNano", int, False),
    8 << 3 | _FIXED64: ("endTimeUnixNano", int, False),
    _sized(9): ("attributes", _PAIR, True),
    _sized(11): ("events", _EVENT, True),
    _sized(15): ("status", _STATUS, False),
}
_RECORD: Final[_Fields] = {
    1 << 3 | _FIXED64: ("timeUnixNano", int, False),
    11 << 3 | _FIXED64: ("observedTimeUnixNano", int, False),
    _sized(5): ("body", _ANY, False),
    _sized(6): ("attributes", _PAIR, True),
    _sized(9): ("traceId", _id, False),
    _sized(10): ("spanId", _id, False),
    _sized(12): ("eventName", _text, False),
}
_OF_SPANS: Final[_Fields] = {
    _sized(1): ("resource", _RESOURCE, False),
    _sized(2): ("scopeSpans", {_sized(2): ("spans", _SPAN, True)}, True),
}
_OF_RECORDS: Final[_Fields] = {
    _sized(1): ("resource", _RESOURCE, False),
    _sized(2): ("scopeLogs", {_sized(2): ("logRecords", _RECORD, True)}, True),
}


_KINDS: Final = (
    ("resourceSpans", "scopeSpans", "spans", ("traceId", "spanId", "startTimeUnixNano"), _OF_SPANS),
    ("resourceLogs", "scopeLogs", "logRecords", ("observedTimeUnixNano", "attributes"), _OF_RECORDS),
)
"""What may belong to a resource: its list, where that has the scopes, where these have what is told, and what of that
measurements never have, whose fields have the same numbers."""


def could_be_protobuf(head: bytes) -> bool:
    """Whether a file that begins so may hold what is read here: spans or records below a resource."""
    try:
        at = next(_messages(head))[0]
        size, at = _varint(head, at + 1)
        tag, inner = head[at], _varint(head, at + 1)
        if inner[0] > size or tag not in (_sized(1), _sized(2)):
            return False
        return tag == _sized(2) or inner[0] == 0 or head[inner[1]] in (_sized(1), 2 << 3 | _VARINT, _sized(3))
    except (_Broken, IndexError, StopIteration):
        return False


def read_protobuf(body: bytes) -> tuple[dict[str, Json], str] | None:
    """One request of OTLP, as it would be in JSON, of all that a file holds; None of a file of another kind.

    Beside it stands what of the file cannot be read, in words; these are empty where it is sound.
    """
    found: dict[str, Json] = {}
    flaw, at = "", 0
    try:
        for start, stop in _messages(body):
            at = start
            while at < stop:
                inner, at_end = _entry(body, at, min(stop, len(body)))
                name, value = _of_resource(body, inner, at_end)
                if value:
                    cast("list[Json]", found.setdefault(name, [])).append(value)
                at = at_end
    except (_Broken, IndexError) as error:
        flaw = f"it cannot be read from byte {at} on: {error if isinstance(error, _Broken) else 'it breaks off'}"
    return (found, flaw) if found else None


def _entry(body: bytes, at: int, stop: int) -> tuple[int, int]:
    """Where what belongs to a resource begins and ends."""
    if body[at] != _FIRST:
        raise _Broken("there is something else than spans and records")
    size, inner = _varint(body, at + 1)
    if inner + size > stop:
        raise _Broken("it breaks off")
    return inner, inner + size


def _of_resource(body: bytes, at: int, end: int) -> tuple[str, dict[str, Json]]:
    """The spans or the records of a resource, and the name of their list; empty of metrics, say.

    Raises:
        _Broken, IndexError: it is no message at all.
    """
    broken: Exception | None = None
    for name, scopes, inner, fields, made in _KINDS:
        try:
            found = _message(body, at, end, made)
        except (_Broken, IndexError) as error:  # records can look like broken spans
            broken = broken or error
            continue
        if _holds(found, scopes, inner, fields):
            return name, found
    if broken is not None:
        raise broken
    return "", {}


def _holds(found: dict[str, Json], scopes: str, name: str, fields: tuple[str, ...]) -> bool:
    """Whether a message that any bytes could make is what it was taken for."""
    inner = (each for scope in dicts(found.get(scopes)) for each in dicts(scope.get(name)))
    return any(all(field in each for field in fields) for each in inner)


def _messages(body: bytes) -> Iterator[tuple[int, int]]:
    """Where each message of a file begins and ends.

    Raises:
        _Broken: the last one is not complete.
    """
    if body[:1] == bytes([_FIRST]):
        yield 0, len(body)
        return
    at, is_collectors = 0, body[_SIZE : _SIZE + 1] == bytes([_FIRST])
    while at < len(body):
        if is_collectors:
            size, start = int.from_bytes(body[at : at + _SIZE], "big"), at + _SIZE
        else:
            size, start = _varint(body, at)
        yield start, start + size
        at = start + size


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first; and where it ends."""
    found = 0
    for place in range(_MOST_VARINT):
        byte = body[at + place]
        found |= (byte & ~_MORE) << 7 * place
        if byte < _MORE:
            return found & (1 << 64) - 1, at + place + 1
    raise _Broken("there is a number without an end")


def _message(body: bytes, at: int, end: int, fields: _Fields, depth: int = 0) -> dict[str, Json]:
    """A message as JSON; what is not one of its fields is passed over.

    Raises:
        _Broken, IndexError: it is none.
    """
    if depth > _MOST_DEPTH:
        raise _Broken("messages are nested too deeply")
    found: dict[str, Any] = {}
    while at < end:
        tag, at = (body[at], at + 1) if body[at] < _MORE else _varint(body, at)
        kind, value = tag & 7, 0
        if kind == _SIZED:
            size, at = (body[at], at + 1) if body[at] < _MORE else _varint(body, at)
            stop = at + size
        elif kind == _VARINT:
            value, stop = _varint(body, at)
        elif kind in (_FIXED64, _FIXED32):
            stop = at + (8 if kind == _FIXED64 else 4)
            value = int.from_bytes(body[at:stop], "little")
        else:
            raise _Broken(f"there is a field of the unknown kind {kind}")
        if stop > end:
            raise _Broken("a field is longer than what it stands in")
        known = fields.get(tag)
        if known is not None:
            name, made, is_many = known
            if isinstance(made, dict):
                read = _message(body, at, stop, made, depth + 1)
            else:
                read = made(body[at:stop] if kind == _SIZED else value)
            if is_many:
                found.setdefault(name, []).append(read)
            else:
                found[name] = read
        at = stop
    return found
