"""The inspector's keys, which act from any pane: its tabs, the calls of the step, copying what is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.dialog import Dialog
from agent_tt_tui.keymaps import COPY
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.widgets.debugger.inspector import no_further_call
from agent_tt_tui.widgets.debugger.inspector_rows import TABS

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.widget import Widget


class Inspecting(DebuggerFeature):
    """Chooses what the inspector shows of the step."""

    COMMANDS = frozenset(
        {
            "tab.state",
            "tab.call",
            "tab.context",
            "tab.messages",
            "tab.raw",
            "call.previous",
            "call.next",
            "view.wrap",
            "view.copy",
        }
    )

    _came_from: Widget | None = None
    """What had the focus before the context took it."""

    def action_tab(self, number: int) -> None:
        """Show a tab of the inspector, from 1; where there is room for one pane, go there.

        The context has the screen for itself: it takes the focus, and another tab gives that back.
        """
        inspector, was = self.panes.inspector, self.panes.inspector.tab
        if TABS[number - 1] == "Call" and self.panes.has_call_column:
            if was == "Context":
                self.action_tab(TABS.index("State") + 1)
            self.panes.show_all()
            self.panes.call_pane.call_view.focus()
            return
        if TABS[number - 1] == "Context" != was:
            self._came_from = self.screen.focused
        inspector.show_tab(number)
        self.panes.look_into_inspector()
        if inspector.tab == "Context":
            inspector.take_focus()
        elif was == "Context" and inspector.has_focus_within and self._came_from is not None:
            came_from, self._came_from = self._came_from, None
            if inspector in came_from.ancestors:
                return
            self.panes.show_all()
            came_from.focus()

    def escape(self) -> bool:
        """Go back from the context, which has the screen for itself."""
        inspector = self.panes.inspector
        if inspector.tab != "Context" or not inspector.has_focus_within:
            return False
        self.action_tab(TABS.index("State") + 1)
        return True

    def action_call(self, direction: int) -> None:
        """Go to the next or previous call of the step."""
        if self.panes.inspector.tab == "Context" and self.panes.inspector.context is not None:
            self.panes.inspector.context.list.action_model_call(direction)
        elif not self.panes.call_pane.display:
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
            self.screen.say(self.why_no_value)
        else:
            self.screen.ask(CopyKeys(selection.text), lambda what: self.screen.say(f"copied the {what}"))


class CopyKeys(Dialog[str]):
    """Waits for one key, named in the footer; copies and returns what was copied: `path`, `value` or `key`."""

    CONTEXT = COPY
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
