"""Commands of the user's own, from the settings: offered by the palette, run in the terminal."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path, without_envelopes
from agent_tt.errors import AgentTTError, UsageError
from agent_tt_tui.look import look_of
from agent_tt_tui.ran import ran_of
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.viewmodel.offers import Offer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.config import OwnCommand


class OwnCommands(DebuggerFeature):
    """Runs what the user has configured, with the run, the step and the value that are shown."""

    def places(self, words: str) -> Iterator[Offer]:
        """Offer all of them; what was typed chooses among them as among our own."""
        del words
        for name, own in look_of(self.screen).commands.items():
            yield Offer("own", name, partial(self._run, name, own), keys=own.key, detail=own.line)

    def _run(self, name: str, own: OwnCommand) -> None:
        from agent_tt_tui.screens.dialogs.external import with_terminal
        from agent_tt_tui.viewmodel.own_commands import filled

        selection = self.panes.inspector.selection
        values = {
            "run": self.model.run.id,
            "name": self.model.run.name,
            "step": str(self.time.number),
            "path": None if selection is None else format_path(without_envelopes(selection.path)),
            "value": None if selection is None else selection.text("value"),
            "store": str(self.model.source.path),
        }
        try:
            words = filled(own.line, name, values)
            code = with_terminal(self.screen.app, partial(_call, words))
        except AgentTTError as error:
            self.screen.say(error.message)
        else:
            ran_of(self.screen).add("command", name, lambda: shlex.join(words))
            self.screen.say(f"{name} is done" if code == 0 else f"{name} ended with exit code {code}")


def _call(words: list[str]) -> int:
    """Run a program in the terminal, and wait until the person has read what it wrote.

    Raises:
        UsageError: It cannot be started.
    """
    try:
        code = subprocess.call(words)  # noqa: S603  what the user has configured
    except OSError as error:
        raise UsageError(f"{words[0]} cannot be started: {error.strerror}") from error
    with suppress(EOFError, KeyboardInterrupt):  # Ctrl-D and Ctrl-C go back too
        input("\nenter goes back ")
    return code
