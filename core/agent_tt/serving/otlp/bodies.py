"""What exporters send, as the spans and records of each trace, without secrets."""

from __future__ import annotations

import re
import zlib
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.interop.transcripts.otlp_spans import attributes_of, flat, id_of, one
from agent_tt.interop.transcripts.protobuf_messages import INNER, RECORD, RESOURCE, SPAN, Broken, message, sized
from agent_tt.providers.loose import dicts, mapping, text
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.providers.shapes import Json

__all__ = ["JSON", "PROTOBUF", "Sent", "Signal", "Unreadable", "read_body", "unpacked"]

Signal: TypeAlias = Literal["traces", "logs"]

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"

_MOST_BYTES: Final = 32 << 20
"""Of what was sent, when it is unpacked."""

_TRACE: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")

_SPANS: Final = ("scopeSpans", {INNER: ("spans", SPAN, True)}, True)
_RECORDS: Final = ("scopeLogs", {INNER: ("logRecords", RECORD, True)}, True)
_FIELDS: Final = {
    "traces": {sized(1): ("resourceSpans", {sized(1): ("resource", RESOURCE, False), INNER: _SPANS}, True)},
    "logs": {sized(1): ("resourceLogs", {INNER: _RECORDS}, True)},
}
"""The fields of the two requests, as of `agent_tt.interop.transcripts.protobuf_messages`."""


class Unreadable(UsageError):
    """What was sent is not what it says it is.

    Attributes:
        status: the status of HTTP that says so.
    """

    kind = "malformed"

    def __init__(self, message: str, *, status: int = 400, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(slots=True)
class Sent:
    """What a request holds.

    Attributes:
        lines: of each trace requests with its spans alone, as they are kept.
        spans: how many spans or records are in them.
        rejected: how many are not taken.
        why: the reason, of the first of those.
    """

    lines: dict[str, list[dict[str, Json]]] = field(default_factory=dict)
    spans: int = 0
    rejected: int = 0
    why: str = ""

    def reject(self, why: str, count: int = 1) -> None:
        """Count what is not taken."""
        self.rejected += count
        self.why = self.why or why


def unpacked(body: bytes, encoding: str) -> bytes:
    """A body as it was before it was compressed.

    Raises:
        Unreadable: it cannot be unpacked, or would be too large.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise Unreadable(f"the encoding {encoding[:40]!r} is not read", status=415, hint="Send gzip, or none.")
    engine = zlib.decompressobj(zlib.MAX_WBITS | (16 if encoding == "gzip" else 0))
    try:
        found = engine.decompress(body, _MOST_BYTES)
    except zlib.error as error:
        raise Unreadable(f"the body is no {encoding}: {error}") from error
    if engine.unconsumed_tail:
        raise Unreadable(f"it has more than {_MOST_BYTES >> 20} MB when it is unpacked", status=413)
    if not engine.eof:
        raise Unreadable(f"the body breaks off: its {encoding} has no end")
    return found


def read_body(body: bytes, content: str, signal: Signal) -> Sent:
    """The spans or records of a request, those of each trace together.

    Args:
        body: the body, unpacked.
        content: its media type, `JSON` or `PROTOBUF`.
        signal: what it holds.

    Raises:
        Unreadable: it is not of this type.
    """
    request = _of_json(body) if content == JSON else _of_protobuf(body, signal)
    sent = Sent()
    if signal == "traces":
        for trace, resource, span in _spans(request, sent):
            sent.lines.setdefault(trace, []).append(
                {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
            )
            sent.spans += 1
        return sent
    for record in flat(request).records:
        kept = _record(record)
        trace = text(kept["traceId"])
        if not _TRACE.fullmatch(trace) or not text(mapping(kept["attributes"]).get("gen_ai.operation.name")):
            sent.reject("only records that say what a model was asked in a span are kept")
            continue
        sent.lines.setdefault(trace, []).append({"resourceLogs": [{"scopeLogs": [{"logRecords": [kept]}]}]})
        sent.spans += 1
    return sent


def _of_json(body: bytes) -> dict[str, Json]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Unreadable("the body is not an object of JSON")
    return found


def _of_protobuf(body: bytes, signal: Signal) -> dict[str, Json]:
    try:
        return message(body, 0, len(body), _FIELDS[signal])
    except (Broken, IndexError) as error:
        why = str(error) if isinstance(error, Broken) else "it breaks off"
        raise Unreadable(f"the body is no message of protocol buffers: {why}") from error


def _spans(request: dict[str, Json], sent: Sent) -> Iterator[tuple[str, Json, dict[str, Json]]]:
    resources: dict[int, Json] = {}
    for span, holder in flat(request).spans:
        trace, own = id_of(one(span, "traceId")), id_of(one(span, "spanId"))
        if not _TRACE.fullmatch(trace) or not _SPAN.fullmatch(own):
            sent.reject("a span has no id, or no trace")
            continue
        if id(holder) not in resources:
            resources[id(holder)] = {"attributes": _clean(attributes_of(mapping(holder.get("resource"))))}
        kept: dict[str, Json] = {
            "traceId": trace,
            "spanId": own,
            "parentSpanId": id_of(one(span, "parentSpanId")),
            "name": redact_text(text(span.get("name"))),
            "startTimeUnixNano": one(span, "startTimeUnixNano"),
            "endTimeUnixNano": one(span, "endTimeUnixNano"),
            "attributes": _clean(attributes_of(span)),
        }
        events: list[Json] = [
            {"name": redact_text(text(event.get("name"))), "attributes": _clean(attributes_of(event))}
            for event in dicts(span.get("events"))
        ]
        status = mapping(span.get("status"))
        if events:
            kept["events"] = events
        if status:
            kept["status"] = {"code": status.get("code"), "message": redact_text(text(status.get("message")))}
        yield trace, resources[id(holder)], {key: value for key, value in kept.items() if value not in (None, "")}


def _record(record: dict[str, Json]) -> dict[str, Json]:
    return {
        "timeUnixNano": one(record, "timeUnixNano"),
        "traceId": id_of(one(record, "traceId")),
        "spanId": id_of(one(record, "spanId")),
        "eventName": redact_text(text(one(record, "eventName"))),
        "attributes": _clean(attributes_of(record)),
    }


def _clean(says: dict[str, Json]) -> dict[str, Json]:
    """What a span says, without secrets; in a text of JSON they are looked for by their names, too."""
    return {key: _cleaned(key, value) for key, value in says.items()}


def _cleaned(name: str, value: Wire) -> Wire:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            held = orjson.loads(value)
        except orjson.JSONDecodeError:
            return redact(value, name)
        kept = redact(held, name)
        return value if kept is held else orjson.dumps(kept).decode()
    return redact(value, name)
