"""The parts of the edit dialog: where the value is, what was recorded, what changes, and whether it can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import reactive
from textual.widgets import TextArea

from agent_tt_tui.chrome import PaneTitle
from agent_tt_tui.keymaps import EDIT
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, show, width
from agent_tt_tui.viewmodel.values.pieces import wrap, wrap_text
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.geometry import Size

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.edits.editing import Verdict
    from agent_tt_tui.viewmodel.values.pieces import Piece

_MOST_RECORDED = 2_000


class EditTitle(PaneTitle):
    """`EDIT  messages > 0 > content`."""

    path: Sequence[str] = ()
    """The names and positions on the way to the value, any text."""

    def draw_left(self, row: Row, styles: Palette) -> None:
        """Add the title and the path."""
        glyphs = look_of(self).glyphs
        row.add(clean(self.title).upper(), styles.title).add("  ")
        for step in self.path[:-1]:
            row.add(clean(step), styles.muted).add(f" {glyphs.path} ", styles.faint)
        row.add(clean(self.path[-1]) if self.path else "the whole state", styles.strong)


class Section(RowWidget):
    """The title of a part of the dialog, with figures at the right."""

    about: reactive[tuple[Piece, ...]] = reactive(())
    """Stands at the right edge."""

    def __init__(self, title: str, *, strong: bool = False) -> None:
        """Make a title row; one that is not `strong` is the title of what is only read."""
        super().__init__(classes="" if strong else "aside")
        self._title, self._strong = title, strong

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        row = self.new_row().add(f" {self._title.upper()}", styles.title if self._strong else styles.title_blurred)
        return row.right(add_pieces(self.new_row(), self.about, styles), max(0, columns - 1))


class Passage(RowWidget):
    """Text in as many rows as there are; what does not fit is left out, which the last row says."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._pieces: Sequence[Piece] = ()
        self._text = ""

    def show_text(self, text: str) -> None:
        """Show any text, muted."""
        self._text, self._pieces = text[:_MOST_RECORDED], ()
        self.refresh(layout=True)

    def show_pieces(self, pieces: Sequence[Piece]) -> None:
        """Show pieces."""
        self._text, self._pieces = "", pieces
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's
        """Say how many rows it takes."""
        return len(self._rows(width))

    def _rows(self, columns: int) -> Sequence[Sequence[Piece]]:
        room = columns - 4
        if self._text:
            return [*wrap_text(self._text, room, "muted", look_of(self).glyphs.cut, limit=_MOST_RECORDED)]
        return [*wrap(self._pieces, room)]

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw a row."""
        glyphs, rows = look_of(self).glyphs, self._rows(columns)
        row = self.new_row().add("   ")
        if y >= len(rows):
            return row
        add_pieces(row, rows[y], styles)
        return row.add(f" {glyphs.cut}", styles.muted) if y == self.size.height - 1 and len(rows) > y + 1 else row


class EditAction(RowWidget):
    """The last row: what keeps the edit, and what is wrong with it or what it does to the type."""

    verdict: reactive[Verdict | None] = reactive(None)

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        glyphs, verdict = look_of(self).glyphs, self.verdict
        row = self.new_row().add(" ")
        if verdict is None:
            return row
        right = self.new_row()
        right.add(f"{glyphs.well if verdict.good else glyphs.failed} ", styles.well if verdict.good else styles.failed)
        room = max(8, columns - right.cells - 2)
        right.add(show(verdict.message, room, glyphs.cut), styles.muted if verdict.good else styles.failed_text)
        keep = f" {look_of(self).key(EDIT.command('edit.keep'))} keep this edit "
        if verdict.good or right.cells + width(keep) + 4 <= columns:  # what is wrong is never cut for it
            row.add(keep, styles.chip if verdict.good else styles.faint)
        return row.right(right, max(0, columns - 1))


class EditArea(TextArea):
    """Where the value is edited: plain text without a language, as a grammar may crash on what agents write."""

    HELP = "Type the new value; ctrl+s keeps it, esc drops it."

    def __init__(self, text: str) -> None:
        super().__init__(text, soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
