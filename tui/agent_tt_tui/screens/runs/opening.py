"""From the list of runs to one of them: the debugger, a search in all of them, statistics, and adding a run."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from textual.widgets import Input

from agent_tt.errors import AgentTTError
from agent_tt_tui.feature import Feature, hears
from agent_tt_tui.screens.runs.listing import SEARCH_ALL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.debugger.screen import DebuggerScreen
    from agent_tt_tui.screens.running.replay import Replayed
    from agent_tt_tui.screens.runs.listing import Listing
    from agent_tt_tui.viewmodel.offers import Offer

_MOST_OFFERED: Final = 5
"""Runs that the palette offers at once."""


class Opening(Feature):
    """Opens runs; it is told which replays were made of them."""

    COMMANDS = frozenset({"runs.search", "runs.add", "stats.open"})

    def __init__(self, screen: CommandScreen[None], listing: Listing, replays: dict[str, Replayed]) -> None:
        """Initialise the feature.

        Args:
            screen: the screen with the list.
            listing: the list.
            replays: the last replay of each run, by the run's id.
        """
        self._screen, self._listing, self._replays = screen, listing, replays

    def blocked(self, command_id: str) -> str | None:
        """Say why no run can be added."""
        if command_id == "runs.add" and self._listing.source.read_only:
            return "this file is only read; start agent-tt without --store to add runs"
        return None

    def places(self, words: str) -> Iterable[Offer]:
        """Offer the palette runs whose name holds what was typed."""
        from agent_tt_tui.viewmodel.offers import Offer

        wanted = words.casefold()
        named = (run for run in self._listing.runs or () if wanted and wanted in run.name.casefold())
        for run in islice(named, _MOST_OFFERED):
            yield Offer("place", run.name, partial(self.open, run), "#", wanted, detail=run.status)

    def open(self, run: Run, step: int | None = None) -> None:
        """Open a run in the debugger, at a step."""
        self._screen.app.push_screen(self._debugger(run, step))

    def _debugger(self, run: Run, step: int | None = None, divergence: int | None = None) -> DebuggerScreen:
        """The debugger of a run, which knows its last replay too."""
        from agent_tt_tui.screens.debugger.screen import DebuggerScreen

        return DebuggerScreen(self._listing.source, run, step, replays=self._replays, divergence=divergence)

    def action_search(self) -> None:
        """Search everything that all runs recorded."""
        from agent_tt_tui.screens.runs.find_all import FindAllScreen

        self._screen.app.push_screen(FindAllScreen(self._listing.source, self._debugger))

    def action_statistics(self) -> None:
        """Show what can be counted over all runs."""
        from agent_tt_tui.screens.statistics.screen import StatisticsScreen

        self._screen.app.push_screen(StatisticsScreen(self._listing.source))

    @hears(Input.Changed)
    def _on_input_changed(self, event: Input.Changed) -> None:
        """Search what the runs recorded at a second stroke."""
        if event.value == SEARCH_ALL:
            self._listing.escape()
            self.action_search()

    def action_add(self) -> None:
        """Add a sample run, or see how to record one's own."""
        from agent_tt_tui.screens.runs.add import AddDialog

        self._screen.ask(AddDialog(self._listing.source.path), self._added)

    def _added(self, run_id: str) -> None:
        try:
            self.open(self._listing.source.run(run_id))
        except AgentTTError as error:
            self._screen.say(error.message)

    # The run under the cursor, run again; see `RunAtHand`.

    def at_hand(self) -> tuple[RunSource, Run] | None:
        """The run under the cursor."""
        run = self._listing.run_under_cursor
        return None if run is None else (self._listing.source, run)

    def replayed_from(self) -> int:
        """The whole run is replayed."""
        return 0

    def divergence_shown(self) -> int:
        """None was gone to here: the first is selected."""
        return 0

    def show_divergence(self, report: ReplayReport, index: int) -> None:
        """Open the debugger at a divergence."""
        run = self._listing.source.run(report.run_id)
        self._screen.app.push_screen(self._debugger(run, report.divergences[index].step, index))

    def forget_divergence(self) -> None:
        """Do nothing: this screen shows no divergence."""

    def show_resumed(self, run: Run) -> None:
        """Open the debugger, which follows the run."""
        self.open(run)
