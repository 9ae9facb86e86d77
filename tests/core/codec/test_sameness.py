"""What makes two wire values the same, and what two lists have in common."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.sameness import common_ends, identical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(VALUES, VALUES)
def test_values_are_identical_where_their_json_is(one, other):
    assert identical(one, one)
    assert identical(one, other) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0.0, -0.0), ([1], [True]), ({"a": 1}, {"a": 1.0})])
def test_what_equals_in_python_may_differ(one, other):
    assert one == other
    assert not identical(one, other)


@given(st.lists(st.integers(0, 2), max_size=6), st.lists(st.integers(0, 2), max_size=6))
def test_common_ends_are_as_long_as_can_be_and_never_overlap(before, after):
    start, end = common_ends(before, after)
    assert start + end <= min(len(before), len(after))
    assert before[:start] == after[:start]
    assert before[len(before) - end :] == after[len(after) - end :]
    rest, others = before[start : len(before) - end], after[start : len(after) - end]
    if rest and others:
        assert rest[0] != others[0]
        assert rest[-1] != others[-1]


def test_who_asks_says_what_counts_as_the_same():
    assert common_ends([1, 2, 3], [9, 5, 7], lambda a, b: a % 2 == b % 2) == (1, 1)
