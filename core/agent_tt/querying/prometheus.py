"""Statistics in the text format of Prometheus.

<https://prometheus.io/docs/instrumenting/exposition_formats/>. What is not known is left out. A group without a
name has an empty label, which for Prometheus is the same as none. All are gauges, because runs can be deleted.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, get_args

from agent_tt._dataclass import dataclass
from agent_tt.model import ReplayVerdict, RunStatus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.model import Usage
    from agent_tt.model.statistics import CallGroup, RunGroup, Statistics

__all__ = ["prometheus_text"]

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_STATUSES: Final = get_args(RunStatus)
_VERDICTS: Final = get_args(ReplayVerdict)
_SECOND_US: Final = 1_000_000


def prometheus_text(
    whole: Statistics, runs: Mapping[str, Sequence[RunGroup]], calls: Mapping[str, Sequence[CallGroup]]
) -> str:
    """Statistics as Prometheus reads them.

    Args:
        whole: those of all chosen runs.
        runs: groups of runs by what they have in common: `agent`, `tag`, ….
        calls: groups of calls, by `model` or `tool`.
    """
    text = _Text()
    _of_runs(text, "agent_tt", whole.whole, {})
    text.add("agent_tt_forks", "Runs that are forks.", whole.forks)
    if whole.checkpoints is not None:
        told = "Steps whose state was stored, and those whose state could not be read."
        text.add("agent_tt_checkpoints", told, whole.checkpoints.taken, outcome="taken")
        text.add("agent_tt_checkpoints", told, whole.checkpoints.failed, outcome="failed")
    if whole.replays is not None:
        for verdict in _VERDICTS:
            count = whole.replays.verdicts.get(verdict, 0)
            text.add("agent_tt_replays", "Replays that were kept.", count, verdict=verdict)
        took = whole.replays.took
        for quantile, value in (("0.5", took.median_us), ("0.95", took.p95_us)):
            text.add("agent_tt_replay_duration_seconds", _TOOK, _seconds(value), quantile=quantile)
    text.add("agent_tt_store_bytes", "Size of the file with its log.", whole.bytes)
    text.add("agent_tt_store_free_bytes", "What of the file is free for later recordings.", whole.free_bytes)
    for by, run_groups in runs.items():
        for group in run_groups:
            _of_runs(text, f"agent_tt_{by}", group, {by: group.name or ""})
    for by, call_groups in calls.items():
        for calls_of in call_groups:
            label = {by: calls_of.name or ""}
            text.add(f"agent_tt_{by}_calls", "Calls.", calls_of.calls, **label)
            text.add(f"agent_tt_{by}_call_errors", "Calls that raised.", calls_of.errors, **label)
            text.add(
                f"agent_tt_{by}_call_seconds", "Time that calls took in all.", _seconds(calls_of.total_us), **label
            )
            _of_usage(text, f"agent_tt_{by}", calls_of.usage, label)
    return text.whole()


_TOOK: Final = "How long replays took, by quantile."


def _of_runs(text: _Text, prefix: str, group: RunGroup, labels: Mapping[str, str]) -> None:
    for status in _STATUSES:
        text.add(f"{prefix}_runs", "Runs by status.", group.statuses.get(status, 0), **labels, status=status)
    told = "Runs that succeeded and were not kept."
    text.add(f"{prefix}_runs_sampled_out", told, group.sampled_out, **labels)
    text.add(f"{prefix}_steps", "Steps that the runs took.", group.steps, **labels)
    for quantile, value in (("0.5", group.took.median_us), ("0.95", group.took.p95_us)):
        told = "How long runs took that are over, by quantile."
        text.add(f"{prefix}_run_duration_seconds", told, _seconds(value), **labels, quantile=quantile)
    _of_usage(text, prefix, group.usage, labels)


def _of_usage(text: _Text, prefix: str, usage: Usage, labels: Mapping[str, str]) -> None:
    for direction, tokens in (("in", usage.tokens_in), ("out", usage.tokens_out)):
        text.add(f"{prefix}_tokens", "Tokens of models.", tokens, **labels, direction=direction)
    text.add(f"{prefix}_known_cost_dollars", "Dollars of the calls whose price is known.", usage.cost_usd, **labels)
    text.add(f"{prefix}_unpriced_calls", "Model calls whose price is not known.", usage.unpriced, **labels)


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / _SECOND_US


@dataclass
class _Text:
    """Samples by metric: all of one have to stand together."""

    metrics: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, told: str, value: float | None, **labels: str) -> None:
        """Add a sample, unless its value is not known."""
        if value is None:
            return
        lines = self.metrics.setdefault(name, [f"# HELP {name} {told}", f"# TYPE {name} gauge"])
        inside = ",".join(f'{key}="{label.translate(_ESCAPES)}"' for key, label in labels.items())
        lines.append(f"{name}{f'{{{inside}}}' if inside else ''} {value!r}")

    def whole(self) -> str:
        return "".join(f"{line}\n" for lines in self.metrics.values() for line in lines)
