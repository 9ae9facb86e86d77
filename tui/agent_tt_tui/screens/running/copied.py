"""Copying the command that does what a dialog or screen does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt_tui.screen import CommandScreen

_SECONDS = 8.0
"""How long the footer shows what was copied."""


def copy_command(screen: CommandScreen[Any], command: Callable[[], str]) -> None:
    """Copy a command and show it in the footer, or say why there is none."""
    try:
        text = command()
    except AgentTTError as error:
        screen.say(error.message)
        return
    screen.app.copy_to_clipboard(text)
    screen.say(f"copied: {text}", _SECONDS)
