"""The row of a sweep in the list of runs: it is opened, and is no run that anything else could be done with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.sweep import SweepScreen
from agent_tt_tui.screens.sweeps import open_sweeps
from agent_tt_tui.widgets.run_list import RunList

if TYPE_CHECKING:
    from agent_tt.protocols import RunSource
    from agent_tt_tui.viewmodel.runtree import RunRow

__all__ = ["SweepRowScreen"]

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


class SweepRowScreen(CommandScreen[None]):
    """A screen with a list of runs, in which a sweep is one row."""

    source: RunSource

    def row_under_cursor(self) -> RunRow | None:
        """The row under the cursor, of a run or of a sweep."""
        return self.query_one(RunList).current_row

    def blocked(self, command_id: str) -> str | None:
        """Say that the row is no run."""
        row = self.row_under_cursor() if command_id in _OF_A_RUN else None
        if row is not None and row.group is not None and not self.query_one(RunList).selected:
            return "this row is a sweep: enter opens it, / lists its runs"
        return super().blocked(command_id)

    def action_sweeps(self) -> None:
        """Open the sweep under the cursor, or one of the run there."""
        row = self.row_under_cursor()
        if row is not None and row.group is not None:
            self.app.push_screen(SweepScreen(self.source, row.group.id))
        elif row is not None:
            open_sweeps(self, self.source, row.run, None)
