"""Spans as OTLP/JSON has them: requests, spans and log records, in the spellings of JSON and of protocol buffers."""

from __future__ import annotations

import base64
import binascii
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.interop.transcripts.any_value import plain
from agent_tt.interop.transcripts.pieces import Lines
from agent_tt.interop.transcripts.spans import Span
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import dicts, items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.interop.transcripts.pieces import Line
    from agent_tt.providers.shapes import Json

__all__ = [
    "Request", "Requests", "as_request", "attributes_of", "error_of", "failure_of", "flat", "id_of", "micros_of", "one",
    "outline_of", "record_of", "span_of",
]  # fmt: skip

_PLAIN_ID: Final = re.compile(r"[0-9a-f]{16}|[0-9a-f]{32}")
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{16}|[0-9a-fA-F]{32}")

_ERROR: Final = "2", "STATUS_CODE_ERROR"


@dataclass(frozen=True, slots=True)
class Request:
    """What a request holds, in order.

    Attributes:
        is_one: whether it is a request at all.
        spans: each with what says of which program it is.
        records: of logs.
    """

    is_one: bool
    spans: list[tuple[dict[str, Json], dict[str, Json]]]
    records: list[dict[str, Json]]


class Requests:
    """The requests of a file; the one that was asked for last is kept.

    Args:
        pieces: where each lies in the file.
        whole: the only one, where the file is one.
    """

    def __init__(self, pieces: Sequence[Line], whole: Request | None = None) -> None:
        self.pieces = pieces
        self._whole = whole
        self._last: tuple[int, Request] | None = None

    def __len__(self) -> int:
        return len(self.pieces) if self._whole is None else 1

    def at(self, number: int) -> Request:
        """One of them."""
        if self._whole is not None:
            return self._whole
        if self._last is None or self._last[0] != number:
            self._last = None  # so that not two of them are held
            self._last = number, flat(self.pieces[number].value)
        return self._last[1]

    def outline(self, number: int) -> Request:
        """Give one request; of a file of lines only what tells where the spans of each trace are."""
        if self._whole is None and isinstance(self.pieces, Lines):
            return flat(self.pieces.outline(number))
        return self.at(number)


def flat(request: Mapping[str, Json]) -> Request:
    """What a request holds, in order."""
    of_spans, of_logs = _part(request, "resourceSpans"), _part(request, "resourceLogs")
    spans = [
        (span, each) for each in of_spans for scope in _part(each, "scopeSpans") for span in dicts(scope.get("spans"))
    ]
    logs = [record for each in of_logs for scope in _part(each, "scopeLogs") for record in _part(scope, "logRecords")]
    return Request(bool(of_spans or of_logs), spans, logs)


def as_request(value: Json) -> dict[str, Json]:
    """What a file holds as a request of OTLP; the spans of a dump stand in one."""
    dumped = dicts(value)
    if not dumped or not all("spanContext" in each for each in dumped):
        return mapping(value)
    return {"resourceSpans": [{"scopeSpans": [{"spans": [_as_span(each) for each in dumped]}]}]}


def _as_span(dumped: dict[str, Json]) -> dict[str, Json]:
    """A span of a dump, whose times are pairs of seconds and nanoseconds, as OTLP has it."""
    context, above = mapping(dumped.get("spanContext")), mapping(dumped.get("parentSpanContext"))
    times: dict[str, Json] = {}
    for name in ("startTime", "endTime"):
        pair = [part for part in items(dumped.get(name)) if isinstance(part, int)]
        times[f"{name}UnixNano"] = str(pair[0] * 10**9 + pair[1]) if len(pair) == len(("s", "ns")) else None
    attributes: list[Json] = [
        {"key": key, "value": {"plain": value}} for key, value in mapping(dumped.get("attributes")).items()
    ]
    return {
        **times,
        "traceId": context.get("traceId"),
        "spanId": context.get("spanId"),
        "parentSpanId": dumped.get("parentSpanId", above.get("spanId")),
        "name": dumped.get("name"),
        "status": dumped.get("status"),
        "attributes": attributes,
    }


@cache
def _underscored(name: str) -> str:
    """A name as protocol buffers spell it."""
    return re.sub(r"([A-Z])", lambda each: "_" + each[1].lower(), name)


def _part(holder: Mapping[str, Json], name: str) -> list[dict[str, Json]]:
    """A list by its name, in the spelling of JSON or of protocol buffers."""
    return dicts(holder.get(name)) or dicts(holder.get(_underscored(name)))


def one(holder: Mapping[str, Json], name: str) -> Json:
    """A value by its name, in the spelling of JSON or of protocol buffers."""
    return holder[name] if name in holder else holder.get(_underscored(name))


def record_of(record: dict[str, Json]) -> Span:
    """What a log record says of a span."""
    at_us, says = micros_of(one(record, "timeUnixNano")), attributes_of(record)
    ids = id_of(one(record, "spanId")), id_of(one(record, "traceId"))
    return Span(*ids, "", text(one(record, "eventName")), at_us, at_us, says)


def span_of(span: dict[str, Json]) -> Span:
    """A span as it stands in JSON."""
    says, events = attributes_of(span), _events(span)
    trace = id_of(one(span, "traceId"))
    own, parent, start_us, end_us = outline_of(span)
    return Span(own, trace, parent, text(span.get("name")), start_us, end_us, says, failure_of(span, says), events)


def outline_of(span: dict[str, Json]) -> tuple[str, str, int | None, int | None]:
    """The id of a span and of the one around it, when it began, and when it ended."""
    begun, ended = one(span, "startTimeUnixNano"), one(span, "endTimeUnixNano")
    return id_of(one(span, "spanId")), id_of(one(span, "parentSpanId")), micros_of(begun), micros_of(ended)


def failure_of(span: dict[str, Json], says: Mapping[str, Json]) -> ErrorInfo | None:
    """Why a span failed; None of one that did not."""
    status = mapping(span.get("status"))
    if not status or str(status.get("code")) not in _ERROR:
        return None
    return error_of(says, _events(span), text(status.get("message")))


def _events(span: dict[str, Json]) -> list[tuple[str, dict[str, Json]]]:
    return [(text(event.get("name")), attributes_of(event)) for event in dicts(span.get("events"))]


def error_of(says: Mapping[str, Json], events: Sequence[tuple[str, dict[str, Json]]], message: str) -> ErrorInfo:
    """What a span that failed says of it: its exception, else its status."""
    raised = next((said for name, said in events if name == "exception"), {})
    kind = text(raised.get("exception.type")) or text(says.get("error.type")) or "Error"
    return ErrorInfo(kind, text(raised.get("exception.message")) or message)


def attributes_of(holder: Mapping[str, Json]) -> dict[str, Json]:
    """What a span, an event, a record or a resource says, by name."""
    given = holder.get("attributes")
    if isinstance(given, dict):  # as they are read of protocol buffers
        return {**given}
    found: dict[str, Json] = {}
    for each in items(given):
        if isinstance(each, dict):
            key, value = each.get("key"), each.get("value")
            said = value.get("stringValue") if isinstance(value, dict) and len(value) == 1 else None
            found[key if isinstance(key, str) else ""] = plain(value) if said is None else said  # nearly all are texts
    return found


def id_of(given: Json) -> str:
    """An id in hexadecimal digits; protocol buffers write base64 in their own JSON."""
    if isinstance(given, str):
        return given if _PLAIN_ID.fullmatch(given) else _id_of(given)
    return ""


@lru_cache(4096)
def _id_of(written: str) -> str:
    if _HEXADECIMAL.fullmatch(written):
        return written.lower()
    try:
        found = base64.b64decode(written, validate=True)
    except (ValueError, binascii.Error):
        return written
    return found.hex() if len(found) in (8, 16) else written


def micros_of(nanos: Json) -> int | None:
    """Microseconds since 1970 of a time in nanoseconds; None where it is none."""
    try:
        found = int(cast("str", nanos)) // 1000
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 < found < 1 << 62 else None
