"""What every JSON of a run, a step and a call has, by the same names: that of `--json` and that of exports.

Times are ISO 8601 in UTC with microseconds, durations milliseconds. What is not known is None.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model.runs import Run
    from agent_tt.model.steps import Call, Step

__all__ = ["call_fields", "milliseconds", "run_fields", "step_fields", "time_text"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def run_fields(run: Run) -> dict[str, Wire]:
    """Give the fields of a run that `--json` and exports have in common."""
    return {
        "name": run.name,
        "status": run.status,
        "steps": run.steps,
        "parent": run.parent,
        "fork_step": run.fork_step,
        "agent": run.agent,
        "started": time_text(run.started_us),
        "tags": list(run.tags),
        "ended": time_text(run.ended_us),
        "version": run.code.version,
        **_spent(run),
        "incomplete": run.incomplete,
    }


def step_fields(step: Step) -> dict[str, Wire]:
    """Give the fields of a step that `--json` and exports have in common."""
    return {
        "step": step.number,
        "name": step.name,
        "agent": step.agent,
        "status": step.status,
        "started": time_text(step.started_us),
        "kind": step.kind,
        "lane": step.lane,
        "inherited": step.inherited,
        "decision": step.decision,
        **_spent(step),
    }


def call_fields(call: Call) -> dict[str, Wire]:
    """Give the fields of a call that `--json` and exports have in common."""
    return {
        "call": call.number,
        "kind": call.kind,
        "name": call.name,
        "effect": call.effect,
        "status": call.status,
        "lane": call.lane,
        "args": call.args,
        "result": call.result,
    }


def _spent(of: Run | Step) -> dict[str, Wire]:
    return {"tokens_in": of.tokens_in, "tokens_out": of.tokens_out, "cost_usd": of.cost_usd}


def time_text(us: int | None) -> str | None:
    """Write a time that a file claims; None also where it is outside what a calendar holds."""
    if us is None:
        return None
    try:
        moment = _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def milliseconds(us: int | None) -> float | None:
    """Turn microseconds into milliseconds."""
    return None if us is None else us / 1000
