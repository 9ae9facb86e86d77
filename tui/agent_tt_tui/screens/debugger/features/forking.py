"""Running on from the step that is shown: a fork with the edits that were made, or a sweep of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.sources import open_source
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature

if TYPE_CHECKING:
    from agent_tt.model import Edit
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt_tui.screens.debugger.features.editing import Editing
    from agent_tt_tui.screens.debugger.time import Time


class Forking(DebuggerFeature):
    """Begins forks and sweeps of the run."""

    COMMANDS = frozenset({"fork.open", "sweep.open"})

    def __init__(self, time: Time, editing: Editing) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            editing: What takes edits back once a fork runs with them.
        """
        super().__init__(time)
        self._editing = editing

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be forked."""
        if command_id == "sweep.open" and self.model.source.read_only:
            return "this file is only read: no sweep of its runs can be kept in it"
        if self.model.source.read_only and not self.model.run.read_only:  # of another system's a copy is forked
            return "this file is only read: its runs cannot be forked, nor its states edited"
        return None

    def _begins(self) -> tuple[int, tuple[Edit, ...]]:
        """The step to begin after and the edits: those that were made, else the step that is shown."""
        pending, here = self.model.pending, self.time.number
        return (here, ()) if pending is None else (pending.fork_step(here), pending.edits)

    def action_fork(self) -> None:
        """Open the fork dialog: for the step that was edited, else for the one that is shown."""
        from agent_tt_tui.screens.running.fork import ForkDialog

        step, edits = self._begins()
        breaks = [row.watch.where for row in self.model.board.breakpoints]
        dialog = ForkDialog(self.model.source, self.model.run, step, edits, breaks)
        self.screen.ask(dialog, self._forked)

    def action_sweep(self) -> None:
        """Begin a sweep from the step that is shown, with the edits that were made to it, or open one of this run."""
        from agent_tt_tui.screens.sweep.opening import open_sweeps
        from agent_tt_tui.viewmodel.runs.sweep_form import SweepDraft, axes_of_edits, example

        step, edits = self._begins()
        fixed = axes_of_edits(edits)
        selection = self.panes.inspector.selection
        suggestion = "" if selection is None else example(selection.path, selection.value, fixed)
        open_sweeps(self.screen, self.model.source, self.model.run, SweepDraft(step, fixed), suggestion=suggestion)

    def _forked(self, handle: RunHandle) -> None:
        """Watch a fork that was started beside its original."""
        from agent_tt_tui.screens.compare.screen import CompareScreen

        # The edits live on in the fork, which shows them.
        self._editing.action_undo_edits()
        source, run = self.model.source, self.model.run
        if run.read_only:  # it was copied to where the fork is
            source = open_source(handle.store)
            run = source.run(source.run(handle.run_id).parent or "")
        fork = source.run(handle.run_id)
        self.screen.app.push_screen(CompareScreen(source, run, source, fork, handle))
