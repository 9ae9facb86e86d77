"""The rows of the dialog of watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.format import counted
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, show
from agent_tt_tui.text import width as columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt.querying.watches.watchpoints import Watchpoint
    from agent_tt_tui.palette import Palette

_MOST_ROWS = 12
_COUNT, _WHERE, _NOW, _BREAK = 9, 13, 6, 6
_WIDE_FROM = 56
"""Columns from which there is room for where it holds."""


class WatchList(LineView):
    """One row for each watch: letter, name and expression, how often, from where to where, now, whether it breaks."""

    HELP = "What is watched: b makes a breakpoint of it, x watches it no longer, del keeps it no longer."

    def __init__(self) -> None:
        super().__init__(id="watch-rows")
        self._rows: Sequence[Watchpoint] = ()
        self._last = 0

    @property
    def line_count(self) -> int:
        """One line a watch; one that says that there is none."""
        return max(1, len(self._rows))

    def get_content_height(self, *_sizes: object) -> int:
        """As many rows as there are, as far as they fit."""
        return min(_MOST_ROWS, max(3, self.line_count))

    @property
    def current(self) -> Watchpoint | None:
        """The watch under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def cuts(self) -> bool:
        """Whether a row has no room for all of a name or an expression."""
        columns, styles = self.size.width - 2, self.canvas.palette
        return any(self._said(item) > columns - self._facts(item, columns, styles).cells - 1 for item in self._rows)

    def _said(self, item: Watchpoint) -> int:
        """Columns of the letter, the name and the expression of a watch."""
        name = columns_of(clean(item.watch.name)) * 2 if item.watch.name else 0  # a name has half of the room at most
        return 2 + max(name, name // 2 + 2 * bool(name) + columns_of(clean(item.watch.where)))

    def show(self, rows: Sequence[Watchpoint], last: int) -> None:
        """Show watches.

        Args:
            rows: The watches.
            last: The run's last step.
        """
        self._rows, self._last = rows, last
        self.styles.height = self.get_content_height()
        self.refresh_lines_data()

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one row."""
        glyphs = look_of(self).glyphs
        row = Row(glyphs.cut)
        if not self._rows:
            return row.add(" nothing is watched yet: a adds an expression", styles.note).strip(width)
        item = self._rows[index]
        watch, right = item.watch, self._facts(item, width, styles)
        is_on = watch.on
        sign = styles.chip if watch.breaks else styles.yours
        row.add(watch.letter, sign if is_on else styles.faint).add(" ")
        room = width - right.cells - 1
        if watch.name:
            row.upto(clean(watch.name), room // 2, styles.strong if is_on else styles.muted).add("  ")
        row.upto(clean(watch.where), room, styles.text if is_on else styles.muted)
        return row.right(right, width).strip(width)

    def _facts(self, item: Watchpoint, width: int, styles: Palette) -> Row:
        glyphs, watch, found = look_of(self).glyphs, item.watch, item.found
        row, where_columns = Row(glyphs.cut), _WHERE if width >= _WIDE_FROM else 0
        breaks = "break" if watch.breaks else ""
        if not watch.on:
            return row.add("off", styles.note).add(" ").column(breaks, _BREAK, styles.muted, "right")
        if item.error is not None:
            row.add(f"{glyphs.failed} ", styles.failed)
            why = show(item.why, _COUNT + where_columns + _NOW, glyphs.cut)
            row.add(why, styles.failed_text)
            return row.add(" ").column(breaks, _BREAK, styles.muted, "right")
        count = len(found)
        steps = counted(count, "step")
        row.column(steps, _COUNT, styles.text if count else styles.muted, "right")
        where = "" if found.first is None else str(found.first)
        if found.first != found.last:
            where = f"{found.first}{glyphs.span}{found.last}"
        if where_columns:
            row.column(where, where_columns, styles.muted, "right")
        row.add(" ")
        held = item.watched.holds_now(self._last)
        now = glyphs.still if held is None else "holds" if held else "no"
        row.column(now, _NOW, styles.running if held is None else styles.strong if held else styles.muted, "right")
        return row.column(breaks, _BREAK, styles.yours, "right")
