"""A state that operations are applied to knows its digest at every moment, whatever the operations are."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.mutations import Mutator
from tests.core.reference_digest import reference_digest

from agent_tt.codec.encode import encode
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes import tallies
from agent_tt.history.changes.diff import diff
from agent_tt.history.log.incremental_digest import TalliedState
from agent_tt.history.log.log import RowOps
from agent_tt.history.payloads.damage import placeholder

some = settings(max_examples=80, deadline=None)


def rolled(*rows: list[Any]) -> TalliedState:
    state = TalliedState()
    for seq, ops in enumerate(rows):
        state.apply(RowOps(seq, copy.deepcopy(ops)))
        assert state.digest == reference_digest(state.value), ops
    return state


@some
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
def test_the_digest_follows_every_change_of_a_mutated_state(seed: int, exotic: bool, large: bool) -> None:
    mutator = Mutator(random.Random(seed), exotic=exotic, large=large)
    live = mutator.state()
    rows: list[Any] = [diff(None, encode(live))]
    for _ in range(14):
        before = encode(live)
        for _ in range(mutator._random.randrange(1, 5)):
            mutator.mutate(live)
        rows.append(diff(before, encode(live)))
    rolled(*rows)


@some
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=12))
def test_the_digest_follows_splices_anywhere(splices: list[tuple[int, int, int, bool]]) -> None:
    length = 6
    rows: list[Any] = [[["s", [], {"l": [{"n": [at]} for at in range(length)], "pad": {}}]]]
    for number, (at, removed, added, inside) in enumerate(splices):
        start = min(at, length)
        gone = min(removed, length - start)
        ops: list[Any] = [["x", ["l"], start, gone, [{"n": [number, k]} for k in range(added)]]]
        length += added - gone
        if inside and length:
            ops.append(["s", ["l", at % length, "n"], [number, "inside"]])
        rows.append(ops)
    rolled(*rows)


def test_a_moved_entry_takes_its_digest_along() -> None:
    big = {f"k{n}": n for n in range(70)}
    start = [["s", [], {"a": {"x": big, "y": [1]}, "b": {"z": {}}}]]
    inside = [["s", ["a", "x", "k3"], "three"]]
    move = [["m", ["a", "x"], ["b", "x"]]]
    onto_parent = [["m", ["b", "x"], ["b"]]]
    rolled(start, inside, move, [["s", ["b", "x", "k4"], None]], onto_parent, [["d", ["b", "k4"]]])


def test_containers_that_become_small_or_flat_are_hashed_as_such() -> None:
    start = [["s", [], {"d": {"c": {}, "n": 1}, "l": [[], 1], "e": {"$type": "dict", "$v": [[1, 2]]}}]]
    rolled(
        start,
        [["s", ["d", "n"], 2], ["s", ["l", 1], 2]],
        [["d", ["d", "c"]], ["x", ["l"], 0, 1, []]],
        [["s", ["d", "m"], 3], ["a", ["l"], 1, [3]]],
        [["s", ["d", "c"], [0]], ["a", ["l"], 2, [{}]]],
        [["a", ["e", "$v"], 1, [[3, 4]]], ["s", ["e", "$v", 0, 1], 5]],
        [["o", ["d"], ["c", "n", "m"]]],
    )


def test_there_is_no_digest_once_something_is_lost() -> None:
    state = rolled([["s", [], {"a": 1}]])
    state.apply(RowOps(1, [["s", ["b"], placeholder("lost")]], whole=False))
    assert state.digest is None
    state.apply(RowOps(2, [["s", ["b", "inside"], 1], ["s", ["a"], 2]]))
    assert (state.digest, state.value["a"]) == (None, 2)  # type: ignore[index, call-overload]


def test_an_operation_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(CorruptDelta):
        rolled([["s", [], {"a": 1}]], [["a", ["b"], 0, [1]]])


@pytest.mark.parametrize("at", [0, 4, 5, 6, 299])
def test_what_took_the_place_of_something_that_was_changed_is_hashed_anew(at: int) -> None:
    change = [["s", ["list", at, "n", 0], [1]]]
    rolled(
        [["s", [], copy.deepcopy(BIG)]],
        *[copy.deepcopy(change) for _ in range(4)],
        [["x", ["list"], at, 1, [{"n": [[7]], "more": [8]}]]],
        copy.deepcopy(change),
        [["x", ["list"], max(at - 1, 0), 1, []]],
        [["s", ["list", max(at - 1, 0), "n", 0], [2]]],
    )


BIG: Any = {
    "list": [{"n": [at]} for at in range(300)],
    "dict": {f"k{n}": {"x": [n], "y": {"z": [n]}} for n in range(300)},
    "deep": {"a": {"b": {"c": [[n] for n in range(300)], "d": [1]}}},
}


@pytest.mark.parametrize(
    "op",
    [
        ["s", ["list", 150], {"n": [7]}],
        ["s", ["list", 150, "n", 0], 7],
        ["a", ["list"], 300, [{"n": [8]}]],
        ["x", ["list"], 298, 2, [{"n": [9]}]],
        ["x", ["list"], 0, 2, []],
        ["x", ["list"], 100, 1, [{"n": [9]}]],
        ["d", ["dict", "k7"]],
        ["s", ["dict", "k7", "y", "z"], [1]],
        ["s", ["dict", "new"], [[1]]],
        ["m", ["dict", "k7"], ["dict", "moved"]],
        ["o", ["dict"], [*reversed([f"k{n}" for n in range(300)])]],
        ["s", ["deep", "a", "b", "c", 7, 0], 1],
        ["x", ["deep", "a", "b", "c"], 7, 1, [[5]]],
        ["d", ["deep", "a", "b", "d"]],
    ],
    ids=str,
)
def test_only_what_changed_is_hashed_again(monkeypatch: pytest.MonkeyPatch, op: Any) -> None:
    places = (["list", 1], ["dict", "k1", "y", "q"], ["deep", "a", "b", "c", 1])
    seen: list[Any] = [["s", place, [[n]]] for place in places for n in range(6)]  # what was changed before is known
    state = rolled([["s", [], copy.deepcopy(BIG)]], *([each] for each in seen))
    hashed: list[Any] = []
    whole = tallies.token
    monkeypatch.setattr(tallies, "token", lambda wire: hashed.append(wire) or whole(wire))  # type: ignore[func-returns-value]
    state.apply(RowOps(9, [copy.deepcopy(op)]))
    assert state.digest == reference_digest(state.value)
    assert len(str(hashed)) < 200
