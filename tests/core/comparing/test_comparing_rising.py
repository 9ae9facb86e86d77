"""Which of many pairs can stand in one order."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agent_tt.comparing.sequences.increasing import heaviest_rising, longest_rising

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

values = st.permutations(range(12)).flatmap(lambda order: st.integers(0, 8).map(lambda size: order[:size]))


def choices(count: int) -> Iterator[tuple[int, ...]]:
    return (some for size in range(count + 1) for some in itertools.combinations(range(count), size))


@given(values)
def test_the_longest_rising_subsequence_rises_and_none_is_longer(values: list[int]) -> None:
    found = longest_rising(values)
    assert found == sorted(found)
    rising = [some for some in choices(len(values)) if all(values[x] < values[y] for x, y in itertools.pairwise(some))]
    assert tuple(found) in rising
    assert len(found) == max(map(len, rising))


pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=7, unique=True).map(sorted)
weights = st.lists(st.sampled_from([0.25, 0.5, 1.0, 3.0]), min_size=7, max_size=7)


def rises(pairs: Sequence[tuple[int, int]], some: Sequence[int]) -> bool:
    return all(pairs[x][0] < pairs[y][0] and pairs[x][1] < pairs[y][1] for x, y in itertools.pairwise(some))


@given(pairs, weights)
def test_the_heaviest_rising_pairs_rise_on_both_sides_and_none_weigh_more(
    pairs: list[tuple[int, int]], weights: list[float]
) -> None:
    found = heaviest_rising(pairs, weights[: len(pairs)])
    rising = [some for some in choices(len(pairs)) if rises(pairs, some)]
    assert tuple(found) in rising
    assert sum(weights[at] for at in found) == max(sum(weights[at] for at in some) for some in rising)
