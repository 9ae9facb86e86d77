"""What rows appended, told from their bytes, and lists that are joined from it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import MemoryLog

from agent_tt.history.log import keyframes
from agent_tt.history.log.appends import appends_in
from agent_tt.history.log.states import load

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op

SIGNS = ['["a",["l"],0,[1]]', ']],["s",["x"],1]', "[]", '"', "\\", "]", "é"]
texts = st.sampled_from(SIGNS) | st.text(max_size=4)
leaves = st.none() | st.integers(-9, 9) | texts
values = st.recursive(
    leaves | st.just(["a", ["l"], 0, [1]]) | st.just([[["x"]], ["s", ["n"], 1]]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
paths = st.lists(texts | st.integers(0, 3), max_size=2)
operations = st.one_of(
    st.tuples(st.just("a"), paths, st.integers(0, 5), st.lists(values, max_size=3)),
    st.tuples(st.just("s"), paths, values),
    st.tuples(st.just("d"), paths),
    st.tuples(st.just("x"), paths, st.integers(0, 3), st.integers(0, 3), st.lists(values, max_size=2)),
    st.tuples(st.just("o"), paths, st.lists(texts, max_size=3)),
    st.tuples(st.just("m"), paths, paths),
).map(lambda op: [*op])


@given(st.lists(st.lists(operations, max_size=4), max_size=6))
def test_rows_are_told_up_to_their_last_append_or_not_at_all(rows: list[list[Op]]) -> None:
    for row, found in zip(rows, appends_in([orjson.dumps(row) for row in rows]), strict=True):
        appends = [number for number, op in enumerate(row) if op[0] == "a"]
        assert found is None or found == row[: appends[-1] + 1 if appends else 0]


def test_the_usual_rows_are_told_from_their_bytes() -> None:
    item: Wire = {"role": "user", "content": 'a "quoted" text, [1], [[2]], ["a",["b"],0,[]]'}
    rows: list[list[Op]] = [
        [["a", ["messages"], 0, [item, item]], ["s", ["n"], 1], ["s", ["l"], ["x"]]],
        [["s", ["n"], [["deep", [[["x"]]]]]], ["a", ["messages"], 2, [item]], ["d", ["n"]]],
        [["a", ["messages"], 3, [[["y"], ["z"]]]], ["a", ["log"], 0, ["x"]], ["s", ["n"], 1]],
        [["s", ["n"], 2]],
        [["a", ["messages"], 4, [item] * 40]],
        [["a", ["messages"], 44, [[[]]] * 40], ["s", ["n"], 4]],
    ]
    found = appends_in([orjson.dumps(row) for row in rows])
    assert found == [rows[0][:1], rows[1][:2], rows[2][:2], [], rows[4], rows[5][:1]]


@pytest.mark.parametrize(
    "text", [b'{"o":[["a",["l"],0,[null]]],"r":[]}', b'[["a",["l"],0,[1]', b'[["a",["l"],0]]', b"7"]
)
def test_what_cannot_be_told_from_bytes_is_left_to_whoever_reads_it_in_full(text: bytes) -> None:
    assert appends_in([text]) == [None]


def test_a_list_is_joined_whatever_else_its_rows_hold() -> None:
    log = MemoryLog(rows=20)
    state: dict[str, Any] = {"before": 0, "messages": [], "deep": {"log": []}, "x": None}
    states = [copy.deepcopy(state)]
    for number in range(70):
        state["messages"].append({"role": "user", "content": f"{number} {SIGNS[number % len(SIGNS)]} " * 40})
        if number % 3 == 0:
            state["messages"].append([["a", ["messages"], number, [1]], ["s", ["x"], number]])
        if number % 7 == 0:
            state["messages"].append({"large": f"{number} " * 3_000})
        state["deep"]["log"] += [number] * (number % 2)
        state["before"] = number
        state["x"] = [["a", ["messages"], 0, [number]], [["s", ["x"], 1]]] if number % 2 else None
        states.append(copy.deepcopy(state))
    track = log.track_of(copy.deepcopy(states))
    for seq in (19, 20, 39, 41, 70):
        assert load(log.fresh(), track, seq).value == states[seq]
    last = keyframes.newest(log.log, log.log.segments(track, 70))
    assert last is not None
    assert keyframes.append_only(log.log, last) == {("messages",): 0}
