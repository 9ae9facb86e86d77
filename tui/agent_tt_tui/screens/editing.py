"""Editing in the debugger: states, messages, what came back of calls, steps that never happened. Nothing runs of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt.codec.paths import format_path
from agent_tt.errors import AgentTTError
from agent_tt.forking.edits import apply_edits
from agent_tt.forking.plan import plan_fork
from agent_tt.model import Edit
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugging import DebuggingScreen
from agent_tt_tui.screens.edit import EditDialog
from agent_tt_tui.screens.external import edit_state
from agent_tt_tui.screens.prompt import PromptDialog
from agent_tt_tui.viewmodel.pending import Pending
from agent_tt_tui.viewmodel.placing import insertion, insertion_text, move
from agent_tt_tui.viewmodel.subjects import of_call, of_state, trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Call
    from agent_tt_tui.widgets.call_view import CallView
    from agent_tt_tui.widgets.inspector import Selection

__all__ = ["EditingScreen"]

_EDITING: Final = frozenset(
    {"edit.value", "edit.state", "edit.remove", "edit.insert", "edit.move", "edit.mute"},
)
_OF_VALUES: Final = frozenset({"edit.value", "edit.remove", "edit.insert", "edit.move"})


class EditingScreen(DebuggingScreen):
    """One run, of which everything can be edited; the edits wait until a fork runs with them."""

    pending: Pending | None = None
    """Edits that nothing has run with yet."""

    _trouble = ""
    """Why a fork with these edits cannot be."""

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be edited here."""
        if command_id in _EDITING and self.model.source.read_only:
            return "this file is only read: its states cannot be edited, nor its runs forked"
        if command_id == "edit.mute" and not self.number:
            return "the input is no step: there is nothing to mute"
        if command_id in _EDITING and self.view is None:
            return "this step is still being read"
        if command_id == "edit.value" and self._edits_call:
            call = self._call()
            if call is not None and call.damaged is not None:
                return f"{call.damaged}: it cannot be edited"
            if call is None and self.view is not None and self.view.step is not None and self.view.step.damaged:
                return "this step is damaged: nothing of it can be edited"
            return None if call is not None else "this step made no calls that could be edited"
        if command_id in _EDITING - {"edit.mute"} and self.view is not None and self.view.error is not None:
            return "this state cannot be read, so it cannot be edited"
        if command_id == "edit.remove" and (
            self._removable is not None or (self.path and self.inspector.tab != "Messages")
        ):
            return None
        if command_id in _OF_VALUES and self._selection is None:
            if self.inspector.tab == "Messages":
                return "select a message first: tab goes to the messages"
            if self.path:
                return "this state has no such value: it is not there after this step"
            return "select a value first: tab goes to the state"
        if command_id in {"edit.undo", "edit.undo_all"} and self.pending is None:
            return "nothing was edited yet: e edits the selected value"
        return super().blocked(command_id)

    # What is edited.

    @property
    def _edits_call(self) -> bool:
        """Whether a call is what is looked at."""
        return self.inspector.tab == "Call" or self.focused is self.call_pane.call_view

    @property
    def _call_view(self) -> CallView:
        return self.call_pane.call_view if self.inspector.tab != "Call" else self.inspector.call_view

    def _call(self) -> Call | None:
        return self._call_view.call

    @property
    def _selection(self) -> Selection | None:
        """The value that keys of editing are for: a message where these are shown, else the selected one."""
        return self.inspector.message if self.inspector.tab == "Messages" else self.inspector.selection

    @property
    def _removable(self) -> int | None:
        """The pending edit under the cursor, while the list of these is in focus."""
        return self.diff.edit_under_cursor if self.focused is self.diff.lines else None

    def action_edit(self) -> None:
        """Edit what is looked at: a call's answer, or the part of its result under the cursor; a message; a value."""
        call, selection, view = self._call() if self._edits_call else None, self._selection, self.view
        if view is None:
            return
        if call is not None:
            edits = self.pending.of_call(call.step, call.number) if self.pending is not None else ()
            subject = of_call(self.model.source, self.model.run.id, call, edits)
            place = self._call_view.place
            if place and subject.form == "result":
                subject = subject.part(place)
        elif selection is not None:
            chosen = selection.words if self.inspector.tab == "Messages" else selection
            subject = of_state(view.number, chosen.path, chosen.value, chosen.recorded)
        else:
            return
        self.app.push_screen(EditDialog(subject), self._edited)

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

    def action_insert(self) -> None:
        """Ask for a value to insert at the selected place of a list, or for a new key of a dict."""
        selection = self._selection
        if selection is not None:
            self._ask(
                "Insert",
                "PATH=VALUE, with VALUE in JSON",
                insertion_text(self.inspector.state, selection.path),
                partial(insertion, self.inspector.state),
                placeholder='notes="a new key", or days[0]=1 of a list',
            )

    def action_move_value(self) -> None:
        """Ask where in the state the selected value is to be."""
        selection = self._selection
        if selection is not None:
            path = format_path(selection.path)
            self._ask("Move", f"{path} to this path", path, partial(move, path))

    def _ask(self, title: str, detail: str, value: str, read: Callable[[str], Edit], *, placeholder: str = "") -> None:
        state = self.inspector.state

        def check(text: str) -> str | None:
            return trouble(lambda: apply_edits(state, [read(text)]))

        def typed(text: str | None) -> None:
            if text is not None:
                self.edit([read(text)])

        dialog = PromptDialog(title, detail=detail, value=value, placeholder=placeholder, check=check)
        self.app.push_screen(dialog, typed)

    def action_remove(self) -> None:
        """Take back the pending edit under the cursor; else remove the selected value from the state."""
        index, selection = self._removable, self._selection
        path = self.path if self.inspector.tab != "Messages" else selection.path if selection is not None else None
        if index is not None and self.pending is not None:
            self._change(partial(self.pending.without, index))
        elif path:
            self.edit([Edit("delete", format_path(path))])

    def action_mute(self) -> None:
        """Mute the step that is shown, as if it had never happened; or let it have happened again."""
        if self.pending is not None and self.number in self.pending.muted():
            self._change(partial(self.pending.unmuted, self.number))
        elif self.view is not None:
            name = self.view.step.name if self.view.step is not None else None
            self.edit([Edit("mute", "", name, target="step", step=self.number)])

    def action_undo_edit(self) -> None:
        """Take back what was edited last."""
        if self.pending is not None:
            self._change(self.pending.undo)

    def action_undo_edits(self) -> None:
        """Take back all edits."""
        if self.pending is not None:
            self._show_pending(Pending.begin(self.pending.step, self.pending.recorded))

    def _edited(self, edit: Edit | None) -> None:
        if edit is not None:
            self.edit([edit])

    def edit(self, edits: Sequence[Edit]) -> None:
        """Make edits at the step that is shown; those of another step's state or calls are dropped, after asking."""
        view, pending = self.view, self.pending
        if view is None:
            return
        is_mute = all(edit.target == "step" for edit in edits)
        if pending is not None and pending.step != view.number and not is_mute:
            if pending.is_anchored:
                question = f"{self.edits_said()} would be dropped. Edit step {view.number} instead?"
                self.app.push_screen(ConfirmDialog("Edit another step", question), partial(self._edit_instead, edits))
                return
            moved = Pending.begin(view.number, view.state)
            for group in pending.groups:
                moved = moved.add(group)
            pending = moved
        pending = pending or Pending.begin(view.number, view.state)
        self._change(partial(pending.add, edits))

    def _edit_instead(self, edits: Sequence[Edit], drop: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if drop:
            self.pending = None
            self.edit(edits)

    def _change(self, change: Callable[[], Pending]) -> None:
        try:
            self._show_pending(change())
        except AgentTTError as error:
            self.say(error.message)

    # Showing them.

    def chip(self) -> str:
        """How many edits are pending, and at which step."""
        return f"{look_of(self).glyphs.edited} {self.edits_said()}" if self.pending is not None else ""

    def edits_said(self) -> str:
        """`2 edits after 3`."""
        count = len(self.pending.edits) if self.pending is not None else 0
        place = self.pending.place if self.pending is not None else ""
        return f"{count} edit{'' if count == 1 else 's'} {place}".rstrip()

    def show_view(self) -> None:
        """Show the step that was read, with the edits made to it."""
        if self.view is None:
            return
        pending = self.pending if self.pending is not None and self.pending.step == self.view.number else None
        self.inspector.show(self.view, pending=pending if pending is not None and pending.changes else None)
        self.call_pane.show(self.view)
        if pending is not None:
            self.diff.show_pending(pending, self._trouble)
            self.make_room_for_diff()
        self.show_landing()

    def _show_pending(self, pending: Pending) -> None:
        self.pending, self._trouble = (pending if pending.edits else None), ""
        self.timeline.show_edited(pending.steps())
        self.refresh_header()
        self.refresh_footer()
        if self.pending is None:
            self.read_step()
        else:
            self.run_worker(
                partial(self._check, self.pending), group="check", exclusive=True, thread=True, exit_on_error=False
            )
        self.show_view()

    def _check(self, pending: Pending) -> None:
        """Try whether a fork with the edits could be: what is wrong is said where they are listed."""
        worker, run = get_current_worker(), self.model.run
        step = pending.fork_step(pending.step)
        found = trouble(lambda: plan_fork(self.model.source, run, step, edits=pending.edits)) or ""
        if found and not worker.is_cancelled:
            self.app.call_from_thread(self._show_trouble, pending, found)

    def _show_trouble(self, pending: Pending, found: str) -> None:
        if pending is self.pending:
            self._trouble = found
            self.show_view()

    # Leaving.

    def action_back(self) -> None:
        """Leave this screen; pending edits are not dropped unasked."""
        if self.pending is None:
            super().action_back()
        else:
            question = f"Nothing has run with {self.edits_said()}. Leave, and drop what was edited?"
            self.app.push_screen(ConfirmDialog("Leave", question), self._leave)

    def _leave(self, drop: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if drop:
            super().action_back()
