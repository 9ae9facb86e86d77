"""Driving a sweep, with forks that only pretend to run: what is begun, begun again, and given up."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import agent_tt
from agent_tt.codec.encode import encode
from agent_tt.errors import (
    AgentFailed,
    Interrupted,
    InvalidEdit,
    InvalidExpression,
    IsRunning,
    StoreUnreadable,
    UsageError,
)
from agent_tt.forking.request import ForkRequest
from agent_tt.model import ErrorInfo, NewFork, NewRun, NewStep, StepEnd
from agent_tt.model.facts import RunFacts
from agent_tt.rerunning.launch import _new_run
from agent_tt.sweeping import resume_sweep, running
from agent_tt.sweeping.axes import Axis, axes_of, axis_of
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.driving import drive, start_sweep, take_up
from agent_tt.sweeping.matrix import MatrixReader
from agent_tt.sweeping.plan import plan_sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.core.sweeping.by_hand import ByHand

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.model import RunStatus
    from agent_tt.sweeping.matrix import Matrix

AGENT = "def main(state=None): ...\n"
DIED = ErrorInfo("agent_tt.errors:AgentFailed", "its process was killed by SIGSEGV")
THREE = Definition((Axis("set", "temperature", (0, 1, 2)),), fork=ForkRequest(1), samples=2, jobs=2)


class Pretended:
    """A fork that was not started: its run is over once somebody says so in the store."""

    def __init__(self, by_hand: ByHand, run_id: str) -> None:
        self.run_id, self._by_hand = run_id, by_hand

    def poll(self) -> int | None:
        return None if self._by_hand.store.run(self.run_id).status == "running" else 0

    def stop(self, grace: float = 5.0) -> None:
        if self.poll() is None:
            self._by_hand.store.set_run_status(self.run_id, "interrupted")


class Forks:
    """Stands for `start_fork`: keeps the plans, and lets each run end as it is told."""

    def __init__(self, by_hand: ByHand) -> None:
        self.by_hand = by_hand
        self.plans: list[ForkPlan] = []
        self.ends: Callable[[ForkPlan, int], tuple[RunStatus, ErrorInfo | None] | None] = lambda *_: ("succeeded", None)

    def __call__(self, plan: ForkPlan, *, asked: object, warm: object) -> Pretended:
        assert asked is not None  # a configured `ask` would wait for ever
        self.plans.append(plan)
        run_id = self.by_hand.store.begin_fork(NewFork(plan.run.id, plan.step, state=plan.state, new=_new_run(plan)))
        end = self.ends(plan, len(self.plans))
        if end is not None:
            self.by_hand.store.set_run_status(run_id, *end)
        return Pretended(self.by_hand, run_id)

    @property
    def places(self) -> list[tuple[object, object]]:
        return [(plan.sweep.cell, plan.sweep.sample) for plan in self.plans if plan.sweep is not None]


@pytest.fixture
def forks(by_hand: ByHand, monkeypatch: pytest.MonkeyPatch) -> Forks:
    (by_hand.path.parent / "guess.py").write_text(AGENT)
    pretended = Forks(by_hand)
    monkeypatch.setattr(running, "start_fork", pretended)
    return pretended


def begin(by_hand: ByHand, definition: Definition = THREE, report: Callable[[Matrix], None] | None = None) -> Matrix:
    return drive(start_sweep(plan_sweep(by_hand.store, by_hand.run, definition)), report)


def read(by_hand: ByHand) -> Matrix:
    return MatrixReader(by_hand.store, "latest").read()


def test_each_sample_of_each_cell_is_begun_once_with_its_edit_and_its_name(by_hand: ByHand, forks: Forks) -> None:
    matrix = begin(by_hand)
    assert sorted(forks.places) == [(cell, sample) for cell in (1, 2, 3) for sample in (1, 2)]
    assert {(plan.sweep.cell, plan.state["temperature"]) for plan in forks.plans} == {(1, 0), (2, 1), (3, 2)}
    assert sorted(plan.name or "" for plan in forks.plans)[:2] == ["guess/sweep-1/1.1", "guess/sweep-1/1.2"]
    assert (matrix.status, matrix.total.done) == ("complete", 6)


def test_no_more_runs_are_under_way_than_there_are_jobs(by_hand: ByHand, forks: Forks) -> None:
    forks.ends = lambda *_: None
    seen: list[int] = []

    def report(matrix: Matrix) -> None:
        seen.append(matrix.running)
        running = [run for run in by_hand.store.forks(by_hand.run.id) if run.status == "running"]
        if len(running) == 2 or (running and matrix.total.done == 5):  # news may be older than the store
            by_hand.store.set_run_status(running[0].id, "succeeded")

    assert begin(by_hand, report=report).status == "complete"
    assert max(seen) == 2


def test_an_agent_that_fails_is_an_outcome_and_is_not_begun_again(by_hand: ByHand, forks: Forks) -> None:
    forks.ends = lambda plan, _: (
        ("failed", ErrorInfo("builtins:ValueError", "too hot")) if plan.sweep.cell == 2 else ("succeeded", None)
    )
    matrix = begin(by_hand)
    assert len(forks.plans) == 6
    assert [cell.tally.succeeded.count for cell in matrix.cells] == [2, 0, 2]


def test_what_breaks_off_is_begun_again_under_another_name_and_kept(by_hand: ByHand, forks: Forks) -> None:
    forks.ends = lambda _, number: ("interrupted", None) if number == 1 else ("succeeded", None)
    matrix = begin(by_hand)
    assert forks.places.count((1, 1)) == 2
    assert [plan.name for plan in forks.plans if plan.sweep.cell == 1 and plan.sweep.sample == 1] == [
        "guess/sweep-1/1.1",
        "guess/sweep-1/1.1.2",
    ]
    assert (matrix.total.done, matrix.broken, len(by_hand.store.forks(by_hand.run.id))) == (6, 1, 7)


def test_what_breaks_off_each_time_is_given_up_and_taken_up_by_the_next_resume(by_hand: ByHand, forks: Forks) -> None:
    forks.ends = lambda plan, _: ("interrupted", None) if plan.sweep.cell == 1 else ("succeeded", None)
    with pytest.raises(AgentFailed, match=r"crashed each time.*4 of 6 runs are done") as caught:
        begin(by_hand)
    assert "agent-tt sweep --resume guess/sweep-1" in caught.value.hint
    assert [forks.places.count(place) for place in ((1, 1), (1, 2), (2, 1))] == [3, 3, 1]
    forks.ends = lambda *_: ("succeeded", None)
    assert resume_sweep("guess/sweep-1", store=by_hand.path).status == "complete"
    assert len(forks.plans) == 10 + 2


def test_a_process_that_dies_three_times_is_an_outcome(by_hand: ByHand, forks: Forks) -> None:
    forks.ends = lambda plan, _: ("crashed", DIED) if plan.sweep.cell == 1 else ("succeeded", None)
    matrix = begin(by_hand)
    assert [sample.status for sample in matrix.cells[0].samples] == ["crashed", "crashed"]
    assert (len(forks.plans), matrix.status) == (10, "complete")


def test_only_what_has_no_outcome_is_taken_when_it_is_resumed(by_hand: ByHand, forks: Forks) -> None:
    sweep = by_hand.begin(THREE)
    by_hand.took(sweep, 1, 1, state={"budget": 1})
    by_hand.took(sweep, 1, 2, "failed", {"budget": 1}, error=ErrorInfo("builtins:ValueError", "too hot"))
    by_hand.took(sweep, 2, 1, "interrupted")
    by_hand.took(sweep, 2, 2, "running")
    by_hand.drop(sweep)
    matrix = resume_sweep(sweep.name, store=by_hand.path)
    assert sorted(forks.places) == [(2, 1), (2, 2), (3, 1), (3, 2)]
    assert (matrix.total.done, matrix.total.succeeded.count) == (6, 5)
    assert "running" not in {run.status for run in by_hand.store.forks(by_hand.run.id)}


def test_a_run_that_goes_on_after_its_sweep_was_killed_is_waited_for(by_hand: ByHand, forks: Forks) -> None:
    sweep = by_hand.begin(THREE)
    # This process fills it, as the agent's own would.
    run_id = by_hand.store.begin_fork(
        NewFork(
            by_hand.run.id,
            1,
            state={},
            new=NewRun(name="", metadata={RunFacts.fork_sweep.key: {"id": sweep.id, "cell": 1, "sample": 1}}),
        )
    )
    by_hand.drop(sweep)

    def report(matrix: Matrix) -> None:
        if matrix.total.done == 5:  # all but the one that is waited for
            by_hand.store.set_run_status(run_id, "succeeded")

    matrix = resume_sweep(sweep.name, store=by_hand.path, report=report)
    assert (1, 1) not in forks.places
    assert matrix.cells[0].samples[0].run.id == run_id
    assert matrix.total.done == 6


def test_a_sweep_that_is_driven_is_not_driven_twice(by_hand: ByHand, forks: Forks) -> None:
    sweep = by_hand.begin(THREE)
    with pytest.raises(IsRunning, match="is being run"):
        resume_sweep(sweep.name, store=by_hand.path)
    by_hand.store.release_sweep(sweep.id)
    take_up(by_hand.path, sweep.name)
    with pytest.raises(IsRunning):
        take_up(by_hand.path, sweep.name)
    assert forks.plans == []


def test_stopped_it_leaves_nothing_running_and_says_how_to_go_on(by_hand: ByHand, forks: Forks) -> None:
    forks.ends = lambda *_: None

    def report(matrix: Matrix) -> None:
        if matrix.running == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="was stopped: 0 of 6 runs are done") as caught:
        begin(by_hand, report=report)
    assert caught.value.hint == "`agent-tt sweep --resume guess/sweep-1` goes on with the rest."
    assert [run.status for run in by_hand.store.forks(by_hand.run.id)] == ["interrupted", "interrupted"]
    assert (read(by_hand).status, read(by_hand).broken) == ("interrupted", 2)


def test_whoever_is_told_may_fail_and_nothing_is_left_running(by_hand: ByHand, forks: Forks) -> None:
    forks.ends = lambda *_: None

    def report(matrix: Matrix) -> None:
        if matrix.running == 2:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        begin(by_hand, report=report)
    assert [run.status for run in by_hand.store.forks(by_hand.run.id)] == ["interrupted", "interrupted"]
    assert not read(by_hand).sweep.driven


def test_no_run_is_begun_once_all_have_cost_what_they_may(by_hand: ByHand, forks: Forks) -> None:
    sweep = by_hand.begin(
        Definition((Axis("set", "temperature", (0, 1)),), fork=ForkRequest(1), samples=2, max_cost=0.5)
    )
    by_hand.took(sweep, 1, 1, state={"budget": 1}, spent=(1, 1, 0.4))
    by_hand.took(sweep, 1, 2, "interrupted", {"budget": 1}, spent=(1, 1, 0.2))  # what broke off has cost too
    by_hand.drop(sweep)
    with pytest.raises(Interrupted, match=r"has cost \$0.60, as much as it may: 1 of 4"):
        resume_sweep(sweep.name, store=by_hand.path)
    assert forks.plans == []
    assert resume_sweep(sweep.name, store=by_hand.path, max_cost=9).total.done == 4


def test_a_fork_that_cannot_be_started_ends_the_sweep_with_its_reason(by_hand: ByHand, forks: Forks) -> None:
    def fail(plan: ForkPlan) -> None:
        raise StoreUnreadable("the disk is full")

    forks.ends = lambda plan, _: fail(plan)  # type: ignore[func-returns-value,assignment]
    with pytest.raises(StoreUnreadable, match="the disk is full"):
        begin(by_hand)
    assert not read(by_hand).sweep.driven


def test_made_up_answers_differ_from_sample_to_sample(by_hand: ByHand, forks: Forks) -> None:
    definition = Definition((Axis("executor", "", ("python", "mock")),), fork=ForkRequest(1), samples=2)
    begin(by_hand, definition)
    assert sorted((plan.terms.executor, plan.terms.seed) for plan in forks.plans) == [
        ("mock", 0),
        ("mock", 1),
        ("python", 0),
        ("python", 0),
    ]


def test_a_fork_of_a_run_of_a_sweep_is_none_of_the_sweep(by_hand: ByHand, forks: Forks) -> None:
    begin(by_hand)
    from agent_tt.forking.plan import plan_fork

    first = by_hand.store.forks(by_hand.run.id)[0]
    assert RunFacts.fork_sweep.key in first.metadata
    assert RunFacts.fork_sweep.key not in _new_run(plan_fork(by_hand.store, first, ForkRequest(1))).metadata


def test_the_python_interface_does_the_same(by_hand: ByHand, forks: Forks) -> None:
    told: list[int] = []
    matrix = agent_tt.sweep(
        "guess",
        1,
        {"temperature": [0, 0.5], "budget": [7]},
        policies={"pay": ["deny", "live"]},
        samples=2,
        jobs=4,
        outcomes=["budget == 7"],
        store=by_hand.path,
        report=lambda now: told.append(now.total.done),
    )
    assert [cell.labels for cell in matrix.cells] == [("0", "deny"), ("0", "live"), ("0.5", "deny"), ("0.5", "live")]
    assert told[-1] == matrix.total.done == 8
    assert {plan.state["budget"] for plan in forks.plans} == {7}
    assert sum(plan.policy.get("pay") == "live" for plan in forks.plans) == 4
    assert matrix.total.holds[0].count == 8


@pytest.mark.parametrize(
    ("definition", "error", "why"),
    [
        (
            Definition((axis_of("set", "temperatur=0,1"),), fork=ForkRequest(1)),
            InvalidEdit,
            "temperatur is not in the state after step 1",
        ),
        (
            Definition((axis_of("set", "temperature=0,1"),), fork=ForkRequest(7)),
            agent_tt.AgentTTError,
            "there is no step 7",
        ),
        (Definition((axis_of("set", "temperature=0,1"),)), UsageError, "no step to fork after was given"),
        (Definition((axis_of("set", "budget.x=0,1"),), fork=ForkRequest(1)), InvalidEdit, "budget"),
        (
            Definition((axis_of("result", "1=1,2"), axis_of("answer", "2=a"))),
            UsageError,
            "calls of several steps are varied",
        ),
        (
            Definition((axis_of("agent", "guess.py:main,gone.py:main"),), fork=ForkRequest(1)),
            agent_tt.AgentTTError,
            "agent=gone.py:main: ",
        ),
        (
            Definition((axis_of("executor", "python,nobody"),), fork=ForkRequest(1)),
            agent_tt.AgentTTError,
            "executor=nobody: .*nobody",
        ),
        (
            Definition((axis_of("set", "temperature=0,1"),), fork=ForkRequest(1), outcomes=("budget <",)),
            InvalidExpression,
            "it ends where a value is expected",
        ),
    ],
)
def test_what_could_not_run_is_refused_before_anything_does(
    by_hand: ByHand, forks: Forks, definition: Definition, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why) as caught:
        plan_sweep(by_hand.store, by_hand.run, definition)
    assert "\n" not in str(caught.value)
    assert (forks.plans, by_hand.store.sweeps()) == ([], [])


def test_a_mistyped_path_names_what_may_have_been_meant_and_can_be_insisted_on(by_hand: ByHand, forks: Forks) -> None:
    axis = axis_of("set", "temperatur=0,1")
    with pytest.raises(InvalidEdit) as caught:
        plan_sweep(by_hand.store, by_hand.run, Definition((axis,), fork=ForkRequest(1)))
    assert caught.value.hint == "Did you mean temperature? --new-keys adds it to the state."
    plan_sweep(by_hand.store, by_hand.run, Definition((axis,), fork=ForkRequest(1), new_keys=True))
    # What another edit of every run puts there is there.
    fixed = axis_of("set", 'extra={"a": 1}')
    plan_sweep(by_hand.store, by_hand.run, Definition((fixed, axis_of("set", "extra.a=1,2")), fork=ForkRequest(1)))


def test_each_value_keeps_the_type_of_what_it_replaces_or_the_sweep_is_refused(by_hand: ByHand, forks: Forks) -> None:
    writer = by_hand.store.begin_run(NewRun(name="typed", code=by_hand.run.code), {"price": Decimal("9.90")})
    writer.close_step(writer.open_step(NewStep("think")), StepEnd("ok"), {"price": Decimal("9.90")})
    writer.finish("succeeded")
    run = by_hand.store.run("typed")

    def planned(axis: Axis) -> list[object]:
        plan = plan_sweep(by_hand.store, run, Definition((axis,), fork=ForkRequest(1)))
        return [plan.first.edits[0].value]

    assert planned(axis_of("set", "price=12.5,3")) == [encode(Decimal("12.5"))]
    assert planned(axis_of("retype", "price=12.5,3")) == [12.5]
    with pytest.raises(InvalidEdit, match='"soon" is no Decimal'):
        planned(axis_of("set", 'price=12.5,"soon"'))
    with pytest.raises(UsageError, match="price is varied twice"):
        axes_of([axis_of("set", "price=1,2"), axis_of("retype", "price=3,4")])


def test_the_pre_flight_counts_runs_tokens_and_cost(by_hand: ByHand, forks: Forks) -> None:
    plan = plan_sweep(by_hand.store, by_hand.run, THREE)
    assert (plan.definition.run_count, plan.step, plan.expected_tokens, plan.needs_a_yes) == (6, 1, None, False)
    many = Definition(THREE.axes, fork=ForkRequest(0), samples=40, outcomes=("nowhere",))
    plan = plan_sweep(by_hand.store, by_hand.run, many)
    assert plan.needs_a_yes
    assert plan.problems == ("the last state of guess has no nowhere",)


def test_the_pre_flight_says_where_a_key_of_the_state_is_named_as_a_fact(by_hand: ByHand, forks: Forks) -> None:
    asked = ("answer", "not tokens", "error.code == 1", "len(plan) > 3")
    plan = plan_sweep(
        by_hand.store, by_hand.run, Definition(THREE.axes, fork=ForkRequest(0), samples=2, outcomes=asked)
    )
    assert plan.problems == (
        "tokens in 'not tokens' is that of the last step; the key of the state is state.tokens",
        "the last state of guess has no error.code",
        "the last state of guess has no plan",
    )
