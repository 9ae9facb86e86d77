"""What came out of a sweep, counted: by the program, and by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import Damaged, RunNotFound
from agent_tt.forking.request import ForkRequest
from agent_tt.model import ErrorInfo
from agent_tt.querying.expressions.values import MISSING
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.intervals import wilson
from agent_tt.sweeping.matrix import MatrixReader

if TYPE_CHECKING:
    from tests.core.sweeping.by_hand import ByHand

TOO_HOT = ErrorInfo("builtins:ValueError", "too hot")
LIMIT = ErrorInfo("agent_tt.intercepting.limits:LimitReached", "after step 5")
DIED = ErrorInfo("agent_tt.errors:AgentFailed", "its process was killed by SIGSEGV")
TWO_BY_TWO = Definition(
    (Axis("set", "temperature", (0, 1)), Axis("set", "city", ("Oslo", "Rome"))),
    fork=ForkRequest(1),
    samples=2,
    outcomes=("budget < 0", "answer"),
)


@pytest.mark.parametrize(
    ("successes", "runs", "low", "high"),
    # Wilson's own formula, worked out apart; 0 of 10 and 1 of 10 stand in Brown, Cai and DasGupta's tables too.
    [
        (0, 10, 0.0, 0.2775),
        (1, 10, 0.0179, 0.4042),
        (3, 5, 0.2307, 0.8824),
        (5, 5, 0.5655, 1.0),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_the_interval_of_a_rate(successes: int, runs: int, low: float, high: float) -> None:
    assert wilson(successes, runs) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_of_no_runs_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_every_cell_the_total_and_each_value_are_counted_as_by_hand(by_hand: ByHand) -> None:
    sweep = by_hand.begin(TWO_BY_TWO)
    by_hand.took(sweep, 1, 1, state={"budget": -1, "answer": "a"}, spent=(100, 10, 0.25), seconds=2)
    by_hand.took(sweep, 1, 2, state={"budget": 1, "answer": "b"}, spent=(50, 20, 0.75), seconds=4)
    by_hand.took(sweep, 2, 1, "failed", {"budget": -5}, error=TOO_HOT)
    by_hand.took(sweep, 2, 2, "interrupted", {"budget": 2, "answer": "a"}, error=LIMIT)
    by_hand.took(sweep, 4, 1, state={"budget": -2, "answer": None})
    matrix = by_hand.matrix(sweep)

    one, two, three, four = (cell.tally for cell in matrix.cells)
    assert [cell.labels for cell in matrix.cells] == [
        ("0", '"Oslo"'),
        ("0", '"Rome"'),
        ("1", '"Oslo"'),
        ("1", '"Rome"'),
    ]
    assert [(tally.done, tally.samples) for tally in (one, two, three, four)] == [(2, 2), (2, 2), (0, 2), (1, 2)]
    assert [tally.succeeded.count for tally in (one, two, three, four)] == [2, 0, 0, 1]
    assert [tally.holds[0].count for tally in (one, two, three, four) if tally.holds[0]] == [1, 1, 0, 1]
    assert one.holds[1] is None
    assert (one.tokens, one.cost_usd, one.duration_us, one.steps) == (90, 0.5, 3_000_000, 2)
    assert three.succeeded.share is None

    assert (matrix.total.done, matrix.total.samples, matrix.total.succeeded.count) == (5, 8, 3)
    assert matrix.total.succeeded.interval == wilson(3, 5)
    assert matrix.spent_usd == pytest.approx(0.25 + 0.75 + 3 * 0.25)
    assert matrix.unpriced == 0
    temperature, city = matrix.pooled
    assert [(label, tally.succeeded.count, tally.done) for label, tally in temperature] == [("0", 2, 4), ("1", 1, 1)]
    assert [(label, tally.succeeded.count, tally.done) for label, tally in city] == [('"Oslo"', 2, 2), ('"Rome"', 1, 3)]

    samples = {(cell.cell.number, each.number): each for cell in matrix.cells for each in cell.samples}
    assert samples[1, 1].found == (-1, "a")
    assert samples[2, 1].found == (-5, MISSING)
    assert [samples[place].status for place in ((2, 1), (2, 2), (3, 1), (4, 2))] == [
        "failed",
        "stopped",
        "waiting",
        "waiting",
    ]


def test_what_broke_off_with_the_sweep_is_kept_and_not_counted(by_hand: ByHand) -> None:
    sweep = by_hand.begin(TWO_BY_TWO)
    by_hand.took(sweep, 1, 1, "interrupted")
    by_hand.took(sweep, 1, 1, "running")
    by_hand.took(sweep, 1, 2, "interrupted")
    counted = by_hand.took(sweep, 1, 2, state={"budget": 1})
    matrix = by_hand.matrix(sweep)
    first, second = matrix.cells[0].samples
    assert (first.status, first.begun, first.is_done) == ("broken", 2, False)
    assert (second.status, second.begun, second.run and second.run.id) == ("succeeded", 2, counted)
    assert (matrix.total.done, matrix.broken) == (1, 3)


def test_an_agent_whose_process_dies_each_time_comes_to_an_outcome(by_hand: ByHand) -> None:
    sweep = by_hand.begin(TWO_BY_TWO)
    for _ in range(2):
        by_hand.took(sweep, 1, 1, "crashed", error=DIED)
    by_hand.took(sweep, 1, 1, "running")  # killed together with the sweep: nobody wrote down how
    assert by_hand.matrix(sweep).cells[0].samples[0].status == "broken"
    by_hand.took(sweep, 1, 1, "crashed", error=DIED)
    matrix = by_hand.matrix(sweep)
    assert matrix.cells[0].samples[0].status == "crashed"
    assert (matrix.total.done, matrix.total.succeeded.count) == (1, 0)


def test_a_run_that_could_not_even_be_started_is_no_outcome(by_hand: ByHand) -> None:
    sweep = by_hand.begin(TWO_BY_TWO)
    by_hand.took(sweep, 1, 1, "failed", error=ErrorInfo("agent_tt.errors:InvalidEntryPoint", "no such file"))
    assert by_hand.matrix(sweep).cells[0].samples[0].status == "broken"


def test_a_sample_that_was_taken_twice_counts_once(by_hand: ByHand) -> None:
    sweep = by_hand.begin(TWO_BY_TWO)
    first = by_hand.took(sweep, 1, 1, state={"budget": 1})
    by_hand.took(sweep, 1, 1, "failed", {"budget": 2}, error=TOO_HOT)
    matrix = by_hand.matrix(sweep)
    run = matrix.cells[0].samples[0].run
    assert run is not None
    assert (run.id, matrix.total.done) == (first, 1)


def test_another_sweep_and_other_forks_of_the_run_are_not_mixed_in(by_hand: ByHand) -> None:
    one, two = by_hand.begin(TWO_BY_TWO), by_hand.begin(TWO_BY_TWO)
    by_hand.took(one, 1, 1, state={"budget": 1})
    by_hand.took(two, 1, 1, "failed", {"budget": 2}, error=TOO_HOT)
    by_hand.took(two, 9, 9, state={"budget": 1})  # a cell that it does not have
    assert [by_hand.matrix(sweep).total.succeeded.count for sweep in (one, two)] == [1, 0]
    assert [by_hand.matrix(sweep).total.done for sweep in (one, two)] == [1, 1]


def test_a_reader_sees_runs_come_and_end(by_hand: ByHand) -> None:
    sweep = by_hand.begin(TWO_BY_TWO)
    reader = MatrixReader(by_hand.store, sweep.name)
    assert reader.read().status == "running"
    assert reader.read().left_us is None
    by_hand.took(sweep, 1, 1, state={"budget": 1}, seconds=3)
    matrix = reader.read()
    assert (matrix.total.done, matrix.left_us) == (1, 3_000_000 * 7)
    by_hand.drop(sweep)
    assert reader.read().status == "interrupted"


def test_a_sweep_that_is_damaged_or_missing_says_so(by_hand: ByHand) -> None:
    sweep = by_hand.store.begin_sweep(by_hand.run.id, 1, {"axes": "none"})
    with pytest.raises(Damaged, match="cannot be read"):
        by_hand.matrix(sweep)
    with pytest.raises(RunNotFound, match="no sweep 'guess/sweep-7'"):
        MatrixReader(by_hand.store, "guess/sweep-7")


def test_an_expression_is_asked_of_the_last_step(by_hand: ByHand) -> None:
    asked = 'state.budget < 0 and state.answer =~ "^c"', "state.budget < 0 or tokens > 500"
    sweep = by_hand.begin(
        Definition((Axis("set", "temperature", (0,)),), fork=ForkRequest(1), samples=3, outcomes=asked)
    )
    by_hand.took(sweep, 1, 1, state={"answer": "cold", "budget": -1})
    by_hand.took(sweep, 1, 2, state={"answer": "warm", "budget": -1})
    by_hand.took(sweep, 1, 3, state={"answer": "cold", "budget": 1}, spent=(400, 200, 0.0))
    (cell,) = by_hand.matrix(sweep).cells
    assert [sample.holds for sample in cell.samples] == [(True, True), (False, True), (False, True)]
    assert [rate.count for rate in cell.tally.holds if rate is not None] == [1, 3]


ASKING = Definition(
    (Axis("set", "temperature", (0,)),),
    fork=ForkRequest(1),
    samples=3,
    outcomes=("cost < 1", "mail == 'a@b.example'", "answer"),
)


def test_of_an_outcome_that_nobody_knows_it_is_not_said_that_it_does_not_hold(by_hand: ByHand) -> None:
    sweep = by_hand.begin(ASKING)
    by_hand.took(sweep, 1, 1, state={"mail": "a@b.example", "answer": "x"})
    by_hand.took(sweep, 1, 2, state={"mail": "<redacted>", "answer": "x"}, spent=(100, 10, None))
    by_hand.took(sweep, 1, 3, "failed", {"mail": "c@d.example"}, error=TOO_HOT, spent=(1, 1, 2.0))
    (cell,) = by_hand.matrix(sweep).cells
    assert [sample.holds for sample in cell.samples] == [
        (True, True, None),
        (None, None, None),
        (False, False, None),
    ]
    assert [(rate.count, rate.runs) for rate in cell.tally.holds if rate is not None] == [(1, 2), (1, 2)]
