"""Editing: states, messages, what came back of calls, steps that never happened. Nothing runs of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt.codec.paths import format_path
from agent_tt.errors import AgentTTError, InvalidEntryPoint, ReadOnlySource
from agent_tt.model import Edit
from agent_tt.model.threads import is_thread
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Call
    from agent_tt_tui.screens.dialogs.in_row import Kept
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.viewmodel.edits.pending import Pending
    from agent_tt_tui.viewmodel.edits.subjects import Subject
    from agent_tt_tui.widgets.debugger.inspector import Selection

_OF_VALUES: Final = frozenset({"edit.value", "edit.remove", "edit.insert", "edit.move"})
_UNDOING: Final = frozenset({"edit.undo", "edit.undo_all"})


class Editing(DebuggerFeature):
    """Edits the step that is shown; the edits wait until a fork runs with them."""

    COMMANDS = _OF_VALUES | _UNDOING | {"edit.state", "edit.mute"}

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be edited here."""
        view = self.time.view
        if command_id in _UNDOING:
            if self.model.pending is not None:
                return None
            return f"nothing was edited yet: {self.key('edit.value')} edits the selected value"
        if self.model.source.read_only and not self.model.run.read_only:  # of another system's a copy is forked
            return "this file is only read: its states cannot be edited, nor its runs forked"
        if command_id == "edit.mute" and not self.time.number:
            return "the input is not a step: there is nothing to mute"
        if view is None:
            return "this step is still being read"
        if command_id == "edit.value" and self._edits_call:
            return self._why_no_call(view)
        if command_id != "edit.mute" and view.error is not None:
            return "this state cannot be read, so it cannot be edited"
        if command_id == "edit.remove" and (
            self._removable is not None or (self.time.path and self.panes.inspector.tab != "Messages")
        ):
            return None
        if command_id in _OF_VALUES and self._selection is None:
            if self.panes.inspector.tab == "Messages":
                return f"select a message first: {self.key('pane.next')} goes to the messages"
            if self.time.path:
                return "this state has no such value: it is not there after this step"
            return self.why_no_value
        return None

    def _why_no_call(self, view: StepView) -> str | None:
        call = self._call()
        if call is not None:
            return f"{call.damaged}: it cannot be edited" if call.damaged is not None else None
        if view.step is not None and view.step.damaged:
            return "this step is damaged: nothing of it can be edited"
        return "this step made no calls that could be edited"

    # What is edited.

    @property
    def _edits_call(self) -> bool:
        """Whether a call is what is looked at."""
        return self.panes.inspector.tab == "Call" or self.screen.focused is self.panes.call_pane.call_view

    def _call(self) -> Call | None:
        return self.panes.call_view.call

    @property
    def _selection(self) -> Selection | None:
        """The value that keys of editing are for: a message where these are shown, else the selected one."""
        inspector = self.panes.inspector
        return inspector.message if inspector.tab == "Messages" else inspector.selection

    @property
    def _removable(self) -> int | None:
        """The pending edit under the cursor, while the list of these is in focus."""
        return self.panes.diff.edit_under_cursor if self.screen.focused is self.panes.diff.lines else None

    def action_edit(self) -> None:
        """Edit what is looked at: a call's answer, or the part of its result under the cursor; a message; a value."""
        from agent_tt_tui.screens.dialogs.edit import EditDialog
        from agent_tt_tui.viewmodel.edits.subjects import of_call, of_state

        call, selection, view = self._call() if self._edits_call else None, self._selection, self.time.view
        if view is None:
            return
        if call is None and selection is not None and self._edit_in_row(view, selection):
            return
        if call is not None:
            edits = self.model.pending.of_call(call.step, call.number) if self.model.pending is not None else ()
            subject = of_call(self.model.source, self.model.run.id, call, edits)
            place = self.panes.call_view.place
            if place and subject.form == "result":
                subject = subject.part(place)
        elif selection is not None:
            chosen = selection.words if self.panes.inspector.tab == "Messages" else selection
            subject = of_state(view.number, chosen.path, chosen.value, chosen.recorded)
        else:
            return
        self.screen.ask(EditDialog(subject), lambda edit: self.edit([edit]))

    def _edit_in_row(self, view: StepView, selection: Selection) -> bool:
        """Edit a value where it stands in the state; say whether it can be edited there."""
        from agent_tt_tui.screens.dialogs.in_row import RowEdit
        from agent_tt_tui.viewmodel.edits.in_row import RowField
        from agent_tt_tui.viewmodel.edits.subjects import of_state

        inspector = self.panes.inspector
        tree = inspector.state_tree
        if inspector.tab != "State" or tree.value_region is None:
            return False
        field = RowField.of(selection.value, selection.recorded, tree.value_columns)
        if field is None:
            return False
        subject = of_state(view.number, selection.path, selection.value, selection.recorded)
        self.screen.ask(RowEdit(subject, field, tree, lambda: tree.value_region), partial(self._left_row, subject))
        return True

    def _left_row(self, subject: Subject, kept: Kept) -> None:
        """Make the edit of a row that was left, and go where that was left for."""
        from agent_tt_tui.screens.dialogs.edit import EditDialog

        if kept.edit is not None:
            self.edit([kept.edit])
        if kept.then == "dialog":
            self.screen.ask(EditDialog(subject), lambda edit: self.edit([edit]))
        elif kept.then == "next":
            self._edit_next_row()

    def _edit_next_row(self) -> None:
        """Edit the next value of the state that can be edited in its row."""
        from agent_tt_tui.viewmodel.edits.in_row import RowField

        view, tree = self.time.view, self.panes.inspector.state_tree
        at = tree.cursor
        while view is not None:
            before = tree.cursor
            tree.action_move(1)
            selection = self._selection
            if tree.cursor == before:
                break
            if selection is not None and RowField.of(selection.value, selection.recorded, tree.value_columns):
                self._edit_in_row(view, selection)
                return
        tree.move_to(at)
        self.screen.say("no value after this one can be edited in its row")

    def action_edit_state(self) -> None:
        """Edit the whole state in `$EDITOR`."""
        from agent_tt_tui.screens.dialogs.external import edit_state

        try:
            edits = edit_state(self.screen.app, self.panes.inspector.state)
        except AgentTTError as error:
            self.screen.say(error.message)
            return
        if edits:
            self.edit(edits)
        else:
            self.screen.say("nothing was changed in the editor")

    def action_insert(self) -> None:
        """Ask for a value to insert at the selected place of a list, or for a new key of a dict."""
        from agent_tt_tui.viewmodel.edits.placing import insertion, insertion_text

        selection = self._selection
        if selection is not None:
            self._ask(
                "Insert",
                "PATH=VALUE, with VALUE in JSON",
                insertion_text(self.panes.inspector.state, selection.path),
                partial(insertion, self.panes.inspector.state),
                placeholder='notes="a new key", or days[0]=1 of a list',
            )

    def action_move_value(self) -> None:
        """Ask where in the state the selected value is to be."""
        from agent_tt_tui.viewmodel.edits.placing import move

        selection = self._selection
        if selection is not None:
            path = format_path(selection.path)
            self._ask("Move", f"{path} to this path", path, partial(move, path))

    def _ask(self, title: str, detail: str, value: str, read: Callable[[str], Edit], *, placeholder: str = "") -> None:
        from agent_tt.forking.editing.edits import apply_edits
        from agent_tt_tui.screens.dialogs.prompt import PromptDialog
        from agent_tt_tui.viewmodel.edits.subjects import trouble

        state = self.panes.inspector.state

        def check(text: str) -> str | None:
            return trouble(lambda: apply_edits(state, [read(text)]))

        dialog = PromptDialog(title, detail=detail, value=value, placeholder=placeholder, check=check)
        self.screen.ask(dialog, lambda text: self.edit([read(text)]))

    def action_remove(self) -> None:
        """Take back the pending edit under the cursor; else remove the selected value from the state."""
        index, selection = self._removable, self._selection
        path = self.time.path
        if self.panes.inspector.tab == "Messages":
            path = selection.path if selection is not None else None
        if index is not None and self.model.pending is not None:
            self._change(partial(self.model.pending.without, index))
        elif path:
            self.edit([Edit("delete", format_path(path))])

    def action_mute(self) -> None:
        """Mute the step that is shown, as if it had never happened; or let it have happened again."""
        if self.model.pending is not None and self.time.number in self.model.pending.muted():
            self._change(partial(self.model.pending.unmuted, self.time.number))
        elif self.time.view is not None:
            name = self.time.view.step.name if self.time.view.step is not None else None
            self.edit([Edit("mute", "", name, target="step", step=self.time.number)])

    def action_undo_edit(self) -> None:
        """Take back what was edited last."""
        if self.model.pending is not None:
            self._change(self.model.pending.undo)

    def action_undo_edits(self) -> None:
        """Take back all edits."""
        from agent_tt_tui.viewmodel.edits.pending import Pending

        if self.model.pending is not None:
            self._show_pending(Pending.begin(self.model.pending.step, self.model.pending.recorded))

    def edit(self, edits: Sequence[Edit]) -> None:
        """Make edits at the step that is shown; those of another step's state or calls are dropped, after asking."""
        from agent_tt_tui.viewmodel.edits.pending import Pending

        view, pending = self.time.view, self.model.pending
        if view is None:
            return
        is_mute = all(edit.target == "step" for edit in edits)
        if pending is not None and pending.step != view.number and not is_mute:
            if pending.is_anchored:
                question = f"{pending.words} would be dropped. Edit step {view.number} instead?"
                self.screen.confirm("Edit another step", question, partial(self._edit_instead, edits))
                return
            moved = Pending.begin(view.number, view.state)
            for group in pending.groups:
                moved = moved.add(group)
            pending = moved
        pending = pending or Pending.begin(view.number, view.state)
        self._change(partial(pending.add, edits))

    def _edit_instead(self, edits: Sequence[Edit]) -> None:
        self.model.pending = None
        self.edit(edits)

    def _change(self, change: Callable[[], Pending]) -> None:
        try:
            self._show_pending(change())
        except AgentTTError as error:
            self.screen.say(error.message)

    # Showing them.

    def _show_pending(self, pending: Pending) -> None:
        self.model.pending, self.model.pending_trouble = (pending if pending.edits else None), ""
        self.panes.timeline.show_edited(pending.steps())
        self.panes.refresh_header()
        self.screen.refresh_footer()
        if self.model.pending is None:
            self.time.read_step()
        else:
            check = partial(self._check, self.model.pending)
            self.screen.run_worker(check, group="check", exclusive=True, thread=True, exit_on_error=False)
        self.time.show_view()

    def _check(self, pending: Pending) -> None:
        """Try whether a fork with the edits could be: what is wrong is said where they are listed."""
        from agent_tt.forking.plan import plan_fork
        from agent_tt.forking.request import ForkRequest
        from agent_tt_tui.viewmodel.edits.subjects import trouble

        worker, run = get_current_worker(), self.model.run
        step = pending.fork_step(pending.step)
        request = ForkRequest(step, pending.edits)

        def plan() -> None:
            try:
                plan_fork(self.model.source, run, request)
            except (InvalidEntryPoint, ReadOnlySource):
                is_asked = run.origin or is_thread(self.model.source.steps(run.id))
                if run.code.entry is not None or not is_asked:
                    raise  # a graph, or a model that goes on, is asked for where such a run is forked

        found = trouble(plan) or ""
        if found and not worker.is_cancelled:
            self.screen.app.call_from_thread(self._show_trouble, pending, found)

    def _show_trouble(self, pending: Pending, found: str) -> None:
        if pending is self.model.pending:
            self.model.pending_trouble = found
            self.time.show_view()

    def before_leaving(self) -> str:
        """Ask whether pending edits may be dropped."""
        if self.model.pending is None:
            return ""
        return f"Nothing has run with {self.model.pending.words}. Leave, and drop what was edited?"
