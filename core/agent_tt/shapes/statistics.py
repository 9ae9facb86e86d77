"""What is counted over the runs of a store, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.as_json import milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import ReplayVerdict, RunStatus, Usage
    from agent_tt.model.statistics import CallGroup, NotableStep, RunGroup, Spread, Statistics
    from agent_tt.shapes.records import Shape

__all__ = ["statistics_shape"]


def statistics_shape(
    whole: Statistics,
    runs: Mapping[str, Sequence[RunGroup]],
    calls: Mapping[str, Sequence[CallGroup]],
    growth: Mapping[str | None, int] | None,
) -> Shape:
    """What `agent-tt stats --help` says.

    Args:
        whole: of all runs.
        runs: groups of runs, by what they are grouped by.
        calls: groups of calls, by what these are.
        growth: the bytes that each day added; None where it was not asked for.
    """
    checkpoints, replays = whole.checkpoints, whole.replays
    groups: dict[str, Wire] = {
        by: [{"name": each.name, **_group_shape(each)} for each in of] for by, of in runs.items()
    }
    groups |= {name: [_call_shape(each) for each in of] for name, of in calls.items()}
    return {
        **_group_shape(whole.whole),
        "forks": whole.forks,
        "checkpoints": None
        if checkpoints is None
        else {"taken": checkpoints.taken, "failed": checkpoints.failed, "success_rate": checkpoints.success_rate},
        "replays": None
        if replays is None
        else {
            "replays": replays.replays,
            "verdicts": _counts(replays.verdicts),
            "success_rate": replays.success_rate,
            "divergence_rate": replays.divergence_rate,
            "took": _spread_shape(replays.took),
        },
        "bytes": whole.bytes,
        "free_bytes": whole.free_bytes,
        "growth": None if growth is None else [{"day": day, "bytes": stored} for day, stored in growth.items()],
        "slowest": [{**_step_shape(step), "ms": step.amount / 1000} for step in whole.slowest],
        "costliest": [{**_step_shape(step), "cost_usd": step.amount} for step in whole.costliest],
        "loops": [{"name": loop.name, "runs": loop.runs, "times": loop.times} for loop in whole.loops],
        "errors": [
            {
                "call": error.name,
                "class": error.class_name,
                "message": error.message,
                "count": error.count,
                "runs": error.runs,
            }
            for error in whole.errors
        ],
        "by": groups,
    }


def _group_shape(group: RunGroup) -> Shape:
    return {
        "runs": group.runs,
        "statuses": _counts(group.statuses),
        "success_rate": group.success_rate,
        "sampled_out": group.sampled_out,
        "steps": group.steps,
        **_usage_shape(group.usage),
        "took": _spread_shape(group.took),
    }


def _call_shape(group: CallGroup) -> Wire:
    return {
        "name": group.name,
        "calls": group.calls,
        "errors": group.errors,
        "runs": group.runs,
        **_usage_shape(group.usage),
        "total_ms": milliseconds(group.total_us),
        "longest_ms": milliseconds(group.longest_us),
    }


def _step_shape(step: NotableStep) -> Shape:
    return {
        "run": step.run,
        "name": step.run_name,
        "step": step.step,
        "step_name": step.name,
        "kind": step.kind,
        "share": step.share,
    }


def _usage_shape(usage: Usage) -> Shape:
    return {
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost_usd": usage.cost_usd,
        "unpriced_calls": usage.unpriced,
    }


def _spread_shape(spread: Spread) -> Wire:
    return {
        "count": spread.count,
        "total_ms": milliseconds(spread.total_us),
        "median_ms": milliseconds(spread.median_us),
        "p95_ms": milliseconds(spread.p95_us),
        "longest_ms": milliseconds(spread.longest_us),
    }


def _counts(counts: Mapping[RunStatus, int] | Mapping[ReplayVerdict, int]) -> Wire:
    return {str(word): count for word, count in counts.items()}
