"""Traces and logs of OpenTelemetry as protocol buffers, in the shape that they have as JSON, but for attributes.

| file | is |
|---|---|
| one message | `TracesData`, `LogsData`, or a request of the exporters, which are the same on the wire |
| messages, each behind its length in 4 bytes, the highest first | what the collector's file exporter writes |
| messages, each behind its length as a varint | what the clients of protocol buffers write as delimited |

Only where spans and records lie is kept, and they are parsed when they are asked for; of them only the fields that are
read of JSON. A client of protocol buffers is not needed for that, and would have to parse a file as a whole.

Sources of the format: github.com/open-telemetry/opentelemetry-proto, version 1.10; protobuf.dev, "Encoding"; the
collector's `fileexporter`.
"""

from __future__ import annotations

import base64
import struct
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from agent_tt.interop.transcripts.any_value import plain
from agent_tt.interop.transcripts.pieces import Lines
from agent_tt.providers.loose import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.interop.transcripts.pieces import PieceFile
    from agent_tt.providers.shapes import Json

__all__ = ["SpanPieces", "could_be_protobuf", "cut_protobuf"]

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
_SAID: Final[_Fields] = {**_PAIR}
"""Attributes, which are read as what they say by name: in the shape of JSON they would be most of a span."""

_RESOURCE: Final[_Fields] = {_sized(1): ("attributes", _SAID, True)}
_EVENT: Final[_Fields] = {_sized(2): ("name", _name, False), _sized(3): ("attributes", _SAID, True)}
_STATUS: Final[_Fields] = {_sized(2): ("message", _text, False), 3 << 3 | _VARINT: ("code", int, False)}
_SPAN: Final[_Fields] = {
    _sized(1): ("traceId", _id, False),
    _sized(2): ("spanId", _id, False),
    _sized(4): ("parentSpanId", _id, False),
    _sized(5): ("name", _name, False),
    7 << 3 | _FIXED64: ("startTimeUnixNano", int, False),
    8 << 3 | _FIXED64: ("endTimeUnixNano", int, False),
    _sized(9): ("attributes", _SAID, True),
    _sized(11): ("events", _EVENT, True),
    _sized(15): ("status", _STATUS, False),
}
_OUTLINE: Final[_Fields] = {tag: _SPAN[tag] for tag in (_sized(1), 7 << 3 | _FIXED64)}
"""Of a span what tells where the spans of a trace are. What else it says is most of its bytes."""

_RECORD: Final[_Fields] = {
    1 << 3 | _FIXED64: ("timeUnixNano", int, False),
    11 << 3 | _FIXED64: ("observedTimeUnixNano", int, False),
    _sized(5): ("body", _ANY, False),
    _sized(6): ("attributes", _SAID, True),
    _sized(9): ("traceId", _id, False),
    _sized(10): ("spanId", _id, False),
    _sized(12): ("eventName", _text, False),
}
_KINDS: Final = (
    ("resourceSpans", "scopeSpans", "spans", _SPAN, ("traceId", "spanId", "startTimeUnixNano")),
    ("resourceLogs", "scopeLogs", "logRecords", _RECORD, ("observedTimeUnixNano", "attributes")),
)
"""What may belong to a resource: its list, where that has the scopes, where these have what is told, its fields, and
those of them that no measurement has, whose fields have the same numbers."""

_INNER: Final = _sized(2)
"""The tag of the scopes of a resource, and of what is told in a scope."""

_EMPTY_TEXT: Final = b"\x0a\x00"
_LEAST_PAIR: Final = 6
"""Bytes of an attribute with a text: tags and sizes of its key, its value and the text in that."""

_BATCH: Final = 128 << 10
"""Bytes of spans from which on they are a piece."""

_MOST_BYTES: Final = 24 << 20
"""Of one span or record, and of a resource."""

_WINDOW: Final = 1 << 20


def could_be_protobuf(head: bytes) -> bool:
    """Whether a file that begins so may hold what is read here: spans or records below a resource."""
    try:
        at = 0 if head[0] == _FIRST else _framed(head, 0, is_collectors=_is_collectors(head))[0]
        size, first = _varint(head, at + 1)
        inner, behind = _varint(head, first + 1)
        if head[at] != _FIRST or inner > size:
            return False
        is_resource = head[first] == _sized(1)
        ends_well = inner == 0 or not is_resource or head[behind] in (_sized(1), 2 << 3 | _VARINT, _sized(3))
        return ends_well and (is_resource or head[first] == _INNER)
    except (_Broken, IndexError):
        return False


def cut_protobuf(file: PieceFile) -> tuple[Lines, str]:
    """Cut a file of OTLP in protocol buffers.

    Returns:
        The pieces, each as a request with some spans or records of one scope; none of a file of another kind. And why
        there are no more of them; nothing where all that is there is in them.
    """
    cutter = _Cutter(file)
    try:
        cutter.cut()
    except (_Broken, IndexError) as error:
        why = error if isinstance(error, _Broken) else "it breaks off"
        return cutter.pieces, f"it cannot be read from byte {cutter.at} on: {why}"
    unknown = f"neither spans nor records can be read in {cutter.unknown} of its scopes"
    damaged = f"{cutter.damaged} of its spans or records are damaged and left out"
    return cutter.pieces, unknown if cutter.unknown else damaged if cutter.damaged and len(cutter.pieces) else ""


def _is_collectors(head: bytes) -> bool:
    """Whether a length of 4 bytes stands before a message, not a varint, which looks like one of 32 MB and more."""
    is_varint = head[0] >= _MORE or (head[0] > 0 and head[1] == _FIRST)
    return head[_SIZE] == _FIRST and not is_varint


def _framed(head: bytes, at: int, *, is_collectors: bool) -> tuple[int, int]:
    """Where a message begins and ends that stands behind its length, which some bytes begin with."""
    if is_collectors:
        return at + _SIZE, at + _SIZE + int.from_bytes(head[:_SIZE], "big")
    size, length = _varint(head, 0)
    return at + length, at + length + size


class SpanPieces(Lines):
    """Around each piece stand the bytes of its resource, and the number of its kind."""

    is_json: ClassVar[bool] = False

    @property
    def flaws(self) -> list[tuple[int, str]]:
        """What is wrong with those in `broken`."""
        return [(0, f"what stands from byte {self._starts[number - 1]} on is damaged") for number in self.broken]

    def outline(self, at: int) -> dict[str, Json]:
        """The piece, with the ids and times of its spans alone."""
        return self._parsed(at, is_outline=True)[1]

    def _parsed(self, at: int, *, is_outline: bool = False) -> tuple[int, dict[str, Json]]:
        start, stop = self._starts[at], self._stops[at]
        resource, number = self._put_around[self._around[at]]
        name, scopes, inner, fields, _ = _KINDS[number[0]]
        if is_outline and fields is _SPAN:
            fields = _OUTLINE
        body = self._file.read(start, stop - start)
        try:
            scope = _message(body, 0, len(body), {_INNER: (inner, fields, True)})
            about: Json = _message(resource, 0, len(resource), _RESOURCE)
        except (_Broken, IndexError):
            self.broken.add(self._numbers[at])
            return stop - start, {}
        return stop - start, {name: [{"resource": about, scopes: [scope]}]}


class _Cutter:
    """Reads on through a file.

    Attributes:
        at: where what is not cut yet begins.
        unknown: how many scopes hold something else, or nothing that can be read.
        damaged: how many spans or records before the first of a scope that can be read cannot be.
    """

    def __init__(self, file: PieceFile) -> None:
        self.pieces = SpanPieces(file)
        self.at, self.unknown, self.damaged = 0, 0, 0
        self._file = file
        self._abouts: dict[bytes, bytes] = {}
        self._base, self._window = 0, b""

    def cut(self) -> None:
        """Cut the file.

        Raises:
            _Broken: it breaks off, or something else stands there.
        """
        head = self._look(0)
        is_whole, is_collectors = head[:1] == bytes([_FIRST]), _is_collectors(head)
        while self.at < self._file.size:
            stop = self._file.size
            if not is_whole:
                self.at, stop = _framed(self._look(self.at), self.at, is_collectors=is_collectors)
            for tag, _, start, end in self._fields(self.at, stop):
                if tag != _FIRST:
                    raise _Broken("there is something else than spans and records")
                self._resource(start, end)
                self.at = end

    def _resource(self, at: int, stop: int) -> None:
        about = b""
        for tag, _, start, end in self._fields(at, stop):
            if tag == _sized(1) and end - start <= _MOST_BYTES:
                about = self._file.read(start, end - start)
                about = self._abouts.setdefault(about, about)
            elif tag == _INNER:
                self._scope(start, end, about)

    def _scope(self, at: int, stop: int, about: bytes) -> None:
        kind: int | None = None
        begun, is_empty, unread = at, True, 0
        for tag, head, start, end in self._fields(at, stop):
            is_empty = is_empty and tag != _INNER
            if tag == _INNER and kind is None:
                kind = self._kind(start, end)
                unread += kind is None
            if tag != _INNER or end - begun > _BATCH or kind is None:
                self._add(begun, head, about, kind)
                begun = head if tag == _INNER and kind is not None else end
        self._add(begun, stop, about, kind)
        self.unknown += kind is None and not is_empty
        self.damaged += unread if kind is not None else 0

    def _add(self, start: int, stop: int, about: bytes, kind: int | None) -> None:
        if stop > start and kind is not None:
            self.pieces.add(len(self.pieces) + 1, start, stop, (about, bytes([kind])))

    def _kind(self, start: int, end: int) -> int | None:
        """What something in a scope is, by what it holds."""
        if end - start > _MOST_BYTES:
            return None
        body = self._file.read(start, end - start)
        for number, (_, _, _, fields, needs) in enumerate(_KINDS):
            try:
                found = _message(body, 0, len(body), fields)
            except (_Broken, IndexError):  # records can look like broken spans
                continue
            if all(field in found for field in needs):
                return number
        return None

    def _fields(self, at: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
        """The fields of a message: tag, where the field begins, and where its value begins and ends."""
        while at < stop:
            head = self._look(at)
            try:
                tag, value = _varint(head, 0)
                size, start = _extent(head, tag, value)
            except IndexError:
                raise _Broken("it breaks off") from None
            end = at + start + size
            if end > stop or end > self._file.size:
                raise _Broken("it breaks off" if end > self._file.size else "a field is longer than what it stands in")
            yield tag, at, at + start, end
            at = end

    def _look(self, at: int) -> bytes:
        """The next bytes: those of a tag and a size, unless the file ends before."""
        if not self._base <= at <= self._base + len(self._window) - 2 * _MOST_VARINT:
            self._base, self._window = at, self._file.read(at, _WINDOW)
        return self._window[at - self._base : at - self._base + 2 * _MOST_VARINT]


def _extent(body: bytes, tag: int, at: int) -> tuple[int, int]:
    """How many bytes the value of a field has, and where it begins, by its tag and what stands behind that.

    Raises:
        _Broken, IndexError: it is no field.
    """
    kind = tag & 7
    if kind == _SIZED:
        return _varint(body, at)
    if kind == _VARINT:
        return _varint(body, at)[1] - at, at
    if kind in (_FIXED64, _FIXED32):
        return 8 if kind == _FIXED64 else 4, at
    raise _Broken(f"there is a field of the unknown kind {kind}")


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
    """Convert a message to JSON; unknown fields are skipped.

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
            size, at = (body[at], at + 1) if body[at] < _MORE else _size(body, at)
            stop = at + size
        elif kind == _VARINT:
            value, stop = (body[at], at + 1) if body[at] < _MORE else _varint(body, at)
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
            if made is _SAID:
                at = _pairs(body, at, stop, end, tag, found.setdefault(name, {}), depth + 1)
                continue
            if made.__class__ is dict:
                read = _message(body, at, stop, made, depth + 1)
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
        if stop - at >= _LEAST_PAIR and body[at] == _FIRST and (long := body[at + 1]) < _MORE:
            behind = at + 2 + long
            if behind + 4 <= stop and body[behind] == _INNER:
                size, start = body[behind + 1], behind + 2
                if size >= _MORE:
                    size, start = _size(body, behind + 1)
                if start + size == stop and size >= len(_EMPTY_TEXT) and body[start] == _FIRST:
                    size, start = body[start + 1], start + 2
                    if size >= _MORE:
                        size, start = _size(body, start - 1)
                    if start + size == stop:
                        into[_key(body[at + 2 : behind])] = body[start:stop].decode("utf-8", "replace")
                        is_text = True
        if not is_text:
            pair = _message(body, at, stop, _PAIR, depth)
            into[text(pair.get("key"))] = plain(pair.get("value"))
        if stop >= end or body[stop] != tag:
            return stop
        size, at = body[stop + 1], stop + 2
        if size >= _MORE:
            size, at = _size(body, at - 1)
        stop = at + size
        if stop > end:
            raise _Broken("a field is longer than what it stands in")


def _size(body: bytes, at: int) -> tuple[int, int]:
    """A number of more than seven bits, mostly of fourteen; and where it ends."""
    more = body[at + 1]
    return (body[at] & ~_MORE | more << 7, at + 2) if more < _MORE else _varint(body, at)


@lru_cache(1024)
def _key(given: bytes) -> str:
    return given.decode("utf-8", "replace")
