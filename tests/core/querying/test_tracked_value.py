"""One value followed by operations: it is what the state holds, or not known; and the state is not read needlessly."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.sameness import identical
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import apply
from agent_tt.querying.expressions.values import MISSING, Missing, at
from agent_tt.querying.watches.tracked_value import TrackedValue, indexed_path

NAMES = st.sampled_from(["a", "b", "$v"])
VALUES = st.recursive(
    st.integers(0, 3) | st.sampled_from(["", "x", "xy", None, True, 1.0]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        | st.builds(lambda payload: {"$type": "tuple", "$v": payload}, st.lists(inner, max_size=3))
        | st.builds(
            lambda keys: {"$type": "dict", "$v": [[key, number] for number, key in enumerate(dict.fromkeys(keys))]},
            st.lists(st.sampled_from(["a", "b", 1, 2]), max_size=3),
        )
    ),
    max_leaves=12,
)
PLACES = st.lists(st.sampled_from(["a", "b", 0, 1, -1]), max_size=3).map(tuple)


def same(one: Any, other: Any) -> bool:
    return one is other if isinstance(one, Missing) or isinstance(other, Missing) else identical(one, other)


@given(st.lists(VALUES, min_size=2, max_size=5), PLACES, st.booleans())
def test_what_is_known_is_what_the_state_holds_and_what_is_said_to_have_changed_did(
    states: list[Any], place: tuple[str | int, ...], compare: bool
) -> None:
    followed = TrackedValue(place)
    followed.read(states[0])
    for before, after in itertools.pairwise(states):
        ops = diff(before, after)
        followed.follow(copy.deepcopy(ops), compare=compare)
        if followed.known:
            assert same(followed.value, at(after, place))
            if followed.changed is False or (compare and followed.changed):
                assert followed.changed is not same(at(before, place), at(after, place))
        else:
            assert followed.changed is None
            followed.read(after)
            assert followed.known
            assert followed.changed is None


STATE: dict[str, Any] = {
    "n": 1,
    "text": "abc",
    "list": [{"x": 1}, {"x": 2}, {"x": 3}],
    "deep": {"list": [1, 2]},
    "tuple": {"$type": "tuple", "$v": [1, 2]},
}
UNKNOWN = object()


@pytest.mark.parametrize(
    ("place", "ops", "value", "changed"),
    [
        (("n",), [], 1, False),
        (("n",), [["s", ["m"], 2]], 1, False),
        (("n",), [["s", ["n"], 2]], 2, True),
        (("n",), [["s", ["n"], 1]], 1, None),
        (("n",), [["s", ["n"], 1.0]], 1.0, True),
        (("n",), [["s", ["n"], 2], ["s", ["n"], 1]], 1, None),
        (("n",), [["d", ["n"]]], MISSING, True),
        (("n",), [["s", [], {"n": 5}]], 5, True),
        (("n",), [["s", [], {}]], MISSING, True),
        (("n",), [["o", [], ["text", "n", "list", "deep", "tuple"]]], 1, False),
        (("n",), [["m", ["text"], ["moved"]]], 1, False),
        (("n",), [["m", ["n"], ["moved"]]], UNKNOWN, None),
        (("n",), [["m", ["text"], ["n"]]], UNKNOWN, None),
        (("n",), [["m", ["text"], ["n", "x"]]], UNKNOWN, None),
        (("n",), [["s", ["tuple", "$v", 0], 5]], 1, False),
        (("text",), [["t", ["text"], 3, "def"]], "abcdef", True),
        (("text",), [["t", ["text"], 3, ""]], "abc", None),
        (("text",), [["t", ["text"], 3, "d"], ["t", ["text"], 4, "e"]], "abcde", True),
        (("list",), [["a", ["list"], 3, [4]]], [{"x": 1}, {"x": 2}, {"x": 3}, 4], True),
        (("list",), [["a", ["list"], 3, []]], [{"x": 1}, {"x": 2}, {"x": 3}], None),
        (("list",), [["a", ["list"], 3, [4]], ["s", ["list", 3], 5]], [{"x": 1}, {"x": 2}, {"x": 3}, 5], None),
        (("list",), [["x", ["list"], 0, 3, []]], [], True),
        (("list",), [["x", ["list"], 0, 1, [{"x": 1}]]], [{"x": 1}, {"x": 2}, {"x": 3}], False),
        (("list",), [["s", ["list", 1, "x"], 9]], [{"x": 1}, {"x": 9}, {"x": 3}], True),
        (("list",), [["s", ["list", 1, "x"], 2]], [{"x": 1}, {"x": 2}, {"x": 3}], False),
        (("list", 0), [["a", ["list"], 3, [4]]], {"x": 1}, False),
        (("list", 3), [["a", ["list"], 3, [4, 5]]], 4, True),
        (("list", 4), [["a", ["list"], 3, [4, 5]]], 5, True),
        (("list", 5), [["a", ["list"], 3, [4, 5]]], MISSING, False),
        (("list", 3, "y"), [["a", ["list"], 3, [{"y": 6}]]], 6, True),
        (("list", -1), [["a", ["list"], 3, [4, 5]]], 5, True),
        (("list", -2), [["a", ["list"], 3, [4, 5]]], 4, True),
        (("list", -3), [["a", ["list"], 3, [4, 5]]], UNKNOWN, None),
        (("list", -1), [["s", ["list", 1], 7]], UNKNOWN, None),
        (("list", 0), [["x", ["list"], 1, 1, []]], {"x": 1}, False),
        (("list", 1), [["x", ["list"], 1, 1, [7, 8]]], 7, True),
        (("list", 2), [["x", ["list"], 1, 1, [7, 8]]], 8, True),
        (("list", 2), [["x", ["list"], 1, 1, [7]]], {"x": 3}, False),
        (("list", 2), [["x", ["list"], 0, 1, []]], UNKNOWN, None),
        (("list", 2), [["x", ["list"], 0, 0, [7]]], UNKNOWN, None),
        (("list", -1), [["x", ["list"], 1, 1, [7]]], UNKNOWN, None),
        (("list", 1, "x"), [["s", ["list", 1], {"x": 8}]], 8, True),
        (("list", 1, "x"), [["s", ["list", 2, "x"], 8]], 2, False),
        (("deep",), [["a", ["deep", "list"], 2, [3]]], {"list": [1, 2, 3]}, True),
        (("deep", "list", 1), [["s", ["deep"], {"list": [5, 6]}]], 6, True),
        (("deep", "list", 1), [["s", ["deep"], {"list": {"$type": "tuple", "$v": [5, 6]}}]], UNKNOWN, None),
        (("deep", "list", 1), [["s", ["deep"], {}]], MISSING, True),
        (("tuple", 0), [["s", ["tuple", "$v", 0], 5]], UNKNOWN, None),
        (("tuple",), [["s", ["tuple"], 5]], 5, True),
        (("none",), [["s", ["none"], 5]], 5, True),
        (("none",), [["a", ["none"], 0, [5]]], UNKNOWN, None),
        (("none", "x"), [["s", ["none"], 5]], MISSING, None),
        (("list",), [["a", ["list"], 9, [4]]], UNKNOWN, None),
        (("list",), [["s", ["list", 9], 4]], UNKNOWN, None),
    ],
)
def test_each_operation_says_what_lies_at_a_place_or_that_it_is_not_known(
    place: Any, ops: Any, value: Any, changed: bool | None
) -> None:
    followed = TrackedValue(place)
    followed.read(STATE)
    followed.follow(copy.deepcopy(ops), compare=True)
    assert followed.known is (value is not UNKNOWN)
    assert followed.changed is changed
    assert same(followed.value, MISSING if value is UNKNOWN else value)
    if value is not UNKNOWN:
        assert same(at(apply(copy.deepcopy(STATE), copy.deepcopy(ops)), place), value)


@pytest.mark.parametrize("compare", [True, False])
def test_of_what_is_not_known_no_change_is_told_but_what_was_set_is_known(compare: bool) -> None:
    followed = TrackedValue(("n",))
    followed.follow([["s", ["m"], 1]], compare=compare)
    assert (followed.known, followed.changed) == (False, None)
    followed.stay()
    assert followed.changed is None
    followed.follow([["s", ["n"], 2]], compare=compare)
    assert (followed.known, followed.value, followed.changed) == (True, 2, None)
    followed.stay()
    assert followed.changed is False
    followed.forget()
    assert (followed.known, followed.value, followed.changed, followed.is_indexed) == (False, MISSING, None, False)


def test_without_comparing_any_touch_is_taken_for_a_change() -> None:
    followed = TrackedValue(("n",))
    followed.read(STATE)
    followed.follow([["s", ["n"], 1]], compare=False)
    assert followed.changed is True
    followed.follow([["s", ["m"], 1]], compare=False)
    assert followed.changed is False


def test_the_state_that_was_read_is_left_as_it_is() -> None:
    state = copy.deepcopy(STATE)
    followed = TrackedValue(("list",))
    followed.read(state)
    followed.follow([["a", ["list"], 3, [4]], ["s", ["list", 0, "x"], 5]], compare=True)
    assert state == STATE


@pytest.mark.parametrize(
    ("state", "place", "is_indexed"),
    [
        ({"a": {"b": 1}}, ("a", "b"), True),
        ({"a": {"$type": "tuple", "$v": [1]}}, ("a", 0), True),
        ({"a": {"$type": "dict", "$v": [["b", 1]]}}, ("a", "b"), False),
        ({"a": {"$type": "dict", "$v": [["b", 1]]}}, ("a",), True),
        ({"a": {"$type": "sub", "base": "dict", "$v": [["b", 1]]}}, ("a", "b"), False),
        ({"a": {"$type": "sub", "base": "list", "$v": [["b", 1]]}}, ("a", 0), True),
        ({"a": 1}, ("x", "b"), True),
        (MISSING, ("x", "b"), True),
    ],
)
def test_a_place_behind_a_mapping_that_is_kept_as_pairs_is_not_indexed_as_it_is_asked_for(
    state: Any, place: Any, is_indexed: bool
) -> None:
    followed = TrackedValue(place)
    followed.read(state)
    assert followed.is_indexed is is_indexed


def test_the_index_knows_a_place_up_to_what_is_counted_from_the_end() -> None:
    assert indexed_path(("a", 0, -1, "b", -2)) == ("a", 0)
    assert indexed_path(("a", 0)) == ("a", 0)
    assert indexed_path((-1,)) == ()
