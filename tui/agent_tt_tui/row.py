"""Building one line of cells: what is added, cut to columns, and put at the right edge; widgets made of such lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from agent_tt_tui.drawn import DrawnLines
from agent_tt_tui.look import look_of
from agent_tt_tui.text import Align, cut, fit, width

if TYPE_CHECKING:
    from collections.abc import Collection

    from rich.style import Style
    from textual.geometry import Region

    from agent_tt_tui.palette import Palette

_DANGLES: Final = re.compile(" +[·→] *$")
"""A separator behind which nothing follows."""


class Row:
    """One line under construction; all texts given to it must be safe (see `agent_tt_tui.text.clean`).

    Every method returns the row, so that calls can be chained.
    """

    __slots__ = ("_cells", "_more", "_segments")

    def __init__(self, more: str) -> None:
        """Start an empty row.

        Args:
            more: The glyph that says something was cut.
        """
        self._more = more
        self._segments: list[Segment] = []
        self._cells = 0

    @property
    def cells(self) -> int:
        """How many columns are taken."""
        return self._cells

    def add(self, text: str, style: Style | None = None) -> Row:
        """Add text as it is."""
        if text:
            self._segments.append(Segment(text, style))
            self._cells += width(text)
        return self

    def column(self, text: str, columns: int, style: Style | None = None, align: Align = "left") -> Row:
        """Add text cut or padded to exactly so many columns."""
        return self.add(fit(text, columns, self._more, align), style) if columns > 0 else self

    def upto(self, text: str, column: int, style: Style | None = None) -> Row:
        """Add as much of a text as fits before a column."""
        return self.add(cut(text, column - self._cells, self._more), style)

    def pad_to(self, column: int) -> Row:
        """Fill with blanks up to a column."""
        return self.add(" " * max(0, column - self._cells))

    def join(self, other: Row) -> Row:
        """Add all of another row."""
        self._segments.extend(other._segments)
        self._cells += other.cells
        return self

    def upto_row(self, other: Row, columns: int) -> Row:
        """Add another row, cut to so many columns."""
        if other.cells > columns:
            other._cut_to(columns)
        return self.join(other)

    def right(self, other: Row, columns: int) -> Row:
        """Put another row at the right edge of so many columns; what stands in its way is cut."""
        start = max(0, columns - other.cells)
        if self._cells > start:
            self._cut_to(start)
        return self.pad_to(start).join(other)

    def strip(self, columns: int, ground: Style | None = None) -> Strip:
        """Finish the row as exactly so many columns, on a ground if one is given."""
        if self._cells > columns:
            self._cut_to(columns)
        self.pad_to(columns)
        segments = self._segments if ground is None else list(Segment.apply_style(self._segments, ground))
        return Strip(segments, self._cells).adjust_cell_length(columns)

    def _drop_end_blanks(self, columns: int) -> None:
        """Leave out blanks at the end that stand beyond so many columns: nothing is missed with them."""
        while self._cells > columns and self._segments and self._segments[-1].text.endswith(" "):
            text, style, *_ = self._segments.pop()
            shorter = text[: max(len(text.rstrip(" ")), len(text) - (self._cells - columns))]
            self._cells -= len(text) - len(shorter)
            if shorter:
                self._segments.append(Segment(shorter, style))

    def _cut_to(self, columns: int) -> None:
        self._drop_end_blanks(columns)
        if self._cells <= columns:
            return
        segments, self._segments, self._cells = self._segments, [], 0
        for segment in segments:
            if self._cells >= columns:
                break
            self.upto(segment.text, columns, segment.style)
        if self._cells == columns and columns > 0 and sum(width(s.text) for s in segments) > columns:
            last = self._segments[-1]
            if not last.text.endswith(self._more):
                self._segments[-1] = Segment(cut(last.text, width(last.text) - 1, "") + self._more, last.style)
        self._drop_separator()

    def _drop_separator(self) -> None:
        """Leave out a separator right before the cut: what it led to is not seen."""
        if not (self._segments and self._more and self._segments[-1].text.endswith(self._more)):
            return
        last = self._segments[-1]
        tail = Segment(last.text[: -len(self._more)], last.style)
        before = [*self._segments[:-1], *([tail] if tail.text else [])]
        if not before or not _DANGLES.search("".join(segment.text for segment in before[-2:])):
            return
        left = len(_DANGLES.sub("", "".join(segment.text for segment in before)))
        self._segments, self._cells = [], 0
        for text, style, *_ in before:
            self.add(text[:left], style)
            left = max(0, left - len(text))
        self.add(f" {self._more}", last.style)


class RowWidget(Widget):
    """A widget whose rows are drawn by `draw`, on the widget's own ground."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        self.canvas = DrawnLines(self)
        """Its rows, as they were drawn."""
        super().__init__(id=id, classes=classes)

    def new_row(self) -> Row:
        """Start an empty row."""
        return Row(look_of(self).glyphs.cut)

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row.

        Args:
            y: Which row of the widget, from 0.
            columns: The columns there are; a row that is too long or too short is cut or filled.
            styles: The roles to draw with.
        """
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """Draw one row on the widget's ground, which Textual does not put under rows drawn this way."""
        columns = self.size.width
        return self.draw(y, columns, self.canvas.palette).strip(columns, self.canvas.ground)

    # What Textual asks for: see `DrawnLines`.

    def render_lines(self, crop: Region) -> list[Strip]:
        """Give lines that were drawn."""
        return self.canvas.lines(crop) if self.canvas.fills_widget else super().render_lines(crop)

    def _set_dirty(self, *regions: Region) -> None:
        self.canvas.forget(regions)
        super()._set_dirty(*regions)

    def _exchange_repaint_regions(self) -> Collection[Region]:
        regions = super()._exchange_repaint_regions()
        return self.canvas.changed(regions) if self.canvas.fills_widget else regions

    def notify_style_update(self) -> None:
        """Resolve the roles anew when the stylesheet gives this widget another ground."""
        super().notify_style_update()
        self.canvas.forget_styles()
