"""The parts of a run that a search cannot read: damage, encrypted or pickled values, steps still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.carried import Carried
from agent_tt.codec.wire import TYPE
from agent_tt.errors import AgentTTError
from agent_tt.history.payloads.damage import find_placeholder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource

__all__ = ["is_closed", "is_damaged", "unread_in"]

_MOST_NAMED: Final = 5
_SEALED: Final = "sealed"
"""Why an opaque value is one: it is encrypted or pickled, and stays closed."""


def unread_in(
    source: RunSource, run: Run, *, own_only: bool = False, damaged: Collection[int] | None = None
) -> tuple[str, ...]:
    """Say which parts of a run an answer does not cover, in words; empty where it covers all.

    Args:
        source: where the run is.
        run: the run.
        own_only: leave out the steps that it shares with the run that it was forked from.
        damaged: the steps with calls that are not as they were recorded, where somebody has looked at all of them.
    """
    words: list[str] = []
    shared = (run.fork_step or 0) if own_only and run.parent is not None else 0
    try:
        known = {number for number in source.damaged_steps(run.id) if number > shared or not shared}
        known |= set(_with_damaged_calls(source, run, shared, known) if damaged is None else damaged)
        if known:
            words.append(f"{_named(sorted(known))} cannot be read whole")
        if source.capabilities.records:
            unkept = [step.number for step in source.steps(run.id, shared + 1) if step.is_unkept]
            words += [f"of {_named(unkept)} no checkpoint is kept"] if unkept else []
        if _is_sealed(source.cursor(run.id, source.step_count(run.id)).state):
            words.append("values that are encrypted or pickled stay closed")
    except AgentTTError as error:
        words.append(error.message)
    if run.status == "running":
        words.append("it still runs")
    return tuple(words)


def _named(steps: Sequence[int]) -> str:
    more = f" and {len(steps) - _MOST_NAMED} more" if len(steps) > _MOST_NAMED else ""
    return f"step{'' if len(steps) == 1 else 's'} {', '.join(map(str, steps[:_MOST_NAMED]))}{more}"


def _with_damaged_calls(source: RunSource, run: Run, shared: int, known: Collection[int]) -> Iterator[int]:
    whole: Carried[bool] = Carried()
    for step in source.steps(run.id, shared + 1):
        if step.calls and step.number not in known:
            whole.begin(step.lane)
            if any(is_damaged(call, whole) for call in source.calls(run.id, step.number)):
                yield step.number


def is_damaged(call: Call, whole: Carried[bool] | None = None) -> bool:
    """Whether a call, or what it carried, is not as it was recorded.

    Args:
        call: the call.
        whole: objects of calls that were looked at before, see `find_placeholder`.
    """
    held = (call.args, call.result, None if call.error is None else call.error.value)
    return call.damaged is not None or any(find_placeholder(value, whole) is not None for value in held)


def is_closed(value: Wire) -> bool:
    """Whether a value is encrypted or pickled, and stays closed."""
    return isinstance(value, dict) and value.get(TYPE) == "opaque" and value.get("why") == _SEALED


def _is_sealed(state: Wire) -> bool:
    todo: list[Wire] = [state]
    while todo:
        value = todo.pop()
        if is_closed(value):
            return True
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return False
