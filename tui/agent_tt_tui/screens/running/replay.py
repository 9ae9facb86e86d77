"""The replay dialog: what a recording has answers for, and the replay itself."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, Untrusted
from agent_tt.replaying.preflight import Preflight, preflight
from agent_tt.rerunning.replay import run_replay
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import REPLAY
from agent_tt_tui.ran import ran_of
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.attempt import Attempt, DialogRows
from agent_tt_tui.screens.running.copied import copy_command
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.replay_form import (
    FACT_ROWS,
    AnswersTable,
    AnswersTitle,
    ReplayFacts,
    ReplayWarnings,
)
from agent_tt_tui.widgets.dialogs.trouble_view import TroubleView

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt_tui.lines import LineView

_FRAME_ROWS: Final = 9
"""Rows of the footer, the border, the title, the facts, the table's titles and the action."""

_MOST_TABLE: Final = 16


@dataclass(frozen=True, slots=True)
class Replayed:
    """A replay that was made.

    Attributes:
        report: What it found.
        arguments: What the agent was given in place of the arguments that it was recorded with; empty for those.
        agent: The entry point that ran in place of the recorded one; empty for that.
    """

    report: ReplayReport
    arguments: tuple[str, ...] = ()
    agent: str = ""


class ReplayDialog(Dialog[Replayed]):
    """Shows what a run has answers for, and replays it in a process of its own; returns what that found."""

    CONTEXT = REPLAY
    AUTO_FOCUS = "AnswersTable"
    HELP = "A replay: left and right choose the mode, F or enter runs it offline, esc stops it or closes."

    def __init__(
        self,
        source: RunSource,
        run: Run,
        step: int = 0,
        *,
        observe: bool = False,
        arguments: tuple[str, ...] = (),
        agent: str = "",
    ) -> None:
        """Look at a run.

        Args:
            source: Where it is.
            run: The run.
            step: Answers after this step are counted too; 0 counts the whole run once.
            observe: Whether the replay goes on after a changed request, to begin with.
            arguments: What the agent is given in place of its recorded arguments, to begin with.
            agent: The entry point that runs in place of the recorded one, to begin with.
        """
        super().__init__()
        self.source, self.run = source, run
        self._rows = DialogRows(self, self._share_rows)
        self._attempt: Attempt[Preflight] = Attempt(
            self,
            source.path,
            self._rows,
            reading="looking at what is recorded",
            not_done="not replayed",
            make_plan=self._make_plan,
            show_plan=self._show_plan,
            progress=self._progress,
            start=self.action_run,
        )
        self.features = (self._attempt, self._rows)
        self._step, self._observe, self._arguments, self._agent = step, observe, arguments, agent
        self._answered = 0
        """How many calls the replay that runs has answered."""

    def compose_content(self) -> ComposeResult:
        """Yield the pre-flight from top to bottom."""
        yield DialogTitle("Replay", detail=self.run.name, hint="nothing has run yet")
        yield ReplayFacts()
        yield AnswersTitle()
        yield AnswersTable()
        yield ReplayWarnings()
        yield TroubleView()
        yield ActionRow(f"{self.key('replay.run')} replay", "offline; nothing is recorded")

    def on_mount(self) -> None:
        """Show what was chosen the last time."""
        facts = self.query_one(ReplayFacts)
        facts.observe, facts.arguments, facts.agent = self._observe, self._arguments, self._agent

    def _share_rows(self) -> None:
        """Let the table scroll, and the facts go, before a warning or the action is cut off."""
        room = self._rows.room_beside(_FRAME_ROWS + self.query_one(ReplayWarnings).get_content_height())
        facts = self.query_one(ReplayFacts)
        facts.display = room >= 1 and not (self._attempt.plan is None and self.has_class("refused"))
        room += 0 if facts.display else FACT_ROWS
        self.query_one(AnswersTable).styles.max_height = max(1, min(_MOST_TABLE, room))

    def _make_plan(self) -> Preflight:
        """Look at what is recorded."""
        return preflight(self.source, self.run, from_step=self._step)

    def _show_plan(self, plan: Preflight, changed: bool) -> None:  # noqa: FBT001 - called by `Attempt` alone
        """Show what the recording has answers for."""
        facts = self.query_one(ReplayFacts)
        facts.plan, facts.changed = plan, changed
        self.query_one(AnswersTitle).plan = plan
        warnings = self.query_one(ReplayWarnings)
        warnings.plan = plan
        if not warnings.get_content_height():
            warnings.display = False  # its margin too
        self.query_one(AnswersTable).show(plan)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id.startswith("replay.") and self._attempt.is_running:
            return f"it is being replayed: {self.key('app.escape')} stops it"
        if command_id == "replay.run" and self._attempt.plan is None:
            return self._attempt.why_no_plan
        return None

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Enter on a row runs it too: it costs nothing and reaches nothing."""
        if self.blocked("replay.run") is None:
            self.action_run()

    def action_mode(self, _direction: int) -> None:
        """Choose the other mode."""
        self._observe = not self._observe
        self.query_one(ReplayFacts).observe = self._observe

    def action_copy_command(self) -> None:
        """Copy the command that replays so."""
        from agent_tt_tui.viewmodel.running.as_command import replay_command

        chosen = partial(replay_command, observe=self._observe, agent=self._agent, arguments=self._arguments)
        copy_command(self, lambda: chosen(self.source, self.run))

    def action_arguments(self) -> None:
        """Ask for the agent's arguments."""
        prompt = PromptDialog(
            "Arguments",
            detail="as in a shell; empty for those it was recorded with",
            value=shlex.join(self._arguments),
            check=_no_arguments,
        )
        self.ask(prompt, self._given)

    def _given(self, text: str) -> None:
        self._arguments = tuple(shlex.split(text))
        self.query_one(ReplayFacts).arguments = self._arguments

    def action_agent(self) -> None:
        """Ask where the agent's code is now."""
        prompt = PromptDialog(
            "Run what",
            detail="FILE:NAME of code that has moved; empty for what was recorded",
            value=self._agent or self.run.code.entry or "",
            check=_no_entry,
        )
        self.ask(prompt, self._named)

    def _named(self, text: str) -> None:
        self._agent = "" if text.strip() == self.run.code.entry else text.strip()
        self.query_one(ReplayFacts).agent = self._agent

    def action_run(self) -> None:
        """Start the replay."""
        self._answered = 0
        self._attempt.begin()
        work = partial(self._replay, self._arguments, self._agent, observe=self._observe)
        self.run_worker(work, group="replay", thread=True, exit_on_error=False)

    def action_escape(self) -> None:
        """Stop the replay that runs, else close."""
        if not self._attempt.is_running:
            super().action_escape()
            return
        self.workers.cancel_group(self, "replay")
        self._attempt.end()
        self._log(", stopped")
        self.say("stopped before it had a result")

    def _progress(self) -> list[str]:
        """What is being done, and how many calls were answered."""
        total = sum(answers.recorded for answers in self._attempt.plan.answers) if self._attempt.plan is not None else 0
        answered = f"{self._answered:,} of {total:,} calls answered" if self._answered else ""
        return ["replaying", answered, self._attempt.seconds, f"{self.key('app.escape')} stops"]

    def _count(self, answered: int) -> None:
        """Keep how far the replay is, in its thread; the next tick of the clock says it."""
        self._answered = answered

    def _replay(self, arguments: tuple[str, ...], agent: str, *, observe: bool) -> None:
        worker = get_current_worker()
        done, trouble = None, ("", "")
        try:
            report = run_replay(
                self.source,
                self.run,
                observe=observe,
                arguments=arguments,
                agent=agent or None,
                cancelled=lambda: worker.is_cancelled,
                progress=self._count,
            )
            done = Replayed(report, arguments, agent)
        except Untrusted as error:
            self.app.call_from_thread(self._attempt.ask_for_trust, error)
            return
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._ended, worker, done, trouble)

    def _ended(self, worker: object, done: Replayed | None, trouble: tuple[str, str]) -> None:
        if getattr(worker, "is_cancelled", False):
            return  # esc came while this was on its way
        self._attempt.end()
        if done is None:
            self._attempt.show_trouble(trouble)
        else:
            self._log()
            self.dismiss(done)

    def _log(self, how: str = "") -> None:
        """Write down that the replay ran; one that could not begin did not."""
        from agent_tt_tui.viewmodel.running.as_command import replay_command

        chosen = partial(replay_command, observe=self._observe, agent=self._agent, arguments=self._arguments)
        ran_of(self).add("replay", f"{self.run.name}{how}", lambda: chosen(self.source, self.run))


def _no_arguments(text: str) -> str | None:
    """What keeps a text from being a list of arguments; None if nothing does."""
    try:
        shlex.split(text)
    except ValueError as error:
        return f"that is not a list of arguments: {str(error).lower()}"
    return None


def _no_entry(text: str) -> str | None:
    """What keeps a text from naming an entry point; None if nothing does."""
    place, colon, name = text.strip().rpartition(":")
    if text.strip() and not (colon and place and name):
        return "that is not FILE:NAME, such as src/refunds.py:main"
    return None
