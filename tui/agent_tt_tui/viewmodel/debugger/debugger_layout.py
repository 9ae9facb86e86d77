"""How the debugger's panes share the screen."""

from __future__ import annotations

from typing import NamedTuple

from agent_tt_tui.viewmodel.debugger.lane_strip import MOST_LANES

ONE_PANE_BELOW = 72
MEDIUM_FROM = 100
WIDE_FROM = 160
SHORT_BELOW = 24
TALL_FROM = 30

_GROW_COLUMNS = 4
_GROW_ROWS = 2
_LEAST_DIFF = 8
_LEAST_TIMELINE = 24
_LEAST_CARD = 9
"""Rows from which on calls are shown below the timeline, title included."""
_CALL_COLUMNS = (48, 72)
_LEAST_BESIDE_CALL = 60
"""Columns that the state keeps beside the calls: fewer would cost it the column of types."""

_LEAST_INSPECTOR = 24
_FRAME_ROWS = 2


class DebuggerLayout(NamedTuple):
    """Sizes in columns and rows.

    Attributes:
        one_pane: There is room for a single pane at a time.
        timeline: Width of the timeline.
        diff: Height of the diff pane, title included; 1 is its title row.
        scrubber: Height of the scrubber.
        call: Width of the column that shows the calls beside the state; 0 where there is no room for one.
        card: Height of the calls below the timeline, where it has rows to spare; 0 where it has not.
    """

    one_pane: bool
    timeline: int
    diff: int
    scrubber: int
    call: int = 0
    card: int = 0

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
        grown: tuple[int, int] = (0, 0),
    ) -> DebuggerLayout:
        """Share the screen.

        Args:
            columns: Width of the screen.
            rows: Height of the screen.
            lanes: How many lanes the run has.
            depth: How deep its steps are nested.
            diff_needs: Rows that the whole diff takes, title included.
            timeline_needs: Rows that the whole timeline takes, title included; None for all that there are.
            grown: How many times a person made the timeline wider and the diff higher; negative for smaller.
        """
        if columns >= MEDIUM_FROM:
            timeline = 52 if columns >= WIDE_FROM else 50 if lanes > 1 or depth >= 3 else 46
        else:
            timeline = 40 if depth >= 3 else 33 if lanes > 1 else 32
        timeline = min(max(_LEAST_TIMELINE, timeline + grown[0] * _GROW_COLUMNS), max(1, columns - _LEAST_INSPECTOR))
        scrubber = 1 if rows < TALL_FROM else 3 if lanes < 2 else min(max(lanes, 3), MOST_LANES)
        body = rows - _FRAME_ROWS - scrubber
        diff = min(max(diff_needs, 1), max(_LEAST_DIFF, body // 2)) + grown[1] * _GROW_ROWS
        diff = 1 if rows < SHORT_BELOW else min(max(1, diff), max(2, body - 4))
        call = min(_CALL_COLUMNS[1], columns - timeline - _LEAST_BESIDE_CALL)
        if columns < WIDE_FROM or call < _CALL_COLUMNS[0]:
            call = 0
        spare = body - (body if timeline_needs is None else timeline_needs)
        card = spare if not call and columns >= MEDIUM_FROM and spare >= _LEAST_CARD else 0
        return cls(columns < ONE_PANE_BELOW, timeline, diff, scrubber, call, card)
