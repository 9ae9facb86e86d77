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
from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.otlp_later import told_later
from agent_tt.interop.transcripts.otlp_spans import Requests, as_request, flat, record_of, span_of
from agent_tt.interop.transcripts.otlp_traces import Traces, system_of
from agent_tt.interop.transcripts.otlp_work import work_of
from agent_tt.interop.transcripts.spans import tell_trace
from agent_tt.interop.transcripts.spans_later import NotInParts
from agent_tt.interop.transcripts.transcript import Promise
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.otlp_traces import Trace
    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_otlp"]

_MOST_SPANS: Final = 25_000
"""Spans of a trace that are told as a whole: more of them, with what they say, would pass 300 MB of memory."""

_MOST_SPANS_LATER: Final = 120_000
"""Spans of a trace of which the steps are told, and what they say later."""


def read_otlp(document: Document) -> Sequence[Promise] | None:
    """Promise a run for each trace of an OTLP file; None where the document has another format."""
    whole = None if document.value is None else flat(as_request(document.value))
    requests = Requests(document.parts or document.lines, whole)
    traces = Traces(_MOST_SPANS_LATER if whole is None and document.parts else 0)
    is_known = False
    for number in range(len(requests)):
        if traces.is_one and not requests.at(number).is_one:
            traces.give_up()  # what of it can be read is seen by its outline
        request = requests.at(number) if traces.is_one else requests.outline(number)
        is_known = is_known or request.is_one
        traces.take(number, request)
    if not is_known:
        return None
    return [
        Promise(each.name, each.began_us, len(each), partial(_told, each, requests)) for each in traces.found.values()
    ]


def _told(trace: Trace, requests: Requests) -> Transcript:
    if len(trace) > _MOST_SPANS:
        with suppress(NotInParts):
            return _leave_out(told_later(trace, requests, _MOST_SPANS_LATER), trace, _MOST_SPANS_LATER)
    trace.heads = []  # of a trace that is told as a whole they are of no use
    spans: dict[str, Span] = {}
    records: list[dict[str, Json]] = []
    system = ""
    missing = 0
    for number, at in islice(zip(trace.requests, trace.places, strict=True), _MOST_SPANS):
        request = requests.at(number)
        missing += not request.is_one  # it was one when it was looked through: what was skipped then is damaged
        if at < 0:
            records += request.records[-1 - at : -at]
            continue
        for given, holder in request.spans[at : at + 1]:
            span = span_of(given)
            system = system or system_of(holder)
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
    told = tell_trace(trace.name, spans, system or "OpenTelemetry")
    if missing:
        told.flaws.append((0, f"{missing:,} of its spans are left out: what they say is damaged"))
    return _leave_out(told, trace, _MOST_SPANS)


def _leave_out(told: Transcript, trace: Trace, most: int) -> Transcript:
    """Say how many spans were not told, if any."""
    if len(trace) > most:
        left = f"{len(trace) - most:,} of {len(trace):,} spans, which stand last in the file"
        told.metadata |= RunFacts.parts_left_out.entry(left)
        told.flaws.append((len(told.steps), f"too large to be shown whole: left out are {left}"))
    return told
