"""The debugger: a run at one of its steps, and what can be done with it: find, edit, fork, compare."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on

from agent_tt.codec.paths import format_path
from agent_tt.errors import AgentTTError
from agent_tt.model import Edit
from agent_tt_tui import format as fmt
from agent_tt_tui.contexts import DEBUGGER, FIND
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.look import look_of
from agent_tt_tui.screens import run_reading as reading
from agent_tt_tui.screens.about import AboutDialog
from agent_tt_tui.screens.compare import CompareScreen
from agent_tt_tui.screens.copy import CopyKeys
from agent_tt_tui.screens.debugging import DebuggingScreen
from agent_tt_tui.screens.edit import EditDialog
from agent_tt_tui.screens.external import edit_state
from agent_tt_tui.screens.fork import ForkDialog
from agent_tt_tui.screens.pick import Choice, PickDialog
from agent_tt_tui.screens.sweeps import open_sweeps
from agent_tt_tui.viewmodel.pending import Pending
from agent_tt_tui.viewmodel.sweep_form import SweepDraft, axis_of_edit, example
from agent_tt_tui.widgets.find_panel import FindPanel
from agent_tt_tui.widgets.inspector import no_further_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType

    from agent_tt.forking.handle import ForkHandle
    from agent_tt.model import Run
    from agent_tt.querying.find import Hit
    from agent_tt_tui.viewmodel.related import Kin


_EDITING = frozenset({"edit.value", "edit.state", "edit.remove"})


class DebuggerScreen(DebuggingScreen):
    """One run, its steps and its states."""

    CONTEXT = DEBUGGER
    BINDINGS: ClassVar[list[BindingType]] = DEBUGGER.screen_bindings()
    HELP = "A run: left and right go through its steps, up and down through what a pane shows."

    _find_text = ""
    _found_from: int | None = None
    """The step at which the find panel was opened; None while it is closed."""

    _pending: Pending | None = None
    """Edits that nothing has run with yet."""

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in {"find.next", "find.previous"} and not self.find_panel.hits.found.rows:
            return "nothing was searched for yet: / searches"
        if command_id in _EDITING and self.model.source.read_only:
            return "this file is only read: its states cannot be edited, nor its runs forked"
        if command_id in _EDITING and (self.view is None or self.view.error is not None):
            return "this state cannot be read, so it cannot be edited"
        if command_id in {"edit.value", "edit.remove"} and not self.path:
            return "select a value first: tab goes to the state"
        if command_id in {"edit.undo", "edit.undo_all"} and self._pending is None:
            return "nothing was edited yet: e edits the selected value"
        if command_id in {"fork.open", "sweep.open"} and self.model.source.read_only:
            return "this file is only read: its runs cannot be forked, nor its states edited"
        return super().blocked(command_id)

    def action_escape(self) -> None:
        """Leave the hits of a search, or what else is open."""
        if self.find_panel.hits.found.rows:
            self._forget_hits()
        else:
            super().action_escape()

    # The inspector's keys, which act from any pane.

    def action_tab(self, number: int) -> None:
        """Show a tab of the inspector, from 1."""
        self.inspector.show_tab(number)

    def action_call(self, direction: int) -> None:
        """Go to the next or previous call of the step."""
        if not self.call_pane.display:
            self.inspector.go_to_call(direction)
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

    # Find.

    def action_find(self) -> None:
        """Open the find panel."""
        self._found_from = self.number
        self.find_panel.add_class("open")
        self.find_panel.open()
        self.query_one(FooterRow).show_context(FIND)
        self._show_hits(self.find_panel.hits.found.steps)

    def action_find_next(self, direction: int) -> None:
        """Go to the next or previous hit."""
        self._go_to_hit(self.find_panel.move(direction))

    @on(FindPanel.TextChanged)
    def _on_text_changed(self, message: FindPanel.TextChanged) -> None:
        self._find_text = message.text
        self.find_panel.begin(searching=bool(message.text))
        self.scrubber.show_hits(())
        if message.text:
            self.reading.find(message.text)
        else:
            self.reading.stop_finding()

    @on(reading.HitsFound)
    def _on_hits_found(self, message: reading.HitsFound) -> None:
        if message.text != self._find_text:
            return
        first = not self.find_panel.hits.found.rows
        self.find_panel.add(message.hits, searching=not message.ended)
        self.scrubber.show_hits(self.find_panel.hits.found.steps)
        if first and message.hits:
            self._go_to_hit(self.find_panel.move(0))

    @on(FindPanel.HitMoved)
    def _on_hit_moved(self, message: FindPanel.HitMoved) -> None:
        self._go_to_hit(self.find_panel.move(message.rows))

    @on(FindPanel.Closed)
    def _on_find_closed(self, message: FindPanel.Closed) -> None:
        back, self._found_from = self._found_from, None
        self.find_panel.remove_class("open")
        self.query_one(FooterRow).show_context(DEBUGGER)
        self.timeline.focus()
        if not message.stay:
            self._forget_hits()
            if back is not None:
                self.go(back)

    def _show_hits(self, steps: Sequence[int] | None) -> None:
        self.scrubber.show_hits(steps)
        self.share_screen()

    def _go_to_hit(self, hit: Hit | None) -> None:
        if hit is not None and hit.step != self.number:
            self.go(hit.step)

    def _forget_hits(self) -> None:
        self.reading.stop_finding()
        self._find_text = ""
        self.find_panel.begin(searching=False)
        self._show_hits(None)
        self.refresh_footer()

    # Edit.

    def chip(self) -> str:
        """How many edits are pending, and after which step."""
        return f"{look_of(self).glyphs.edited} {self._edits_said('')}" if self._pending is not None else ""

    def _edits_said(self, step: str = "step ") -> str:
        count = len(self._pending.edits) if self._pending is not None else 0
        at = self._pending.step if self._pending is not None else self.number
        return f"{count} edit{'' if count == 1 else 's'} after {step}{at}"

    def show_view(self) -> None:
        """Show the step that was read, with the edits made to it."""
        if self.view is None:
            return
        pending = self._pending if self._pending is not None and self._pending.step == self.view.number else None
        self.inspector.show(self.view, pending=pending)
        self.call_pane.show(self.view)
        if pending is not None:
            self.diff.show_pending(pending)
        self.show_landing()

    def action_edit(self) -> None:
        """Edit the selected value in a dialog."""
        selection = self.inspector.selection
        if selection is None or self.view is None:
            self.say("this state has no such value: it is not there after this step")
            return
        dialog = EditDialog(self.view.number, selection.path, selection.value, selection.recorded)
        self.app.push_screen(dialog, self._edited)

    def action_edit_state(self) -> None:
        """Edit the whole state in `$EDITOR`."""
        try:
            edits = edit_state(self.app, self.inspector.state)
        except AgentTTError as error:
            self.say(error.message)
            return
        if edits:
            self.edit(edits)
        else:
            self.say("nothing was changed in the editor")

    def _edited(self, edit: Edit | None) -> None:
        if edit is not None:
            self.edit([edit])

    def action_remove(self) -> None:
        """Remove the selected value from the state."""
        if self.path:
            self.edit([Edit("delete", format_path(self.path))])

    def action_undo_edit(self) -> None:
        """Take back what was edited last."""
        if self._pending is not None:
            self._show_pending(self._pending.undo())

    def action_undo_edits(self) -> None:
        """Take back all edits."""
        if self._pending is not None:
            self._show_pending(Pending.begin(self._pending.step, self._pending.recorded))

    def edit(self, edits: Sequence[Edit]) -> None:
        """Make edits to the state that is shown; edits to another step's state are dropped, after asking."""
        if self.view is None:
            return
        if self._pending is not None and self._pending.step != self.view.number:
            question = f"{self._edits_said()} would be dropped. Edit the state after step {self.view.number} instead?"
            self.app.push_screen(ConfirmDialog("Edit another state", question), partial(self._edit_instead, edits))
            return
        try:
            pending = self._pending or Pending.begin(self.view.number, self.view.state)
            self._show_pending(pending.add(edits))
        except AgentTTError as error:
            self.say(error.message)

    def action_back(self) -> None:
        """Leave this screen; pending edits are not dropped unasked."""
        if self._pending is None:
            super().action_back()
        else:
            question = f"Nothing has run with {self._edits_said()}. Leave, and drop what was edited?"
            self.app.push_screen(ConfirmDialog("Leave", question), self._leave)

    def _leave(self, drop: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if drop:
            super().action_back()

    def _edit_instead(self, edits: Sequence[Edit], drop: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if drop:
            self._pending = None
            self.edit(edits)

    def _show_pending(self, pending: Pending) -> None:
        self._pending = pending if pending.edits else None
        self.refresh_header()
        self.refresh_footer()
        if self._pending is None:
            self.read_step()
        self.show_view()

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
            choices = [Choice(run.id, run.name, f"{kin or run.status}, {_age(run, now)}") for run, kin in runs]
            self.app.push_screen(PickDialog("Compare with", choices), self._compare)

    def _compare(self, run_id: str | None) -> None:
        if run_id is not None:
            source = self.model.source
            self.app.push_screen(CompareScreen(source, self.model.run, source, source.run(run_id)))

    def action_fork(self) -> None:
        """Open the fork dialog: for the step that was edited, else for the one that is shown."""
        step, edits = (self.number, ()) if self._pending is None else (self._pending.step, self._pending.edits)
        dialog = ForkDialog(self.model.source, self.model.run, step, edits)
        self.app.push_screen(dialog, self._forked)

    def action_sweep(self) -> None:
        """Begin a sweep from the step that is shown, with the edits that were made to it, or open one of this run."""
        step, edits = (self.number, ()) if self._pending is None else (self._pending.step, self._pending.edits)
        fixed = tuple(axis for edit in edits if (axis := axis_of_edit(edit)) is not None)
        selection = self.inspector.selection
        suggestion = "" if selection is None else example(selection.path, selection.value, fixed)
        open_sweeps(self, self.model.source, self.model.run, SweepDraft(step, fixed), suggestion=suggestion)

    def _forked(self, handle: ForkHandle | None) -> None:
        """Watch a fork that was started beside its original."""
        if handle is None:
            return
        if self._pending is not None:
            # They live on in the fork, which shows them.
            self.action_undo_edits()
        source = self.model.source
        fork = source.run(handle.run_id)
        self.app.push_screen(CompareScreen(source, self.model.run, source, fork, handle))


def _age(run: Run, now: float) -> str:
    age = fmt.age(now - run.started_us / 1_000_000)
    return age if age == "now" else f"{age} ago"
