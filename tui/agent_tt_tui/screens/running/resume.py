"""The resume dialog: what a run that broke off is given again, what was in flight, and going on with it for real."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError, Untrusted
from agent_tt.rerunning.handle import RunHandle
from agent_tt.rerunning.launch import start_resume
from agent_tt.resuming.plan import Happened, ResumePlan, plan_resume
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.format import counted
from agent_tt_tui.keymaps import RESUME
from agent_tt_tui.ran import ran_of
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.attempt import Attempt, DialogRows
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.resume_form import (
    FACT_ROWS,
    InFlightTable,
    InFlightTitle,
    ResumeFacts,
    ResumeQuestion,
    Waiting,
)
from agent_tt_tui.widgets.dialogs.trouble_view import TroubleView

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.lines import LineView

_FRAME_ROWS: Final = 9
"""Rows of the footer, the border, the title, the table's titles, the question and the action."""

_MOST_TABLE: Final = 12
_LOOK_SECONDS: Final = 0.1


class ResumeDialog(Dialog[RunHandle]):
    """Asks what has to be known and starts the run again; returns its process once it goes on for real or has ended."""

    CONTEXT = RESUME
    AUTO_FOCUS = "InFlightTable"
    HELP = "Going on with a run that broke off: F does it, for real; esc stops it or closes."

    def __init__(self, source: RunSource, run: Run) -> None:
        """Look at a run that broke off.

        Args:
            source: where it is.
            run: the run.
        """
        super().__init__()
        self.source, self.run = source, run
        self._rows = DialogRows(self, self._share_rows)
        self._attempt: Attempt[ResumePlan] = Attempt(
            self,
            source.path,
            self._rows,
            reading="looking at what it did",
            not_done="not resumed",
            make_plan=self._make_plan,
            show_plan=self._show_plan,
            progress=self._progress,
            start=self.action_run,
        )
        self.features = (self._attempt, self._rows)
        self._waiting: list[Waiting] = []
        self._handle: RunHandle | None = None
        self._stopping = False

    def compose_content(self) -> ComposeResult:
        """Yield the pre-flight from top to bottom."""
        yield DialogTitle("Resume", detail=self.run.name, hint="nothing has run yet")
        yield ResumeFacts()
        yield InFlightTitle()
        yield InFlightTable()
        yield ResumeQuestion()
        yield TroubleView()
        label, remark = f"{self.key('resume.run')} resume", "for real: it goes on in the same run"
        yield ActionRow(label, remark, lambda: self.blocked("resume.run") is None)

    def _share_rows(self) -> None:
        """Let the table scroll, and the facts go, before the question or the action is cut off."""
        room = self._rows.room_beside(_FRAME_ROWS)
        facts = self.query_one(ResumeFacts)
        facts.display = room - FACT_ROWS >= 1 and self._attempt.plan is not None
        room -= FACT_ROWS if facts.display else 0
        self.query_one(InFlightTable).styles.max_height = max(1, min(_MOST_TABLE, room))

    def _make_plan(self) -> ResumePlan:
        """Look at what the run did, as it is now."""
        return plan_resume(self.source, self.source.run(self.run.id))

    def _show_plan(self, plan: ResumePlan, changed: bool) -> None:  # noqa: FBT001 - called by `Attempt` alone
        """Show what is given again, and what was in flight."""
        facts = self.query_one(ResumeFacts)
        facts.plan, facts.changed = plan, changed
        self._waiting = [Waiting(call, call in plan.unknown) for call in plan.in_flight]
        self.query_one(InFlightTitle).count = len(self._waiting)
        self.set_class(not self._waiting, "nothing-in-flight")
        table = self.query_one(InFlightTable)
        table.show_rows(self._waiting)
        first = next((index for index, waiting in enumerate(self._waiting) if waiting.is_asked), 0)
        table.move_to(first)
        self._show_question()

    def _show_question(self) -> None:
        question = self.query_one(ResumeQuestion)
        question.waiting = self.query_one(InFlightTable).current
        question.undecided = self._undecided
        self.query_one(InFlightTable).refresh_lines_data()
        self.query_one(ActionRow).refresh()
        self.refresh_footer()

    @property
    def _undecided(self) -> int:
        return sum(not waiting.is_settled for waiting in self._waiting)

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show the question of the call under the cursor."""
        if isinstance(message.view, InFlightTable):
            self._show_question()

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if not command_id.startswith(("resume.", "list.choose")):
            return None
        if self._attempt.is_running:
            return f"it is running already: {self.key('app.escape')} stops it"
        if self._attempt.plan is None:
            return self._attempt.why_no_plan
        if command_id == "resume.run":
            left = self._undecided
            calls = "the call" if left == 1 else f"each of {left} calls"
            return f"say first whether {calls} in flight happened" if left else None
        waiting = self.query_one(InFlightTable).current
        if waiting is None or not waiting.is_asked:
            return "there is nothing to decide about this call"
        if command_id == "list.choose" and not waiting.can_be_given:
            return "the answer to a request cannot be given by hand: it can only be sent again"
        return None

    # Saying whether a call happened.

    def action_said(self, direction: int) -> None:
        """Say of the call under the cursor whether it happened; the first time, the answer at that end is taken."""
        waiting = self.query_one(InFlightTable).current
        if waiting is None:
            return
        if not waiting.can_be_given:
            waiting.is_said = not waiting.is_said
        else:
            happened = direction < 0
            waiting.said = (waiting.said or Happened()) if happened else None
            waiting.is_said = True
        self._show_question()

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Enter on a call asks what it gave: then it did happen."""
        if not isinstance(message.view, InFlightTable):
            return
        reason = self.blocked("list.choose")
        waiting = self.query_one(InFlightTable).current
        if reason is not None or waiting is None:
            self.say(reason or "nothing was in flight")
            return
        given = json.dumps(None if waiting.said is None else waiting.said.result, ensure_ascii=False)
        prompt = PromptDialog(
            "What it gave", detail=f"{waiting.call.name}, as JSON: then it happened", value=given, check=_no_json
        )
        self.ask(prompt, partial(self._given, waiting))

    def _given(self, waiting: Waiting, text: str) -> None:
        waiting.said, waiting.is_said = Happened(json.loads(text)), True
        self._show_question()

    # Going on.

    def action_run(self) -> None:
        """Start it."""
        plan = self._attempt.plan
        if plan is None:
            return
        said = {(waiting.call.step, waiting.call.number): waiting.said for waiting in self._waiting}
        self._attempt.begin()
        decided = plan.decide(lambda call: said[call.step, call.number])
        self.run_worker(lambda: self._go_on(decided), group="resume", thread=True, exit_on_error=False)

    def action_escape(self) -> None:
        """Stop the run that was started, else close."""
        if not self._attempt.is_running:
            super().action_escape()
        elif self._handle is not None and not self._stopping:
            handle, self._stopping = self._handle, True
            self._attempt.tell_progress()
            self.run_worker(handle.stop, group="stop", thread=True, exit_on_error=False)

    def _progress(self) -> list[str]:
        """What is being done, and how many answers there are to give."""
        if self._stopping:
            return ["stopping it"]
        answers = self._attempt.plan.answered if self._attempt.plan is not None else 0
        doing = f"giving it {counted(answers, 'answer')} again" if answers else "starting it"
        return [doing, self._attempt.seconds, f"{self.key('app.escape')} stops"]

    def _go_on(self, plan: ResumePlan) -> None:
        """Start the agent, and wait until it has passed what is recorded, or ended."""
        worker = get_current_worker()
        notes = len(self.source.notes(plan.run.id))
        try:
            handle = start_resume(plan)
        except Untrusted as error:
            self.app.call_from_thread(self._attempt.ask_for_trust, error)
            return
        except AgentTTError as error:
            self.app.call_from_thread(self._ended, (error.message, error.hint))
            return
        self._handle = handle
        self.app.call_from_thread(self._log, plan)
        trouble = ("", "")
        try:
            # The agent writes a note when it goes on for real; from there on its run is watched as any other.
            while len(self.source.notes(plan.run.id)) == notes and not worker.is_cancelled:
                if handle.wait(_LOOK_SECONDS) is not None:
                    if len(self.source.notes(plan.run.id)) == notes:
                        handle.result()
                    break
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        self.app.call_from_thread(self._ended, trouble, handle)

    def _log(self, plan: ResumePlan) -> None:
        from agent_tt_tui.viewmodel.running.as_command import resume_command

        ran_of(self).add(
            "resume",
            plan.run.name,
            lambda: resume_command(self.source, plan),
            source=self.source,
            run_id=plan.run.id,
        )

    def _ended(self, trouble: tuple[str, str], handle: RunHandle | None = None) -> None:
        """It goes on for real, or ended before it did."""
        stopped, self._stopping, self._handle = self._stopping, False, None
        self._attempt.end()
        if trouble[0] and stopped:
            self.query_one(DialogTitle).hint = ""
            self.say("stopped: it is as it was, and can be resumed again")
            self._attempt.read_plan()
        elif trouble[0]:
            self._attempt.show_trouble(trouble)
        elif handle is not None:
            self.dismiss(handle)
        self.refresh_footer()


def _no_json(text: str) -> str | None:
    """What keeps a text from being JSON; None if nothing does."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"that is not valid JSON: {error}"
    return None
