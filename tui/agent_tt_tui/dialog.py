"""Dialogs: a bordered box over the tinted screen, with its keys in the footer row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from agent_tt_tui.chrome import PaneTitle
from agent_tt_tui.keymaps import CONFIRM
from agent_tt_tui.screen import CommandScreen, Result
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row


class Dialog(CommandScreen[Result | None], ModalScreen[Result | None]):
    """Base of all dialogs: a subclass yields its content from `compose_content`; a cancelled one returns `None`."""

    def compose(self) -> ComposeResult:
        """Lay out the box in the middle and the footer row below."""
        # The box lies directly on the screen: any container around it would hide the screen below.
        yield Vertical(*self.compose_content(), classes="dialog")
        yield self.footer()

    def compose_content(self) -> ComposeResult:
        """Yield what stands in the box."""
        raise NotImplementedError

    def action_escape(self) -> None:
        """Close the dialog without a result."""
        self.dismiss(None)

    def action_back(self) -> None:
        """Close the dialog, so that whoever waits for its result learns of it."""
        self.action_escape()


class DialogTitle(PaneTitle):
    """The title row of a dialog: always bold, and without the mark of the focused pane, as there is no other."""

    def draw_left(self, row: Row, styles: Palette) -> None:
        """Add the title in capitals and the detail."""
        row.add(clean(self.title).upper(), styles.title).add("  ").add(clean(self.detail), styles.muted)


class ConfirmDialog(Dialog[bool]):
    """Asks one question that is answered with yes or no; only yes returns `True`."""

    CONTEXT = CONFIRM
    AUTO_FOCUS = ""
    HELP = "A question: y does it, n and esc leave everything as it is."

    def __init__(self, title: str, question: str) -> None:
        """Ask a question.

        Args:
            title: a word or two, shown in capitals.
            question: what will happen on yes, in full sentences.
        """
        super().__init__()
        self._title = title
        self._question = question

    def compose_content(self) -> ComposeResult:
        """Yield the title and the question."""
        yield DialogTitle(self._title)
        question = "\n".join(clean(line) for line in self._question.splitlines())
        yield Static(question, classes="dialog-text", markup=False)

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - called by name from the key table
        """Close the dialog with an answer."""
        self.dismiss(answer)
