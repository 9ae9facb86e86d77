"""A range of steps: from the one that was marked to the one that is shown."""

from __future__ import annotations

from agent_tt_tui.screens.debugger.features.base import DebuggerFeature


class StepRanges(DebuggerFeature):
    """Marks the first step of a range; the diff is then that of the range, with what its steps took and wrote."""

    COMMANDS = frozenset({"range.mark"})

    def blocked(self, command_id: str) -> str | None:
        """Say that the input is no step."""
        del command_id
        return "the input did nothing: a range begins at a step" if self.time.number == 0 else None

    def action_mark_range(self) -> None:
        """Begin a range at this step; at the step where it began, end it."""
        if self.model.range_start == self.time.number:
            self._end()
            return
        self.model.range_start = self.time.number
        self.time.base = "range"
        ends = f"{self.key('range.mark')} at step {self.time.number} or {self.key('app.escape')} ends it"
        self.screen.say(f"a range from step {self.time.number}: go to its last step; {ends}", 6.0)
        self._show()

    def escape(self) -> bool:
        """End the range."""
        if self.model.range_start is None:
            return False
        self._end()
        return True

    def _end(self) -> None:
        self.model.range_start = None
        if self.time.base == "range":
            self.time.base = None
        self._show()

    def _show(self) -> None:
        self.panes.timeline.refresh_lines_data()
        self.panes.scrubber.refresh()
        self.time.read_step()
