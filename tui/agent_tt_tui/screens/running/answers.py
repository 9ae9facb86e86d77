"""The answers to a call that was asked again, beside the recorded one; live while they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.containers import Vertical
from textual.worker import get_current_worker

from agent_tt.asking_again.answers import answers_of
from agent_tt.asking_again.plan import AgainRequest
from agent_tt.errors import AgentTTError
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState, Pane, PaneTitle
from agent_tt_tui.keymaps import ANSWERS
from agent_tt_tui.look import look_of
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.running.copied import copy_command
from agent_tt_tui.screens.running.run_control import RunControl
from agent_tt_tui.status import run_glyph
from agent_tt_tui.viewmodel.running.again import summary_of, words_of
from agent_tt_tui.widgets.runs.answers import AnswerColumns, AnswerList, AnswerText

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.timer import Timer

    from agent_tt.asking_again.answers import Answers
    from agent_tt.model import Run, RunStatus
    from agent_tt.protocols import RunSource
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt_tui.chrome import Tone
    from agent_tt_tui.lines import LineView

_POLL_SECONDS: Final = 0.2
_TONES: Final[dict[RunStatus, Tone]] = {
    "succeeded": "well",
    "failed": "failed",
    "crashed": "failed",
    "running": "running",
}


class AnswersScreen(CommandScreen[None]):
    """A run that asked a recorded call again: its answers in a table, the one under the cursor in full."""

    CONTEXT = ANSWERS
    AUTO_FOCUS = "AnswerList"
    HELP = "Answers to a call that was asked again: the recorded one first, the one under the cursor in full below."

    def __init__(
        self, source: RunSource, run: Run, original: RunSource | None = None, handle: RunHandle | None = None
    ) -> None:
        """Show answers.

        Args:
            source: Where the run is.
            run: The run that asked again.
            original: Where the recorded call is, where that is another file.
            handle: The process that sends, if it was started here.
        """
        super().__init__()
        self._source, self._run, self._original = source, run, original
        self._handle = handle
        self.features = (RunControl(self, lambda: [self._run], lambda _: source),)
        self.answers: Answers | None = None
        """What has come; None while it is read for the first time."""
        self._reading = False
        self._looking: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out header, table, one answer, and footer."""
        yield HeaderRow(self._header())
        with Vertical(id="answers"):
            yield AnswerColumns()
            yield AnswerList()
        yield Pane(PaneTitle("Answer"), AnswerText(), id="answer", classes="ground")
        yield self.footer()

    def on_mount(self) -> None:
        """Read what has come, and follow it."""
        if self._handle is not None:
            forks_of(self).add(self._run.name, self._handle)
        self._look()
        self._looking = self.set_interval(_POLL_SECONDS, self._look)

    def _look(self) -> None:
        """Read anew; when no answer comes any more, look no more."""
        is_gone = self._handle is None or self._handle.poll() is not None
        if self.answers is not None and self.answers.is_over and is_gone:
            self._look_no_more()
        elif not self._reading:
            self._reading = True
            self.run_worker(self._read, group="answers", thread=True, exit_on_error=False)

    def _look_no_more(self) -> None:
        if self._looking is not None:
            self._looking.stop()
            self._looking = None
            self.refresh_footer()

    def _read(self) -> None:
        worker = get_current_worker()
        try:
            run = self._source.run(self._run.id)
            answers, wrong = answers_of(self._source, run, self._original), ""
        except AgentTTError as error:
            answers, wrong = None, error.message
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, answers, wrong)

    def _show(self, answers: Answers | None, wrong: str) -> None:
        self._reading = False
        if answers is None:
            self._look_no_more()
            self.say(wrong, None)
            return
        if answers == self.answers:
            return
        self.answers, self._run = answers, answers.run
        self.query_one(HeaderRow).state = self._header()
        self.query_one(AnswerList).show(answers)
        self._show_answer()
        self.refresh_footer()

    def _header(self) -> HeaderState:
        run, answers = self._run, self.answers
        status = "asking" if run.status == "running" else run.status
        parts = [] if answers is None else summary_of(answers)
        facts = tuple(Fact(part, len(parts) - at) for at, part in enumerate(parts))
        return HeaderState(
            run.name, run_glyph(run.status, look_of(self).glyphs), status, _TONES.get(run.status, "muted"), facts=facts
        )

    def _show_answer(self) -> None:
        answers, number = self.answers, self.query_one(AnswerList).cursor
        if answers is None or not 0 <= number <= len(answers.answers):
            return
        title = self.query_one("#answer", Pane).title_row
        title.title = f"Answer {number}" if number else "Recorded"
        title.detail = words_of(answers, number)
        self.query_one(AnswerText).show(answers, number)

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show the answer under the cursor."""
        if isinstance(message.view, AnswerList):
            self._show_answer()

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Open an answer in the debugger: the recorded one in its run."""
        answers = self.answers
        if not isinstance(message.view, AnswerList) or answers is None:
            return
        if message.index:
            if message.index > self._run.steps:
                self.say("it has not come: there is no step to open")
                return
            self.post_message(OpenRun(self._source, self._run, message.index))
            return
        original, asked = self._original or self._source, answers.asked
        try:
            run = original.run(asked.run or "")
        except AgentTTError as error:
            self.say(error.message)
            return
        self.post_message(OpenRun(original, run, asked.step))

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in ("answers.again", "command.copy") and self.answers is None:
            return "the answers are being read"
        return super().blocked(command_id)

    def action_ask_again(self) -> None:
        """Open the dialog that asks once more, as it was asked this time."""
        from agent_tt_tui.screens.running.again import AgainDialog

        answers = self.answers
        if answers is None:
            return
        asked, original = answers.asked, self._original or self._source
        try:
            run = original.run(asked.run or "")
        except AgentTTError as error:
            self.say(error.message)
            return
        request = AgainRequest(asked.step or 0, asked.call, asked.times or 1, asked.edits, asked.model)
        self.ask(AgainDialog(original, run, request), lambda handle: show_answers(self, original, handle))

    def action_copy_command(self) -> None:
        """Copy the command that shows these answers."""
        from agent_tt_tui.viewmodel.running.as_command import answers_command

        copy_command(self, lambda: answers_command(self._source, self._run))


def show_answers(screen: CommandScreen[None], original: RunSource, handle: RunHandle) -> None:
    """Show the answers of what was just started.

    Args:
        screen: the screen that started it.
        original: where the recorded call is.
        handle: what sends.
    """
    from agent_tt.sources import open_source

    source = original if original.path == handle.store else open_source(handle.store)
    screen.app.push_screen(AnswersScreen(source, source.run(handle.run_id), original, handle))
