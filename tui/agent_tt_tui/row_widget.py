"""The base of widgets that draw a fixed number of rows, such as header, footer and scrubber."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row

if TYPE_CHECKING:
    from textual.strip import Strip

    from agent_tt_tui.palette import Palette


class RowWidget(Widget):
    """A widget whose rows are drawn by `draw`, on the widget's own ground."""

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
        row = self.draw(y, columns, look_of(self).palette(self))
        return row.strip(columns).apply_style(self.rich_style)
