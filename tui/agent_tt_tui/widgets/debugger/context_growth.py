"""The chart below a short timeline: how much each step sent to its models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.viewmodel.debugger.context_growth import growth_rows
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.values.pieces import Piece


class GrowthChart(RowWidget):
    """A bar for each step that asked models."""

    HELP = "The tokens that each step sent to its models; the bar of the step that is shown stands out."

    sent: Sequence[tuple[int, int]] = ()
    """Steps in their order, each with the tokens that it sent."""
    number = 0
    """The step that is shown."""
    _rows: Sequence[tuple[Piece, ...]] = ()

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        if y == 0:
            glyphs = look_of(self).glyphs
            self._rows = growth_rows(self.sent, self.number, columns, self.size.height, glyphs)
        return add_pieces(self.new_row(), self._rows[y] if y < len(self._rows) else (), styles)


class GrowthPane(Pane):
    """The chart with its title."""

    def __init__(self) -> None:
        self.chart = GrowthChart()
        self.chart.styles.height = "1fr"
        super().__init__(PaneTitle("Context over the run", detail="tokens that each step sent to models"), self.chart)

    def on_mount(self) -> None:
        """Say which key opens what they were."""
        super().on_mount()
        look = look_of(self)
        self.title_row.hint = f"{look.key(DEBUGGER.command('tab.context'))} open"

    def show(self, sent: Sequence[tuple[int, int]], number: int) -> None:
        """Show what steps sent, with one of them standing out."""
        if (sent, number) != (self.chart.sent, self.chart.number):
            self.chart.sent, self.chart.number = sent, number
            self.chart.refresh()
