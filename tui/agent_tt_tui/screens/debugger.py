"""The debugger: a run at one of its steps, and what can be done with it: find, edit, fork, compare."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on

from agent_tt_tui import format as fmt
from agent_tt_tui.contexts import DEBUGGER
from agent_tt_tui.screens import run_reading as reading
from agent_tt_tui.screens.about import AboutDialog
from agent_tt_tui.screens.compare import CompareScreen
from agent_tt_tui.screens.copy import CopyKeys
from agent_tt_tui.screens.finding import FindingScreen
from agent_tt_tui.screens.fork import ForkDialog
from agent_tt_tui.screens.pick import Choice, PickDialog
from agent_tt_tui.screens.run_table import TableScreen
from agent_tt_tui.screens.sweeps import open_sweeps
from agent_tt_tui.viewmodel.related import forks_among
from agent_tt_tui.viewmodel.sweep_form import SweepDraft, axes_of_edits, example
from agent_tt_tui.widgets.inspector import no_further_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from agent_tt.forking.handle import ForkHandle
    from agent_tt.model import Run
    from agent_tt_tui.viewmodel.related import Kin

_ALL_FORKS: Final = "\0all forks"
"""Stands for all forks of the run in a list of runs: no run has such an id."""


class DebuggerScreen(FindingScreen):
    """One run, its steps and its states."""

    CONTEXT = DEBUGGER
    BINDINGS: ClassVar[list[BindingType]] = DEBUGGER.screen_bindings()
    HELP = "A run: left and right go through its steps, up and down through what a pane shows."

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in {"fork.open", "sweep.open"} and self.model.source.read_only:
            return "this file is only read: its runs cannot be forked, nor its states edited"
        return super().blocked(command_id)

    # The inspector's keys, which act from any pane.

    def action_tab(self, number: int) -> None:
        """Show a tab of the inspector, from 1; where there is room for one pane, go there."""
        self.inspector.show_tab(number)
        self.look_into_inspector()

    def action_call(self, direction: int) -> None:
        """Go to the next or previous call of the step."""
        if not self.call_pane.display:
            self.inspector.go_to_call(direction)
            self.look_into_inspector()
        elif not self.call_pane.go(direction):
            self.say(no_further_call(direction))

    def action_wrap(self) -> None:
        """Wrap long values, or cut them."""
        self.inspector.toggle_wrap()

    def action_copy(self) -> None:
        """Copy what is selected."""
        selection = self.inspector.selection
        if selection is None:
            self.say("select a value first: tab goes to the state")
        else:
            self.app.push_screen(CopyKeys(selection.text), self._copied)

    def _copied(self, what: str | None) -> None:
        if what is not None:
            self.say(f"copied the {what}")

    # What was written down, and the runs around this one.

    def action_about(self) -> None:
        """Show what was written down about the run and the state."""
        self.app.push_screen(AboutDialog(self.model.source, self.model.run.id, self.number), self._about_closed)

    def _about_closed(self, step: int | None) -> None:
        self.reading.poll()
        if step is not None:
            self.go(step)

    def action_kin(self) -> None:
        """Open a fork of this run, its parent or another fork of that: at once where there is only one."""
        self.reading.read_kin(self.number)

    @on(reading.KinRead)
    def _on_kin_read(self, message: reading.KinRead) -> None:
        if not message.kin:
            self.say("nothing was forked from this run yet, nor this run from another: f forks it")
        elif len(message.kin) == 1:
            self._open_kin(message.kin, message.kin[0].run.id)
        else:
            choices = [Choice(kin.run.id, kin.run.name, f"{kin.words}, {kin.run.status}") for kin in message.kin]
            self.app.push_screen(PickDialog("Open", choices), partial(self._open_kin, message.kin))

    def _open_kin(self, kin: Sequence[Kin], run_id: str | None) -> None:
        chosen = next((found for found in kin if found.run.id == run_id), None)
        if chosen is not None:
            self.app.push_screen(DebuggerScreen(self.model.source, chosen.run, chosen.step))

    # Fork and compare.

    def action_compare(self) -> None:
        """Compare with another run: at once where there is only one, else with one that is chosen."""
        self.reading.read_runs()

    @on(reading.RunsRead)
    def _on_runs_read(self, message: reading.RunsRead) -> None:
        runs = message.runs
        if not runs:
            self.say("there is no other run to compare with yet: f forks this one")
        elif len(runs) == 1:
            self._compare(runs[0][0].id)
        else:
            now = time.time()
            forks = forks_among(self.model.run, [run for run, _ in runs])
            choices = [Choice(_ALL_FORKS, f"all {forks} forks", "in a table")] if forks > 1 else []
            choices += [Choice(run.id, run.name, f"{kin or run.status}, {_age(run, now)}") for run, kin in runs]
            self.app.push_screen(PickDialog("Compare with", choices), self._compare)

    def _compare(self, run_id: str | None) -> None:
        source = self.model.source
        if run_id == _ALL_FORKS:
            self.app.push_screen(TableScreen(source, self.model.run))
        elif run_id is not None:
            self.app.push_screen(CompareScreen(source, self.model.run, source, source.run(run_id)))

    def action_fork(self) -> None:
        """Open the fork dialog: for the step that was edited, else for the one that is shown."""
        pending = self.pending
        step, edits = (self.number, ()) if pending is None else (pending.fork_step(self.number), pending.edits)
        breaks = [row.watch.where for row in self.model.board.breakpoints]
        dialog = ForkDialog(self.model.source, self.model.run, step, edits, breaks)
        self.app.push_screen(dialog, self._forked)

    def action_sweep(self) -> None:
        """Begin a sweep from the step that is shown, with the edits that were made to it, or open one of this run."""
        pending = self.pending
        step, edits = (self.number, ()) if pending is None else (pending.fork_step(self.number), pending.edits)
        fixed = axes_of_edits(edits)
        selection = self.inspector.selection
        suggestion = "" if selection is None else example(selection.path, selection.value, fixed)
        open_sweeps(self, self.model.source, self.model.run, SweepDraft(step, fixed), suggestion=suggestion)

    def _forked(self, handle: ForkHandle | None) -> None:
        """Watch a fork that was started beside its original."""
        if handle is None:
            return
        if self.pending is not None:
            # They live on in the fork, which shows them.
            self.action_undo_edits()
        source = self.model.source
        fork = source.run(handle.run_id)
        self.app.push_screen(CompareScreen(source, self.model.run, source, fork, handle))


def _age(run: Run, now: float) -> str:
    age = fmt.age(now - run.started_us / 1_000_000)
    return age if age == "now" else f"{age} ago"
