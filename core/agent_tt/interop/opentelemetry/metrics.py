"""What a run cost as metrics: tokens and durations of model calls, by the conventions; and what came of its replays.

A run's points are deltas over its own time. They are sent once, when it is over: whoever sends a run twice counts it
twice.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)

from agent_tt.interop.opentelemetry.sending import SCHEMA, SCOPE, resource_of
from agent_tt.interop.opentelemetry.tree import OUTCOME, TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.interop.opentelemetry.conventions import Attribute
    from agent_tt.interop.opentelemetry.tree import ToldSpan
    from agent_tt.model import Replay, Run

__all__ = ["metrics_of"]

_TOKEN_BOUNDS: Final = tuple(float(4**power) for power in range(14))
_SECONDS_BOUNDS: Final = tuple(0.01 * 2**power for power in range(14))
_MODELS: Final = frozenset({"chat", "generate_content", "text_completion"})
_SAID: Final = (
    "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model",
    "server.address", "server.port",
)  # fmt: skip
_DELTA: Final = AggregationTemporality.DELTA


def metrics_of(run: Run, spans: Iterable[ToldSpan], replays: Sequence[Replay]) -> MetricsData:
    """Count a run that is over.

    Args:
        run: the run.
        spans: its spans.
        replays: those of the run that were kept.
    """
    tokens: dict[tuple[tuple[str, Attribute], ...], list[float]] = {}
    seconds: dict[tuple[tuple[str, Attribute], ...], list[float]] = {}
    for span in spans:
        says = span.told.attributes
        if says.get("gen_ai.operation.name") not in _MODELS or span.ended_ns is None:
            continue
        of: dict[str, Attribute] = {name: says[name] for name in _SAID if name in says}
        for kind in ("input", "output"):
            count = says.get(f"gen_ai.usage.{kind}_tokens")
            if isinstance(count, int):
                tokens.setdefault(_key({**of, "gen_ai.token.type": kind}), []).append(count)
        if "error.type" in says:
            of["error.type"] = says["error.type"]
        if TIME not in says and OUTCOME not in says:
            seconds.setdefault(_key(of), []).append((span.ended_ns - span.began_ns) / 1e9)
    times = run.started_us * 1000, (run.ended_us or run.started_us) * 1000
    metrics = [
        _histogram("gen_ai.client.token.usage", "Number of input and output tokens used.", "{token}",
                   tokens, _TOKEN_BOUNDS, times),
        _histogram("gen_ai.client.operation.duration", "GenAI operation duration.", "s",
                   seconds, _SECONDS_BOUNDS, times),
        *_of_replays(replays),
    ]  # fmt: skip
    told = [metric for metric in metrics if metric.data.data_points]
    scoped = ScopeMetrics(SCOPE, told, SCHEMA)
    return MetricsData([ResourceMetrics(resource_of(run), [scoped], SCHEMA)])


def _of_replays(replays: Sequence[Replay]) -> list[Metric]:
    if not replays:
        return []
    by_verdict: dict[tuple[tuple[str, Attribute], ...], list[float]] = {}
    for replay in replays:
        by_verdict.setdefault(_key({"agent_tt.replay.verdict": replay.verdict}), []).append(replay.duration_us / 1e6)
    times = min(each.at_us - each.duration_us for each in replays) * 1000, max(each.at_us for each in replays) * 1000
    points = [NumberDataPoint(dict(key), *times, len(found)) for key, found in by_verdict.items()]
    return [
        Metric("agent_tt.replays", "Replays of recorded runs.", "{replay}", Sum(points, _DELTA, is_monotonic=True)),
        _histogram("agent_tt.replay.duration", "How long the process of a replay ran.", "s", by_verdict,
                   _SECONDS_BOUNDS, times),
    ]  # fmt: skip


def _histogram(
    name: str,
    words: str,
    unit: str,
    found: Mapping[tuple[tuple[str, Attribute], ...], Sequence[float]],
    bounds: Sequence[float],
    times: tuple[int, int],
) -> Metric:
    points = []
    for key, values in found.items():
        buckets = [0] * (len(bounds) + 1)
        for value in values:
            buckets[bisect_left(bounds, value)] += 1
        points.append(
            HistogramDataPoint(dict(key), *times, len(values), sum(values), buckets, bounds, min(values), max(values))
        )
    return Metric(name, words, unit, Histogram(points, _DELTA))


def _key(attributes: Mapping[str, Attribute]) -> tuple[tuple[str, Attribute], ...]:
    return tuple(sorted(attributes.items()))
