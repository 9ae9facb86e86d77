"""The view that a dialog shows in place of its plan when something cannot be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.look import look_of
from agent_tt_tui.viewmodel.running.replayed import trouble_lines
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt_tui.viewmodel.values.pieces import TextLine


class TroubleView(TextView):
    """Why an agent could not be run again: it cannot be started, or its process died, with its last words."""

    QUIET = True
    HELP = "Why it could not be run again."

    def __init__(self) -> None:
        super().__init__(id="trouble")
        self.trouble = ("", "")
        """What is wrong, and what to do."""

    def show(self, trouble: tuple[str, str]) -> None:
        """Show what is wrong, and what to do."""
        self.trouble = trouble
        self.lay_out_again()
        self.refresh(layout=True)

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out what is wrong and what to do."""
        return list(trouble_lines(*self.trouble, columns, look_of(self).glyphs)) if self.trouble[0] else []
