"""Spans through OpenTelemetry's own SDK: the extra `otel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._version import __version__
from agent_tt.errors import UsageError

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, MetricsData
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
except ModuleNotFoundError as _missing:
    raise UsageError(
        f"OpenTelemetry's SDK is not installed: there is no {_missing.name}",
        hint="Install agent-tt with its extra `otel`.",
    ) from _missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.interop.opentelemetry.tree import Place, ToldSpan
    from agent_tt.model import Run

__all__ = [
    "SCHEMA",
    "SCOPE",
    "NotTaken",
    "as_context",
    "metric_collector",
    "readable",
    "resource_of",
    "send",
    "send_metrics",
    "span_collector",
]

SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.0"
SCOPE: Final = InstrumentationScope("agent-tt", __version__, SCHEMA)

_BATCH: Final = 500
_CHARACTERS: Final = 2_000_000
"""Of the texts of one request: collectors take 4 MB by default, and the SDK no more than 64."""


class NotTaken(UsageError):
    """A collector did not take what was sent."""


def span_collector(endpoint: str | None) -> SpanExporter:
    """Make what sends spans to a collector, by OTLP over HTTP.

    Args:
        endpoint: its address, such as `http://localhost:4318`; None: what `OTEL_EXPORTER_OTLP_ENDPOINT` and its
            relatives say, as with any program that uses the SDK.
    """
    return OTLPSpanExporter() if endpoint is None else OTLPSpanExporter(endpoint=_signal(endpoint, "traces"))


def metric_collector(endpoint: str | None) -> MetricExporter:
    """Make what sends metrics to a collector; as `span_collector`."""
    return OTLPMetricExporter() if endpoint is None else OTLPMetricExporter(endpoint=_signal(endpoint, "metrics"))


def _signal(endpoint: str, name: str) -> str:
    return f"{endpoint.rstrip('/')}/v1/{name}"


def resource_of(run: Run) -> Resource:
    """What sends: the service that the SDK's variables name, else the run's name."""
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        return resource.merge(Resource({SERVICE_NAME: run.name}))
    return resource


def send(exporter: SpanExporter, run: Run, spans: Sequence[ToldSpan]) -> int:
    """Send those spans that are over; how many they are.

    Raises:
        NotTaken: not all were taken.
    """
    resource = resource_of(run)
    over = [span for span in spans if span.ended_ns is not None]
    taken = 0
    for batch in _batches(over):
        if exporter.export([readable(span, resource) for span in batch]) is not SpanExportResult.SUCCESS:
            raise _not_taken(f"took {taken} of {len(over)} spans")
        taken += len(batch)
    return taken


def _batches(spans: Sequence[ToldSpan]) -> Iterator[Sequence[ToldSpan]]:
    """Divide spans into what one request may hold: by their number, and by what they say."""
    start = size = 0
    for number, span in enumerate(spans):
        says = sum(len(value) for value in span.told.attributes.values() if isinstance(value, str))
        if number > start and (number - start == _BATCH or size + says > _CHARACTERS):
            yield spans[start:number]
            start, size = number, 0
        size += says
    if start < len(spans):
        yield spans[start:]


def send_metrics(exporter: MetricExporter, metrics: MetricsData) -> None:
    """Send metrics.

    Raises:
        NotTaken: they were not taken.
    """
    if exporter.export(metrics) is not MetricExportResult.SUCCESS:
        raise _not_taken("did not take the metrics")


def _not_taken(what: str) -> NotTaken:
    return NotTaken(
        f"the collector {what}",
        hint="Look at its address (--endpoint, or OTEL_EXPORTER_OTLP_ENDPOINT) and at its own log.",
    )


def readable(span: ToldSpan, resource: Resource) -> ReadableSpan:
    """A span as the SDK's exporters take it."""
    told = span.told
    return ReadableSpan(
        name=told.name,
        context=as_context(span.place),
        parent=None if span.parent is None else as_context(span.parent),
        resource=resource,
        attributes=told.attributes,
        links=() if span.link is None else (Link(as_context(span.link), {"agent_tt.link": "forked from"}),),
        kind=SpanKind.CLIENT if told.leaves else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, told.failed) if told.failed else Status(),
        start_time=span.began_ns,
        end_time=span.ended_ns,
        instrumentation_scope=SCOPE,
    )


def as_context(place: Place) -> SpanContext:
    """A place as the SDK knows it."""
    return SpanContext(place.trace, place.span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
