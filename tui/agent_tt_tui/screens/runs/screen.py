"""The run browser: every run of a store as a tree of forks, with a preview of the one under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.containers import Container, Vertical
from textual.widgets import Input

from agent_tt_tui.chrome import HeaderRow, HeaderState
from agent_tt_tui.keymaps import RUNS
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.golden.opening import Goldens
from agent_tt_tui.screens.running.approvals import Approvals
from agent_tt_tui.screens.running.holding import Holding
from agent_tt_tui.screens.running.run_again import RunAgain
from agent_tt_tui.screens.running.run_control import RunControl
from agent_tt_tui.screens.runs.comparing import Comparing
from agent_tt_tui.screens.runs.keeping import Keeping
from agent_tt_tui.screens.runs.listing import Listing
from agent_tt_tui.screens.runs.opening import Opening
from agent_tt_tui.screens.runs.sweep_rows import SweepRows
from agent_tt_tui.widgets.runs.run_list import RunColumns, RunList
from agent_tt_tui.widgets.runs.run_preview import PreviewPane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.screens.running.approvals import Waiting
    from agent_tt_tui.screens.running.replay import Replayed

WIDE_FROM: Final = 100
"""From how many columns on the preview stands beside the list."""

WIDEST_FROM: Final = 160
"""From how many columns on both get their share of the width."""

PREVIEW_FROM_ROWS: Final = 16
"""From how many rows on there is a preview below the list."""


class RunsScreen(CommandScreen[None]):
    """The runs of one store."""

    CONTEXT = RUNS
    AUTO_FOCUS = "RunList"
    HELP = "All runs of the store, newest first; forks stand below the run that they were forked from."

    def __init__(self, source: RunSource) -> None:
        """Make the browser.

        Args:
            source: Where the runs are; the screen only reads it.
        """
        super().__init__()
        replays: dict[str, Replayed] = {}
        self.listing = Listing(self, source)
        """The list of runs."""
        self.opening = Opening(self, self.listing, replays)
        """From it to one of the runs."""
        self._sweep_rows = SweepRows(self, self.listing)
        approvals = Approvals(self, self._watched, self._show_waiting)
        self.listing.on_read.append(approvals.look_out)
        self.features = (
            self.listing,
            self.opening,
            self._sweep_rows,
            Comparing(self, self.listing),
            Keeping(self, self.listing, self.opening),
            RunAgain(self, self.opening, replays),
            RunControl(self, self.shown_runs, lambda _: source),
            Holding(self, self.shown_runs, lambda: source),
            approvals,
            Goldens(self, self._run_to_keep),
        )

    def compose(self) -> ComposeResult:
        """Lay out header, list, preview and footer."""
        yield HeaderRow(HeaderState("agent-tt", cause="runs"))
        with Container(id="runs-body"):
            with Vertical(id="runs-list"):
                yield RunColumns()
                yield RunList(id="runs")
                yield Input(placeholder="name, id, status, agent or tag", id="runs-filter", compact=True)
            yield PreviewPane(self.listing.source, lambda: self.listing.run_under_cursor, id="runs-preview")
        yield self.footer()

    def on_resize(self, event: events.Resize) -> None:
        """Put the preview beside the list, or below it where that leaves rows for the list."""
        self.set_class(event.size.width >= WIDE_FROM, "wide")
        self.set_class(event.size.width >= WIDEST_FROM, "widest")
        self.set_class(event.size.height < PREVIEW_FROM_ROWS, "low")

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now: many mean nothing where there is no run, or on the row of a sweep."""
        if command_id in {"list.choose", "run.ending"} and self.listing.row is None:
            return "there is no run yet"
        return self._sweep_rows.why_no_run(command_id) or super().blocked(command_id)

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Open the run, or the sweep, that was chosen."""
        run = self.listing.run_under_cursor
        if run is not None:
            self.opening.open(run)
        else:
            self._sweep_rows.action_sweeps()

    def shown_runs(self) -> Sequence[Run]:
        """The run under the cursor."""
        run = self.listing.run_under_cursor
        return [run] if run is not None else []

    def _run_to_keep(self) -> tuple[RunSource, Run] | None:
        run = self.listing.run_under_cursor
        return None if run is None else (self.listing.source, run)

    def _watched(self) -> Sequence[tuple[RunSource, str | None]]:
        """The store, while something in it runs."""
        index = self.listing.index
        return [(self.listing.source, None)] if index is not None and index.running else []

    def _show_waiting(self, waiting: Sequence[Waiting]) -> None:
        """Say of runs that they wait."""
        self.query_one(RunList).show_waiting(frozenset(each.question.run_id for each in waiting))
