"""The answers to a request that was sent again: a table with the recorded one first, and one of them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.text import clean, show
from agent_tt_tui.viewmodel.running.again import TITLES, AnswerRow, answer_lines, answer_rows
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt.asking_again.answers import Answers
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.text import Align
    from agent_tt_tui.viewmodel.values.pieces import TextLine

_WIDTHS: Final[tuple[int, ...]] = (3, 18, 8, 9, 9, 14)
"""Columns of all but the last, which takes the rest; a column of the names of ends goes first where there are few."""
_NARROW: Final = 100
_RIGHT: Final = frozenset({"", "TOKENS", "COST", "TOOK"})


def _columns(width: int) -> list[tuple[int, int, Align]]:
    """Which cells are shown in a row so wide, with their columns and where their text stands."""
    widths = list(_WIDTHS)
    if width < _NARROW:
        widths[1], widths[-1] = 12, 0
    shown = [(at, columns) for at, columns in enumerate(widths) if columns]
    rest = max(0, width - sum(columns for _, columns in shown) - 2)
    return [(at, columns, "right" if TITLES[at] in _RIGHT else "left") for at, columns in (*shown, (len(widths), rest))]


def _add(row: Row, cells: Sequence[str], at: int, columns: int, align: Align, style: object) -> None:
    gap = 2 if align == "left" else 0
    row.add(" " * gap).column(cells[at], columns - (gap if at < len(_WIDTHS) else 0), style, align)  # type: ignore[arg-type]


class AnswerColumns(RowWidget):
    """The titles of the columns."""

    DEFAULT_CSS = "AnswerColumns { height: 1; }"

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the titles."""
        row = self.new_row().add(" ")
        for at, room, align in _columns(columns - 2):
            _add(row, TITLES, at, room, align, styles.muted)
        return row


class AnswerList(RowList[AnswerRow]):
    """The recorded answer and those that came, one a line."""

    HELP = "The answers, the recorded one first: enter opens one in the debugger."

    def show(self, answers: Answers) -> None:
        """Show what has come."""
        self.show_rows(answer_rows(answers, look_of(self).glyphs))

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one answer."""
        glyphs, answer = look_of(self).glyphs, self.rows[index]
        row = Row(glyphs.cut)
        tones = {"changed": styles.changed_mark, "failed": styles.failed_text, "well": styles.well}
        for at, room, align in _columns(width):
            style = styles.muted if at in (0, 5) else styles.text
            if at == 1:
                style = tones.get(answer.tone) or getattr(styles, answer.tone)
            if at == len(_WIDTHS) and answer.tone == "failed":
                style = styles.failed_text
            cell = show(answer.cells[at], room, glyphs.cut) if at == len(_WIDTHS) else clean(answer.cells[at])
            _add(row, [*answer.cells[:at], cell], at, room, align, style)
        return row.strip(width)


class AnswerText(TextView):
    """The answer under the cursor, whole; what is not in the recorded one is marked, and what is only there."""

    QUIET: ClassVar[bool] = True
    HELP = "One answer: what it has beside the recorded one, and what it lacks."

    def __init__(self) -> None:
        super().__init__(id="answer-text")
        self._shown: tuple[Answers, int] | None = None

    def show(self, answers: Answers, number: int) -> None:
        """Show one answer."""
        self._shown = answers, number
        self.lay_out_again()

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Break it into rows."""
        if self._shown is None:
            return ()
        return list(answer_lines(*self._shown, columns, look_of(self).glyphs))
