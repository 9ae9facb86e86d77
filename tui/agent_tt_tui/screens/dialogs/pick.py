"""A dialog that asks for one of several things."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt_tui import format as fmt
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import PICK
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt_tui.lines import LineView
    from agent_tt_tui.palette import Palette


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


class ChoiceList(RowList[Choice]):
    """The choices, one a line."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__(choices)
        self._label_columns = max((width(clean(choice.label)) for choice in choices), default=0) + 2

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one choice."""
        choice = self.rows[index]
        row = Row(look_of(self).glyphs.cut).add(" ")
        row.column(clean(choice.label), min(self._label_columns, max(8, width // 2)), styles.strong)
        return row.upto(clean(choice.detail), width, styles.muted).strip(width)


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
            self.query_one(ChoiceList).move_to(ids.index(self._current))

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Try the choice under the cursor."""
        if self._trying is not None:
            self._trying(self._choices[message.index].id)

    def action_escape(self) -> None:
        """Close without a choice, as it was before something was tried."""
        if self._trying is not None:
            self._trying(self._current)
        super().action_escape()

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Take the choice under the cursor."""
        self.dismiss(self._choices[message.index].id)
