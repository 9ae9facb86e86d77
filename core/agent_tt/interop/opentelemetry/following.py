"""One run on its way to a collector: what is over of it is sent, and the rest when that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.interop.opentelemetry.metrics import metrics_of
from agent_tt.interop.opentelemetry.sending import send, send_metrics
from agent_tt.interop.opentelemetry.tree import spans_of

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.trace.export import SpanExporter

    from agent_tt.protocols import RunSource

__all__ = ["FollowedRun"]


class FollowedRun:
    """Sends each span of a run once, and its metrics when it is over.

    Args:
        run_id: the run.
        spans_to: takes its spans.
        metrics_to: takes its metrics; None to send none.
        content: whether spans say what was asked and answered.
    """

    def __init__(
        self, run_id: str, spans_to: SpanExporter, metrics_to: MetricExporter | None, *, content: bool
    ) -> None:
        self.id = run_id
        self._spans_to, self._metrics_to, self._content = spans_to, metrics_to, content
        self._start = 1
        self._sent: set[int] = set()

    @property
    def sent(self) -> int:
        """How many spans were sent."""
        return len(self._sent)

    def send(self, source: RunSource) -> bool:
        """Send what is over and was not sent; whether the run is, so that this was all of it.

        While a run goes on, steps that were over the last time are not read again. At its end all of them are: a task
        may have outlived its step.

        Raises:
            NotTaken: not all was taken; it is sent the next time.
            RunNotFound: there is no such run any more.
        """
        run = source.run(self.id)
        is_over = run.status != "running"
        steps = source.steps(run.id)  # before their calls: a step that ends meanwhile is read once more
        told = list(spans_of(source, run, content=self._content, start=1 if is_over else self._start))
        ended = [span for span in told if span.ended_ns is not None and span.place.span not in self._sent]
        if ended:
            send(self._spans_to, run, ended)
            self._sent.update(span.place.span for span in ended)
        if is_over and self._metrics_to is not None:
            send_metrics(self._metrics_to, metrics_of(run, told, source.replays(run.id)))
        self._start = min((step.number for step in steps if step.ended_us is None), default=max(len(steps), 1))
        return is_over
