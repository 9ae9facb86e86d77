"""The clock of a run as a row of columns: where a moment lies, its ticks, and where idle time is left out."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ClockAxis", "Tick"]

_IDLE: Final = 0.2
"""The share of the whole from which on a time in which nothing ran is left out."""
_BREAK: Final = 2
"""Columns that stand for a time that is left out."""
_A_TICK: Final = 4
"""Columns for each tick, at least."""
_MOST_TICKS: Final = 6

_UNITS: Final = (("ms", 1_000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000))
_ROUND: Final = {
    "ms": (1, 2, 5, 10, 20, 50, 100, 200, 500),
    "s": (1, 2, 5, 10, 15, 20, 30),
    "min": (1, 2, 5, 10, 15, 20, 30),
    "h": (1, 2, 4, 6, 12, *(24 * 2**power for power in range(24))),
}
_UNIT_US: Final = dict(_UNITS)
_STEPS: Final = tuple((unit, count) for unit, _ in _UNITS for count in _ROUND[unit])


class Tick(NamedTuple):
    """A round time since the beginning.

    Attributes:
        column: Where it lies.
        label: The time, the first one with its unit.
    """

    column: int
    label: str


class ClockAxis:
    """Columns for the time between two moments.

    Args:
        begin_us: The first moment.
        end_us: The last one.
        columns: How many columns there are.
        idle: Times in which nothing ran, in order; long ones are left out.
    """

    def __init__(self, begin_us: int, end_us: int, columns: int, idle: Iterable[tuple[int, int]] = ()) -> None:
        self.columns = columns
        whole = max(1, end_us - begin_us)
        long = [
            (first, last) for first, last in idle if last - first > whole * _IDLE and begin_us <= first < last <= end_us
        ]
        if columns <= _BREAK * len(long):
            long = []
        shown_us = max(1, whole - sum(last - first for first, last in long))
        self._per_us = (columns - _BREAK * len(long)) / shown_us
        self._begins = [begin_us]
        """The first moment of each stretch of time that is shown."""
        self._columns = [0.0]
        """The column of each of these moments."""
        self._ends: list[int] = []
        self.breaks: list[int] = []
        """The columns at which idle time is left out; each takes two."""
        for first, last in long:
            at = self._columns[-1] + (first - self._begins[-1]) * self._per_us
            self._ends.append(first)
            self.breaks.append(round(at))
            self._begins.append(last)
            self._columns.append(round(at) + _BREAK)
        self._ends.append(end_us)
        self.ticks = self._find_ticks(begin_us, whole)
        """Round times, in order."""
        self.behind = {tick.column for tick in self.ticks if tick.column} | {
            column for at in self.breaks for column in (at, at + 1)
        }
        """The columns that a line runs through behind the bars."""

    def column(self, us: int) -> int:
        """Where a moment lies."""
        at = max(0, bisect_right(self._begins, us) - 1)
        inside = max(0, min(us, self._ends[at]) - self._begins[at])
        return max(0, min(self.columns - 1, int(self._columns[at] + inside * self._per_us)))

    def _find_ticks(self, begin_us: int, whole_us: int) -> Sequence[Tick]:
        most = max(1, min(_MOST_TICKS, self.columns // _A_TICK))
        unit, count = next(
            ((unit, count) for unit, count in _STEPS if whole_us / (_UNIT_US[unit] * count) <= most), _STEPS[-1]
        )
        each = _UNIT_US[unit] * count
        found = [Tick(0, f"0{unit}")]
        for number in range(1, whole_us // each + 1):
            moment = begin_us + number * each
            at = bisect_right(self._begins, moment) - 1
            column = self.column(moment)
            if moment <= self._ends[at] and column - found[-1].column >= _A_TICK - 1:  # else it is left out
                found.append(Tick(column, str(number * count)))
        return found
