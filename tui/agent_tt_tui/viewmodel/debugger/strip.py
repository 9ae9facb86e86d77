"""The scrubber's strip: which steps each of its columns stands for, and what watches put there."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.querying.watches.watchpoints import Watchpoint


_WIDEST_CELL = 9
_LEAST_LABEL = 8


class StripLayout(NamedTuple):
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

    def columns_of(self, numbers: Sequence[int]) -> set[int]:
        """The columns of the glyphs of steps, which are in order; of very many it looks at one a column."""
        if self.cell or len(numbers) < self.columns:
            return set(map(self.column, numbers))
        found: set[int] = set()
        at = 0
        while at < len(numbers):
            column = self.column(numbers[at])
            found.add(column)
            at = bisect_left(numbers, self.steps(column + 1)[0], at + 1)
        return found

    def first_beside(self, number: int) -> int:
        """The first of the steps that stand in one column with a step."""
        return number if self.cell or number < 1 else self.steps(self.column(number))[0]

    def is_between(self, column: int) -> bool:
        """Whether a column is part of the line that leads from a step to the next."""
        return column >= 0 and self.cell > 1 and column % self.cell > 0

    def step_at(self, column: int) -> int:
        """The step nearest to a column, counted from the strip's start."""
        if column < 0:
            return 0
        number = column // self.cell + 1 if self.cell else self.steps(min(column, self.columns - 1))[0]
        return max(0, min(self.last, number))


class WatchMark(NamedTuple):
    """What stands in one column.

    Attributes:
        letter: The letter of the watch; "" for the bar behind it.
        breaks: Whether a breakpoint stops there.
    """

    letter: str
    breaks: bool = False


def watch_marks(rows: Sequence[Watchpoint], layout: StripLayout) -> dict[int, WatchMark]:
    """What stands in which column of a strip.

    In a column that stands for several steps, or for several watches, the strongest is shown: where a breakpoint stops,
    else where a watch begins to hold, else that one holds.

    Args:
        rows: The watches; those that are off show nothing.
        layout: The strip.
    """
    marks: dict[int, WatchMark] = {}
    shown = [row for row in rows if row.watch.on]
    for column in range(-1, layout.columns):
        first, last = _steps(layout, column)
        found = [mark for row in shown if (mark := _mark(row, first, last, layout.is_between(column))) is not None]
        if found:
            marks[column] = min(found, key=lambda mark: (not mark.breaks, not mark.letter))
    return marks


def _steps(layout: StripLayout, column: int) -> tuple[int, int]:
    if column < 0:
        return 0, 0
    if layout.cell:
        number = column // layout.cell + 1
        return number, number
    return layout.steps(column)


def _mark(row: Watchpoint, first: int, last: int, between: bool) -> WatchMark | None:  # noqa: FBT001 - of a column
    found = row.found
    if between:  # the line from one step to the next
        return WatchMark("") if first in found and first + 1 in found else None
    if not found.any_in(first, last):
        return None
    stop = row.watched.stop_after(first - 1) if row.breaks else None
    if stop is not None and stop <= last:
        return WatchMark(row.watch.letter, breaks=True)
    begins = found.begin_after(first - 1)
    return WatchMark(row.watch.letter if begins is not None and begins <= last else "")
