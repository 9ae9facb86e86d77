"""The steps that wrote the selected path: marked on the timeline and the scrubber, and a key away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt_tui.feature import hears
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.widgets.debugger.inspector import Inspector

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.past.writes import Writes


class SelectedWrites(DebuggerFeature):
    """Finds the writes of the path that is selected in the inspector."""

    COMMANDS = frozenset({"time.write_previous", "time.write_next"})

    def __init__(self, time: Time) -> None:
        super().__init__(time)
        self._writes: Writes | None = None
        """The writes of the selected path; None while they are looked for."""

    def blocked(self, command_id: str) -> str | None:
        """Say that no path is selected."""
        del command_id
        return "select a value first: tab goes to the state" if self.time.path is None else None

    def action_write(self, direction: int) -> None:
        """Go to the next or previous step that wrote the selected path."""
        if self.time.path is not None:
            self.time.reading.find_write(self.time.number, self.time.path, direction)

    @hears(Inspector.PathSelected)
    def _on_path_selected(self, message: Inspector.PathSelected) -> None:
        if message.path == self.time.path:
            return
        self.time.path = message.path
        self.panes.timeline.show_writes({})
        self.panes.scrubber.show_writes(self._path_text(), None)
        self._read()
        self.screen.refresh_footer()

    @hears(reading.WritesRead)
    def _on_writes_read(self, message: reading.WritesRead) -> None:
        if message.path == self.time.path:
            self._writes, signs = message.writes, message.writes.signs
            self.panes.timeline.show_writes(signs)
            self.panes.inspector.show_writes(message.path, message.writes)
            self.panes.scrubber.show_writes(self._path_text(), message.writes)
            self._read_again()

    @hears(reading.StepRead)
    def _on_step_read(self, message: reading.StepRead) -> None:
        if message.view.number == self.time.number:
            self._read_again()

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        self._read()

    def _read(self) -> None:
        self._writes = None
        if self.time.path is not None:
            self.time.reading.read_writes(self.time.number, self.time.path, self.panes.scrubber.first_beside)

    def _read_again(self) -> None:
        """Read the writes around the step that is shown, if that is far from where they were last read."""
        if self._writes is not None and not self._writes.cover(self.time.number):
            self._read()

    def _path_text(self) -> str:
        return format_path(self.time.path) if self.time.path else ""
