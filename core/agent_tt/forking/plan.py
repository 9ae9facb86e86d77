"""What a fork will do, worked out before anything runs: the pre-flight that people see and confirm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_tt.forking.advice import new_keys
from agent_tt.forking.boundary import Expected, boundary_of, expected_after
from agent_tt.forking.checks import check_origin, check_step, check_values, last_kept
from agent_tt.forking.code import CodePlan, plan_code
from agent_tt.forking.edits import apply_edits, with_old_values
from agent_tt.model import Run
from agent_tt.recording.policy import ToolPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.boundary import Boundary
    from agent_tt.model import Edit
    from agent_tt.protocols import RunSource

__all__ = ["ForkPlan", "plan_fork"]


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork that could be started.

    Attributes:
        store: the file that the new run is written to.
        run: the run that is forked.
        step: the last step that is kept, not run again; 0 for none. Where the step that was asked for contains others,
            it is the last of these.
        step_name: the name of the step after whose end the fork starts, "input" for checkpoint 0.
        name: the new run's name; None for the next `NAME/fork-N`.
        edits: what was changed, each with the value that was there.
        state: the edited state, which the agent gets; read-only.
        code: what will run, and how it gets the state.
        boundary: the models and tools of the run, each with what the fork lets it do; those that write come first.
        expected: what the original spent after `step`, the best guess at what the fork will.
        policy: what the fork lets tools do, as it is stored with the run.
        problems: what is worth knowing before it runs, one line each. None of it prevents the fork.
    """

    store: Path
    run: Run
    step: int
    step_name: str
    name: str | None
    edits: tuple[Edit, ...]
    state: Wire
    code: CodePlan
    boundary: tuple[Boundary, ...]
    expected: Expected
    policy: Mapping[str, str]
    problems: tuple[str, ...]

    @property
    def writers(self) -> tuple[Boundary, ...]:
        """The tools that write, which the fork denies unless they are allowed."""
        return tuple(row for row in self.boundary if row.effect == "write")

    def allowing(self, tools: Iterable[str]) -> ForkPlan:
        """The same fork with exactly these writing tools allowed."""
        policy = ToolPolicy(allow=frozenset(tools), writes="deny")
        rows = tuple(replace(row, policy=policy.decide(row.name, row.effect)) for row in self.boundary)
        return replace(self, boundary=rows, policy=policy.to_mapping())

    def named(self, name: str | None) -> ForkPlan:
        """The same fork under another name."""
        return replace(self, name=name or None)


def plan_fork(
    source: RunSource,
    run: str | Run,
    step: int,
    *,
    edits: Sequence[Edit] = (),
    agent: str | None = None,
    allow: Iterable[str] = (),
    name: str | None = None,
) -> ForkPlan:
    """Work out a fork of `run` after `step`, and refuse it where it could not run.

    Args:
        source: the store that holds the run, and that will hold the fork.
        run: the run, or what names it.
        step: the checkpoint to start from, 0 for the input.
        edits: changes of the state, applied in order.
        agent: another entry point to run, `module:callable` or `path/file.py:callable`.
        allow: names of writing tools that may run; all others that write are denied.
        name: the new run's name instead of `NAME/fork-N`.

    Raises:
        ReadOnlySource: the run lies in a file that is only read.
        RunNotFound, StepNotFound: there is no such run or step.
        UsageError: other steps were under way when the step ended.
        InvalidEdit, InvalidPath: an edit does not fit the state.
        NotRebuildable, Damaged: the edited state holds something that cannot become a Python value again.
        InvalidEntryPoint: the agent cannot be found, or takes no state.
    """
    original = run if isinstance(run, Run) else source.run(run)
    check_origin(source, original)
    steps = source.steps(original.id)
    chosen = check_step(source, original, steps, step)
    state = source.state(original.id, step)
    known = with_old_values(state, edits)
    edited = apply_edits(state, edits)
    check_values(edited)
    code, problems = plan_code(original, agent)
    policy = ToolPolicy(allow=frozenset(allow), writes="deny")
    kept = 0 if chosen is None else last_kept(chosen, steps)
    if kept != step:
        problems += (f"step {step} contains the steps up to {kept}: they are kept too",)
    boundary = boundary_of(source, original.id, steps, after=kept, policy=policy)
    problems += new_keys(state, edits)
    unknown = sorted(policy.allow - {row.name for row in boundary})
    problems += tuple(f"{tool} is allowed, but {original.name} never called it" for tool in unknown)
    return ForkPlan(
        store=source.path,
        run=original,
        step=kept,
        step_name="input" if chosen is None else chosen.name,
        name=name or None,
        edits=known,
        state=edited,
        code=code,
        boundary=boundary,
        expected=expected_after(steps, kept),
        policy=policy.to_mapping(),
        problems=problems,
    )
