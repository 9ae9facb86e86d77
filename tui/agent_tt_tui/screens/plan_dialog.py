"""Dialogs that say all that will happen before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.dialog import Dialog
from agent_tt_tui.screen import Result

if TYPE_CHECKING:
    from textual import events

_TALL_FROM: Final = 30
_BLANK_ROWS: Final = 3


class PlanDialog(Dialog[Result]):
    """A dialog whose table scrolls, and whose facts go, before what must be seen is cut off."""

    def on_resize(self, event: events.Resize) -> None:
        """Give up blank rows where there are few."""
        self.set_class(event.size.height < _TALL_FROM, "short")
        self.share_rows()

    def share_rows(self) -> None:
        """Give each part its rows; a subclass says which part has how many."""
        raise NotImplementedError

    def room_beside(self, rows: int) -> int:
        """The rows that are left where `rows` are taken, besides the blank ones."""
        return self.size.height - rows - (0 if self.has_class("short") else _BLANK_ROWS)
