"""Differences are exact, minimal, and found quickly where lists are long."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.strategies import plain, values

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.align import LCS_LIMIT, changed_blocks
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import apply

many = settings(max_examples=100, deadline=None)
letters = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=12)


def applied(old: Any, ops: list[Any]) -> Any:
    return apply(copy.deepcopy(old), orjson.loads(orjson.dumps(ops)))


@many
@given(plain | values, plain | values)
def test_applying_a_diff_gives_the_other_value_exactly(first: object, second: object) -> None:
    old, new = encode(first), encode(second)
    ops = diff(old, new)
    assert tlv(applied(old, ops)) == tlv(new)
    assert bool(ops) == (tlv(old) != tlv(new))


def test_the_operations_of_a_typical_step() -> None:
    old: Any = {"messages": [{"c": "a"}, {"c": "b"}], "n": 1}
    new: Any = {"messages": [{"c": "b"}, {"c": "d"}], "n": 1.0}
    assert diff(old, new) == [
        ["a", ["messages"], 2, [{"c": "d"}]],
        ["x", ["messages"], 0, 1, []],
        ["s", ["n"], 1.0],
    ]


@pytest.mark.parametrize(
    ("old", "new", "ops"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, [["o", [], ["b", "a"]]]),
        ({"a": 1, "b": 2}, {"b": 2}, [["d", ["a"]]]),
        ({"a": 1}, {"b": 2, "a": 1}, [["s", ["b"], 2], ["o", [], ["b", "a"]]]),
        ({"a": 0.0}, {"a": -0.0}, [["s", ["a"], -0.0]]),
        ({"a": True}, {"a": 1}, [["s", ["a"], 1]]),
        ([1, 2, 3], [1, 3], [["x", [], 1, 1, []]]),
        ([1, 2], [3], [["s", [], [3]]]),
        ([{"a": 1, "b": 2}], [9, {"a": 1, "b": 3}], [["s", [0, "b"], 3], ["x", [], 0, 0, [9]]]),
        ([{"a": 1, "b": 2}], [{"a": 1, "b": 3}, 9], [["a", [], 1, [9]], ["s", [0, "b"], 3]]),
        ({"t": "0123456789abcdef"}, {"t": "0123456789abcdefg"}, [["t", ["t"], 16, "g"]]),
        ({"t": "short"}, {"t": "shorter"}, [["s", ["t"], "shorter"]]),
    ],
)
def test_operations_say_what_happened_and_no_more(old: Any, new: Any, ops: list[Any]) -> None:
    assert diff(old, new) == ops
    assert tlv(applied(old, ops)) == tlv(new)


def test_an_envelope_of_the_same_class_is_looked_into_and_another_is_replaced() -> None:
    old, new = encode((1, [2])), encode((1, [3]))
    assert diff(old, new) == [["s", ["$v", 1, 0], 3]]
    assert diff(old, encode([1, [3]])) == [["s", [], [1, [3]]]]


def longest_common(old: list[bytes], new: list[bytes]) -> int:
    """By the textbook, for comparison."""
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, left in enumerate(old):
        for j, right in enumerate(new):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@many
@given(letters, letters)
def test_the_blocks_leave_a_longest_common_subsequence(old: list[bytes], new: list[bytes]) -> None:
    blocks = changed_blocks(old, new)
    rebuilt, at = [], 0
    for block in blocks:
        rebuilt += old[at : block.old_start] + new[block.new_start : block.new_end]
        at = block.old_end
    assert rebuilt + old[at:] == new
    kept = len(old) - sum(block.old_end - block.old_start for block in blocks)
    assert kept == longest_common(old, new)


def test_a_long_list_that_slid_is_two_operations() -> None:
    old = [str(number) for number in range(LCS_LIMIT * 2)]
    new = [*old[3:], "next"]
    assert diff(encode(old), encode(new)) == [["a", [], len(old), ["next"]], ["x", [], 0, 3, []]]


def test_an_insertion_at_the_front_of_a_long_list_is_one_operation() -> None:
    old: Any = [{"n": number} for number in range(5000)]
    assert diff(old, [{"n": -1}, *old]) == [["x", [], 0, 0, [{"n": -1}]]]


def test_states_nested_beyond_reason_are_refused() -> None:
    def deep(bottom: int) -> Any:
        value: Any = bottom
        for _ in range(100_000):
            value = [value]
        return value

    with pytest.raises(CorruptDelta, match="nested"):
        diff(deep(1), deep(2))


def test_a_list_of_objects_that_all_gave_way_to_others_is_set_at_once():
    old = [{"id": n, "text": f"old {n}"} for n in range(20)]
    new = [{"id": 100 + n, "text": f"new {n}"} for n in range(20)]
    assert diff({"found": old}, {"found": new}) == [["s", ["found"], new]]
    new[7]["id"] = 7  # one is the old one, edited
    assert diff({"found": old}, {"found": new})[0][:2] != ["s", ["found"]]
    assert apply({"found": old}, copy.deepcopy(diff({"found": old}, {"found": new}))) == {"found": new}
