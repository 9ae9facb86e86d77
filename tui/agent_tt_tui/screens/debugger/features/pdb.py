"""Handing the terminal to pdb, inside the agent of a replay."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError, Untrusted
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt.replaying.report import ReplayReport
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.screens.running.run_again import RunAgain


class Pdb(DebuggerFeature):
    """Runs the agent again with its recorded answers up to the step that is shown, and opens pdb in it there."""

    COMMANDS = frozenset({"pdb.open"})

    def __init__(self, time: Time, run_again: RunAgain) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            run_again: What keeps the replay that is made.
        """
        super().__init__(time)
        self._run_again = run_again

    def blocked(self, command_id: str) -> str | None:
        """Say why pdb cannot open here."""
        from agent_tt.replaying.preflight import why_no_debugger, why_not_replayable

        del command_id
        return why_not_replayable(self.model.run) or why_no_debugger(self.model.run, self.time.number)

    def action_pdb(self) -> None:
        """Ask, then run the agent again with its recorded answers until the step that is shown, and open pdb there."""
        step = self.time.number
        question = (
            f"{self.model.run.name} runs again with its recorded answers; pdb opens in the agent where step {step} asks"
            " its first call. The terminal is pdb's meanwhile: n goes on to the next line, c to the end, q stops.\n\n"
            "Open it?"
        )
        self.screen.confirm("pdb", question, partial(self._debug, step))

    def _debug(self, step: int) -> None:
        from agent_tt.rerunning.replay import run_replay
        from agent_tt_tui.ran import ran_of
        from agent_tt_tui.screens.dialogs.external import with_terminal
        from agent_tt_tui.screens.running.replay import Replayed
        from agent_tt_tui.screens.running.trust import ask_for_trust
        from agent_tt_tui.viewmodel.running.as_command import pdb_command

        source, run = self.model.source, self.model.run
        try:
            replay = partial(run_replay, source, run, debug_at=step)
            report = with_terminal(self.screen.app, partial(_run, step, replay))
        except Untrusted as error:
            again = partial(self._debug, step)
            ask_for_trust(
                self.screen.app, error, source.path, run=again, refuse=lambda why: self.screen.say(" - ".join(why))
            )
        except AgentTTError as error:
            self.screen.say(error.message)
        else:
            ran_of(self.screen).add("pdb", f"{run.name}, at step {step}", lambda: pdb_command(source, run, step))
            self._run_again.keep(run, Replayed(report))
            self.screen.say(_said(report, self.key("replay.open")))


def _said(report: ReplayReport, key: str) -> str:
    if report.verdict == "as_recorded":
        return "the replay went as recorded"
    if report.verdict == "reserved":
        return f"the replay went as recorded, with reservations: {key} shows them"
    return f"the {'replay diverged' if report.divergences else 'agent ended otherwise'}: {key} shows where"


def _run(step: int, replay: partial[ReplayReport]) -> ReplayReport:
    """Replay on the terminal that was handed over, and let what happened there be read."""
    from agent_tt.replaying.report import VERDICT_WORDS

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
