"""The columns of the timeline: who gets how many, and who gives way when it is narrow."""

from __future__ import annotations

from typing import NamedTuple

AGENT = 7
MOST_RAILS = 6
_MOST_BAR = 14
_LEAST_BAR = 6
_BARS_FROM = 42
_AGENTS_FROM = 44
_LEAST_NAME = 6
_DURATION = 7
_DURATION_SHORT = 5

INPUT_NAME = "input"
"""What stands in row 0, the state that the run began with."""


class TimelineColumns(NamedTuple):
    """Columns of a timeline row, without the cursor bar at its left and the free column at its right.

    They stand in this order: mark (1), number, 1 free, rails, glyph (1; with lanes it stands in its rail), 1 free,
    agent, name, bar, 1 free, duration, 1 free, change (1), flag (1).
    """

    number: int
    rails: int
    """Rails of lanes; 0 without lanes."""
    rail: int
    """Columns for each rail."""
    agent: int
    name: int
    bar: int
    duration: int

    @classmethod
    def plan(cls, width: int, *, last: int, lanes: int, depth: int, longest: int = 0) -> TimelineColumns:
        """Plan the columns.

        Args:
            width: Columns there are.
            last: Number of the last step.
            lanes: How many lanes the run has; one draws none.
            depth: How deep its steps are nested; not drawn beside lanes.
            longest: Columns of the longest name: bars take what names leave.
        """
        whole = width + 2
        number = max(3, len(str(last)))
        wide = whole >= _AGENTS_FROM
        rails = min(lanes, MOST_RAILS) if lanes > 1 else 0
        rail = 2 if wide else 1
        agent = AGENT + 1 if rails and wide else 0
        duration = _DURATION_SHORT if rails and not wide else _DURATION
        tracks = rails * rail if rails else depth + 1
        flexible = width - (1 + number + 1 + tracks + 1 + agent + 1 + duration + 3)
        if agent and flexible < _LEAST_NAME:
            flexible, agent = flexible + agent, 0
        bar = min(_MOST_BAR, flexible // 2, flexible - longest - 1)
        if whole < _BARS_FROM or rails or depth >= 3 or bar < _LEAST_BAR:
            bar = 0
        return cls(number, rails, rail, agent, max(1, flexible - bar), bar, duration)


def bar_length(duration_us: int | None, full_us: int, columns: int) -> tuple[int, bool]:
    """How long a bar is.

    Args:
        duration_us: What it stands for.
        full_us: The duration of a full bar.
        columns: The length of a full bar.

    Returns:
        The length, at least 1 for anything that was measured, and whether it is too long to be shown in full.
    """
    if not duration_us or full_us <= 0 or columns < 1:
        return 0, False
    if duration_us > full_us:
        return columns, True
    return max(1, round(duration_us / full_us * (columns - 1))), False
