"""What watches put on the scrubber: a letter where one begins to hold, a bar for as long as it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.querying.watches.watchpoints import Watchpoint
    from agent_tt_tui.viewmodel.debugger.strip import StripLayout

__all__ = ["WatchMark", "watch_marks"]


@dataclass(frozen=True, slots=True)
class WatchMark:
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
