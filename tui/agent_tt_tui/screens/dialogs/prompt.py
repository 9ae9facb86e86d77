"""A dialog that asks for one line of text and says at once what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input, Static

from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import PROMPT
from agent_tt_tui.look import look_of
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult


class PromptDialog(Dialog[str]):
    """Asks for text; returns what was typed once `check` has nothing against it."""

    CONTEXT = PROMPT
    AUTO_FOCUS = "Input"
    HELP = "A line to type: enter takes it, esc leaves everything as it is."

    def __init__(
        self,
        title: str,
        *,
        detail: str = "",
        value: str = "",
        placeholder: str = "",
        check: Callable[[str], str | None] = lambda _text: None,
    ) -> None:
        """Ask for a line.

        Args:
            title: a word or two, shown in capitals.
            detail: muted, after the title: what may be typed.
            value: what stands there to begin with.
            placeholder: shown while nothing is typed.
            check: says what is wrong with a text, or None if it can be taken.
        """
        super().__init__()
        self._title, self._detail = title, detail
        self._value, self._placeholder, self._check = value, placeholder, check

    def compose_content(self) -> ComposeResult:
        """Yield the title, the line and what is wrong with it."""
        yield DialogTitle(self._title, detail=self._detail)
        yield Input(self._value, placeholder=self._placeholder, compact=True, classes="dialog-input")
        yield Static("", classes="dialog-note", markup=False)

    def on_input_changed(self, _event: Input.Changed) -> None:
        """What was wrong with an earlier text says nothing about this one."""
        self.query_one(".dialog-note", Static).update("")

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Enter comes through the line itself, after every key that was typed before it."""
        self.action_accept()

    def action_accept(self) -> None:
        """Return what was typed, or say what is wrong with it."""
        text = self.query_one(Input).value.strip()
        trouble = self._check(text)
        if trouble is None:
            self.dismiss(text)
        else:
            self.query_one(".dialog-note", Static).update(f"{look_of(self).glyphs.failed} {clean(trouble)}")
