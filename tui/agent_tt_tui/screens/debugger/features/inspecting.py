"""The inspector's keys, which act from any pane: its tabs, the calls of the step, copying what is selected."""

from __future__ import annotations

from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.dialogs.copy import CopyKeys
from agent_tt_tui.widgets.debugger.inspector import no_further_call


class Inspecting(DebuggerFeature):
    """Chooses what the inspector shows of the step."""

    COMMANDS = frozenset(
        {
            "tab.state",
            "tab.call",
            "tab.messages",
            "tab.raw",
            "call.previous",
            "call.next",
            "view.wrap",
            "view.copy",
        }
    )

    def action_tab(self, number: int) -> None:
        """Show a tab of the inspector, from 1; where there is room for one pane, go there."""
        self.panes.inspector.show_tab(number)
        self.panes.look_into_inspector()

    def action_call(self, direction: int) -> None:
        """Go to the next or previous call of the step."""
        if not self.panes.call_pane.display:
            self.panes.inspector.go_to_call(direction)
            self.panes.look_into_inspector()
        elif not self.panes.call_pane.go(direction):
            self.screen.say(no_further_call(direction))

    def action_wrap(self) -> None:
        """Wrap long values, or cut them."""
        self.panes.inspector.toggle_wrap()

    def action_copy(self) -> None:
        """Copy what is selected."""
        selection = self.panes.inspector.selection
        if selection is None:
            self.screen.say("select a value first: tab goes to the state")
        else:
            self.screen.app.push_screen(CopyKeys(selection.text), self._copied)

    def _copied(self, what: str | None) -> None:
        if what is not None:
            self.screen.say(f"copied the {what}")
