"""What the page is given: runs with their steps, calls and states, and how runs compare.

States, and what calls of one kind asked and were answered, are kept as what changed since the one before
(`agent_tt.history.changes.ops`), so that the page grows with what changed and not with what was there.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.errors import AgentTTError, RunNotFound
from agent_tt.exporting.facts import run_facts, usage
from agent_tt.exporting.html.packing import pack, pack_ops
from agent_tt.history.changes.diff import diff
from agent_tt.model.shown import duration
from agent_tt.providers.chat import answer_in, conversation_in, message_of
from agent_tt.providers.provider_call import provider_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.exporting.export import Exported
    from agent_tt.model import Call, ErrorInfo, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["page_data"]

_MOST_UNKNOWN: Final = 400
"""Characters that are shown of what stands in a conversation and is no message."""


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
        facts = [step.agent, None if step.lane == "main" else f"lane {step.lane}", *usage(step)]
        yield {
            "name": step.name,
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
        self._last: dict[tuple[str, str, str], tuple[int, Wire, _Talk]] = {}
        self._count = 0

    def add(self, call: Call) -> dict[str, Wire]:
        """`{value}` of the first of its kind; else `{after, ops}`, where `after` counts the calls of the run from 0.

        The value is `{asked, gave, sent, said}`: arguments and result, and where a model was asked, what it was sent
        and what it said, as messages `{role, text, calls}`.
        """
        key, number = (call.kind, call.name, call.lane), self._count
        self._count += 1
        after, last, talk = self._last.get(key, (None, None, _Talk()))
        value: dict[str, Wire] = {} if call.args is None else {"asked": call.args}
        if call.status == "ok":
            value["gave"] = call.result
        if call.kind == "llm":
            value |= talk.of(call)
        self._last[key] = (number, value, talk)
        return {"value": pack(value)} if after is None else {"after": after, "ops": pack_ops(diff(last, value))}


class _Talk:
    """Conversations with one model. What was there in the one before is not read again."""

    def __init__(self) -> None:
        self._items: list[Wire] = []
        self._read: list[Wire] = []

    def of(self, call: Call) -> dict[str, Wire]:
        """`{sent, said}`; empty where no messages are known in the call."""
        read = provider_call(call)
        if read is not None:
            return {"sent": self._messages([*read.messages]), "said": [*map(_message, read.answer)]}
        path = conversation_in(call.args)
        sent = call.args[str(path[0])] if path and isinstance(call.args, dict) else None
        if not isinstance(sent, list):
            return {}
        answer = answer_in(call.result)
        return {"sent": self._messages(sent), "said": [] if answer is None else [_message(answer)]}

    def _messages(self, items: list[Wire]) -> list[Wire]:
        known = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(self._items, items, strict=False))))
        self._items, self._read = items, [*self._read[:known], *map(_message, items[known:])]
        return self._read


def _message(item: Wire) -> Wire:
    message = message_of(item)
    if message is None:
        return {"role": "", "text": summary(item, _MOST_UNKNOWN), "calls": []}
    return {"role": message.role, "text": message.text, "calls": [str(call) for call in message.calls]}
