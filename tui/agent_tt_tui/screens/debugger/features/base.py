"""What all features of the debugger know: the run, the panes, and the step that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.commands import display_key
from agent_tt_tui.contexts import DEBUGGER
from agent_tt_tui.feature import Feature
from agent_tt_tui.look import look_of

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.time import Time


class DebuggerFeature(Feature):
    """Something that can be done with a run at one of its steps."""

    def __init__(self, time: Time) -> None:
        """Do nothing yet.

        Args:
            time: The step that is shown.
        """
        self.time, self.screen, self.model, self.panes = time, time.screen, time.model, time.panes

    def key(self, command_id: str) -> str:
        """The key of a command, as it is shown."""
        look = look_of(self.screen)
        return display_key(DEBUGGER.command(command_id).bound_keys(look.keymap)[0], look.glyphs)
