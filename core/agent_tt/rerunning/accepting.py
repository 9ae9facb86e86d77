"""Letting an agent whose code has changed go live from the first step that asks something else than was recorded.

Which step that is tells a replay: offline, with everything answered from the recording.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEdit
from agent_tt.forking.editing.call_edits import CALLS
from agent_tt.forking.policy.boundary import expected_after
from agent_tt.replaying.divergence import AT_THE_END
from agent_tt.rerunning.replay import run_replay
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from agent_tt.forking.plan import ForkPlan

__all__ = ["from_where_it_changed"]


def from_where_it_changed(plan: ForkPlan) -> ForkPlan:
    """The same fork, which keeps only the steps before the first that its agent takes otherwise now.

    Edits of the state are made when the live agent has ended the step that they are for.

    Raises:
        InvalidEdit: a call is edited that lies behind that step.
        AgentFailed, InvalidEntryPoint: the agent could not be replayed.
    """
    agent = None if plan.code.entry == plan.run.code.entry else plan.code.entry
    with closing(open_source(plan.store)) as source:
        report = run_replay(source, plan.run, agent=agent)
        others = [found.step for found in report.divergences if found.kind not in AT_THE_END]
        changed = min((step for step in others if step is not None), default=1 if report.failed_before_asking else None)
        is_edited = any(edit.target in CALLS for edit in plan.edits)
        if changed is None or changed > plan.step + is_edited:
            return plan
        if is_edited:
            raise InvalidEdit(
                f"step {changed} asks something else now, so the edited call of step {plan.step + 1} may never come",
                hint=f"fork at step {changed - 1} without it",
            )
        kept = changed - 1
        steps = source.steps(plan.run.id)
        edits = tuple(
            replace(edit, step=plan.step) if edit.target == "state" and edit.step is None else edit
            for edit in plan.edits
        )
        return replace(
            plan,
            step=kept,
            step_name=steps[kept - 1].name if kept else "input",
            edits=edits,
            state=source.state(plan.run.id, kept),
            expected=expected_after(steps, kept),
            answered=sum(step.calls for step in steps[:kept]),
            problems=(*plan.problems, f"step {changed} asks something else now: the agent goes live from there"),
        )
