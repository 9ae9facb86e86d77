"""Recording which edits of a fork had no effect; see `agent_tt.comparing.runs.without_effect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.model.facts import RunFacts, WithoutEffectFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.model import Run, Step
    from agent_tt.protocols import Store

__all__ = ["keep_without_effect", "keep_written_over"]


def keep_without_effect(store: Store, run_id: str, found: Mapping[int, str]) -> None:
    """Record edits that had no effect, each with the reason, by its position among those of the fork."""
    if not found:
        return
    before = store.run(run_id).facts.edits_without_effect
    known = {said.edit for said in before}
    fresh = (WithoutEffectFacts.of_edit(index, found[index]) for index in sorted(found) if index not in known)
    store.set_metadata(run_id, RunFacts.edits_without_effect.entry((*before, *fresh)))


def keep_written_over(store: Store, run: Run) -> None:
    """Find out whether an agent that was handed an edited state wrote over the edit before it had an effect.

    That is so where its first step asked what the same step of the original asked, ended as that did, and left the very
    same state.
    """
    step = (run.fork_step or 0) + 1
    edits = {index: edit for index, edit in enumerate(run.edits) if edit.target == "state"}
    if not edits or run.way_back_in != "restore" or run.parent is None or run.steps < step:
        return
    try:
        parent = store.run(run.parent)
        if parent.steps < step or _did(store, run.id, step) != _did(store, parent.id, step):
            return
        before, after = store.state(parent.id, step - 1), store.state(run.id, step - 1)
        if before == after or store.state(run.id, step) != store.state(parent.id, step):
            return
    except AgentTTError:  # what cannot be read says nothing
        return
    why = f"the agent wrote over it: step {step} asked what it had asked in {parent.name}, and left the same state"
    keep_without_effect(store, run.id, dict.fromkeys(edits, why))


def _did(store: Store, run_id: str, step: int) -> tuple[object, ...]:
    """What a step was, how it ended, and what it asked."""
    asked = [(call.kind, call.name, call.signature) for call in store.calls(run_id, step)]
    rows = store.steps(run_id, step, step + 1)
    return asked, *((row.name, row.agent, row.decision, row.status, _error(row)) for row in rows)


def _error(step: Step) -> tuple[str, str] | None:
    return None if step.error is None else (step.error.class_name, step.error.message)
