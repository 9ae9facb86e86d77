"""The row of a sweep in the list of runs: it is opened, and is not a run that anything else could be done with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.feature import Feature
from agent_tt_tui.screens.sweep.opening import open_sweeps
from agent_tt_tui.screens.sweep.screen import SweepScreen

if TYPE_CHECKING:
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.runs.listing import Listing

_OF_A_RUN: Final = frozenset(
    {
        "replay.open",
        "resume.open",
        "run.about",
        "run.ending",
        "runs.archive",
        "runs.delete",
        "runs.pin",
        "runs.rename",
        "runs.select",
        "runs.tag",
    }
)
"""Commands that mean nothing on the row of a sweep."""


class SweepRows(Feature):
    """Opens the sweep under the cursor, or one of the run there."""

    COMMANDS = frozenset({"sweep.open"})

    def __init__(self, screen: CommandScreen[None], listing: Listing) -> None:
        """Initialise the feature.

        Args:
            screen: the screen with the list.
            listing: the list, in which a sweep is one row.
        """
        self._screen, self._listing = screen, listing

    def blocked(self, command_id: str) -> str | None:
        """Say that there is nothing to open a sweep of."""
        del command_id
        return "there is no run yet" if self._listing.row is None else None

    def why_no_run(self, command_id: str) -> str | None:
        """Say that the row under the cursor is not a run that a command could act on; None where it is one."""
        row = self._listing.row if command_id in _OF_A_RUN else None
        if row is not None and row.group is not None and not self._listing.selection:
            key = self._screen.key
            return f"this row is a sweep: {key('list.choose')} opens it, {key('runs.find')} lists its runs"
        return None

    def action_sweeps(self) -> None:
        """Open the sweep under the cursor, or one of the run there."""
        row = self._listing.row
        if row is not None and row.group is not None:
            self._screen.app.push_screen(SweepScreen(self._listing.source, row.group.id))
        elif row is not None:
            open_sweeps(self._screen, self._listing.source, row.run, None)
