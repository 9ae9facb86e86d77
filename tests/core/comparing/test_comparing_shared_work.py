"""Lanes beside each other: which came first, and which worker did what, is chance; what they did is not."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

import agent_tt
from agent_tt.comparing.runs.call_changes import call_changes
from agent_tt.comparing.runs.comparison import Comparison, compare_runs
from agent_tt.comparing.runs.divergence_reason import Deed, explain, explain_question
from agent_tt.comparing.steps.call_pairs import pair_calls
from agent_tt.comparing.steps.moves import call_key, describe_move
from agent_tt.model import Call, Step

if TYPE_CHECKING:
    from pathlib import Path

STEP = Step(1, "fan", "ok")


def calls(told: str, results: dict[str, Any] | None = None) -> list[Call]:
    """`look:1/w0 weigh:1/w0`: calls of tools with what they were given, each in its lane."""
    made = []
    for number, word in enumerate(told.split(), start=1):
        what, _, lane = word.partition("/")
        name, _, asked = what.partition(":")
        result = (results or {}).get(word, f"{what} done")
        made.append(Call(1, number, "tool", name, "ok", args={"q": asked}, result=result, lane=lane or "main"))
    return made


def same(a: list[Call], b: list[Call]) -> bool:
    return describe_move(STEP, a).is_same_as(describe_move(STEP, b))


def said(a: list[Call], b: list[Call]) -> list[tuple[str, str]]:
    return [(change.op, change.path) for change in call_changes(a, b)]


def reason(a: list[Call], b: list[Call]) -> str:
    found = explain(Deed(STEP, a), Deed(STEP, b))
    return "" if found is None else found.text


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("look:1/w0 look:2/w1 weigh:2/w1 weigh:1/w0", "look:2/w1 weigh:2/w1 look:1/w0 weigh:1/w0"),
        # Another job got another number.
        ("look:1/w0 weigh:1/w0 look:2/w1", "look:2/w0 look:1/w1 weigh:1/w1"),
        # Workers took the work from a queue, at the end one of them all of it.
        ("look:1/w0 look:2/w0 look:3/w1", "look:1/w0 look:2/w1 look:3/w1"),
        ("look:1/w0 look:2/w1", "look:1/w0 look:2/w0"),
        ("look:0 look:1/w0 look:2/w1 weigh:0", "look:0 look:2/w1 look:1/w0 weigh:0"),
    ],
)
def test_a_step_whose_lanes_took_turns_otherwise_did_the_same(a: str, b: str) -> None:
    assert same(calls(a), calls(b))
    assert same(calls(b), calls(a))
    assert said(calls(a), calls(b)) == [] == said(calls(b), calls(a))
    assert reason(calls(a), calls(b)) == ""


@pytest.mark.parametrize(
    ("a", "b", "changes", "why"),
    [
        (
            "look:1/w0 look:2/w1",
            "look:3/w1 look:1/w0",
            [("change", "look #2 asked.q"), ("change", "look #2 result")],
            "look was asked with another q",
        ),
        ("look:1/w0 look:2/w1", "look:2/w1 look:3/w0 look:1/w0", [("add", "look #3")], "1 call more, look, in B"),
        ("look:1/w0 look:2/w1 weigh:2/w1", "look:2/w1 look:1/w0", [("remove", "weigh")], "1 call more, weigh, in A"),
        # What one lane did first is no chance, nor where the rest of the work was shared out otherwise.
        ("look:1/w0 weigh:1/w0 look:2/w1", "look:2/w1 weigh:1/w0 look:1/w0", [("change", "order")], "in another order"),
        (
            "look:1/w0 weigh:1/w0 look:2/w0 look:3/w1",
            "weigh:1/w0 look:1/w0 look:3/w1 look:2/w1",
            [("change", "order")],
            "in another order",
        ),
        # The same of calls in one lane, whichever was put in before.
        ("look:1 look:2", "look:2 look:1", [("change", "order")], "in another order"),
    ],
)
def test_what_differs_is_named_and_nothing_beside_it(a: str, b: str, changes: list[tuple[str, str]], why: str) -> None:
    assert not same(calls(a), calls(b))
    assert said(calls(a), calls(b)) == changes
    assert why in reason(calls(a), calls(b))


def test_no_call_is_only_in_one_step_where_the_other_has_its_equal() -> None:
    assert said(calls("look:1 look:2"), calls("weigh:0 look:1 look:2")) == [("add", "weigh")]
    assert said(calls("weigh:0 look:1 look:2"), calls("look:1 look:2")) == [("remove", "weigh")]


def test_results_of_lanes_are_compared_with_those_of_the_same_question() -> None:
    a = calls("look:1/w0 look:1/w1", {"look:1/w0": "early", "look:1/w1": "late"})
    b = calls("look:1/w1 look:1/w0", {"look:1/w0": "late", "look:1/w1": "early"})
    assert same(a, list(reversed(b)))
    assert said(a, list(reversed(b))) == []
    other = [replace(b[0], result="never"), b[1]]
    assert not same(a, other)
    assert said(a, other) == [("change", "look result")]


def test_models_asked_in_lanes_are_compared_by_their_questions() -> None:
    def ask(words: str, lane: str, number: int) -> Call:
        return Call(1, number, "llm", "m", "ok", args={"prompt": words}, result={"content": f"{words}!"}, lane=lane)

    a, b = [ask("x", "w0", 1), ask("y", "w1", 2)], [ask("y", "w1", 1), ask("x", "w0", 2)]
    assert same(a, b)
    assert describe_move(STEP, a).questions == describe_move(STEP, b).questions
    assert explain_question(Deed(STEP, a), Deed(STEP, b)) is None
    found = explain_question(Deed(STEP, a), Deed(STEP, [ask("z", "w1", 1), ask("x", "w0", 2)]))
    assert found is not None
    assert (found.old, found.new) == ("y", "z")


several = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "/w0", "/w1"])), max_size=6)


@given(several, several)
def test_pairs_hold_each_call_once_and_leave_no_equal_ones_apart(a: list[Any], b: list[Any]) -> None:
    ours, theirs = (calls(" ".join(f"{name}{lane}" for name, lane in each)) for each in (a, b))
    pairs = pair_calls(ours, theirs)
    assert [call for call, _ in pairs if call] == ours
    assert sorted(call.number for _, call in pairs if call) == [call.number for call in theirs]
    apart_a = {call_key(one) for one, other in pairs if one and (other is None or call_key(one) != call_key(other))}
    apart_b = {call_key(other) for one, other in pairs if other and (one is None or call_key(one) != call_key(other))}
    assert not apart_a & apart_b


def comparison(a: str, b: str) -> Comparison:
    source = MemorySource()

    def told(text: str) -> list[Did]:
        parts = [(word.partition("/")[0], word.partition("/")[2]) for word in text.split()]
        return [Did("work", tool="look", args={"q": q}, result=q, lane=f"main/{lane}") for q, lane in parts]

    return compare_runs(source, source.add("a", told(a)), source, source.add("b", told(b)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1/w.0 2/w.1 3/w.0 4/w.1", "1/w.0 2/w.1 3/w.1 4/w.0"),
        ("1/w.0 2/w.1 3/w.0", "1/w.0 2/w.0 3/w.0"),
        ("1/w.0 2/w.1 3/w.2", "3/w.0 1/w.0 2/w.1"),
    ],
)
def test_runs_whose_workers_shared_out_the_work_otherwise_do_not_differ(a: str, b: str) -> None:
    for found in (comparison(a, b), comparison(b, a)):
        assert [row.kind for row in found.rows] == ["same"] * len(found.rows)
        assert found.diverged_at is None
        assert found.because == ""
        assert not found.differs
        assert found.only_a == found.only_b == []


def test_what_no_worker_did_in_the_other_run_is_all_that_differs() -> None:
    found = comparison("1/w.0 2/w.1 3/w.0 4/w.1", "1/w.0 2/w.1 3/w.1 5/w.0")
    assert (found.only_a, found.only_b) == ([4], [4])
    assert [row.kind for row in found.rows].count("same") == 3
    found = comparison("1/w.0 2/w.1 3/w.0 4/w.1", "1/w.0 2/w.1 3/w.1")
    assert found.only_a == [4]
    assert found.only_b == []
    # Lanes that were named are no workers of one queue, and the order within a lane is no chance.
    assert comparison("1/left 2/right 3/left", "1/left 2/right 3/right").differs
    assert comparison("1/w.0 2/w.0 3/w.1", "2/w.0 1/w.0 3/w.1").differs


@agent_tt.tool(effect="read")
def look(what: str) -> str:
    return f"{what}!"


def recorded(store: Path, name: str, order: list[int], *, asked: dict[int, str] | None = None) -> str:
    """A run of one step whose jobs call in the given order."""
    turns = [threading.Event() for _ in range(len(order) + 1)]
    turns[0].set()

    def job(number: int) -> None:
        turn = order.index(number)
        assert turns[turn].wait(30)
        look((asked or {}).get(number, f"item {number}"))
        turns[turn + 1].set()

    with (
        agent_tt.record(name=name, state={"n": 0}, store=store) as run,
        run.step("fan", {"n": 0}),
        ThreadPoolExecutor(len(order)) as pool,
    ):
        list(pool.map(job, range(len(order))))
    return name


def test_an_agent_with_threads_recorded_twice_does_not_differ(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    first = recorded(store, "first", [0, 1, 2, 3])
    again = recorded(store, "again", [3, 1, 0, 2])
    other = recorded(store, "other", [3, 1, 0, 2], asked={1: "else"})
    found = agent_tt.compare(first, again, store=store)
    assert not found.differs
    assert found.to_json()["pairs"] == [[1, 1, True]]
    found = agent_tt.compare(first, other, store=store)
    assert found.differs
    assert found.because == "look was asked with another what"
    assert [(each.where, each.old, each.new) for each in found.reasons] == [("look.what", "item 1", "else")]
