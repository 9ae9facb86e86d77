"""How the rows of a dialog are shared that says all that will happen before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import events

from agent_tt_tui.feature import Feature, hears

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.widget import Widget

_TALL_FROM: Final = 30
_BLANK_ROWS: Final = 3


class DialogRows(Feature):
    """Lets a dialog's table scroll, and its facts go, before what must be seen is cut off."""

    def __init__(self, dialog: Widget, share: Callable[[], None]) -> None:
        """Initialise the feature.

        Args:
            dialog: The dialog; it has the class `short` where there are few rows.
            share: Gives each part of the dialog its rows.
        """
        self._dialog = dialog
        self.share = share
        """Gives each part of the dialog its rows."""

    @hears(events.Resize)
    def _on_resize(self, event: events.Resize) -> None:
        """Give up blank rows where there are few."""
        self._dialog.set_class(event.size.height < _TALL_FROM, "short")
        self.share()

    def room_beside(self, rows: int) -> int:
        """The rows that are left where `rows` are taken, besides the blank ones."""
        return self._dialog.size.height - rows - (0 if self._dialog.has_class("short") else _BLANK_ROWS)
