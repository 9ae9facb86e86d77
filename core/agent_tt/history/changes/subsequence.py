"""What two sequences have in common, in order: exact, and fast because a whole row of the table is one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

__all__ = ["common_subsequence"]

_BLOCK: Final = 2048
"""Rows that are kept while the way back is found; of longer sequences every so many are kept, the others made again."""


def common_subsequence(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The pairs of positions of a longest common subsequence, in order.

    Bit-parallel (H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004): bit i of row j is clear where old
    element i makes the common subsequence of `old[:i+1]` and `new[:j+1]` longer than that of `old[:i]`. Time grows with
    the product of the lengths: 2,000 by 2,000 take 10 ms, 10,000 by 10,000 a tenth of a second.
    """
    positions: dict[Hashable, int] = {}
    for index, key in enumerate(old):
        positions[key] = positions.get(key, 0) | 1 << index
    starts = range(0, len(new), _BLOCK)
    every = (1 << len(old)) - 1
    first_rows = [every]
    for start in starts[:-1]:
        *_, row = _rows(first_rows[-1], new[start : start + _BLOCK], positions, every)
        first_rows.append(row)
    pairs = []
    i = len(old) - 1
    for start, first_row in zip(reversed(starts), reversed(first_rows), strict=bool(starts)):
        rows = [first_row, *_rows(first_row, new[start : start + _BLOCK], positions, every)]
        j = len(rows) - 2
        while i >= 0 and j >= 0:
            if rows[j + 1] >> i & 1:
                i -= 1
            elif rows[j] >> i & 1:
                pairs.append((i, start + j))
                i, j = i - 1, j - 1
            else:
                j -= 1
    pairs.reverse()
    return pairs


def _rows(row: int, keys: Sequence[Hashable], positions: Mapping[Hashable, int], every: int) -> Iterator[int]:
    """The rows of these keys of the one side, after the row `row`."""
    for key in keys:
        matches = row & positions.get(key, 0)
        row = (row + matches | row - matches) & every
        yield row
