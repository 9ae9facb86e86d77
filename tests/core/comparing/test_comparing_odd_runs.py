"""Two runs that are odd: without steps, without calls, with other inputs, with steps that changed places."""

from __future__ import annotations

import gc
import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.core.memory_store import Did, MemorySource

from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.errors import Interrupted

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run


def step(tool: str, query: str = "") -> Did:
    return Did(name="work", tool=tool, args={"query": query}, result="ok")


A, B, C, D, X = (step(name) for name in ("look", "think", "ask", "book", "something_else"))


def wrote(**state: Wire) -> Did:
    return Did(name="node", state=state)


def test_steps_that_ask_nobody_are_told_apart_by_what_they_wrote() -> None:
    source = MemorySource()
    one = [wrote(n=number, left=9 - number) for number in (1, 2, 3, 4)]
    a = source.add("a", one)
    b = source.add("b", [*one[:2], wrote(n=50, left=50), *one[2:]])
    found = compare_runs(source, a, source, b)
    assert (found.diverged_at, found.only_a, found.only_b) == (3, [], [3])
    assert [pair[:2] for pair in found.pairs] == [(1, 1), (2, 2), (3, 4), (4, 5)]
    assert found.because == "only B took step 3, node"


def test_two_steps_far_apart_that_changed_places_are_swapped_whatever_they_called() -> None:
    source = MemorySource()
    same = [step("look", str(number)) for number in range(1, 8)]
    a = source.add("a", same)
    b = source.add("b", [same[0], same[5], *same[2:5], same[1], same[6]])
    assert compare_runs(source, a, source, b).because == "steps 2 and 6 are swapped in B: look, look"
    tools = [step(tool, "x") for tool in ("plan", "search", "read", "write", "check", "end")]
    a = source.add("c", tools)
    b = source.add("d", [tools[0], tools[4], *tools[2:4], tools[1], tools[5]])
    assert compare_runs(source, a, source, b).because == "steps 2 and 5 are swapped in B: search, check"


def test_runs_that_only_began_otherwise_differ_in_their_input() -> None:
    source = MemorySource()
    a = source.add("a", [A, B], state={"seed": 1})
    found = compare_runs(source, a, source, source.add("b", [A, B], state={"seed": 2}))
    assert (found.diverged_at, found.because, found.differs) == (None, "the input differs at seed", True)


def test_a_run_without_steps_is_said_to_have_none() -> None:
    source = MemorySource()
    a = source.add("a", [])
    assert compare_runs(source, a, source, source.add("b", [A])).because == "A took no step"
    assert not compare_runs(source, a, source, source.add("c", [])).differs


def test_another_order_of_keys_is_no_difference_and_another_order_of_items_is_one() -> None:
    source = MemorySource()
    items: list[Wire] = [f"item number {number}" for number in range(8)]

    def ending(name: str, **state: Wire) -> Run:
        return source.add(name, [Did(name="end", tool="end", args={}, result="ok", state=state)])

    a = ending("a", x=1, items=items)
    keys = compare_runs(source, a, source, ending("b", items=items, x=1))
    assert (keys.final_changes, keys.differs) == ((), False)
    shuffled = compare_runs(source, a, source, ending("c", x=1, items=[items[at] for at in (7, 2, 5, 0, 3, 6, 1, 4)]))
    assert [(change.op, change.of) for change in shuffled.final_changes] == [("reorder", "items")]


def test_what_programs_are_given_can_be_written_as_json() -> None:
    source = MemorySource()
    a = source.add("a", [A, B, C])
    found = compare_runs(source, a, source, source.add("b", [A, D]))
    shape = json.loads(json.dumps(found.to_json()))
    assert (shape["diverged_at"], shape["because"]) == (found.diverged_at, found.because)
    assert shape["pairs"] == [list(pair) for pair in found.pairs]
    assert [shape[key] for key in ("a", "b", "shared", "only_a", "only_b", "moved", "unread")] == [
        "a", "b", 0, [3], [], [], []
    ]  # fmt: skip
    assert [shape[key] for key in ("rejoined_at", "rejoined", "rejoined_state", "rejoined_changes")] == [
        None, None, False, None
    ]  # fmt: skip
    assert shape["parted_again_at"] is None
    assert shape["reasons"] == [
        {"kind": "call", "text": "it called think in A, book in B", "a": 2, "b": 2, "where": "think"}
        | {"old": ["think"], "new": ["book"]}
    ]
    assert [shape[f"outcome_{side}"]["steps"] for side in "ab"] == [3, 2]
    assert (shape["difference"]["steps"], shape["final_changes"]) == (-1, [])
    c = source.add("c", [A, replace(X, state={"n": 1}), C, A], status="failed")
    met = json.loads(json.dumps(compare_runs(source, a, source, c).to_json()))
    assert [met[key] for key in ("rejoined_at", "rejoined", "rejoined_state", "parted_again_at")] == [
        3,
        [3, 3],
        True,
        4,
    ]
    assert met["moved"] == []
    swapped = compare_runs(source, a, source, source.add("d", [A, C, B])).to_json()
    assert len(swapped["moved"]) == 1
    ended = compare_runs(source, a, source, source.add("e", [A, B, replace(C, state={"n": 1})])).to_json()
    assert ended["final_changes"] == [{"op": "add", "path": "n", "old": None, "new": 1}]
    known = {"a", "b", "same", "different", "only_a", "only_b", "diverged_at", "rejoined_at", "outcome_a", "outcome_b"}
    assert known < shape["lanes"][0].keys()
    assert shape["difference"].keys() == {"steps", "tokens", "cost_usd", "duration_ms"}


def test_the_collector_of_cycles_is_as_it_was_before() -> None:
    source = MemorySource()
    run = source.add("a", [A])
    seen: list[bool] = []

    def looking() -> bool:
        seen.append(gc.isenabled())
        return len(seen) > 1

    with suppress(Interrupted):
        compare_runs(source, run, source, run, cancelled=looking)
    assert seen
    assert not any(seen)
    assert gc.isenabled()
    gc.disable()
    try:
        compare_runs(source, run, source, run)
        assert not gc.isenabled()
    finally:
        gc.enable()
