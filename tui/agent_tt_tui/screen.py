"""What screens and dialogs have in common: they run the commands of their context, and say why when they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.css.query import NoMatches
from textual.screen import Screen

from agent_tt_tui.footer import FooterRow
from agent_tt_tui.running_forks import forks_of

if TYPE_CHECKING:
    from agent_tt_tui.commands import Context

Result = TypeVar("Result")


class CommandScreen(Screen[Result]):
    """A screen with a context of commands.

    A subclass sets `CONTEXT`, and `BINDINGS` to `CONTEXT.screen_bindings()`, writes the actions that its commands
    name, and yields `self.footer()` last.
    """

    CONTEXT: ClassVar[Context]
    AUTO_FOCUS = "LineView"

    def footer(self) -> FooterRow:
        """Make the footer row of this screen."""
        return FooterRow(self.CONTEXT, self.blocked)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now; `None` if it can. A subclass overrides it."""
        del command_id
        return None

    def say(self, message: str, seconds: float | None = 3.0) -> None:
        """Say something in the footer row; see `FooterRow.say`."""
        try:
            self.query_one(FooterRow).say(message, seconds)
        except NoMatches:
            self.log.warning(message)

    def refresh_footer(self) -> None:
        """Draw the footer anew after what `blocked` answers has changed."""
        self.query_one(FooterRow).refresh()

    async def action_command(self, command_id: str) -> None:
        """Run a command of this screen, or say why not."""
        command = self.CONTEXT.command(command_id)
        reason = self.blocked(command_id)
        if reason is not None:
            self.say(reason)
            return
        target = self.focused if command.scope == "widget" and self.focused is not None else self
        await self.app.run_action(command.action, target)

    def action_help(self) -> None:
        """Show the keys of this screen."""
        from agent_tt_tui.help import HelpScreen

        self.app.push_screen(HelpScreen(self.CONTEXT))

    def action_escape(self) -> None:
        """Close, cancel or clear what is open; by itself a screen has nothing to close."""

    def action_back(self) -> None:
        """Leave this screen; the first one leaves the app."""
        # The stack holds Textual's own blank screen below the first of ours.
        if len(self.app.screen_stack) <= 2:
            self._leave_app()
        else:
            self.app.pop_screen()

    def _leave_app(self) -> None:
        """Leave; where a fork still runs, only once it is known that it will go on."""
        from agent_tt_tui.dialog import ConfirmDialog

        running = forks_of(self).names()
        if not running:
            self.app.exit()
            return
        verb = "is" if len(running) == 1 else "are"
        question = f"{', '.join(running)} {verb} still running, and will go on after you leave. Leave?"
        self.app.push_screen(ConfirmDialog("Still running", question), self._left)

    def _left(self, leave: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if leave:
            forks_of(self).let_go()
            self.app.exit()
