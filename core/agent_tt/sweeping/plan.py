"""What a sweep will do, worked out before anything runs: each of its cells is planned as the fork that it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path
from agent_tt.comparing.steps.outcome import final_state
from agent_tt.errors import AgentTTError, InvalidEdit, UsageError
from agent_tt.forking.editing.edit_warnings import new_keys
from agent_tt.forking.editing.edits import apply_edits, with_old_values
from agent_tt.forking.plan import ForkPlan, plan_fork
from agent_tt.forking.policy.policies import configured_policy, written_rules
from agent_tt.model import Run
from agent_tt.model.facts import SweepFacts
from agent_tt.querying.expressions.tree import CALL_NAMES, facts
from agent_tt.querying.expressions.values import Missing, at
from agent_tt.sweeping.axes import edit_of
from agent_tt.sweeping.definition import MOST_UNASKED, Cell, Definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.forking.policy.boundary import Expected
    from agent_tt.model import Sweep
    from agent_tt.protocols import RunSource

__all__ = ["SweepPlan", "plan_cell", "plan_sweep", "run_name", "sample_of"]


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """A sweep that could be started.

    Attributes:
        run: the run that is forked.
        definition: what is varied.
        step: the last step that all its runs share.
        first: the fork that its first cell is.
        expected_tokens: what models may read and write in all runs, as the original did; None where nobody said.
        expected_cost: US dollars, likewise; what `mock` answers costs nothing.
        expected_unpriced: how many of those model calls have no known price: `expected_cost` is that of the others.
        expected_us: microseconds from the first to the last run, with as many at a time as are asked for.
        problems: what is worth knowing before it runs, one line each.
    """

    run: Run
    definition: Definition
    step: int
    first: ForkPlan
    expected_tokens: int | None
    expected_cost: float | None
    expected_unpriced: int
    expected_us: int | None
    problems: tuple[str, ...]

    @property
    def needs_a_yes(self) -> bool:
        """Whether there are so many runs that somebody has to say that they are meant."""
        return self.definition.run_count > MOST_UNASKED


def plan_sweep(source: RunSource, run: str | Run, definition: Definition) -> SweepPlan:
    """Work out a sweep, and refuse it where one of its cells could not run.

    Raises:
        UsageError: it makes no sense, or a cell cannot run; the message says which and why.
        RunNotFound, StepNotFound: there is no such run or step.
        ReadOnlySource: the run lies in a file that is only read.
    """
    definition = definition.checked()
    original = run if isinstance(run, Run) else source.run(run)
    step = definition.fork.step_of(source, original)
    definition = replace(definition, fork=replace(definition.fork, step=step))  # it is kept: `~1` may be another later
    _check_steps(definition)
    _check_paths(source, original, definition)
    plans: list[ForkPlan] = []
    expected: list[tuple[Expected, tuple[str, ...]]] = []
    paid: list[float | None] = []
    unpriced: list[int] = []
    for cell in definition.cells():
        try:
            plan = plan_cell(source, original, definition, cell)
            plan.check_held()
        except AgentTTError as error:
            raise _in_cell(error, definition, cell) from error
        plans = plans or [plan]  # only one is kept: each holds a whole state
        expected.append((plan.expected, plan.problems))
        paid.append(None if plan.terms.is_mock else plan.expected.cost_usd)
        unpriced.append(0 if plan.terms.is_mock else plan.expected.unpriced)
    tokens = [
        (known.tokens_in or 0) + (known.tokens_out or 0)
        for known, _ in expected
        if known.tokens_in is not None or known.tokens_out is not None
    ]
    costs = [cost for cost in paid if cost is not None]
    times = [known.duration_us for known, _ in expected if known.duration_us is not None]
    return SweepPlan(
        run=original,
        definition=definition,
        step=plans[0].step,
        first=plans[0],
        expected_tokens=sum(tokens) * definition.samples if tokens else None,
        expected_cost=sum(costs) * definition.samples if costs else None,
        expected_unpriced=sum(unpriced) * definition.samples,
        expected_us=_span(times, definition) if times else None,
        problems=tuple(
            dict.fromkeys(
                (
                    *_odd_outcomes(source, original, definition),
                    *_unanswered(plans[0]),
                    *(odd for _, each in expected for odd in each),
                )
            )
        ),
    )


def _span(times: Sequence[int], definition: Definition) -> int:
    jobs = min(definition.jobs, definition.run_count)
    return max(*times, sum(times) * definition.samples // jobs)


def _check_steps(definition: Definition) -> None:
    """Refuse edits of calls whose runs would begin at different steps: a matrix compares what is alike."""
    steps = {
        edit.step
        for axis in definition.axes
        if axis.kind in ("result", "error", "answer")
        for value in axis.values
        if (edit := edit_of(axis, value)) is not None
    }
    if len(steps) > 1:
        raise UsageError(
            f"calls of several steps are varied ({', '.join(map(str, sorted(steps, key=str)))})",
            hint="vary the calls of one step",
        )


def _check_paths(source: RunSource, run: Run, definition: Definition) -> None:
    """Refuse to vary what the state does not have: a mistyped path would cost as many runs as there are values.

    Raises:
        InvalidEdit: names the path, and what may have been meant; or a value is none of the type that is there.
    """
    step = definition.fork.step_of(source, run)
    if definition.new_keys or step is None:
        return
    state = source.state(run.id, step)
    for axis in definition.axes:
        edits = [edit for value in axis.values if (edit := edit_of(axis, value)) is not None and edit.target == "state"]
        if not edits:
            continue
        odd = new_keys(state, edits[:1]) if axis.kind in ("set", "retype") and axis.varies else ()
        if odd:
            meant = odd[0].partition(": ")[2]
            raise InvalidEdit(
                f"{edits[0].path} is not in the state after step {step}",
                hint=f"{meant[:1].upper()}{meant[1:]} --new-keys adds it to the state.".strip(),
            )
        first, *_ = [with_old_values(state, [edit])[0] for edit in edits]  # each value is looked at
        state = apply_edits(state, [first])


def _odd_outcomes(source: RunSource, run: Run, definition: Definition) -> list[str]:
    """A line for each path that the original's last state has not, and for each key of it that is named as a fact."""
    if not definition.outcomes:
        return []
    state = final_state(source, run.id)
    keys = state.keys() if isinstance(state, dict) else ()
    odd = []
    for asked in definition.predicates:
        for root, place in facts(asked.expression.root):
            if root == "state" and isinstance(at(state, place), Missing):
                odd.append(f"the last state of {run.name} has no {format_path(place)}")
            elif root in keys:
                whose = "a call of the last step" if root in CALL_NAMES else "the last step"
                odd.append(f"{root} in {asked.text!r} is that of {whose}; the key of the state is state.{root}")
    return list(dict.fromkeys(odd))


def _unanswered(plan: ForkPlan) -> list[str]:
    """A line for each call whose configured policy asks somebody: in a sweep nobody is there."""
    asking = {row.name for row in plan.boundary if "ask" in (row.rule.word, row.rule.otherwise)}
    return [f"{name} is to be asked about, and is refused here: nobody answers in a sweep" for name in sorted(asking)]


def _in_cell(error: AgentTTError, definition: Definition, cell: Cell) -> AgentTTError:
    """The same error, with the values of the cell where they are part of the reason."""
    if len(definition.varied) and definition.cell_count > 1 and cell.number > 1:
        where = ", ".join(
            f"{axis.name}={label}" for axis, label in zip(definition.varied, definition.labels(cell), strict=True)
        )
        error.message = f"{where}: {error.message}"
        error.args = (error.message,)
    return error


def plan_cell(source: RunSource, run: Run | str, definition: Definition, cell: Cell) -> ForkPlan:
    """The fork that a cell is.

    Raises:
        AgentTTError: as `plan_fork`.
    """
    chosen = [(axis, axis.values[index]) for axis, index in zip(definition.axes, cell.indexes, strict=True)]
    edits = [edit for axis, value in chosen if (edit := edit_of(axis, value)) is not None]
    said = {axis.kind: value for axis, value in chosen if axis.kind in ("agent", "executor")}
    agent, executor = said.get("agent"), said.get("executor")
    words = {axis.place: value for axis, value in chosen if axis.kind == "policy"}
    base = definition.fork
    terms = replace(base.terms, executor=executor) if isinstance(executor, str) else base.terms
    request = replace(
        base,
        edits=edits,
        agent=agent if isinstance(agent, str) else None,
        allow=(),
        policy=configured_policy().with_all(written_rules(base.allow, words)),
        terms=terms,
    )
    return plan_fork(source, run, request)


def sample_of(plan: ForkPlan, sweep: Sweep, cell: Cell, sample: int, attempt: int) -> ForkPlan:
    """One sample of a cell, as the run that it becomes.

    Args:
        plan: the cell's fork.
        sweep: the sweep.
        cell: the cell.
        sample: which sample, from 1.
        attempt: how often it was begun, this time counted.
    """
    terms = plan.terms
    if terms.is_mock and terms.script is None:  # the same made-up answers every time would be one sample
        terms = replace(terms, seed=terms.seed + sample - 1)
    return replace(
        plan,
        name=run_name(sweep.name, cell.number, sample, attempt),
        terms=terms,
        sweep=SweepFacts.at(sweep.id, cell.number, sample),
    )


def run_name(sweep: str, cell: int, sample: int, attempt: int = 1) -> str:
    """`refund-loop/sweep-1/2.3`, and `refund-loop/sweep-1/2.3.2` of what was begun a second time."""
    return f"{sweep}/{cell}.{sample}" + (f".{attempt}" if attempt > 1 else "")
