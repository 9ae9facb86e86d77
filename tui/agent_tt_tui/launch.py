"""Starting the app on a run, on the list of runs, or on two runs beside each other."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from platformdirs import user_log_dir

from agent_tt import config
from agent_tt_tui.app import AgentTT
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.settings import chosen_look

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

    from agent_tt.protocols import RunSource

_SWITCH_SECONDS: Final = 0.0005
"""How long a thread that searches may keep the interpreter from one that has a key to answer; ten times less than
Python's own, as a key needs the interpreter back several times until it is on the screen."""


def run_app(source: RunSource, run_id: str | None = None, step: int | None = None) -> int:
    """Run the app until the user leaves it.

    Args:
        source: Where the runs are; it stays open.
        run_id: The run to open in the debugger; without one the list of runs opens.
        step: The step to open it at; by default the first that failed, else the last.

    Returns:
        The exit code of the command.

    Raises:
        RunNotFound: There is no such run.
        UsageError: The configuration cannot be read, or names a theme, command or key that there is not.
    """
    if run_id is None:
        from agent_tt_tui.screens.runs.screen import RunsScreen

        return run_screen(lambda: RunsScreen(source))
    from agent_tt_tui.screens.debugger.screen import DebuggerScreen

    run = source.run(run_id)
    return run_screen(lambda: DebuggerScreen(source, run, step))


def run_screen(first_screen: Callable[[], Screen[None]]) -> int:
    """Run the app, beginning with a screen, until the user leaves it.

    Args:
        first_screen: Makes the screen.

    Returns:
        The exit code of the command.
    """

    def opening() -> Screen[None]:
        screen = first_screen()
        if isinstance(screen, CommandScreen):
            # Until then one thread reads what the other waits for: to change between them more often only takes longer.
            screen.after_frame(partial(sys.setswitchinterval, _SWITCH_SECONDS))
        return screen

    look = chosen_look(config.load())
    app = AgentTT(opening, look=look, log_file=Path(user_log_dir("agent-tt", appauthor=False)) / "tui.log")
    app.run()
    return app.return_code or 0
