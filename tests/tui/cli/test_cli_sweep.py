"""`agent-tt sweep`: what it says before, between and after, and what it refuses; nothing here starts an agent."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.sweeping.by_hand import ByHand

from agent_tt.forking.request import ForkRequest
from agent_tt.model import ErrorInfo, NewFork
from agent_tt.rerunning.launch import _new_run
from agent_tt.sweeping import driving, running
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Command

    from agent_tt.forking.plan import ForkPlan

pytestmark = pytest.mark.warm

HOT = ErrorInfo("builtins:ValueError", "too hot \x1b[31m")
TWO = Definition(
    (Axis("set", "temperature", (0, 1)), Axis("set", "city", ("Oslo", "Rome"))),
    fork=ForkRequest(1),
    samples=2,
    outcomes=("answer", "budget < 0"),
)


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[ByHand]:
    made = ByHand(tmp_path)
    (tmp_path / "guess.py").write_text("def main(state=None): ...\n")
    with closing(made.store):
        yield made


@pytest.fixture
def sweep(command: Command, by_hand: ByHand):
    """Run `agent-tt sweep` on the store that was written by hand."""
    return lambda *words: command("sweep", *words, "--store", str(by_hand.path))


@pytest.fixture
def half_done(by_hand: ByHand) -> ByHand:
    made = by_hand.begin(TWO)
    by_hand.took(made, 1, 1, state={"answer": "cold", "budget": -1})
    by_hand.took(made, 1, 2, state={"answer": "cold", "budget": 1})
    by_hand.took(made, 2, 1, "failed", {"budget": 1}, error=HOT)
    by_hand.took(made, 2, 2, "interrupted")
    by_hand.drop(made)
    return by_hand


def test_the_pre_flight_says_how_many_runs_and_runs_nothing(sweep, by_hand: ByHand) -> None:
    done = sweep("guess", "--at", "1", "--set", "temperature=0,0.5,1", "--samples", "5", "--jobs", "2", "--dry-run")
    assert done.code == 0
    assert "3 × 5 samples = 15 runs, 2 at a time" in done.out
    assert "temperature: 0, 0.5, 1" in done.out
    assert "Nothing was run." in done.out
    assert by_hand.store.sweeps() == []
    told = sweep("guess", "--at", "1", "--set", "temperature=0,0.5,1", "--samples", "5", "--dry-run", "--json").json
    assert (told["runs"], told["cells"], told["step"], told["jobs"]) == (15, 3, 1, 2)
    assert told["axes"] == [{"name": "temperature", "kind": "set", "place": "temperature", "values": [0, 0.5, 1]}]


def test_the_matrix_is_shown_with_rates_and_intervals(sweep, half_done: ByHand) -> None:
    done = sweep("--show", "guess/sweep-1")
    assert done.code == 0
    assert "3 of 8 runs" in done.out
    lines = [line.split() for line in done.out.splitlines()]
    assert ["0", '"Oslo"', "✓✓", "2/2", "34-100", "%", "1/2", "(9-91", "%)", "2", "110", "$0.25", "2.0", "s"] in lines
    assert "TAKEN TOGETHER" in done.out
    assert "temperature = 0" in done.out
    assert "\x1b" not in done.out


def test_what_was_found_at_each_path_is_listed(sweep, by_hand: ByHand) -> None:
    made = by_hand.begin(Definition(TWO.axes, fork=ForkRequest(1), outcomes=("answer", "why")))
    by_hand.took(made, 1, 1, state={"answer": "cold", "why": "wind"})
    by_hand.took(made, 2, 1, "failed", {}, error=HOT)
    lines = sweep("--show", "latest").out.splitlines()
    assert [lines.index(line) for line in ("ANSWER  1 different in 1", "WHY  1 different in 1")] == sorted(
        lines.index(line) for line in ("ANSWER  1 different in 1", "WHY  1 different in 1")
    )
    assert 'a    1×  "wind"' in lines


def test_where_no_run_succeeded_no_answers_are_counted(sweep, by_hand: ByHand) -> None:
    made = by_hand.begin(Definition((), fork=ForkRequest(1), samples=2))
    by_hand.took(made, 1, 1, "failed", {}, error=HOT)
    assert "ANSWER  no run succeeded" in sweep("--show", "latest").out


def test_the_matrix_for_programs_agrees_with_it(sweep, half_done: ByHand) -> None:
    told = sweep("--show", "latest", "--json").json
    assert told["sweep"] == {
        **told["sweep"],
        "name": "guess/sweep-1",
        "status": "interrupted",
        "runs": 8,
        "done": 3,
        "succeeded": 2,
        "broken": 1,
        "spent_usd": 0.75,
        "cost_complete": True,
    }
    first, second = told["cells"][:2]
    assert first["values"] == {"temperature": 0, "city": "Oslo"}
    assert first["succeeded"]["count"] == first["succeeded"]["runs"] == 2
    assert first["samples"][0]["outcomes"] == {"answer": {"value": "cold"}, "budget < 0": {"value": -1, "holds": True}}
    assert [sample["status"] for sample in second["samples"]] == ["failed", "broken"]
    assert second["samples"][0]["outcomes"]["answer"] == {}
    assert {(row["axis"], row["value"]): row["done"] for row in told["pooled"]} == {
        ("temperature", 0): 3,
        ("temperature", 1): 0,
        ("city", "Oslo"): 2,
        ("city", "Rome"): 1,
    }


def test_a_sum_of_costs_says_that_parts_of_it_are_not_known(sweep, by_hand: ByHand) -> None:
    made = by_hand.begin(Definition((), fork=ForkRequest(1), samples=3))
    by_hand.took(made, 1, 1, state={"answer": "a"})
    assert "$0.25 " in sweep("--show", "latest").out.replace("\n", " ")
    by_hand.took(made, 1, 2, state={"answer": "a"}, unpriced=2)
    assert "$0.50+" in sweep("--show", "latest").out
    told = sweep("--show", "latest", "--json").json
    assert (told["sweep"]["spent_usd"], told["sweep"]["cost_complete"]) == (0.5, False)
    by_hand.took(made, 1, 3, "failed", {}, spent=(1, 1, None), error=HOT, unpriced=1)
    assert "$0.50+" in sweep("--show", "latest").out


def test_a_sweep_of_which_no_price_is_known_does_not_look_free(sweep, by_hand: ByHand) -> None:
    made = by_hand.begin(Definition((), fork=ForkRequest(1), samples=2))
    by_hand.took(made, 1, 1, state={"answer": "a"}, spent=(1, 1, None), unpriced=1)
    assert "$0+" in sweep("--show", "latest").out or "$0.00+" in sweep("--show", "latest").out


def test_sweeps_are_listed(sweep, half_done: ByHand) -> None:
    assert [each["name"] for each in sweep("--list", "--json").json] == ["guess/sweep-1"]
    line = sweep("--list", "guess").out.splitlines()[1]
    assert "interrupted" in line
    assert "3/8" in line
    assert "temperature, city" in line


def test_where_there_is_none_the_list_says_how_to_begin_one(sweep) -> None:
    assert "agent-tt sweep RUN --at STEP" in sweep("--list").out


def test_each_run_is_told_as_it_ends_and_the_matrix_at_the_end(
    sweep, half_done: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Done:
        def __init__(self, run_id: str) -> None:
            self.run_id = run_id

        def poll(self) -> int:
            return 0

        def stop(self, grace: float = 0.0) -> None: ...

    def start(plan: ForkPlan, *, asked: object, warm: object) -> Done:
        store = half_done.store
        run_id = store.begin_fork(NewFork(plan.run.id, plan.step, state=plan.state, new=_new_run(plan)))
        store.set_run_status(run_id, "succeeded")
        return Done(run_id)

    monkeypatch.setattr(running, "start_fork", start)
    monkeypatch.setattr(driving, "check_made_here", lambda *_: None)
    done = sweep("--resume", "guess/sweep-1", "--jobs", "3")
    assert done.code == 0, done.err
    assert "3 of 8 runs are done already." in done.out
    assert '✓ 1, "Rome" / 2' in done.out
    assert "complete" in done.out
    again = sweep("--resume", "guess/sweep-1", "--json")
    assert (again.code, again.json["sweep"]["done"], again.json["sweep"]["jobs"]) == (0, 8, 3)


VARY = ("--at", "1", "--set", "temperature=0,1")


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ((), 2, "name the RUN to fork"),
        (("guess", "--at", "1"), 2, "nothing is varied"),
        (("guess", *VARY, "--set", "temperature=2"), 2, "temperature is varied twice"),
        (("guess", "--at", "1", "--set", "temperature=0,,1"), 2, "a value is missing"),
        (("guess", "--at", "1", "--set", "temperature=a,b"), 2, "not JSON"),
        (("guess", "--at", "1", "--set", "temperatur=0,1"), 2, "temperatur is not in the state after step 1"),
        (("guess", "--at", "9", "--set", "temperature=0,1"), 3, "there is no step 9"),
        (("guess", *VARY, "--outcome", "budget <"), 2, "it ends where a value is expected"),
        (("guess", *VARY, "--policy", "pay=ask"), 2, "nobody is there to answer"),
        (("guess", *VARY, "--executor", "nobody"), 2, "nobody"),
        (("guess", *VARY, "--samples", "60"), 2, "that would be 120 runs"),
        (("guess", *VARY, "--samples", "6000", "--yes"), 2, "at most 10,000"),
        (("guess", *VARY, "--jobs", "0"), 2, "0"),
        (("nobody", *VARY), 3, "nobody"),
        (("--show", "guess/sweep-7"), 3, "no sweep 'guess/sweep-7'"),
        (("--resume", "guess/sweep-7"), 3, "no sweep 'guess/sweep-7'"),
        (("--resume", "a", "--show", "b"), 2, "do not go together"),
        (("guess", "--resume", "a"), 2, "takes a sweep as it was begun"),
    ],
)
def test_mistakes_are_told_in_one_line_and_nothing_is_begun(
    sweep, by_hand: ByHand, words: tuple[str, ...], code: int, why: str
) -> None:
    done = sweep(*words)
    assert done.code == code, done.err
    assert why in done.err.splitlines()[0]
    assert "Traceback" not in done.err
    assert by_hand.store.sweeps() == []


def test_a_sweep_that_is_being_run_is_not_resumed(sweep, by_hand: ByHand) -> None:
    by_hand.begin(TWO)
    done = sweep("--resume", "latest", "--trust")
    assert done.code == 1
    assert "guess/sweep-1 is being run, by process" in done.err
