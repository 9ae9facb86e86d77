"""Runs of this process are sent as spans while they go on, and spans of other libraries stand below their calls."""

from __future__ import annotations

import atexit
import logging
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, ClassVar, Final, Self

from opentelemetry import context as contexts
from opentelemetry import trace

from agent_tt.errors import AgentTTError, RunNotFound
from agent_tt.interop.opentelemetry.following import FollowedRun
from agent_tt.interop.opentelemetry.sending import (
    NotTaken,
    as_context,
    metric_collector,
    span_collector,
)
from agent_tt.interop.opentelemetry.tree import Trace
from agent_tt.recording.links import Link, Place
from agent_tt.recording.session import SESSION
from agent_tt.recording.store_work import store_at_work
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.trace.export import SpanExporter

    from agent_tt.recording.open_run import OpenCall, OpenRun

__all__ = ["LiveSpans", "send_spans"]

_LOOK_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 10.0
_LOG: Final = logging.getLogger("agent_tt.otel")


class LiveSpans(Link):
    """Sends the runs that this process begins. A thread reads what is recorded; no call of the agent waits for it.

    Where nothing can be sent the agent goes on, and the log says so once (logger `agent_tt.otel`).
    """

    place: ClassVar[Place] = Place.WATCH

    def __init__(self, exporter: SpanExporter, metrics: MetricExporter | None, *, content: bool = False) -> None:
        self._exporter = exporter
        self._metrics = metrics
        self._content = content
        self._runs: list[tuple[OpenRun, FollowedRun]] = []
        self._lock = threading.Lock()
        self._ends = threading.Event()
        self._has_failed = False
        self._thread = threading.Thread(target=self._follow, name="agent-tt spans", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send what is left of runs that are over, and end; runs that go on are sent as far as they are."""
        SESSION.leave(self)
        atexit.unregister(self.close)
        self._ends.set()
        self._thread.join(_CLOSE_SECONDS)

    # ------------------------------------------------------------ hooks

    def run_begun(self, recording: OpenRun) -> None:
        """Follow the run."""
        with self._lock:
            followed = FollowedRun(recording.id, self._exporter, self._metrics, content=self._content)
            self._runs.append((recording, followed))

    @contextmanager
    def around_call(self, call: OpenCall) -> Iterator[None]:
        """Let the spans that others begin in the call stand below the call's."""
        if call.number is None:
            yield
            return
        place = Trace.of(call.recording.id, call.recording.facts)
        span = trace.NonRecordingSpan(as_context(place.call(call.step_number, call.number)))
        token = contexts.attach(trace.set_span_in_context(span))
        try:
            yield
        finally:
            contexts.detach(token)

    # ------------------------------------------------------------ the thread

    def _follow(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._ends.wait(_LOOK_SECONDS)
            with self._lock:
                runs = list(self._runs)
            for each in runs:
                try:
                    if self._send(*each):
                        self._runs.remove(each)
                except RunNotFound:  # sampled out, or deleted: what was sent of it stays where it is
                    self._runs.remove(each)
                except Exception as error:  # noqa: BLE001  an agent never breaks because it is sent
                    self._failed(error)

    def _send(self, recording: OpenRun, followed: FollowedRun) -> bool:
        """Send what is over of a run; whether that is all of it."""
        if recording.file is None:
            return True
        with store_at_work(), _untraced(), closing(open_store(recording.file, read_only=True)) as source:
            return followed.send(source)

    def _failed(self, error: Exception) -> None:
        if not self._has_failed:
            self._has_failed = True
            hint = error.hint if isinstance(error, AgentTTError) else ""
            _LOG.warning("spans are not sent: %s %s", error, hint, exc_info=not isinstance(error, NotTaken))


@contextmanager
def _untraced() -> Iterator[None]:
    """Let nobody trace what is done to send spans, as the SDK's own processors do."""
    token = contexts.attach(contexts.set_value(contexts._SUPPRESS_INSTRUMENTATION_KEY, value=True))  # noqa: SLF001  the SDK's
    try:
        yield
    finally:
        contexts.detach(token)


def send_spans(
    exporter: SpanExporter | None = None, metrics: MetricExporter | None = None, *, content: bool = False
) -> LiveSpans:
    """Send every run that this process records from now on as spans of OpenTelemetry, while it goes on.

    ```python
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    # Without an exporter they go to where OTEL_EXPORTER_OTLP_ENDPOINT says.
    with agent_tt.send_spans(ConsoleSpanExporter()), agent_tt.record("desk"):
        ...
    ```

    Model calls, tools and agents are spans by OpenTelemetry's conventions for generative AI; what other libraries trace
    inside a call stands below it. What is left is sent when the process ends, or with `close()`, or at the end of a
    `with` block.

    Args:
        exporter: what takes the spans; None for a collector that the SDK's own variables name.
        metrics: what takes tokens and durations of each run when it is over; None for that collector, or for nobody
            where another exporter takes the spans.
        content: whether to send what was asked and answered, and what tools were given and gave back.

    Raises:
        UsageError: OpenTelemetry's SDK is not installed: it comes with the extra `otel`.
    """
    if exporter is None:
        exporter, metrics = span_collector(None), metrics or metric_collector(None)
    live = LiveSpans(exporter, metrics, content=content)
    atexit.register(live.close)
    SESSION.join(live)
    return live
