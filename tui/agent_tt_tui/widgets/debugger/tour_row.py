"""The rows above the footer in which the tour speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.debugger.tour import SENTENCES, pieces
from agent_tt_tui.viewmodel.values.pieces import wrap
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.debugger.tour import Sentence
    from agent_tt_tui.viewmodel.values.pieces import Piece

_FREE = 2
"""Columns at the edges."""
_GAP = 2
"""Columns between a sentence and the keys of the tour."""
_GO_ON = "tour.go"


class TourRow(RowWidget):
    """One sentence of the tour, and the keys that go on and that end it; as high as the longest needs."""

    HELP = "A sentence of the tour: what can be done on this screen, and the keys that do it."

    def __init__(self, can_end: Callable[[], bool]) -> None:
        """Say nothing yet.

        Args:
            can_end: Tells whether the key that closes what is open would end the tour now, and nothing before it.
        """
        super().__init__()
        self._can_end = can_end
        self._sentence: Sentence | None = None
        self._place = ""
        self._is_last = False
        self._height = 1

    def show(self, sentence: Sentence, number: int, of: int) -> None:
        """Say a sentence, the one of that number from 1."""
        self._sentence, self._place, self._is_last = sentence, f"{number}/{of}", number == of
        self._fit()

    def on_resize(self) -> None:
        """Break the words for the new width."""
        self._fit()

    def _fit(self) -> None:
        """Be as high as the longest sentence needs: what stands above does not move from one to the next."""
        columns = self.size.width or self.screen.size.width
        self._height = max(self._needed(sentence, columns) for sentence in SENTENCES)
        self.styles.height = self._height
        self.refresh()

    def _key(self, first: str, second: str = "") -> str:
        command = DEBUGGER.command
        return look_of(self).key(command(first), command(second) if second else None)

    def _needed(self, sentence: Sentence, columns: int) -> int:
        """The rows of a sentence with its keys, which stand at the end of the last row, or below it."""
        room = max(1, columns - _FREE)
        rows = list(wrap(pieces(sentence.words, self._key), room))
        last = sum(width(text) for text, _ in rows[-1])
        # It may not be ended just now: the place of that key is kept.
        taken = sum(width(text) for text, _ in self._tail(can_end=True))
        return len(rows) + (last + _GAP + taken > room)

    def _said(self) -> Piece:
        return f"tour {self._place}", "muted"

    def _tail(self, *, can_end: bool) -> list[Piece]:
        words = " ends the tour" if self._is_last else " goes on"
        tail: list[Piece] = [self._said(), ("  ", "text"), (self._key(_GO_ON), "key"), (words, "muted")]
        if can_end and not self._is_last:
            tail += [("  ", "text"), (self._key("app.escape"), "key"), (" ends it", "muted")]
        return tail

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row of the sentence; the last has the keys at its end."""
        row = self.new_row().add(" ")
        if self._sentence is None:
            return row
        # The keys are those of a dialog while one is open.
        words = self._sentence.words if self.screen.is_active else ""
        rows = list(wrap(pieces(words, self._key), max(1, columns - _FREE)))
        if y < len(rows):
            add_pieces(row, rows[y], styles)
        if y == self._height - 1:
            tail = self._tail(can_end=self._can_end()) if self.screen.is_active else [self._said()]
            row.right(add_pieces(self.new_row(), tail, styles), columns - 1)
        return row
