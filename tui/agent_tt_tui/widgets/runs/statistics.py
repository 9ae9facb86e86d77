"""A table of statistics: text, bars and sparklines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import cut, cut_start
from agent_tt_tui.text import width as text_width
from agent_tt_tui.viewmodel.runs.statistics import Line, squeezed
from agent_tt_tui.widgets.drawing import style_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.runs.statistics import Cell, Column, Series, Table

__all__ = ["StatTable", "StatZone"]

_LEAST: Final = 14
"""The columns that what takes the rest has at least."""

_WIDEST: Final = 4
"""The columns that a value of a sparkline has at most."""


class StatTable(RowList[Line]):
    """The rows of a table below the titles of its columns, where it has any."""

    QUIET: ClassVar[bool] = True
    HELP = "A table of what was counted: enter shows only this agent, or opens the run at this step."

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._table: Table | None = None

    def show(self, table: Table) -> None:
        """Show a table."""
        self._table = table
        titled = any(column.title for column in table.columns)
        heading = [Line(())] if titled and table.lines else []
        self._first = len(heading)
        self.show_rows([*heading, *(table.lines or [Line(())])])

    _first = 0

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor below the titles."""
        found = super().validate_cursor(cursor)
        return found if found < 0 else max(found, self._first)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a row."""
        row, table = Row(look_of(self).glyphs.cut), self._table
        if table is None:
            return row.strip(width)
        if not table.lines:
            return row.add(table.empty, styles.note).strip(width)
        columns = _fitting(table.columns, width)
        rest = max(1, width - sum(column.width for column in columns))
        wider = self._wider(table, rest)
        for at, column in enumerate(table.columns):
            if column not in columns:
                continue
            room = column.width + wider.get(at, 0) if column.width else rest - sum(wider.values())
            if index < self._first:
                title = self._over(table, at, room) or column.title
                row.column(title, room, styles.muted, column.align)
            else:
                self._cell(row, table.lines[index - self._first].cells[at], room, column, styles)
        return row.strip(width)

    def _wider(self, table: Table, rest: int) -> dict[int, int]:
        """How many columns of the rest go to cells that would be cut, by column: what takes the rest keeps its own."""

        def longest(at: int) -> int:
            return max((text_width(line.cells[at].text) + 1 for line in table.lines), default=0)

        flexible = [at for at, column in enumerate(table.columns) if not column.width]
        free = rest - max([_LEAST, *map(longest, flexible)])
        wider = {}
        for at, column in enumerate(table.columns):
            if column.width and any(line.cells[at].keeps_end for line in table.lines) and free > 0:
                wider[at] = min(free, max(0, longest(at) - column.width))
                free -= wider[at]
        return wider

    def _over(self, table: Table, at: int, room: int) -> str:
        """What a column of sparklines is called: how many days a column of it stands for."""
        series = table.lines[0].cells[at].series
        if series is None:
            return ""
        days = -(-len(series) // max(1, room - 2))
        return "" if days == 1 else f"a column is the most of up to {days} days"

    def _cell(self, row: Row, cell: Cell, room: int, column: Column, styles: Palette) -> None:
        glyphs, style = look_of(self).glyphs, style_of(cell.role, styles)
        if cell.series is not None:
            row.column(self._spark(cell.series, room - 2), room, style)
        elif cell.share is not None:
            filled = max(1, round(cell.share * (room - 2))) if cell.share else 0
            row.add(" ").column(glyphs.busy * filled, room - 1, style)
        elif column.align == "right":
            row.add(" ").column(cell.text, room - 1, style, "right")
        else:
            short = cut_start if cell.keeps_end else cut
            row.column(short(cell.text, room - 1, glyphs.cut), room, style)

    def _spark(self, series: Series, room: int) -> str:
        heights = look_of(self).glyphs.spark
        values = squeezed(series, max(1, room))
        wide = min(_WIDEST, max(1, room // max(1, len(values))))
        most = max((value for value in values if value is not None), default=0) or 1
        last = len(heights) - 1
        bars = (" " if value is None else heights[min(last, int(value / most * last + 0.5))] for value in values)
        return "".join(bar * wide for bar in bars)


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that there is room for."""
    kept = list(columns)
    while sum(column.width or _LEAST for column in kept) > width and any(column.drop for column in kept):
        kept.remove(min((column for column in kept if column.drop), key=lambda column: column.drop))
    return kept


class StatZone(Pane):
    """A table below its title."""

    def __init__(self, id: str, title: str, *, classes: str = "") -> None:  # noqa: A002 - Textual's name
        self.table = StatTable(id=id)
        """The table."""
        super().__init__(PaneTitle(title), self.table, classes=f"stat-zone {classes}")

    def show(self, table: Table) -> None:
        """Show a table."""
        self.title_row.title, self.title_row.detail, self.title_row.busy = table.title, table.detail, ""
        self.table.show(table)
