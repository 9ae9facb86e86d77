"""Watches: expressions that are marked where they hold, their list, and the steps of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.sources import marks_of
from agent_tt_tui.feature import hears
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.watch_reading import WatchesLooked, WatchesWritten

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.features.find import Find
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.screens.debugger.watch_reading import WatchReading
    from agent_tt_tui.screens.dialogs.watches import WatchesDialog


class Watches(DebuggerFeature):
    """Keeps the marks of the watches as the run is, and lists them."""

    COMMANDS = frozenset({"watch.open"})

    def __init__(self, time: Time, watches: WatchReading, find: Find) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            watches: What looks where watches hold.
            find: What goes through the steps of a watch.
        """
        super().__init__(time)
        self._watches, self._find = watches, find
        self._dialog: WatchesDialog | None = None

    @hears(reading.Opened)
    def _on_opened(self, _message: reading.Opened) -> None:
        self._watches.look()

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        self._watches.look()

    @hears(WatchesLooked)
    def _on_watches_looked(self, _message: WatchesLooked) -> None:
        self.panes.timeline.refresh_lines_data()
        self.panes.scrubber.refresh()
        self._extend_hits()
        self.screen.refresh_footer()
        if self._dialog is not None:
            self._dialog.refresh_rows()

    @hears(WatchesWritten)
    def _on_watches_written(self, message: WatchesWritten) -> None:
        if self._dialog is not None:
            self._dialog.refresh_rows(message.why)
        elif message.why:
            self.screen.say(message.why)
        self.panes.refresh_run()
        self._watches.look()

    def action_watches(self) -> None:
        """Show the watches of the run, to be changed, and to go to the steps of one."""
        from agent_tt_tui.screens.dialogs.watches import WatchesDialog

        marks, question = marks_of(self.model.source), self._find.question
        self._dialog = WatchesDialog(self.model, marks, self._watches, question)
        self.screen.app.push_screen(self._dialog, self._chosen)

    def _chosen(self, watch_id: int | None) -> None:
        self._dialog = None
        row = next((row for row in self.model.board.rows if row.watch.id == watch_id), None)
        if row is None:
            return
        here = self.time.number
        step = here if here in row.found else row.found.after(here)
        step = row.found.before(here) if step is None else step
        if step is None:
            self.screen.say(f"{row.watch.label} holds nowhere so far")
            return
        self._find.show_found(list(row.found.steps()), step, row.watch.id)
        keys = f"{self.key('find.next')} {self.key('find.previous')}"
        self.screen.say(f"{row.watch.label}: {keys} go through its steps")

    def _extend_hits(self) -> None:
        """Show the steps that a watch has come to since its steps were shown."""
        row = next((row for row in self.model.board.rows if row.watch.id == self._find.watch), None)
        steps = self._find.asked_steps
        if row is None or not steps or not row.watch.on:
            return
        new, at = [], row.found.after(steps[-1])
        while at is not None:
            new.append(at)
            at = row.found.after(at)
        if new:
            self._find.more_found(new)
