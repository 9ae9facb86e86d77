"""A fork as it is asked for. Code, the command and the app each build one of these, and `plan_fork` works it out."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.forking.editing.first_question import state_to_edit
from agent_tt.forking.editing.written import state_edits
from agent_tt.forking.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.config import ToolEffect
    from agent_tt.forking.policy.policies import ToolPolicy
    from agent_tt.model import Edit, Run, WayBackIn
    from agent_tt.protocols import RunSource

__all__ = ["ForkRequest"]


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A fork as it is asked for. A sweep and a live bisection fork many times by one, changed a little each time.

    Attributes:
        step: the checkpoint to start from, 0 for the input, or `~1`, `@error`; None for that before the call that is
            edited.
        edits: changes, applied in order.
        changes: new values by path of the state at that step, made before `edits`.
        agent: another entry point to run, `module:callable` or `path/file.py:callable`; None for the recorded one.
        allow: names of what may run: the short form of the rule `live`, said after `policy`. Where a person says both,
            they stand in `policy` in the order of `written_rules`.
        policy: what it does with its calls; None for the defaults and what is configured.
        effects: what tools do that do not say it themselves, by their names: `read` or `write`. It is kept with the
            run, for later forks of it.
        name: the new run's name; None for the next `NAME/fork-N`.
        by: how the agent gets there: it is handed the state (`restore`) or re-entered by `replay`. None chooses:
            restore where the entry point takes a state, and no call is edited.
        accept_changes: where a re-entered agent asks something else than was recorded, let it go live from there.
        terms: who runs it, what it is told, and how far it may go.
        expect: what is hoped of it, as `agent_tt.querying.expecting` judges it; None for nothing.
        continue_with: the model, `openai:MODEL`, that goes on with the conversation alone, where the program that held
            it is not at hand; None runs the agent.
    """

    step: int | str | None = None
    edits: Sequence[Edit] = ()
    changes: Mapping[str, object] = field(default_factory=dict)
    agent: str | None = None
    allow: Sequence[str] = ()
    policy: ToolPolicy | None = None
    effects: Mapping[str, ToolEffect] = field(default_factory=dict)
    name: str | None = None
    by: WayBackIn | None = None
    accept_changes: bool = False
    terms: Terms = field(default_factory=Terms)
    expect: str | None = None
    continue_with: str | None = None

    def step_of(self, source: RunSource, run: Run) -> int | None:
        """The number of the step in a run; None where none is said.

        Raises:
            StepNotFound: there is no such step.
        """
        return source.step_number(run, self.step) if isinstance(self.step, str) else self.step

    def edits_of(self, source: RunSource, run: Run) -> list[Edit]:
        """All edits, `changes` among them.

        Raises:
            InvalidPath, InvalidEdit: the state has no such place.
        """
        if not self.changes:
            return [*self.edits]
        step = self.step_of(source, run)
        if step is None:
            step = next((edit.step for edit in self.edits if edit.step is not None), 0)
        return [*state_edits(state_to_edit(source, run.id, step), self.changes), *self.edits]
