"""Which spans of a list changed, from one comparable key for each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.history.changes.subsequence import common_subsequence

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LCS_LIMIT", "Block", "changed_blocks"]

LCS_LIMIT: Final = 2048
"""Elements, after common ends are taken off, up to which the longest common subsequence is found (about 2 ms)."""


class Block(NamedTuple):
    """Old elements `[old_start, old_end)` gave way to new elements `[new_start, new_end)`; either may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changed_blocks(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """The changed spans in order, disjoint and with something unchanged between any two of them.

    Common ends are taken off; then the longest common subsequence decides, for longer lists only a window that slid
    (elements left at the front, others came at the end), else all of the rest is one block.
    """
    shortest = min(len(old), len(new))
    front = 0
    while front < shortest and old[front] == new[front]:
        front += 1
    back = 0
    while back < shortest - front and old[-1 - back] == new[-1 - back]:
        back += 1
    old_rest, new_rest = old[front : len(old) - back], new[front : len(new) - back]
    if not old_rest and not new_rest:
        return []
    if not old_rest or not new_rest or len(old_rest) == len(new_rest) == 1:
        kept = []
    elif len(old_rest) <= LCS_LIMIT and len(new_rest) <= LCS_LIMIT:
        kept = common_subsequence(old_rest, new_rest)
    else:
        kept = _slid_window(old_rest, new_rest)
    return [
        Block(front + old_start, front + old_end, front + new_start, front + new_end)
        for old_start, old_end, new_start, new_end in _gaps(kept, len(old_rest), len(new_rest))
    ]


def _gaps(kept: list[tuple[int, int]], old_length: int, new_length: int) -> list[Block]:
    """The spans between kept pairs of positions."""
    blocks = []
    old_at = new_at = 0
    for old_kept, new_kept in [*kept, (old_length, new_length)]:
        if old_at < old_kept or new_at < new_kept:
            blocks.append(Block(old_at, old_kept, new_at, new_kept))
        old_at, new_at = old_kept + 1, new_kept + 1
    return blocks


def _slid_window(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    try:
        slid = old.index(new[0])
    except ValueError:
        return []
    length = len(old) - slid
    if old[slid:] != new[:length]:
        return []
    return [(slid + index, index) for index in range(length)]
