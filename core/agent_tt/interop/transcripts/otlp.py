"""Traces in OTLP/JSON: a file holds one request, or one request per line, as the collector's file exporter writes.

A trace is a run, in whatever order its spans come (`spans`). What a span says is read in the names of these
conventions, in this order:

| convention | says by |
|---|---|
| OpenTelemetry GenAI | `gen_ai.operation.name`; messages in `gen_ai.input.messages`, in a log record, or in events |
| OpenInference | `openinference.span.kind`; `llm.input_messages.N.message.…` |
| OpenLLMetry | `traceloop.span.kind`, `llm.request.type`; `gen_ai.prompt.N.…`, `gen_ai.completion.N.…` |
| Vercel's AI SDK | `ai.operationId`; `ai.prompt.messages`, `ai.response.text`, `ai.response.toolCalls` |

The list of spans that OpenTelemetry's SDK for JavaScript dumps, with `spanContext` in each, is read as well.

Messages are shown in the form of OpenAI's chats.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt.errors import StoreUnreadable
from agent_tt.interop.transcripts.otlp_spans import (
    Requests,
    as_request,
    attributes_of,
    flat,
    id_of,
    micros_of,
    one,
    record_of,
    span_of,
)
from agent_tt.interop.transcripts.otlp_work import head_of, work_of
from agent_tt.interop.transcripts.pieces import Lines
from agent_tt.interop.transcripts.spans import tell_trace
from agent_tt.interop.transcripts.spans_later import NotInParts, tell_later
from agent_tt.interop.transcripts.transcript import Promise
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.interop.transcripts.spans_later import Head
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_otlp"]

_NAMELESS: Final = "trace"
_MOST_SPANS: Final = 25_000
"""Spans of a trace that are told as a whole: more of them, with what they say, would pass 300 MB of memory."""

_MOST_SPANS_LATER: Final = 120_000
"""Spans of a trace of which the steps are told, and what they say later."""


def read_otlp(document: Document) -> Sequence[Promise] | None:
    """See `agent_tt.interop.transcripts.formats.Format`."""
    whole = None if document.value is None else flat(as_request(document.value))
    pieces = document.parts or document.lines
    requests = Requests(lambda at: flat(pieces[at].value) if whole is None else whole)
    traces: dict[str, _Trace] = {}
    trace, known_as, is_known = None, None, False
    for number in range(1 if whole is not None else len(pieces)):
        large = document.parts if whole is None and isinstance(document.parts, Lines) else None
        request = requests.at(number) if large is None else flat(large.outline(number))
        is_known = is_known or request.is_one
        for at, (span, _) in enumerate(request.spans):
            named = one(span, "traceId")
            if trace is None or named != known_as:  # mostly one follows another of its own
                known_as, trace = named, traces.setdefault(id_of(named), _Trace(id_of(named)))
            trace.take(number, at, one(span, "startTimeUnixNano"))
        for at, record in enumerate(request.records):
            if id_of(one(record, "spanId")) and text(attributes_of(record).get("gen_ai.operation.name")):
                named = id_of(one(record, "traceId"))
                traces.setdefault(named, _Trace(named)).take(number, -1 - at, one(record, "timeUnixNano"))
    if not is_known:
        return None
    return [
        Promise(each.id or _NAMELESS, each.began_us, len(each.places), partial(_told, each, requests))
        for each in traces.values()
    ]


class _Trace:
    """Where the spans of a trace are.

    Attributes:
        began_us: when the first of them began.
        places: of each the request, and its number there; of a log record -1 less its number.
    """

    __slots__ = ("began_us", "id", "places")

    def __init__(self, trace: str) -> None:
        self.id, self.began_us = trace, 0
        self.places: list[tuple[int, int]] = []

    def take(self, request: int, at: int, began: Json) -> None:
        """Add a span or a record."""
        self.places.append((request, at))
        began_us = micros_of(began)
        if began_us is not None and (not self.began_us or began_us < self.began_us):
            self.began_us = began_us


def _told(trace: _Trace, requests: Requests) -> Transcript:
    if len(trace.places) > _MOST_SPANS:
        with suppress(NotInParts):
            return _told_later(trace, requests)
    spans: dict[str, Span] = {}
    resource: dict[str, Json] = {}
    records: list[dict[str, Json]] = []
    missing = 0
    for number, at in trace.places[:_MOST_SPANS]:
        request = requests.at(number)
        missing += not request.is_one  # it was one when it was looked through: what was skipped then is damaged
        if at < 0:
            records += request.records[-1 - at : -at]
            continue
        for given, holder in request.spans[at : at + 1]:
            span = span_of(given)
            resource = resource or attributes_of(mapping(holder.get("resource")))
            if span.id in spans:  # sent again
                spans[span.id].says |= span.says
            else:
                spans[span.id] = span
    for given in records:
        record = record_of(given)
        own = spans.setdefault(record.id, record)
        own.says = {**record.says, **own.says}
    for span in spans.values():
        span.does = work_of(span)
    told = tell_trace(trace.id or _NAMELESS, spans, _system(resource))
    if missing:
        told.flaws.append((0, f"{missing:,} of its spans are left out: what they say is damaged"))
    _leave_out(told, trace, _MOST_SPANS)
    return told


def _told_later(trace: _Trace, requests: Requests) -> Transcript:
    """A trace of many spans, of which only the steps are known.

    Raises:
        NotInParts: it can only be told as a whole.
    """
    places = trace.places[:_MOST_SPANS_LATER]
    resource: dict[str, Json] = {}

    def read(place: int) -> Span:
        number, at = places[place]
        spans = requests.at(number).spans[at : at + 1]
        if not spans:
            raise StoreUnreadable(f"what spans of {trace.id} say is damaged, or was changed meanwhile")
        span = span_of(spans[0][0])
        span.does = work_of(span)
        return span

    def heads() -> Iterator[Head]:
        for number, at in places:
            if at < 0:
                raise NotInParts("logs say more of its spans")
            spans = requests.at(number).spans[at : at + 1]
            if not spans:
                raise NotInParts("some of it is damaged")
            given, holder = spans[0]
            resource.update({} if resource else attributes_of(mapping(holder.get("resource"))))
            yield head_of(given)

    told = tell_later(trace.id or _NAMELESS, heads(), read, lambda: _system(resource))
    _leave_out(told, trace, _MOST_SPANS_LATER)
    return told


def _system(resource: Mapping[str, Json]) -> str:
    service = text(resource.get("service.name"))
    return f"OpenTelemetry, {service}" if service else "OpenTelemetry"


def _leave_out(told: Transcript, trace: _Trace, most: int) -> None:
    """Say how many spans were not told, if any."""
    if len(trace.places) > most:
        left = f"{len(trace.places) - most:,} of {len(trace.places):,} spans, which stand last in the file"
        told.metadata |= RunFacts.parts_left_out.entry(left)
        told.flaws.append((len(told.steps), f"too large to be shown whole: left out are {left}"))
