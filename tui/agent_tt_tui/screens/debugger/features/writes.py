"""The steps that wrote the selected path: marked on the timeline and the scrubber, and a key away."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path
from agent_tt_tui.feature import hears
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.widgets.debugger.inspector import Inspector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.debugger.strip import StripLayout
    from agent_tt_tui.viewmodel.past.writes import Writes

_FRAME_S: Final = 0.03
"""How long the next frame waits for the writes of the selected path: those that are near are there much sooner."""

_KEPT: Final = 64
"""Paths whose writes are kept in memory."""


class SelectedWrites(DebuggerFeature):
    """Finds the writes of the path that is selected in the inspector."""

    COMMANDS = frozenset({"time.write_previous", "time.write_next"})

    def __init__(self, time: Time) -> None:
        super().__init__(time)
        self._writes: Writes | None = None
        """The writes of the selected path; None while they are looked for."""
        self._known: OrderedDict[Path, Writes] = OrderedDict()
        """Those of paths that were looked at, or may be next."""
        self._layout: StripLayout | None = None
        """Where steps were shown when these were read."""
        self._row = 0
        """The row that the selected path was in."""

    def blocked(self, command_id: str) -> str | None:
        """Say that no path is selected."""
        del command_id
        return self.why_no_value if self.time.path is None else None

    def action_write(self, direction: int) -> None:
        """Go to the next or previous step that wrote the selected path."""
        if self.time.path is not None:
            self.time.reading.find_write(self.time.number, self.time.path, direction)

    @hears(Inspector.PathSelected)
    def _on_path_selected(self, message: Inspector.PathSelected) -> None:
        if message.path == self.time.path:
            return
        self.time.path = message.path
        known = self._known.get(message.path) if message.path else None
        if message.path is not None and known is not None and known.cover(self.time.number):
            self._show(message.path, known)
        else:
            self.panes.timeline.show_writes({})
            self.panes.scrubber.show_writes(self._path_text(), None)
            self._read()
        self.screen.refresh_footer()

    @hears(reading.WritesRead)
    def _on_writes_read(self, message: reading.WritesRead) -> None:
        self._known[message.path] = message.writes
        self._known.move_to_end(message.path)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        if message.path == self.time.path:
            self._show(message.path, message.writes)
            self.screen.free_frame(self)
            self._read_again()

    @hears(reading.StepRead)
    def _on_step_read(self, message: reading.StepRead) -> None:
        if message.view.number == self.time.number:
            self._read_again()

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        self._known.clear()
        self._read()

    def _show(self, path: Path, writes: Writes) -> None:
        self._writes = writes
        self.panes.timeline.show_writes(writes.signs)
        self.panes.inspector.show_writes(path, writes)
        self.panes.scrubber.show_writes(self._path_text(), writes)
        self.screen.call_after_refresh(self._read_ahead)

    def _read(self) -> None:
        self._writes = None
        if self.time.path is not None:
            self.screen.hold_frame(self, _FRAME_S)
            self._read_of([self.time.path])

    def _read_of(self, paths: Sequence[Path]) -> None:
        layout = self.panes.scrubber.layout_of_strip
        if layout != self._layout:  # what is far away was looked for in other columns
            self._layout = layout
            self._known.clear()
        wanted = {path: self._known.get(path) for path in paths}
        self.time.reading.read_writes(self.time.number, wanted, layout.first_beside)

    def _read_again(self) -> None:
        """Read the writes around the step that is shown, if that is far from where they were last read."""
        if self._writes is not None and not self._writes.cover(self.time.number):
            self._read()

    def _read_ahead(self) -> None:
        """Read the writes of the values beside the selected one, once its own are shown."""
        if self._writes is None:  # they are looked for again, and that is not to be broken off
            return
        tree, number = self.panes.inspector.state_tree, self.time.number
        direction = -1 if tree.cursor < self._row else 1
        self._row = tree.cursor
        wanted = [
            path
            for path in tree.beside(direction)
            if path and not (path in self._known and self._known[path].cover(number))
        ]
        if wanted and tree.has_focus:
            self._read_of(wanted)

    def _path_text(self) -> str:
        return format_path(self.time.path) if self.time.path else ""
