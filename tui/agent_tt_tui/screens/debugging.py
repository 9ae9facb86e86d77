"""Handing the terminal to pdb, inside the agent of a replay."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError, Untrusted
from agent_tt.replaying.launch import run_replay
from agent_tt.replaying.preflight import why_no_debugger, why_not_replayable
from agent_tt.replaying.report import VERDICT_WORDS
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.screens.external import with_terminal
from agent_tt_tui.screens.replay import Replayed
from agent_tt_tui.screens.replaying import ReplayingScreen
from agent_tt_tui.screens.trust import ask_for_trust
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt.replaying.report import ReplayReport

__all__ = ["DebuggingScreen"]


class DebuggingScreen(ReplayingScreen):
    """One run, whose agent can be looked at from the inside, at the step that is shown."""

    def blocked(self, command_id: str) -> str | None:
        """Say why pdb cannot open here."""
        if command_id == "pdb.open":
            run = self.model.run
            return why_not_replayable(run) or why_no_debugger(run, self.number)
        return super().blocked(command_id)

    def action_pdb(self) -> None:
        """Ask, then run the agent again with its recorded answers until the step that is shown, and open pdb there."""
        step = self.number
        question = (
            f"{self.model.run.name} runs again with its recorded answers; pdb opens in the agent where step {step} asks"
            " its first call. The terminal is pdb's meanwhile: n goes on to the next line, c to the end, q stops.\n\n"
            "Open it?"
        )
        self.app.push_screen(ConfirmDialog("pdb", question), partial(self._confirmed, step))

    def _confirmed(self, step: int, yes: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if yes:
            self._debug(step)

    def _debug(self, step: int) -> None:
        source, run = self.at_hand()
        try:
            report = with_terminal(self.app, partial(_run, step, partial(run_replay, source, run, debug_at=step)))
        except Untrusted as error:
            again = partial(self._debug, step)
            ask_for_trust(self.app, error, source.path, run=again, refuse=lambda why: self.say(" - ".join(why)))
        except AgentTTError as error:
            self.say(error.message)
        else:
            self.replays[run.id] = Replayed(report)
            self.forget_divergence()
            self.say(_said(report))


def _said(report: ReplayReport) -> str:
    if report.verdict == "as_recorded":
        return "the replay went as recorded"
    if report.verdict == "reserved":
        return "the replay went as recorded, with reservations: r shows them"
    return f"the {'replay diverged' if report.divergences else 'agent ended otherwise'}: r shows where"


def _run(step: int, replay: partial[ReplayReport]) -> ReplayReport:
    """Replay on the terminal that was handed over, and let what happened there be read."""
    print(f"agent-tt: pdb at step {step}\n", flush=True)  # noqa: T201  on the terminal that is the user's now
    report = replay()
    kinds = ", ".join(dict.fromkeys(finding.kind for finding in report.divergences))
    how = VERDICT_WORDS[report.verdict]
    if report.verdict == "diverged":
        how += f": {kinds or 'the agent ended otherwise'}"
    if report.divergences:
        how += f": {clean(report.divergences[0].message)}"
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        input(f"\n{report.served} of {report.recorded} calls answered, {how}. enter goes back to agent-tt ")
    return report
