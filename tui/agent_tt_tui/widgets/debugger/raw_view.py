"""The state after a step as JSON text, as it was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.worker import get_current_worker

from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.viewmodel.values.highlight import highlighted
from agent_tt_tui.viewmodel.values.rawtext import RawText
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from textual.strip import Strip

    from agent_tt.codec.wire import Wire
    from agent_tt_tui.palette import Palette

_CHARACTERS_PER_COLUMN = 4


class RawView(LineView):
    """A state as JSON text; it is made in the background, and only while this view is shown."""

    HELP = "The state as it was recorded, as JSON; v breaks long lines or cuts them."

    def __init__(self) -> None:
        super().__init__(id="raw-view")
        self.wrapped = False
        """Whether long lines are broken."""
        self._state: Wire = None
        self._note = ""
        self._text = RawText(())
        self._stale = False

    def show(self, state: Wire, note: str = "") -> None:
        """Show a state, or a note in its place."""
        self._state, self._note, self._stale = state, note, True
        self.update()

    def update(self) -> None:
        """Make the text if it is looked at and not there yet."""
        if self._note:
            self.refresh_lines_data()
        elif self.display and self._stale and self.size.width:
            self._stale = False
            columns = max(1, self.size.width - 2) if self.wrapped else 0
            state = self._state
            self.run_worker(lambda: self._make(state, columns), group="raw", thread=True, exclusive=True)

    def toggle_wrap(self) -> None:
        """Break long lines, or cut them."""
        self.wrapped = not self.wrapped
        self._stale = True
        self.update()

    def _make(self, state: Wire, columns: int) -> None:
        worker = get_current_worker()
        text = RawText.of(state, columns)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_text, text)

    def _show_text(self, text: RawText) -> None:
        self._text = text
        self.refresh_lines_data()

    def on_resize(self) -> None:
        """Break lines for the new width."""
        self._stale = self._stale or self.wrapped
        self.update()
        super().on_resize()

    @property
    def line_count(self) -> int:
        """How many rows there are, or one for the note."""
        return 1 if self._note else self._text.rows

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a row; only as much of a line is looked at as can be seen."""
        drawn = Row(look_of(self).glyphs.cut)
        if self._note:
            return drawn.add(" ").add(self._note, styles.note).strip(width)
        line, start = self._text.row(index)
        most = self._text.characters(line) if self.wrapped else width * _CHARACTERS_PER_COLUMN
        return add_pieces(drawn, highlighted(line[start : start + most], "json")[0], styles).strip(width)
