"""What people changed for a fork, and for the runs that it was forked from, where it is part of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.model import Edit
    from agent_tt.protocols import RunSource

__all__ = ["UPDATED", "edited_calls", "edited_states", "is_updated"]

UPDATED: Final = "update_state"
"""Who wrote a state of LangGraph's that no node of the graph wrote: somebody who called that function."""


_MOST_PARENTS: Final = 200


def edited_states(source: RunSource, run_id: str) -> dict[int, list[tuple[Edit, str]]]:
    """The changes of states, each with the name of the fork that it was made for, by the step whose state it is."""
    found: dict[int, list[tuple[Edit, str]]] = {}
    for edit, step, name in _edits(source, run_id):
        if edit.target == "state":
            found.setdefault(step, []).append((edit, name))
    return found


def edited_calls(source: RunSource, run_id: str) -> dict[tuple[int, int], tuple[Edit, str]]:
    """The changes of what came back of calls, each with the name of the fork, by step and number of the call."""
    return {
        (step, edit.call): (edit, name)
        for edit, step, name in _edits(source, run_id)
        if edit.target in ("result", "error", "answer") and edit.call is not None
    }


def is_updated(source: RunSource, run_id: str, step: int) -> bool:
    """Whether a step is one in which LangGraph's state was changed from outside of the graph."""
    return any(each.facts.is_edit for each in source.steps(run_id, step, step + 1))


def _edits(source: RunSource, run_id: str) -> Iterator[tuple[Edit, int, str]]:
    """Every change, the step that it is at, and the name of the fork."""
    run = source.run(run_id)
    last: int | None = None
    for _ in range(_MOST_PARENTS):
        if run.parent is None or run.fork_step is None:
            return
        for edit in run.edits:
            step = run.fork_step if edit.step is None else edit.step
            if last is None or step <= last:  # what comes after the fork's beginning is not part of it
                yield edit, step, run.name
        last = run.fork_step if last is None else min(last, run.fork_step)
        try:
            run = source.run(run.parent)
        except AgentTTError:  # the parent was deleted: what it holds is there, who made it is not known
            return
