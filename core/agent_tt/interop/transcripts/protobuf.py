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

from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt.interop.transcripts.pieces import Lines
from agent_tt.interop.transcripts.protobuf_messages import (
    FIRST,
    INNER,
    MORE,
    MOST_VARINT,
    OUTLINE,
    RECORD,
    RESOURCE,
    SPAN,
    VARINT,
    Broken,
    extent,
    message,
    sized,
    varint,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.interop.transcripts.pieces import PieceFile
    from agent_tt.providers.shapes import Json

__all__ = ["SpanPieces", "could_be_protobuf", "cut_protobuf"]

_SIZE: Final = 4
"""Bytes of a size before a message, as the collector writes it."""

_KINDS: Final = (
    ("resourceSpans", "scopeSpans", "spans", SPAN, ("traceId", "spanId", "startTimeUnixNano")),
    ("resourceLogs", "scopeLogs", "logRecords", RECORD, ("observedTimeUnixNano", "attributes")),
)
"""What may belong to a resource: its list, where that has the scopes, where these have what is told, its fields, and
those of them that no measurement has, whose fields have the same numbers."""

_BATCH: Final = 128 << 10
"""Bytes of spans from which on they are a piece."""

_MOST_BYTES: Final = 24 << 20
"""Of one span or record, and of a resource."""

_WINDOW: Final = 1 << 20


def could_be_protobuf(head: bytes) -> bool:
    """Whether a file that begins so may hold what is read here: spans or records below a resource."""
    try:
        at = 0 if head[0] == FIRST else _framed(head, 0, is_collectors=_is_collectors(head))[0]
        size, first = varint(head, at + 1)
        inner, behind = varint(head, first + 1)
        if head[at] != FIRST or inner > size:
            return False
        is_resource = head[first] == sized(1)
        ends_well = inner == 0 or not is_resource or head[behind] in (sized(1), 2 << 3 | VARINT, sized(3))
        return ends_well and (is_resource or head[first] == INNER)
    except (Broken, IndexError):
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
    except (Broken, IndexError) as error:
        why = error if isinstance(error, Broken) else "it breaks off"
        return cutter.pieces, f"it cannot be read from byte {cutter.at} on: {why}"
    unknown = f"neither spans nor records can be read in {cutter.unknown} of its scopes"
    damaged = f"{cutter.damaged} of its spans or records are damaged and left out"
    return cutter.pieces, unknown if cutter.unknown else damaged if cutter.damaged and len(cutter.pieces) else ""


def _is_collectors(head: bytes) -> bool:
    """Whether a length of 4 bytes stands before a message, not a varint, which looks like one of 32 MB and more."""
    is_varint = head[0] >= MORE or (head[0] > 0 and head[1] == FIRST)
    return head[_SIZE] == FIRST and not is_varint


def _framed(head: bytes, at: int, *, is_collectors: bool) -> tuple[int, int]:
    """Where a message begins and ends that stands behind its length, which some bytes begin with."""
    if is_collectors:
        return at + _SIZE, at + _SIZE + int.from_bytes(head[:_SIZE], "big")
    size, length = varint(head, 0)
    return at + length, at + length + size


class SpanPieces(Lines):
    """Around each piece stand the bytes of its resource, and the number of its kind."""

    is_json: ClassVar[bool] = False

    @property
    def flaws(self) -> list[tuple[int, str]]:
        """What is wrong with those in `broken`."""
        return [(0, f"what stands from byte {self._starts[number - 1]} on is damaged") for number in self.broken]

    def said_around(self) -> list[Json]:
        """What is said by that which is put around pieces.

        Raises:
            ValueError: it says nothing that can be read.
        """
        try:
            return [message(about, 0, len(about), RESOURCE) for about, _ in self._put_around]
        except IndexError as error:
            raise Broken("it breaks off") from error

    def outline(self, at: int) -> dict[str, Json]:
        """The piece, with the ids and times of its spans alone."""
        return self._parsed(at, is_outline=True)[1]

    def _parsed(self, at: int, *, is_outline: bool = False) -> tuple[int, dict[str, Json]]:
        start, stop = self._starts[at], self._stops[at]
        resource, number = self._put_around[self._around[at]]
        name, scopes, inner, fields, _ = _KINDS[number[0]]
        if is_outline and fields is SPAN:
            fields = OUTLINE
        body = self._file.read(start, stop - start)
        try:
            scope = message(body, 0, len(body), {INNER: (inner, fields, True)})
            about: Json = message(resource, 0, len(resource), RESOURCE)
        except (Broken, IndexError):
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
            Broken: it breaks off, or something else stands there.
        """
        head = self._look(0)
        is_whole, is_collectors = head[:1] == bytes([FIRST]), _is_collectors(head)
        while self.at < self._file.size:
            stop = self._file.size
            if not is_whole:
                self.at, stop = _framed(self._look(self.at), self.at, is_collectors=is_collectors)
            for tag, _, start, end in self._fields(self.at, stop):
                if tag != FIRST:
                    raise Broken("there is something else than spans and records")
                self._resource(start, end)
                self.at = end

    def _resource(self, at: int, stop: int) -> None:
        about = b""
        for tag, _, start, end in self._fields(at, stop):
            if tag == sized(1) and end - start <= _MOST_BYTES:
                about = self._file.read(start, end - start)
                about = self._abouts.setdefault(about, about)
            elif tag == INNER:
                self._scope(start, end, about)

    def _scope(self, at: int, stop: int, about: bytes) -> None:
        kind: int | None = None
        begun, is_empty, unread = at, True, 0
        for tag, head, start, end in self._fields(at, stop):
            is_empty = is_empty and tag != INNER
            if tag == INNER and kind is None:
                kind = self._kind(start, end)
                unread += kind is None
            if tag != INNER or end - begun > _BATCH or kind is None:
                self._add(begun, head, about, kind)
                begun = head if tag == INNER and kind is not None else end
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
                found = message(body, 0, len(body), fields)
            except (Broken, IndexError):  # records can look like broken spans
                continue
            if all(field in found for field in needs):
                return number
        return None

    def _fields(self, at: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
        """The fields of a message: tag, where the field begins, and where its value begins and ends."""
        while at < stop:
            head = self._look(at)
            try:
                tag, value = varint(head, 0)
                size, start = extent(head, tag, value)
            except IndexError:
                raise Broken("it breaks off") from None
            end = at + start + size
            if end > stop or end > self._file.size:
                raise Broken("it breaks off" if end > self._file.size else "a field is longer than what it stands in")
            yield tag, at, at + start, end
            at = end

    def _look(self, at: int) -> bytes:
        """The next bytes: those of a tag and a size, unless the file ends before."""
        if not self._base <= at <= self._base + len(self._window) - 2 * MOST_VARINT:
            self._base, self._window = at, self._file.read(at, _WINDOW)
        return self._window[at - self._base : at - self._base + 2 * MOST_VARINT]
