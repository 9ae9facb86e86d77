"""What follows `y`: one key that says what is copied of the selected value."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agent_tt_tui.dialog import Dialog
from agent_tt_tui.keymaps import COPY

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType


class CopyKeys(Dialog[str]):
    """Waits for one key, named in the footer; copies and returns what was copied: `path`, `value` or `key`."""

    CONTEXT = COPY
    BINDINGS: ClassVar[list[BindingType]] = COPY.screen_bindings()
    AUTO_FOCUS = ""
    HELP = "Copy of the selected value: p its path, v all of it, k its key."

    def __init__(self, text: Callable[[str], str]) -> None:
        """Wait for a key.

        Args:
            text: Gives the text of what is copied.
        """
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Leave the screen below as it is, but for the footer."""
        yield self.footer()

    def action_copy(self, what: str) -> None:
        """Copy the path, the value or the key."""
        self.app.copy_to_clipboard(self._text(what))
        self.dismiss(what)
