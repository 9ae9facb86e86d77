"""The replay dialog: what a recording has answers for, and the replay itself."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError, Untrusted
from agent_tt.forking.code import plan_code
from agent_tt.replaying.launch import run_replay
from agent_tt.replaying.preflight import Preflight, preflight
from agent_tt_tui.contexts import REPLAY
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.prompt import PromptDialog
from agent_tt_tui.screens.trust import ask_for_trust
from agent_tt_tui.viewmodel.replayed import trouble_lines
from agent_tt_tui.widgets.replay_form import (
    FACT_ROWS,
    AnswersTable,
    AnswersTitle,
    ReplayAction,
    ReplayFacts,
    ReplayWarnings,
)
from agent_tt_tui.widgets.text_view import QuietTextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.viewmodel.pieces import TextLine

_TALL_FROM: Final = 30
_FRAME_ROWS: Final = 9
"""Rows of the footer, the border, the title, the facts, the table's titles and the action."""

_BLANK_ROWS: Final = 3
_MOST_TABLE: Final = 16
_READING: Final = "looking at what is recorded"


class TroubleView(QuietTextView):
    """Why a replay could not be: an agent that cannot be started, or a process that died, with its last words."""

    HELP = "Why it could not be replayed."

    def __init__(self) -> None:
        super().__init__(id="replay-trouble")
        self.trouble = ("", "")
        """What is wrong, and what to do."""

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out what is wrong and what to do."""
        return list(trouble_lines(*self.trouble, columns, look_of(self).glyphs)) if self.trouble[0] else []


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay that was made.

    Attributes:
        report: What it found.
        arguments: What the agent was given in place of the arguments that it was recorded with; empty for those.
    """

    report: ReplayReport
    arguments: tuple[str, ...] = ()


class ReplayDialog(Dialog[Replayed]):
    """Shows what a run has answers for, and replays it in a process of its own; returns what that found."""

    CONTEXT = REPLAY
    BINDINGS: ClassVar[list[BindingType]] = REPLAY.screen_bindings()
    AUTO_FOCUS = "AnswersTable"
    HELP = "A replay: left and right choose the mode, F or enter runs it offline, esc stops it or closes."

    def __init__(
        self, source: RunSource, run: Run, step: int = 0, *, observe: bool = False, arguments: tuple[str, ...] = ()
    ) -> None:
        """Look at a run.

        Args:
            source: Where it is.
            run: The run.
            step: Answers after this step are counted too; 0 counts the whole run once.
            observe: Whether the replay goes on after a changed request, to begin with.
            arguments: What the agent is given in place of its recorded arguments, to begin with.
        """
        super().__init__()
        self._source, self._run, self._step, self._observe = source, run, step, observe
        self._arguments = arguments
        self._plan: Preflight | None = None
        self._started: float | None = None
        """When the replay began, on the monotonic clock; None while none runs."""
        self._clock: Timer | None = None
        self._answered = 0
        """How many calls the replay that runs has answered."""

    def compose_content(self) -> ComposeResult:
        """Yield the pre-flight from top to bottom."""
        yield DialogTitle("Replay", detail=self._run.name, hint="nothing has run yet")
        yield ReplayFacts()
        yield AnswersTitle()
        yield AnswersTable()
        yield ReplayWarnings()
        yield TroubleView()
        yield ReplayAction()

    def on_mount(self) -> None:
        """Look at what is recorded."""
        facts = self.query_one(ReplayFacts)
        facts.observe, facts.arguments = self._observe, self._arguments
        self.query_one(ReplayAction).busy = _READING
        self.run_worker(self._read_plan, group="plan", thread=True, exit_on_error=False)

    def on_resize(self, event: events.Resize) -> None:
        """Give up blank rows where there are few."""
        self.set_class(event.size.height < _TALL_FROM, "short")
        self._share_rows()

    def _share_rows(self) -> None:
        """Let the table scroll, and the facts go, before a warning or the action is cut off."""
        blank = 0 if self.has_class("short") else _BLANK_ROWS
        room = self.size.height - _FRAME_ROWS - blank - self.query_one(ReplayWarnings).get_content_height()
        facts = self.query_one(ReplayFacts)
        facts.display = room >= 1 and not (self._plan is None and self.has_class("refused"))
        room += 0 if facts.display else FACT_ROWS
        self.query_one(AnswersTable).styles.max_height = max(1, min(_MOST_TABLE, room))

    def _read_plan(self) -> None:
        worker = get_current_worker()
        plan, changed, trouble = None, False, ("", "")
        try:
            plan = preflight(self._source, self._run, from_step=self._step)
            changed = is_changed(self._run)
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_plan, plan, changed, trouble)

    def _show_plan(self, plan: Preflight | None, changed: bool, trouble: tuple[str, str]) -> None:  # noqa: FBT001
        self._plan = plan
        self.query_one(ReplayAction).busy = ""
        if plan is None:
            self._show_trouble(trouble)
            return
        facts = self.query_one(ReplayFacts)
        facts.plan, facts.changed = plan, changed
        self.query_one(AnswersTitle).plan = plan
        warnings = self.query_one(ReplayWarnings)
        warnings.plan = plan
        if not warnings.get_content_height():
            warnings.display = False  # its margin too
        self.query_one(AnswersTable).show(plan)
        self._share_rows()
        self.refresh_footer()

    def _show_trouble(self, trouble: tuple[str, str]) -> None:
        """Show why it could not be replayed in place of what would be; no trouble shows that again."""
        view = self.query_one(TroubleView)
        view.trouble = trouble
        self.set_class(bool(trouble[0]), "refused")
        self.query_one(DialogTitle).hint = "not replayed" if trouble[0] else ""
        view.lay_out_again()
        view.refresh(layout=True)
        self._share_rows()
        if trouble[0]:
            view.focus()
        self.refresh_footer()

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id.startswith("replay.") and self._started is not None:
            return "it is being replayed: esc stops it"
        if command_id == "replay.run" and self._plan is None:
            return self.query_one(TroubleView).trouble[0] or "still looking at what is recorded"
        return None

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Enter on a row runs it too: it costs nothing and reaches nothing."""
        if self.blocked("replay.run") is None:
            self.action_run()

    def action_mode(self, _direction: int) -> None:
        """Choose the other mode."""
        self._observe = not self._observe
        self.query_one(ReplayFacts).observe = self._observe

    def action_arguments(self) -> None:
        """Ask for the agent's arguments."""
        prompt = PromptDialog(
            "Arguments",
            detail="as in a shell; empty for those it was recorded with",
            value=shlex.join(self._arguments),
            check=_no_arguments,
        )
        self.app.push_screen(prompt, self._given)

    def _given(self, text: str | None) -> None:
        if text is not None:
            self._arguments = tuple(shlex.split(text))
            self.query_one(ReplayFacts).arguments = self._arguments

    def action_run(self) -> None:
        """Start the replay."""
        self._show_trouble(("", ""))
        self._answered = 0
        self._started = time.monotonic()
        self._clock = self.set_interval(0.5, self._tick)
        self._tick()
        self.refresh_footer()
        observe, arguments = self._observe, self._arguments
        self.run_worker(
            lambda: self._replay(arguments, observe=observe), group="replay", thread=True, exit_on_error=False
        )

    def action_escape(self) -> None:
        """Stop the replay that runs, else close."""
        if self._started is None:
            super().action_escape()
            return
        self.workers.cancel_group(self, "replay")
        self._end()
        self.say("stopped: nothing was found out")

    def _tick(self) -> None:
        seconds = int(time.monotonic() - (self._started or 0.0))
        total = sum(answers.recorded for answers in self._plan.answers) if self._plan is not None else 0
        facts = [
            "replaying",
            f"{self._answered:,} of {total:,} calls answered" if self._answered else "",
            f"{seconds} s" if seconds else "",
            "esc stops",
        ]
        self.query_one(ReplayAction).busy = "  ".join(filter(None, facts))

    def _count(self, answered: int) -> None:
        """Keep how far the replay is, in its thread; the next tick of the clock says it."""
        self._answered = answered

    def _replay(self, arguments: tuple[str, ...], *, observe: bool) -> None:
        worker = get_current_worker()
        done, trouble = None, ("", "")
        try:
            report = run_replay(
                self._source,
                self._run,
                observe=observe,
                arguments=arguments,
                cancelled=lambda: worker.is_cancelled,
                progress=self._count,
            )
            done = Replayed(report, arguments)
        except Untrusted as error:
            self.app.call_from_thread(self._ask_for_trust, error)
            return
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._ended, worker, done, trouble)

    def _ask_for_trust(self, error: Untrusted) -> None:
        self._end()
        ask_for_trust(self.app, error, self._source.path, run=self.action_run, refuse=self._show_trouble)

    def _ended(self, worker: object, done: Replayed | None, trouble: tuple[str, str]) -> None:
        if getattr(worker, "is_cancelled", False):
            return  # esc came while this was on its way
        self._end()
        if done is None:
            self._show_trouble(trouble)
        else:
            self.dismiss(done)

    def _end(self) -> None:
        self._started = None
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        self.query_one(ReplayAction).busy = ""
        self.refresh_footer()


def _no_arguments(text: str) -> str | None:
    """What keeps a text from being a list of arguments; None if nothing does."""
    try:
        shlex.split(text)
    except ValueError as error:
        return f"that is no list of arguments: {str(error).lower()}"
    return None


def is_changed(run: Run) -> bool:
    """Whether the file of a run's entry point is known to be another than when it was recorded."""
    try:
        code, _ = plan_code(run, None)
    except AgentTTError:  # an entry point that takes no state can be replayed, but not forked
        return False
    return bool(code.changed)
