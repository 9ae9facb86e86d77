"""The last row of a dialog that starts something: its primary action, or what keeps it from being done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.geometry import Size

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.values.pieces import Piece

_LONGEST_TROUBLE: Final = 1_000
_BETWEEN: Final = "   "
"""Stands between the parts of a remark, of which the last goes first where there is little room."""


class ActionRow(RowWidget):
    """The primary action; what is wrong, or waited for, stands in its place."""

    DEFAULT_CSS = "ActionRow { height: auto; min-height: 1; margin: 1 0 0 0; }"

    trouble: reactive[tuple[str, str]] = reactive(("", ""), layout=True)
    """Why it cannot be done, and what to do about it."""
    busy: reactive[str] = reactive("")
    """What is being waited for."""
    remark: reactive[str] = reactive("")
    """What is said beside it."""

    def __init__(self, label: str, remark: str, can: Callable[[], bool] = lambda: True) -> None:
        """Initialise the row.

        Args:
            label: The key and what it does.
            remark: What is said beside it.
            can: Whether it can be done now; asked when the row is drawn.
        """
        super().__init__()
        self._label, self._can = label, can
        self.set_reactive(ActionRow.remark, remark)

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """One row, or as many as it takes to say what is wrong and what to do."""
        return max(1, len(self._trouble_rows(width)))

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        row, glyphs = self.new_row(), look_of(self).glyphs
        if self.trouble[0]:
            rows = self._trouble_rows(columns)
            row.add(f"{glyphs.failed} " if y == 0 else "  ", styles.failed)
            return add_pieces(row, rows[y], styles) if y < len(rows) else row
        if self.busy:
            return row.add(f"{glyphs.still} {self.busy} {glyphs.cut}", styles.note)
        row.add(f" {self._label} ", styles.chip if self._can() else styles.faint)
        said = f"   {self.remark}"
        while row.cells + width(said) > columns and _BETWEEN in self.remark and said.strip():
            said = said.rpartition(_BETWEEN)[0]
        return row.add(said, styles.muted)

    def _trouble_rows(self, columns: int) -> list[tuple[Piece, ...]]:
        """What is wrong and, below it, what to do, broken into rows."""
        what, advice = self.trouble
        if not what:
            return []
        more, room = look_of(self).glyphs.cut, columns - 2
        rows = list(wrap_text(what, room, "failed", more, limit=_LONGEST_TROUBLE))
        return [*rows, *wrap_text(advice, room, "muted", more, limit=_LONGEST_TROUBLE)] if advice else rows
