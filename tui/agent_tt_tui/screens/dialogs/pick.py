"""A dialog that asks for one of several things."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt_tui import format as fmt
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import PICK
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, width
from agent_tt_tui.viewmodel.values.pieces import wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt_tui.palette import Palette


_LEAST_DETAIL: Final = 16
"""Columns from which on what a choice is may be broken."""


class Choice(NamedTuple):
    """One thing to choose.

    Attributes:
        id: What the dialog returns when it is chosen.
        label: Its name.
        detail: What it is, muted beside it.
    """

    id: str
    label: str
    detail: str = ""


class ChoiceRow(NamedTuple):
    """One line of the list.

    Attributes:
        number: The choice, from 0.
        label: Its name; empty below its first line.
        detail: As much of what it is as stands there.
    """

    number: int
    label: str
    detail: str


class ChoiceList(RowList[ChoiceRow]):
    """The choices; what one is goes on below itself where it is long."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._choices = choices
        self._longest = max((width(clean(choice.label)) for choice in choices), default=0) + 2
        self._lay_out(0)

    def get_content_height(self, *sizes: object) -> int:
        """As many lines as the choices take in the width that there is."""
        columns = sizes[-1] if sizes and isinstance(sizes[-1], int) else self.size.width
        return max(1, sum(len(self._rows_of(number, columns - 2)) for number in range(len(self._choices))))

    def on_resize(self) -> None:
        """Break what the choices are for the new width."""
        self._lay_out(self.size.width)

    def _lay_out(self, columns: int) -> None:
        at = self.number
        self.rows = [row for number in range(len(self._choices)) for row in self._rows_of(number, columns - 2)]
        if self.is_attached:
            self.refresh_lines_data()
            self.go_to(at)

    def _rows_of(self, number: int, columns: int) -> list[ChoiceRow]:
        choice = self._choices[number]
        room = columns - 1 - self._label_columns(columns)
        details = ["".join(text for text, _ in row).rstrip() for row in wrap([(clean(choice.detail), "muted")], room)]
        if room < _LEAST_DETAIL or not details:
            details = [clean(choice.detail)]
        return [ChoiceRow(number, "" if line else clean(choice.label), detail) for line, detail in enumerate(details)]

    def _label_columns(self, columns: int) -> int:
        return min(self._longest, max(8, columns // 2))

    @property
    def number(self) -> int:
        """The choice under the cursor, from 0."""
        row = self.current
        return 0 if row is None else row.number

    def go_to(self, number: int) -> None:
        """Put the cursor on a choice."""
        self.move_to(next((at for at, row in enumerate(self.rows) if row.number == number), 0))

    def can_point_at(self, index: int) -> bool:
        """Whether a choice begins in a line."""
        return bool(self.rows[index].label) or not index or self.rows[index - 1].number != self.rows[index].number

    def is_here(self, index: int) -> bool:
        """Whether a line is of the choice under the cursor."""
        return bool(self.rows) and self.rows[index].number == self.number

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw all lines of both choices, and tell the parent."""
        super().watch_cursor(old, new)
        self.refresh()

    def action_move(self, rows: int) -> None:
        """Move the cursor by so many choices."""
        self.go_to(max(0, min(self.number + rows, len(self._choices) - 1)))

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one line."""
        shown = self.rows[index]
        row = Row(look_of(self).glyphs.cut).add(" ").column(shown.label, self._label_columns(width), styles.strong)
        return row.upto(shown.detail, width, styles.muted).strip(width)


class PickDialog(Dialog[str]):
    """Shows choices; returns the id of the one that was taken."""

    CONTEXT = PICK
    HELP = "A list of choices: enter takes one, esc leaves everything as it is."

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        detail: str = "",
        current: str = "",
        trying: Callable[[str], object] | None = None,
    ) -> None:
        """Ask for one of several.

        Args:
            title: A word or two, shown in capitals.
            choices: What there is to choose, the likeliest first.
            detail: Muted, after the title.
            current: The id of the one to begin at; the first where there is no such.
            trying: Called with the id of each that the cursor comes to, and where none is chosen with `current` again.
        """
        super().__init__()
        self._current, self._trying = current, trying
        self._title, self._choices, self._detail = title, choices, detail

    def compose_content(self) -> ComposeResult:
        """Yield the title and the choices."""
        yield DialogTitle(self._title, detail=self._detail, hint=fmt.count(len(self._choices)))
        yield ChoiceList(self._choices)

    def on_mount(self) -> None:
        """Begin at the one that is in use."""
        ids = [choice.id for choice in self._choices]
        if self._current in ids:
            self.query_one(ChoiceList).go_to(ids.index(self._current))

    def on_line_view_cursor_moved(self) -> None:
        """Try the choice under the cursor."""
        if self._trying is not None:
            self._trying(self._choices[self.query_one(ChoiceList).number].id)

    def action_escape(self) -> None:
        """Close without a choice, as it was before something was tried."""
        if self._trying is not None:
            self._trying(self._current)
        super().action_escape()

    def on_line_view_chosen(self) -> None:
        """Take the choice under the cursor."""
        self.dismiss(self._choices[self.query_one(ChoiceList).number].id)
