"""From a screen that shows runs to keeping one of them as a test, and to the tests that are kept."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from agent_tt_tui.feature import Feature
from agent_tt_tui.requests import KeepRun, ShowTests

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.screen import CommandScreen


class Goldens(Feature):
    """Keeps the run of a screen as a test, and opens the tests that are kept."""

    COMMANDS = frozenset({"golden.keep", "golden.open"})

    def __init__(self, screen: CommandScreen[None], run: Callable[[], tuple[RunSource, Run] | None]) -> None:
        """Initialise the feature.

        Args:
            screen: the screen.
            run: the run that it is about now, and where that lies; None for none.
        """
        self._screen, self._run = screen, run

    def blocked(self, command_id: str) -> str | None:
        """Say why the run cannot be kept."""
        found = self._run()
        if command_id != "golden.keep":
            return None
        if found is None:
            return "there is no run yet"
        return "it still runs: keep it when it is over" if found[1].status == "running" else None

    def action_keep(self) -> None:
        """Ask which rules the run is kept with."""
        found = self._run()
        if found is not None:
            self._screen.post_message(KeepRun(*found, self._kept))

    def _kept(self, path: Path | None) -> None:
        if path is None:
            return
        from agent_tt.golden.header import FOLDER

        is_listed = path.resolve().is_relative_to(FOLDER.resolve())
        tests = self._screen.key("golden.open")
        then = f"{tests} shows and runs the tests" if is_listed else f"agent-tt test {shlex.quote(str(path))} runs it"
        self._screen.say(f"kept as {path}: {then}", None)

    def action_tests(self) -> None:
        """Show the tests that are kept."""
        self._screen.post_message(ShowTests())
