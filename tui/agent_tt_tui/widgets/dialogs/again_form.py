"""What is said before a recorded request is sent again: a label and words a row, none of them cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from textual.geometry import Size

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.running.again import SaidRow
    from agent_tt_tui.viewmodel.values.pieces import Piece

_LABEL: Final = 10
_LONGEST: Final = 1_000


class AgainFacts(RowWidget):
    """What would be sent, where to, at what cost, and what was changed."""

    DEFAULT_CSS = "AgainFacts { height: auto; padding: 0 0 0 1; }"

    said: reactive[tuple[SaidRow, ...]] = reactive((), layout=True)
    """What is said, in order."""

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """As many rows as it takes."""
        return len(self._rows(width))

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        rows, row = self._rows(columns), self.new_row()
        if y >= len(rows):
            return row
        label, pieces = rows[y]
        return add_pieces(row.column(label, _LABEL, styles.muted), pieces, styles)

    def _rows(self, columns: int) -> list[tuple[str, tuple[Piece, ...]]]:
        more, found = look_of(self).glyphs.cut, []
        for said in self.said:
            wrapped = wrap_text(said.words, columns - _LABEL, said.role, more, limit=_LONGEST)
            found += [(said.label if not at else "", pieces) for at, pieces in enumerate(wrapped)]
        return found
