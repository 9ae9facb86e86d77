"""The dialog that asks a model again: all that goes out is said before, and only `F` sends it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt.asking_again.answers import MOST_TIMES
from agent_tt.asking_again.launch import start_again
from agent_tt.asking_again.plan import AgainPlan, plan_again
from agent_tt.asking_again.recorded_request import find_request, recorded_request
from agent_tt.errors import AgentTTError
from agent_tt.forking.editing.between import edits_between
from agent_tt.model import Edit
from agent_tt.model.shown import counted
from agent_tt.rerunning.handle import RunHandle
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import AGAIN
from agent_tt_tui.look import look_of
from agent_tt_tui.ran import ran_of
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.copied import copy_command
from agent_tt_tui.viewmodel.edits.subjects import Subject, trouble
from agent_tt_tui.viewmodel.running.again import change_rows, said_of
from agent_tt_tui.viewmodel.running.as_command import again_command
from agent_tt_tui.viewmodel.running.option_words import with_keys
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.again_form import AgainFacts

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from agent_tt.asking_again.plan import AgainRequest
    from agent_tt.asking_again.recorded_request import RecordedRequest
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

_READING: Final = "reading what was asked"


class AgainDialog(Dialog[RunHandle]):
    """Shows what a recorded call asked and lets it be edited; returns the handle of what sends it."""

    CONTEXT = AGAIN
    AUTO_FOCUS = ""
    HELP = "A request that was recorded: e edits it, left and right say how often, F sends it, esc sends nothing."

    def __init__(self, source: RunSource, run: Run, asked: AgainRequest) -> None:
        """Plan what is sent.

        Args:
            source: Where the run is.
            run: The run that the call was recorded in.
            asked: The call, and what is changed to begin with.
        """
        super().__init__()
        self._source, self._run = source, run
        self.asked = asked
        """The settings that the dialog shows now."""
        self.plan: AgainPlan | None = None
        """What would be sent; None while nothing can be."""
        self._recorded: RecordedRequest | None = None
        self._is_starting = False

    def compose_content(self) -> ComposeResult:
        """Yield what is said, and the action."""
        call = "" if self.asked.call is None else f" call {self.asked.call}"
        detail = f"{self._run.name} step {self.asked.step}{call}"
        yield DialogTitle("Ask again", detail=detail, hint="nothing was sent yet")
        yield AgainFacts()
        yield ActionRow(f"{self.key('again.send')} send it", "the agent does not run; nothing is sent before this")

    def on_mount(self) -> None:
        """Work out what would be sent."""
        self._make_plan()

    def _choose(self, asked: AgainRequest) -> None:
        """Take what was chosen, and work out anew what would be sent."""
        self.asked = asked
        self._make_plan()

    def _make_plan(self) -> None:
        self.query_one(ActionRow).busy = _READING
        self.run_worker(self._read_plan, group="plan", exclusive=True, thread=True, exit_on_error=False)

    def _read_plan(self) -> None:
        worker, asked = get_current_worker(), self.asked
        plan, wrong, recorded = None, ("", ""), self._recorded
        try:
            recorded = recorded or recorded_request(find_request(self._source, self._run.id, asked.step, asked.call))
            plan = plan_again(self._source, self._run, asked)
        except AgentTTError as error:
            wrong = (error.message, error.hint)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._planned, asked, recorded, plan, wrong)

    def _planned(
        self, asked: AgainRequest, recorded: RecordedRequest | None, plan: AgainPlan | None, wrong: tuple[str, str]
    ) -> None:
        if asked != self.asked:  # something was chosen meanwhile
            return
        self._recorded, self.plan = recorded, plan
        if plan is not None:
            self.asked = plan.asked
        glyphs = look_of(self).glyphs
        said = said_of(plan, glyphs) if plan is not None else change_rows(asked, glyphs) if recorded else []
        self.query_one(AgainFacts).said = tuple(said)
        action = self.query_one(ActionRow)
        action.busy, action.trouble = "", self._with_keys(wrong)
        self.refresh_footer()

    def _with_keys(self, wrong: tuple[str, str]) -> tuple[str, str]:
        """What is wrong, with the keys of this dialog in the place of the command's options."""
        edits = dict.fromkeys(("set", "insert", "delete", "move"), self.key("again.edit"))
        return wrong[0], with_keys(wrong[1], {**edits, "key": self.key("again.key")})

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in ("app.escape", "app.help"):
            return None
        action = self.query_one(ActionRow)
        if self._is_starting:
            return "it is being sent"
        if self._recorded is None:
            return action.trouble[0] or f"still {_READING}"
        if command_id == "again.send" and (self.plan is None or action.busy):
            return action.trouble[0] or f"still {_READING}"
        if command_id == "again.fewer" and self.asked.times <= 1:
            return "it is asked once at least"
        if command_id == "again.more" and self.asked.times >= MOST_TIMES:
            return f"a model is asked {MOST_TIMES} times at most"
        if command_id == "again.clear" and not (self.asked.edits or self.asked.model or self.asked.key is not None):
            return "nothing was changed"
        return None

    def action_times(self, by: int) -> None:
        """Ask more often, or less."""
        self._choose(replace(self.asked, times=self.asked.times + by))

    def action_edit(self) -> None:
        """Edit the request's body: all of it, or from there one value in it."""
        recorded = self._recorded
        if recorded is None:
            return
        subject = Subject(
            path=(self._run.name, "request"),
            about=f"step {recorded.call.step} call {recorded.call.number}",
            value=recorded.edited(self.asked.edits).body,
            recorded=recorded.body,
            make=lambda typed: Edit("set", "", typed),
            check=lambda edit: trouble(lambda: recorded.edited(edits_between(recorded.body, edit.value))),
            title="Edit the request",
        )
        self.ask(EditDialog(subject), lambda edit: self._edited(recorded.body, edit.value))

    def _edited(self, recorded: Wire, body: Wire) -> None:
        self._choose(replace(self.asked, edits=edits_between(recorded, body)))

    def action_model(self) -> None:
        """Open the prompt for the name of another model."""
        recorded = self._recorded
        if recorded is None:
            return
        detail = "of the same provider; empty for the recorded one"
        value = self.asked.model or recorded.asked.model
        self.ask(PromptDialog("Model", detail=detail, value=value), self._named)

    def _named(self, text: str) -> None:
        recorded = self._recorded
        same = recorded is not None and text.strip() == recorded.asked.model
        self._choose(replace(self.asked, model=None if same else text.strip() or None))

    def action_key_variable(self) -> None:
        """Ask which variable holds the key."""
        plan = self.plan
        known = "" if plan is None or plan.destination.key is None else plan.destination.key.variable
        detail = "the variable that holds the key for this server; empty for no key"
        prompt = PromptDialog("Key", detail=detail, value=self.asked.key or known, check=_no_variable)
        self.ask(prompt, lambda text: self._choose(replace(self.asked, key=text.strip())))

    def action_clear(self) -> None:
        """Ask once more what was recorded."""
        self._choose(replace(self.asked, edits=(), model=None, key=None))

    def action_copy_command(self) -> None:
        """Copy the command that asks so."""
        copy_command(self, lambda: again_command(self._source, self._run, self.asked))

    def action_send(self) -> None:
        """Start what sends it."""
        plan = self.plan
        if plan is not None:
            self._is_starting = True
            self.query_one(ActionRow).busy = "sending"
            self.run_worker(lambda: self._start(plan), group="start", thread=True, exit_on_error=False)

    def _start(self, plan: AgainPlan) -> None:
        try:
            handle = start_again(plan)
        except AgentTTError as error:
            self.app.call_from_thread(self._not_started, (error.message, error.hint))
        else:
            self.app.call_from_thread(self._started, handle)

    def _started(self, handle: RunHandle) -> None:
        source, run, asked = self._source, self._run, self.asked
        what = f"{run.name}, step {asked.step}, {counted(asked.times, 'time')}"
        ran_of(self).add("again", what, lambda: again_command(source, run, asked), source=source, run_id=handle.run_id)
        self.dismiss(handle)

    def _not_started(self, wrong: tuple[str, str]) -> None:
        self._is_starting = False
        action = self.query_one(ActionRow)
        action.busy, action.trouble = "", self._with_keys(wrong)
        self.refresh_footer()


def _no_variable(text: str) -> str | None:
    """What keeps a text from naming a variable with a key; None if nothing does. A key itself is never taken."""
    name = text.strip()
    return None if not name or name in os.environ else "no variable of that name is set: name the variable, not the key"
