"""How the debugger's panes share the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt_tui.viewmodel.debugger.lane_strip import MOST_LANES

if TYPE_CHECKING:
    from collections.abc import Callable

ONE_PANE_BELOW = 72
MEDIUM_FROM = 100
WIDE_FROM = 160
SHORT_BELOW = 24
TALL_FROM = 30

GROW_COLUMNS = 4
"""Columns that a key makes a pane wider by."""
GROW_ROWS = 2
"""Rows that a key makes a pane higher by."""
_LEAST_DIFF = 8
_LEAST_TIMELINE = 24
_LEAST_CHART, _MOST_CHART = 10, 20
"""The fewest and the most rows of the chart of context growth, title included."""
_LEAST_CARD = 9
"""Rows from which on calls are shown below the timeline, title included."""
_CALL_COLUMNS = (48, 72)
_WIDE_TIMELINE = 66
_WIDEST_TIMELINE = 82
"""Columns of the timeline at the width from which on it has a waterfall, and what it grows to."""
_LEAST_BESIDE_CALL = 60
"""Columns that the state keeps beside the calls: fewer would cost it the column of types."""
_STATE_MORE = 6
"""Columns that the state has more than the calls beside it."""

_LEAST_INSPECTOR = 24
_FRAME_ROWS = 2


class Rect(NamedTuple):
    """Where a pane lies."""

    x: int
    y: int
    width: int
    height: int


class Places(NamedTuple):
    """Where the panes lie; None for one that has no place.

    Attributes:
        timeline: The steps.
        state: The inspector.
        lower: What stands below the inspector: the diff, or what is in its place.
        call: The calls, beside the state or below the timeline.
        chart: How the context grows, below the timeline.
    """

    timeline: Rect
    state: Rect
    lower: Rect
    call: Rect | None
    chart: Rect | None = None


class DebuggerLayout(NamedTuple):
    """Sizes in columns and rows.

    Attributes:
        one_pane: There is room for a single pane at a time.
        timeline: Width of the timeline.
        diff: Height of the diff pane, title included; 1 is its title row.
        scrubber: Height of the scrubber.
        call: Width of the column that shows the calls beside the state; 0 where there is no room for one.
        card: Height of the calls below the timeline, where it has rows to spare; 0 where it has not.
        above_card: Height of the timeline above it; 0 where there is none.
        chart: Height of the chart below the timeline, where that has rows to spare and the calls a column.
    """

    one_pane: bool
    timeline: int
    diff: int
    scrubber: int
    call: int = 0
    card: int = 0
    above_card: int = 0
    chart: int = 0

    @classmethod
    def plan(
        cls,
        columns: int,
        rows: int,
        *,
        lanes: int = 1,
        depth: int = 0,
        diff_needs: int = 0,
        timeline_needs: int | None = None,
        holds_names: Callable[[int], bool] = lambda _columns: True,
        grown: tuple[int, int] = (0, 0),
        has_chart: bool = False,
    ) -> DebuggerLayout:
        """Share the screen.

        Args:
            columns: Width of the screen.
            rows: Height of the screen.
            lanes: How many lanes the run has.
            depth: How deep its steps are nested.
            diff_needs: Rows that the whole diff takes, title included.
            timeline_needs: Rows that the whole timeline takes, title included; None for all that there are.
            has_chart: Whether there is something to be drawn of how the context grows.
            holds_names: Whether no name is cut in a timeline of so many columns. It gets them up to half of the screen.
            grown: Columns and rows by which a person made the timeline wider and the diff higher; negative for smaller.
        """
        if columns >= MEDIUM_FROM:
            wide = min(_WIDEST_TIMELINE, _WIDE_TIMELINE + (columns - WIDE_FROM) * 2 // 5)
            timeline = wide if columns >= WIDE_FROM else 50 if lanes > 1 or depth >= 3 else 46
        else:
            timeline = 40 if depth >= 3 else 33 if lanes > 1 else 32
        timeline = next(filter(holds_names, range(timeline, columns // 2 + 1)), timeline)
        timeline = min(max(_LEAST_TIMELINE, timeline + grown[0]), max(1, columns - _LEAST_INSPECTOR))
        scrubber = 1 if rows < TALL_FROM else 3 if lanes < 2 else min(max(lanes, 3), MOST_LANES)
        body = rows - _FRAME_ROWS - scrubber
        diff = min(max(diff_needs, 1), max(_LEAST_DIFF, body // 2)) + grown[1]
        diff = 1 if rows < SHORT_BELOW else min(max(1, diff), max(2, body - 4))
        call = min(_CALL_COLUMNS[1], (columns - timeline - _STATE_MORE) // 2)
        if columns < WIDE_FROM or call < _CALL_COLUMNS[0] or columns - timeline - call < _LEAST_BESIDE_CALL:
            call = 0
        spare = body - (body if timeline_needs is None else timeline_needs)
        card = spare if not call and columns >= MEDIUM_FROM and spare >= _LEAST_CARD else 0
        chart = min(spare, _MOST_CHART) if call and has_chart and spare >= _LEAST_CHART else 0
        above = body - card - chart if card or chart else 0
        return cls(columns < ONE_PANE_BELOW, timeline, diff, scrubber, call, card, above, chart)

    def places(self, columns: int, rows: int, lower: int) -> Places:
        """Where the panes lie beside each other.

        Args:
            columns: Columns that all have together.
            rows: Rows that they have.
            lower: Rows of what stands below the inspector, and with the calls in a column of their own below these too.
        """
        timeline = min(self.timeline, columns)
        lower = min(lower, rows)
        right, above = columns - timeline, rows - lower
        # What stands below the panes, as a search, takes its rows from the calls before it takes any from the timeline.
        card = min(self.card, rows - self.above_card) if self.card else 0
        card = card if card >= _LEAST_CARD else 0
        chart = min(self.chart, rows - self.above_card) if self.chart else 0
        chart = chart if chart >= _LEAST_CHART else 0
        call = None
        if self.call:
            call = Rect(columns - self.call, 0, self.call, above)
        elif card:
            call = Rect(0, rows - card, timeline, card)
        return Places(
            Rect(0, 0, timeline, rows - card - chart),
            Rect(timeline, 0, right - self.call, above),
            Rect(timeline, above, right, lower),
            call,
            Rect(0, rows - chart, timeline, chart) if chart else None,
        )
