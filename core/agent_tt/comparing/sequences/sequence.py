"""Alignment of two sequences: the longest common subsequence, exact where that is affordable.

The greedy algorithm of Myers ("An O(ND) difference algorithm and its variations", 1986) after the three savings that
every practical diff makes: common ends are cut off, elements that the other side does not have at all are left out, and
a search that has become too wide keeps the best path found so far and starts again from its end.
"""

from __future__ import annotations

from operator import eq
from typing import TYPE_CHECKING, TypeVar

from agent_tt.codec.sameness import common_ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["align", "gaps"]

FIRST_LIMIT = 1_000
"""Edits that one search may spend where nobody says otherwise: about half a second at worst."""

_LEAST_LIMIT = 32
"""Edits that a search may spend once earlier ones have run out: keeps hopeless input linear."""

_SEARCHES = 2.5
"""What all searches may spend together, in searches as wide as the first. What is left after that stays unpaired."""

_NOWHERE = -1

_Key = TypeVar("_Key", str, bytes)


def align(a: Sequence[_Key], b: Sequence[_Key], *, limit: int = FIRST_LIMIT) -> list[tuple[int, int]]:
    """Pair equal elements of two sequences, in order, as many as can be.

    Args:
        a: the one side; texts or bytes that stand for the elements.
        b: the other side.
        limit: edits that one search may spend; the time goes with its square, about a second for 1,000.

    Returns:
        Pairs of indexes (into `a`, into `b`), both ascending, with `a[i] == b[j]`. As many as there can be for
        sequences that differ in up to `limit` places, and
        fewer for long ones that have little in common. `align(b, a)` gives the same pairs turned around.
    """
    start, tail = common_ends(a, b, eq)
    stop_a, stop_b = len(a) - tail, len(b) - tail
    pairs = [(index, index) for index in range(start)]
    pairs += _align_middle(a, b, start, stop_a, stop_b, limit)
    pairs += [(stop_a + offset, stop_b + offset) for offset in range(tail)]
    return pairs


def gaps(pairs: Sequence[tuple[int, int]], length_a: int, length_b: int) -> Iterator[tuple[int, int, int, int]]:
    """What lies before each of some pairs, and behind the last: `(from, to)` in the one side, then in the other."""
    at_a = at_b = 0
    for next_a, next_b in [*pairs, (length_a, length_b)]:
        yield at_a, next_a, at_b, next_b
        at_a, at_b = next_a + 1, next_b + 1


def _align_middle(
    a: Sequence[_Key], b: Sequence[_Key], start: int, stop_a: int, stop_b: int, limit: int
) -> list[tuple[int, int]]:
    """Align a[start:stop_a] with b[start:stop_b], over those elements that both sides have."""
    in_b = set(b[start:stop_b])
    at_a = [index for index in range(start, stop_a) if a[index] in in_b]
    in_a = {a[index] for index in at_a}
    at_b = [index for index in range(start, stop_b) if b[index] in in_a]
    codes: dict[_Key, int] = {}
    kept_a = [codes.setdefault(a[index], len(codes)) for index in at_a]
    kept_b = [codes[b[index]] for index in at_b]
    # Of several alignments that are equally long, the search finds one that depends on which side comes first: so
    # the sides are put into an order of their own.
    if [a[index] for index in at_a] <= [b[index] for index in at_b]:
        return [(at_a[x], at_b[y]) for x, y in _lcs(kept_a, kept_b, limit)]
    return [(at_a[x], at_b[y]) for y, x in _lcs(kept_b, kept_a, limit)]


def _lcs(a: Sequence[int], b: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Align by searches of bounded width, each from where the last one ended."""
    pairs: list[tuple[int, int]] = []
    x = y = 0
    budget = _SEARCHES * limit * limit
    while x < len(a) and y < len(b) and budget > 0:
        found, x, y = _search(a, b, x, y, limit)
        pairs += found
        budget -= limit * limit
        limit = max(limit // 2, _LEAST_LIMIT)
    return pairs


def _search(
    a: Sequence[int], b: Sequence[int], from_x: int, from_y: int, limit: int
) -> tuple[list[tuple[int, int]], int, int]:
    """Follow the furthest-reaching paths until one reaches the end or `limit` edits are spent.

    A diagonal is k = (x - from_x) - (y - from_y); after d edits those from -d to d, two apart, can have been reached.

    Returns:
        The pairs on the best path, and where it ended.
    """
    end_a, end_b = len(a), len(b)
    levels: list[list[int]] = []  # by edits d, then (k + d) // 2: the largest x on that diagonal, or _NOWHERE
    best = (0, 0, from_x)
    best_sum = -1
    for edits in range(limit + 1):
        level = [_NOWHERE] * (edits + 1)
        for index in range(edits + 1):
            k = 2 * index - edits
            x = _entry(levels[-1], index, k, from_x, from_y, end_a, end_b) if levels else from_x
            if x == _NOWHERE:
                continue
            y = from_y + (x - from_x) - k
            while x < end_a and y < end_b and a[x] == b[y]:
                x, y = x + 1, y + 1
            level[index] = x
            if x + y > best_sum:
                best, best_sum = (edits, index, x), x + y
        levels.append(level)
        if best_sum == end_a + end_b:
            break
    edits, index, x = best
    y = from_y + (x - from_x) - (2 * index - edits)
    return _walk_back(levels, edits, index, from_x, from_y, end_a, end_b), x, y


def _entry(previous: list[int], index: int, k: int, from_x: int, from_y: int, end_a: int, end_b: int) -> int:
    """Where a path first stands on diagonal k: it left out an element of a, or one of b, whichever is further on."""
    left_out_a = previous[index - 1] + 1 if index > 0 and previous[index - 1] != _NOWHERE else _NOWHERE
    left_out_b = previous[index] if index < len(previous) else _NOWHERE
    if left_out_a > end_a:
        left_out_a = _NOWHERE
    if left_out_b != _NOWHERE and from_y + (left_out_b - from_x) - k > end_b:
        left_out_b = _NOWHERE
    return max(left_out_a, left_out_b)


def _walk_back(
    levels: list[list[int]], edits: int, index: int, from_x: int, from_y: int, end_a: int, end_b: int
) -> list[tuple[int, int]]:
    """Read the pairs off a path, from its end to its beginning."""
    pairs: list[tuple[int, int]] = []
    while True:
        k = 2 * index - edits
        x = levels[edits][index]
        entry = _entry(levels[edits - 1], index, k, from_x, from_y, end_a, end_b) if edits else from_x
        pairs += [(at, from_y + (at - from_x) - k) for at in range(x - 1, entry - 1, -1)]
        if edits == 0:
            pairs.reverse()
            return pairs
        came_by_a = index > 0 and levels[edits - 1][index - 1] == entry - 1
        edits, index = edits - 1, index - 1 if came_by_a else index
