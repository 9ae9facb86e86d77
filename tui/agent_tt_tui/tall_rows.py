"""Which line of a list belongs to which row, where rows take several lines each."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class TallRows:
    """Where the lines of each row begin. Only rows of several lines cost anything."""

    def __init__(self, heights: Mapping[int, int] | None = None) -> None:
        """Say which rows are tall.

        Args:
            heights: how many lines a row takes, by its index; rows that are not named take one.
        """
        tall = sorted((heights or {}).items())
        self._rows = [row for row, _ in tall]
        self._heights = [height for _, height in tall]
        self._more = [0, *accumulate(height - 1 for height in self._heights)]
        self._lines = [row + more for row, more in zip(self._rows, self._more, strict=False)]

    @property
    def more(self) -> int:
        """How many lines there are beyond one a row."""
        return self._more[-1]

    def line_of(self, row: int) -> int:
        """The first line of a row."""
        return row + self._more[bisect_right(self._rows, row - 1)]

    def height(self, row: int) -> int:
        """How many lines a row takes."""
        at = bisect_right(self._rows, row) - 1
        return self._heights[at] if at >= 0 and self._rows[at] == row else 1

    def row_of(self, line: int) -> tuple[int, int]:
        """The row that a line belongs to, and which of its lines it is, from 0."""
        at = bisect_right(self._lines, line) - 1
        if at < 0:
            return line, 0
        inside = line - self._lines[at]
        if inside < self._heights[at]:
            return self._rows[at], inside
        return line - self._more[at + 1], 0
