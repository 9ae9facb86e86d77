"""Alignment of two sequences."""

from __future__ import annotations

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import Effort

from agent_tt.comparing.sequences.anchors import align_long, once_in_both
from agent_tt.comparing.sequences.sequence import align

words = st.lists(st.sampled_from("abcd"), max_size=14)


def longest_common_subsequence(a: list[str], b: list[str]) -> int:
    """The textbook table, as the second opinion."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(words, words)
@settings(max_examples=100)
def test_it_pairs_as_many_equal_elements_as_can_be_paired_in_order(a: list[str], b: list[str]) -> None:
    pairs = align(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(one[0] < next_[0] and one[1] < next_[1] for one, next_ in itertools.pairwise(pairs))
    assert len(pairs) == longest_common_subsequence(a, b)


@given(words, words)
@settings(max_examples=100)
def test_it_gives_the_same_pairs_turned_around_when_the_sides_are_swapped(a: list[str], b: list[str]) -> None:
    assert [(i, j) for j, i in align(b, a)] == align(a, b)


@given(words)
@settings(max_examples=30)
def test_a_sequence_is_aligned_with_itself_element_by_element(a: list[str]) -> None:
    assert align(a, list(a)) == [(index, index) for index in range(len(a))]


LINES = [f"line {number}" for number in range(1_500)]
spots = st.integers(0, 1_499)


@given(st.lists(st.tuples(spots, st.sampled_from(["put in", "left out", "changed", "line 7"])), max_size=6))
@settings(max_examples=60, deadline=None)
def test_of_long_sequences_that_differ_in_a_few_places_all_that_is_common_is_paired(
    edits: list[tuple[int, str]],
) -> None:
    # Every tenth line is the same, so that anchors do not say everything.
    old = ["", *(line if number % 10 else "again" for number, line in enumerate(LINES)), ""]
    new = list(old)
    for spot, edit in edits:
        at = spot % len(new)
        new[at : at + (edit in ("left out", "changed"))] = [] if edit == "left out" else [edit]
    pairs = align_long(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(one[0] < next_[0] and one[1] < next_[1] for one, next_ in itertools.pairwise(pairs))
    assert len(pairs) >= min(len(old), len(new)) - 2 * len(edits)
    assert [(i, j) for j, i in align_long(new, old)] == pairs


@given(words, words)
@settings(max_examples=60)
def test_short_sequences_are_aligned_exactly_with_or_without_anchors(a: list[str], b: list[str]) -> None:
    assert len(align_long(a, b)) == longest_common_subsequence(a, b)
    assert once_in_both(a, b) == [(i, b.index(key)) for i, key in enumerate(a) if a.count(key) == b.count(key) == 1]


def test_hopeless_input_of_ten_thousand_elements_ends_with_bounded_work_and_keeps_its_promises() -> None:
    chance = random.Random(7)
    a = [str(chance.randrange(50)) for _ in range(10_000)]
    b = chance.sample(a, len(a))
    with Effort() as effort:
        pairs = align(a, b)
    assert effort.lines < 40_000_000
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(one[0] < next_[0] and one[1] < next_[1] for one, next_ in itertools.pairwise(pairs))


def test_three_hundred_elements_put_into_ten_thousand_are_found() -> None:
    chance = random.Random(3)
    a = [str(chance.randrange(50)) for _ in range(10_000)]
    b = [*a[:4_000], *(f"new {index}" for index in range(300)), *a[4_000:]]
    assert len(align(a, b)) == 10_000
