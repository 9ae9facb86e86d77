"""Alignment of very long sequences of texts: first what is there once on both sides, then what lies between."""

from __future__ import annotations

from math import isqrt
from operator import eq
from typing import TYPE_CHECKING, Final, TypeVar

from agent_tt.codec.sameness import common_ends
from agent_tt.comparing.sequences.increasing import longest_rising
from agent_tt.comparing.sequences.sequence import align

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

__all__ = ["Effort", "align_long", "once_in_both"]

_SHORT: Final = 2_000
"""Elements on both sides together up to which a stretch is searched without looking for anchors."""

_WIDEST: Final = 400
"""Edits that one search may spend at most."""

_MOST: Final = 600_000
"""What all searches may spend together, as the squares of the edits they found: about half a second."""

_LEAST: Final = 16
"""Edits that a search may spend when all is spent: what changed in few places only is still seen."""

_H = TypeVar("_H", bound="Hashable")


class Effort:
    """What may still be spent on searching; shared by alignments that are parts of one."""

    def __init__(self) -> None:
        self._left = _MOST

    def limit(self, size: int) -> int:
        """Edits that the search in a stretch of so many elements may spend."""
        return max(_LEAST, min(size, _WIDEST, isqrt(max(self._left, 0))))

    def spend(self, edits: int) -> None:
        """Count a search that found so many edits."""
        self._left -= edits * edits


def align_long(a: Sequence[str], b: Sequence[str], effort: Effort | None = None) -> list[tuple[int, int]]:
    """Pair equal elements of two sequences in order: exactly for short ones, and in a moment for any.

    Where each sequence has an element once, the two belong together; the most of them that stand in one order are the
    anchors, and only what lies between two of them is searched.

    Args:
        a: the one side.
        b: the other side.
        effort: what may be spent, if this is a part of something larger.

    Returns:
        Pairs of indexes, both ascending, with `a[i] == b[j]`.
    """
    effort = Effort() if effort is None else effort
    if len(a) + len(b) <= _SHORT:
        return _between(a, b, (0, len(a)), (0, len(b)), effort)
    start, tail = common_ends(a, b, eq)
    stop_a, stop_b = len(a) - tail, len(b) - tail
    pairs = [(at, at) for at in range(start)]
    at_a = at_b = start
    for next_a, next_b in [*_anchors(a, b, start, stop_a, stop_b), (stop_a, stop_b)]:
        pairs += _between(a, b, (at_a, next_a), (at_b, next_b), effort)
        if next_a < stop_a:
            pairs.append((next_a, next_b))
        at_a, at_b = next_a + 1, next_b + 1
    pairs += [(stop_a + at, stop_b + at) for at in range(tail)]
    return pairs


def once_in_both(a: Sequence[_H], b: Sequence[_H]) -> list[tuple[int, int]]:
    """The positions of all that is there exactly once on each side, ascending on the first."""
    at_a, at_b = _places(a), _places(b)
    return [(place, at_b[key]) for key, place in at_a.items() if place >= 0 and at_b.get(key, -1) >= 0]


def _places(keys: Iterable[_H]) -> dict[_H, int]:
    """Where each is; -1 for what is there several times."""
    places: dict[_H, int] = {}
    for place, key in enumerate(keys):
        places[key] = -1 if key in places else place
    return places


def _anchors(a: Sequence[str], b: Sequence[str], start: int, stop_a: int, stop_b: int) -> list[tuple[int, int]]:
    """The anchors in a stretch, ascending on both sides."""
    once = once_in_both(a[start:stop_a], b[start:stop_b])
    chain = longest_rising([second for _, second in once])
    return [(start + once[at][0], start + once[at][1]) for at in chain]


def _between(
    a: Sequence[str], b: Sequence[str], in_a: tuple[int, int], in_b: tuple[int, int], effort: Effort
) -> list[tuple[int, int]]:
    """The pairs in a stretch, given by its half-open ranges on both sides."""
    size = in_a[1] - in_a[0] + in_b[1] - in_b[0]
    if in_a[0] >= in_a[1] or in_b[0] >= in_b[1]:
        return []
    limit = effort.limit(size)
    found = align(a[slice(*in_a)], b[slice(*in_b)], limit=limit)
    effort.spend(min(size - 2 * len(found), 2 * limit))
    return [(in_a[0] + first, in_b[0] + second) for first, second in found]
