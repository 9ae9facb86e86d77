"""The scrubber's strip: which steps each of its columns stands for."""

from __future__ import annotations

from dataclasses import dataclass

_WIDEST_CELL = 9
_LEAST_LABEL = 8


@dataclass(frozen=True, slots=True)
class StripLayout:
    """Where the steps 1..last stand on a strip.

    Attributes:
        start: First column of the strip; the label stands before it.
        cell: Columns of a step; 0 where a column stands for several steps.
        columns: Columns of the whole strip.
        last: Number of the last step.
    """

    start: int
    cell: int
    columns: int
    last: int

    @classmethod
    def plan(cls, width: int, last: int, clock: int) -> StripLayout:
        """Plan a strip.

        Args:
            width: Columns of the scrubber.
            last: Number of the last step.
            clock: Columns that the clock at its right end needs.
        """
        start = max(_LEAST_LABEL, 2 * len(str(last)) + 3)
        room = max(1, width - start - clock)
        cell = min(_WIDEST_CELL, room // max(1, last))
        return cls(start, cell, min(room, last * cell) if cell else room, last)

    def column(self, number: int) -> int:
        """The column, counted from the strip's start, of a step's glyph; of step 0 the one before the strip."""
        if number < 1:
            return -1
        if self.cell:
            return (number - 1) * self.cell
        return (number - 1) * self.columns // self.last

    def steps(self, column: int) -> tuple[int, int]:
        """The first and last step that a column of a strip with many steps stands for."""
        first = -(-column * self.last // self.columns) + 1
        return first, max(first, -(-(column + 1) * self.last // self.columns))

    def is_between(self, column: int) -> bool:
        """Whether a column is part of the line that leads from a step to the next."""
        return column >= 0 and self.cell > 1 and column % self.cell > 0

    def step_at(self, column: int) -> int:
        """The step nearest to a column, counted from the strip's start."""
        if column < 0:
            return 0
        number = column // self.cell + 1 if self.cell else self.steps(min(column, self.columns - 1))[0]
        return max(0, min(self.last, number))
