"""Spans that Phoenix exports: from its API and its command, as lines, and as the records of its data frames.

| place | holds |
|---|---|
| `context.trace_id`, `context.span_id`, `parent_id` | ids, in an object or with the whole name as a column's |
| `attributes` | what OpenInference calls it, by whole names or in objects and lists; or each in a column of its own |
| `span_kind`, `status_code`, `status_message`, `events` | what OpenTelemetry has |

The spans stand in a list, in lines, or under `data` or `spans`; those of one trace are a run. What they say is read as
that of a trace of OpenTelemetry (`otlp`).

Source of the format: `Span` in src/phoenix/server/api/routers/v1/spans.py, `SpanJSONEncoder` and
`get_spans_dataframe` of github.com/Arize-ai/phoenix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.otlp_spans import error_of
from agent_tt.interop.transcripts.otlp_work import work_of
from agent_tt.interop.transcripts.spans import Span, tell_trace
from agent_tt.interop.transcripts.telling import micros
from agent_tt.providers.loose import dicts, items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_phoenix"]

_LISTS: Final = "data", "spans"
_COLUMNS: Final = "context.", "attributes."
_MOST_DEPTH: Final = 20


def read_phoenix(document: Document) -> Sequence[Transcript] | None:
    """Read Phoenix's spans as runs, one for each trace; None where the document has another format."""
    if document.lines:
        if not _is_span(document.lines[0].value):
            return None
        rows = [line.value for line in document.lines]
    else:
        whole = mapping(document.value)
        rows = next((dicts(whole[key]) for key in _LISTS if key in whole), dicts(document.value))
        traces = [span for row in rows for span in dicts(row.get("spans"))]
        rows = traces or rows
    if not rows or not all(map(_is_span, rows)):
        return None
    found: dict[str, dict[str, Span]] = {}
    for span in map(_span, rows):
        found.setdefault(span.trace, {})[span.id] = span
    return [tell_trace(trace, spans, "Phoenix") for trace, spans in found.items()]


def _is_span(row: dict[str, Json]) -> bool:
    context = mapping(row.get("context")) or {
        key[8:]: value for key, value in row.items() if key.startswith("context.")
    }
    return bool(text(context.get("span_id")) and text(context.get("trace_id"))) and "start_time" in row


def _span(row: dict[str, Json]) -> Span:
    context, attributes = dict(mapping(row.get("context"))), dict(mapping(row.get("attributes")))
    for name, holder in zip(_COLUMNS, (context, attributes), strict=True):
        holder |= {key[len(name) :]: value for key, value in row.items() if key.startswith(name) and value is not None}
    says = dict(_flat("", attributes))
    says.setdefault("openinference.span.kind", row.get("span_kind"))
    events = [
        (text(event.get("name")), dict(_flat("", mapping(event.get("attributes")))))
        for event in dicts(row.get("events"))
    ]
    span = Span(
        id=text(context.get("span_id")),
        trace=text(context.get("trace_id")),
        parent=text(row.get("parent_id")),
        name=text(row.get("name")),
        start_us=micros(row.get("start_time")),
        end_us=micros(row.get("end_time")),
        says=says,
        error=error_of(says, events, text(row.get("status_message"))) if row.get("status_code") == "ERROR" else None,
        events=events,
    )
    span.does = work_of(span)
    return span


def _flat(name: str, value: Json, depth: int = 0) -> Iterator[tuple[str, Json]]:
    """Attributes by their whole names: what stands in objects, and in lists of them, has a name of several parts."""
    inner: list[tuple[str, Json]] = []
    if isinstance(value, dict):
        inner = [*value.items()]
    elif dicts(value) and len(dicts(value)) == len(items(value)):
        inner = [(str(number), each) for number, each in enumerate(items(value))]
    if not inner or depth > _MOST_DEPTH:
        yield name, value
        return
    for key, each in inner:
        yield from _flat(f"{name}.{key}" if name else key, each, depth + 1)
