"""What is odd about a run is named; a healthy run is left in peace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.core.memory_store import Did, MemorySource

import agent_tt
from agent_tt.model import ErrorInfo, Step
from agent_tt.querying.oddities import find_oddities

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"


@pytest.fixture(scope="module")
def samples():
    source = agent_tt.open_source(SAMPLES, read_only=True)
    yield source
    source.close()


def odd(source: Any, name: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(oddity.kind, oddity.steps) for oddity in find_oddities(source, source.run(name))]


def test_the_twenty_repeats_of_refund_loop_are_named(samples):
    assert odd(samples, "refund-loop") == [("first error", (20, 21)), ("repeated", tuple(range(1, 21)))]
    what = find_oddities(samples, samples.run("refund-loop"))[1].what
    assert what == "search_docs was asked 20 times with the same, and the same came back each time"


def test_a_search_that_is_called_off_finds_nothing(samples):
    assert find_oddities(samples, samples.run("refund-loop"), cancelled=lambda: True) == []


def test_trip_planner_is_left_in_peace(samples):
    assert odd(samples, "trip-planner") == []


def test_the_retries_of_flaky_checkout_are_named(samples):
    assert odd(samples, "flaky-checkout") == [("first error", (6, 7)), ("retried", (7, 8, 9))]


def made(dids: list[Did]) -> MemorySource:
    source = MemorySource()
    source.add("run", dids, state={})
    return source


def test_calls_that_go_round_are_a_cycle():
    rounds = [Did("s", tool=tool, args={"q": 1}, result=n) for n in range(4) for tool in ("look", "try")]
    assert odd(made(rounds), "run") == [("cycle", tuple(range(1, 9)))]
    assert odd(made(rounds[:4]), "run") == []


def test_what_is_redacted_is_not_said_to_be_the_same():
    def told(args: Any, result: Any, *more: Did) -> list[str]:
        source = made([Did("s", tool="look", args=args, result=result), *more] * 3)
        return [oddity.what for oddity in find_oddities(source, source.run("run"))]

    same = "look was asked 3 times with the same"
    assert told({"q": 1}, "x") == [f"{same}, and the same came back each time"]
    assert told({"q": "<redacted>"}, "x") == [f"{same} but for what is redacted, and the same came back each time"]
    assert told({"q": 1}, {"key": "<redacted>"})[0].startswith(f"{same} but for what is redacted")
    assert told({"q": "<redacted>"}, 1, Did("s", tool="find", args={}, result=1)) == [
        "look, find went round 3 times with the same arguments but for what is redacted"
    ]


def test_a_call_that_brings_news_is_asked_again_in_peace():
    polls = [Did("s", tool="status", args={"id": 1}, result=n) for n in range(4)]
    assert odd(made(polls), "run") == []
    assert odd(made([Did("s", tool="status", args={"id": n}, result=0) for n in range(9)]), "run") == []


class Figures(MemorySource):
    """Steps with times and tokens."""

    def __init__(self, milliseconds: list[int], tokens: list[int]) -> None:
        super().__init__()
        self._figures = list(zip(milliseconds, tokens, strict=True))
        self.add("run", [Did("s") for _ in milliseconds], state={})

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        return [
            replace(step, started_us=0, ended_us=ms * 1000, tokens_in=tokens, tokens_out=0)
            for step, (ms, tokens) in zip(super().steps(run_id), self._figures, strict=True)
        ]


def test_steps_far_from_what_is_usual_are_named():
    usual = [100, 110, 90, 105, 95, 100, 120, 80, 100]
    assert odd(Figures([*usual, 5_000], [900] * 10), "run") == [("slow", (10,))]
    assert odd(Figures([*usual, 130], [*[900] * 9, 60_000]), "run") == [("costly", (10,))]
    assert odd(Figures([*usual, 150], [*[900] * 9, 1_100]), "run") == []
    assert odd(Figures([2, 2, 2, 2, 2, 2, 2, 2, 2, 40], [1] * 10), "run") == []  # 40 ms are nothing to anybody


def test_a_context_that_only_grows_is_named():
    assert odd(Figures([9] * 10, [500 + 900 * n for n in range(10)]), "run") == [("growing", (1, 10))]


def test_only_the_first_error_is_named():
    error = ErrorInfo("builtins:ValueError", "no")
    steps = [Did("a"), Did("b", error=error, status="error"), Did("c", error=error, status="error")]
    assert odd(made(steps), "run") == [("first error", (1, 2))]


def test_an_error_that_the_agent_survived_is_the_first_too():
    error = ErrorInfo("tool:ToolError", "no seats")
    source = made([Did("a"), Did("b", tool="book", args={"seats": 6}), Did("c")])
    calls = source.calls
    source.calls = lambda run_id, step: [replace(call, error=error, status="error") for call in calls(run_id, step)]
    (found,) = find_oddities(source, source.run("run"))
    assert (found.kind, found.steps) == ("first error", (1, 2))
    assert found.what == "book failed in step 2, after step 1 (a), and the agent went on: ToolError: no seats"


def test_a_run_that_broke_off_is_named_by_its_last_step():
    source = MemorySource()
    source.add("run", [Did("a"), Did("b", status="running")], status="crashed", state={})
    (found,) = find_oddities(source, source.run("run"))
    assert (found.kind, found.steps, found.what) == (
        "first error",
        (1, 2),
        "the run ended in step 2 (b), after step 1 (a), without a word",
    )


def test_a_run_that_broke_off_behind_a_step_is_not_said_to_have_ended_in_it():
    source = MemorySource()
    source.add("run", [Did("a"), Did("b")], status="crashed", state={})
    assert find_oddities(source, source.run("run"))[0].what.startswith("the run ended after step 2 (b), ")
    killed = ErrorInfo("agent_tt.errors:AgentFailed", "its process was killed by SIGSEGV")
    source.add("run", [Did("a"), Did("b", status="running"), Did("c")], status="crashed", state={}, error=killed)
    (found,) = find_oddities(source, source.run("run"))
    assert (found.steps, found.what) == (
        (1, 2),
        "the run ended in step 2 (b), after step 1 (a): AgentFailed: its process was killed by SIGSEGV",
    )


@pytest.mark.parametrize("status", ["running", "interrupted"])
def test_that_the_agent_went_on_is_only_said_where_it_did(status: str):
    error = ErrorInfo("tool:ToolError", "no seats")

    def what(*steps: Did) -> str:
        source = MemorySource()
        source.add("run", [*steps], status="crashed", state={})
        calls = source.calls
        source.calls = lambda run_id, step: [replace(call, error=error, status="error") for call in calls(run_id, step)]
        return find_oddities(source, source.run("run"))[0].what

    assert what(Did("b", tool="book", status=status)) == "book failed in step 1: ToolError: no seats"
    went_on = "book failed in step 1, and the agent went on: ToolError: no seats"
    assert what(Did("b", tool="book", status=status), Did("c")) == went_on
    assert what(Did("b", tool="book")) == went_on


def test_looking_for_the_same_again_between_others_is_a_repeat_unless_something_was_changed():
    looks = [
        Did("s", tool=tool, args={"n": n if tool == "other" else 0}) for n in range(6) for tool in ("look", "other")
    ]
    assert odd(made(looks), "run") == [("repeated", (1, 3, 5, 7, 9, 11))]
    edits = [Did("s", tool=tool, args={"n": n if tool == "book" else 0}) for n in range(6) for tool in ("look", "book")]
    assert odd(made(edits), "run") == []


def test_a_person_may_take_time():
    source = Figures([*[100] * 9, 600_000], [1] * 10)
    steps = source.steps
    source.steps = lambda *args: [replace(step, kind="human") if step.number == 10 else step for step in steps(*args)]
    assert odd(source, "run") == []


def test_oddities_are_json(samples):
    run = samples.run("refund-loop")
    shapes = [oddity.to_json() for oddity in find_oddities(samples, run)]
    assert shapes[1] == {
        "kind": "repeated",
        "what": "search_docs was asked 20 times with the same, and the same came back each time",
        "steps": list(range(1, 21)),
    }
