"""Operations are undone exactly: the state that was there before, with its key order."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import apply
from agent_tt.history.changes.undo import apply_with_undo

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text("abc", max_size=20)
STATES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from("abcde"), inner, max_size=5)
)


def as_written(state: Any) -> bytes:
    """The text of a state: two with the same text have the same order of keys as well."""
    return orjson.dumps(state)


def check(state: Any, ops: list[Any]) -> None:
    forward = apply(deepcopy(state), deepcopy(ops))
    there, undo = apply_with_undo(deepcopy(state), deepcopy(ops))
    assert as_written(there) == as_written(forward)
    assert as_written(apply(there, undo)) == as_written(state)


@given(STATES, STATES)
def test_the_operations_of_any_change_are_undone(old: Any, new: Any) -> None:
    check(old, diff(old, new))


@pytest.mark.parametrize(
    "ops",
    [
        [["m", ["d", "a"], ["d", "z"]]],
        [["m", ["d", "a"], ["d", "b"]]],
        [["m", ["d", "a"], ["d", "a"]]],
        [["m", ["d", "a"], ["e", "a"]]],
        [["m", ["d", "a"], ["e", "x"]]],
        [["m", ["d", "c"], ["top"]], ["m", ["e"], ["d", "c"]], ["d", ["t"]]],
        [["m", ["d", "b"], ["l", 1, "q"]]],
        [["d", ["d", "b"]], ["s", ["d", "b"], 5]],
        [["o", ["d"], ["c", "b", "a"]], ["s", ["d", "n"], {}], ["s", ["d", "a"], 4]],
        [["a", ["l"], 2, [7, 8]], ["x", ["l"], 1, 2, ["x", "y", "z"]], ["x", ["l"], 0, 0, [0]]],
        [["t", ["t"], 4, "!"], ["t", ["t"], 5, "?"]],
        [["s", [], [1]], ["a", [], 1, [2]]],
    ],
)
def test_each_kind_of_operation_is_undone(ops: list[Any]) -> None:
    check({"d": {"a": 1, "b": 2, "c": [3]}, "e": {"x": {"y": 1}}, "l": [1, {"p": 2}], "t": "text"}, ops)


@pytest.mark.parametrize(
    "op",
    [
        ["z", ["m"]],
        ["a", ["m"], 3, "items"],
        ["x", ["m"], 0, 1, "items"],
        ["x", ["t"], 0, 1, []],
        ["x", ["m"], "0", 1, []],
        ["m", ["t"], "u"],
        ["d", ["nowhere"]],
        ["t", ["nowhere"], 0, "x"],
        ["o", ["m"], []],
        ["d", ["m", 0]],
        ["s", ["nowhere", "x"], 1],
    ],
)
def test_what_cannot_be_undone_is_damaged(op: Any) -> None:
    with pytest.raises(CorruptDelta, match="an operation is damaged: ") as caught:
        apply_with_undo({"m": [1, 2, 3], "t": "text"}, [op])
    assert caught.value.hint == "Run `agent-tt verify`."
