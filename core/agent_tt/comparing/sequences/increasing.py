"""Which of many pairs can stand in one order: the longest rising subsequence, and the heaviest."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["heaviest_rising", "longest_rising"]


def longest_rising(values: Sequence[int]) -> list[int]:
    """The positions, ascending, of a longest subsequence that rises strictly. Takes n log n.

    Args:
        values: numbers, no two of them equal.
    """
    ends: list[int] = []  # by length: the smallest value that a rising subsequence of that length ends in
    last: list[int] = []  # the position of that value
    before: dict[int, int] = {}
    for position, value in enumerate(values):
        length = bisect_left(ends, value)
        before[position] = last[length - 1] if length else -1
        if length == len(ends):
            ends.append(value)
            last.append(position)
        else:
            ends[length], last[length] = value, position
    return _walk_back(before, last[-1] if last else -1)


def heaviest_rising(pairs: Sequence[tuple[int, int]], weights: Sequence[float]) -> list[int]:
    """The positions, ascending, of pairs that rise strictly on both sides and weigh most together. Takes n log n.

    Args:
        pairs: pairs of numbers from 0, ascending; of those that are equal on one side at most one is taken.
        weights: the weight of each, above 0.
    """
    if all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(pairs)):
        return list(range(len(pairs)))
    order = sorted(range(len(pairs)), key=lambda at: (pairs[at][0], -pairs[at][1]))
    width = max(second for _, second in pairs) + 2
    best: list[tuple[float, int]] = [(0.0, -1)] * width  # a Fenwick tree: weight and last position of the best so far
    before: dict[int, int] = {}
    top = (0.0, -1)
    for position in order:
        second = pairs[position][1]
        found = (0.0, -1)
        at = second
        while at > 0:
            if best[at][0] > found[0]:
                found = best[at]
            at -= at & -at
        before[position] = found[1]
        reached = (found[0] + weights[position], position)
        if reached[0] > top[0]:
            top = reached
        at = second + 1
        while at < width:
            if reached[0] > best[at][0]:
                best[at] = reached
            at += at & -at
    return _walk_back(before, top[1])


def _walk_back(before: Mapping[int, int], at: int) -> list[int]:
    positions = []
    while at >= 0:
        positions.append(at)
        at = before[at]
    positions.reverse()
    return positions
