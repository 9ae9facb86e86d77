"""How the columns of the timeline share its width: those that do not fit are left out whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt_tui.viewmodel.debugger.timeline_columns import AGENT, COLUMNS, NAME, Room, columns_by_default, read_names

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_RAILS = 6
_TWO_COLUMN_RAILS_FROM = 44
_BESIDE_CURSOR = 2
"""Columns of the list that are no line's: the cursor's bar, and the free one at the right edge."""

_READABLE = 16
"""Columns of a name that columns which were chosen leave it, if it has so many."""

INPUT_NAME = "input"
"""What stands in row 0, the state that the run began with."""


class Placed(NamedTuple):
    """A column that is shown, and how wide it is."""

    name: str
    width: int


class TimelineColumns(NamedTuple):
    """Columns of a timeline row, without the cursor bar at its left and the free column at its right.

    They stand in this order: mark (1), number, 1 free, rails, glyph (1; with lanes it stands in its rail), 1 free,
    the columns of the table with 1 free after each, change (1), flag (1).
    """

    number: int
    rails: int
    """Rails of lanes; 0 without lanes."""
    rail: int
    """Columns for each rail."""
    placed: tuple[Placed, ...]
    """The columns of the table that have room, in their order."""
    left_out: tuple[str, ...]
    """Those that have none."""

    @classmethod
    def plan(
        cls,
        width: int,
        *,
        last: int,
        lanes: int,
        depth: int,
        longest: int = 0,
        chosen: Sequence[str] | None = None,
        has_tokens: bool = False,
        has_asked: bool = False,
        longest_agent: int = 0,
    ) -> TimelineColumns:
        """Plan the columns.

        Args:
            width: Columns there are.
            last: Number of the last step.
            lanes: How many lanes the run has; one draws none.
            depth: How deep its steps are nested; not drawn beside lanes.
            longest: Columns of the longest name: columns grow into what names leave.
            has_tokens: Whether it is known what models were sent.
            has_asked: Whether what tools were asked is read quickly.
            longest_agent: Columns of the longest name of an agent or lane.
            chosen: Names of the columns that somebody chose, in their order; None for those by default.
        """
        whole = width + _BESIDE_CURSOR
        number = max(3, len(str(last)))
        rails = min(lanes, MOST_RAILS) if lanes > 1 else 0
        rail = 2 if whole >= _TWO_COLUMN_RAILS_FROM else 1
        tracks = rails * rail if rails else depth + 1
        names = (
            columns_by_default(Room(whole, lanes, depth, has_tokens, has_asked))
            if chosen is None
            else read_names(chosen)
        )
        room = width - (1 + number + 1 + tracks + 1 + 2) - 1
        widths: dict[str, int] = {}
        for name in sorted(names, key=lambda name: COLUMNS[name].keep):
            column = COLUMNS[name]
            if name == NAME:
                continue
            least = (
                0 if chosen is None and not column.gives_way else longest if chosen is None else min(longest, _READABLE)
            )
            kept = max(COLUMNS[NAME].width, least)
            if room - column.width - 1 >= kept:
                widths[name] = column.width
                room -= column.width + 1
        for name in sorted(widths, key=lambda name: COLUMNS[name].keep):
            most = min(COLUMNS[name].most, longest_agent) if name == AGENT else COLUMNS[name].most
            more = max(0, min(most - widths[name], room - max(COLUMNS[NAME].width, longest)))
            widths[name] += more
            room -= more
        widths[NAME] = max(1, room)
        shown = tuple(Placed(name, widths[name]) for name in names if name in widths)
        return cls(number, rails, rail, shown, tuple(name for name in names if name not in widths))

    def width_of(self, name: str) -> int:
        """How wide a column is; 0 where it is not shown."""
        return next((placed.width for placed in self.placed if placed.name == name), 0)
