"""What the page is given: runs with their steps, calls and states, and how runs compare.

States, and what calls of one kind asked and were answered, are kept as what changed since the one before
(`agent_tt.history.changes.ops`), so that the page grows with what changed and not with what was there.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.errors import AgentTTError, RunNotFound
from agent_tt.exporting.facts import run_facts, usage
from agent_tt.exporting.html.packing import pack, pack_ops
from agent_tt.history.changes.diff import diff
from agent_tt.model.shown import counted, duration
from agent_tt.providers.model_talk import ModelTalks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.exporting.export import Exported
    from agent_tt.model import Call, ErrorInfo, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.providers.model_talk import ModelTalk
    from agent_tt.providers.shapes import Message

__all__ = ["page_data"]


def page_data(exported: Exported) -> dict[str, Wire]:
    """Give what the page shows.

    A single fork brings the run that it was forked from.

    Returns:
        `{runs, pairs, start: {run, step}}`: `pairs` of each fork with its parent, and of two runs, `start` with the
        number of the run in `runs` and the step to begin with.
    """
    source, runs = exported.source, list(exported.runs)
    if len(runs) == 1 and runs[0].parent is not None:
        with suppress(RunNotFound):  # deleted since; the fork stands alone
            runs.append(source.run(runs[0].parent))
    places = {run.id: number for number, run in enumerate(runs)}
    pairs = [(places[run.parent], number) for number, run in enumerate(runs) if run.parent in places]
    if len(runs) == 2 and not pairs:
        pairs = [(0, 1)]
    return {
        "runs": [_run(source, run) for run in runs],
        "pairs": [_pair(source, runs, *pair) for pair in pairs],
        "start": {"run": 0, "step": exported.steps.get(runs[0].id)},
    }


def _pair(source: RunSource, runs: list[Run], a: int, b: int) -> Wire:
    """`{a, b, diverged, because, unread, rows: [[a, b, same]]}`; null where one of the runs has no such step."""
    found = compare_runs(source, runs[a], source, runs[b])
    return {
        "a": a,
        "b": b,
        "diverged": found.diverged_at,
        "because": found.because,
        "unread": [*found.unread],
        "rows": [[row.a, row.b, row.kind == "same"] for row in found.rows],
    }


def _run(source: RunSource, run: Run) -> Wire:
    return {
        "name": run.name,
        "status": run.status,
        "facts": [list(fact) for fact in run_facts(run)],
        "error": _error(run.error),
        "steps": [*_steps(source, run)],
    }


def _steps(source: RunSource, run: Run) -> Iterator[Wire]:
    """Yield the input, then the steps; each at the position of its number."""
    broken = {*source.damaged_steps(run.id)}
    chains = _Chains()
    yield {"name": "input", "status": "", **_state(source, run, 0, broken)}
    for step in source.steps(run.id):
        took = "recorded" if step.inherited else None
        if took is None and step.duration_us is not None:
            took = duration(step.duration_us / 1e6)
        calls = source.calls(run.id, step.number) if step.calls else ()
        facts = [None if step.lane == "main" else f"lane {step.lane}", *usage(step)]
        yield {
            "name": step.name,
            "agent": step.agent,
            "status": step.status,
            "kind": step.kind,
            "took": took,
            "facts": [*filter(None, facts)],
            "decision": step.decision,
            "error": _error(step.error),
            "damaged": step.damaged,
            "calls": [_call(call, chains) for call in calls],
            **_kept(source, run, step, broken),
        }


def _kept(source: RunSource, run: Run, step: Step, broken: set[int]) -> dict[str, Wire]:
    if step.is_unkept:
        return {"lost": "The state after this step was not kept."}
    return _state(source, run, step.number, broken)


def _state(source: RunSource, run: Run, number: int, broken: set[int]) -> dict[str, Wire]:
    """`{state}`, or `{base, ops}`: what turned the state after the step `base` into it, or `{lost}`: why there is none.

    What is damaged is in `broken`, and no base.
    """
    try:
        base = source.base_step(run.id, number)
        if base is None or base in broken or number in broken:
            return {"state": pack(source.state(run.id, number))}
        return {"base": base, "ops": pack_ops(source.changes(run.id, number))}
    except AgentTTError as error:
        broken.add(number)
        return {"lost": error.message}


def _error(error: ErrorInfo | None) -> Wire:
    return None if error is None else {"short": error.short, "text": error.traceback or error.message}


def _call(call: Call, chains: _Chains) -> Wire:
    took = None if call.duration_us is None else duration(call.duration_us / 1e6)
    effect = {"read": "reads", "write": "writes"}.get(call.effect or "")
    return {
        "kind": call.kind,
        "name": call.name,
        "status": "not answered" if call.status == "pending" else call.status,
        "facts": [*filter(None, (effect, took))],
        "error": _error(call.error),
        "damaged": call.damaged,
        **chains.add(call),
    }


class _Chains:
    """What calls of one kind asked and were answered, each as what changed since the one before."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str, str], tuple[int, Wire]] = {}
        self._talks = ModelTalks()
        self._count = 0

    def add(self, call: Call) -> dict[str, Wire]:
        """`{value}` of the first of its kind; else `{after, ops}`, where `after` counts the calls of the run from 0.

        The value is `{asked, gave, sent, said}`: arguments and result, and where a model was asked, what it was sent
        and what it said, as messages `{role, text, calls}`.
        """
        key, number = (call.kind, call.name, call.lane), self._count
        self._count += 1
        after, last = self._last.get(key, (None, None))
        value: dict[str, Wire] = {} if call.args is None else {"asked": call.args}
        if call.status == "ok":
            value["gave"] = call.result
        if call.kind == "llm":
            value |= _talk_of(self._talks.of(call))
        self._last[key] = (number, value)
        return {"value": pack(value)} if after is None else {"after": after, "ops": pack_ops(diff(last, value))}


def _talk_of(talk: ModelTalk) -> dict[str, Wire]:
    """`{sent, said}`; empty where no messages are known in the call."""
    if not talk.shown and not talk.said:
        return {}
    sent = [each for message in talk.shown for each in _messages(message)]
    if talk.unread:
        sent.append({"role": "", "text": f"and {counted(talk.unread, 'message')} of an unknown form", "calls": []})
    return {"sent": sent, "said": [each for message in talk.said for each in _messages(message)]}


def _messages(message: Message) -> Iterator[Wire]:
    """`{role, text, calls}` of a message, after one of what was thought before it."""
    for part in message.parted():
        calls: list[Wire] = [str(call) for call in part.calls]
        yield {"role": part.role, "text": part.text, "calls": calls}
