"""Running a recorded agent again, from any screen with a run at hand: replaying it offline, resuming it for real."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_tt.replaying.preflight import why_not_replayable
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screens.replay import ReplayDialog, Replayed
from agent_tt_tui.screens.replayed import ReplayedDialog, Wish
from agent_tt_tui.screens.resume import ResumeDialog, why_not_resumable
from agent_tt_tui.screens.run_watch import RunWatch

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt.resuming.launch import ResumeHandle


class RunAgainScreen(RunWatch):
    """A screen that can replay and resume one of its runs; what the last replay of each found is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.replays: dict[str, Replayed] = {}
        """The last replay of each run, by the run's id."""

    def at_hand(self) -> tuple[RunSource, Run] | None:
        """The run that the keys act on, and where it is; None while there is none."""
        raise NotImplementedError

    def replayed_from(self) -> int:
        """The step after which a replay's answers are counted too; 0 counts the whole run once."""
        return 0

    def show_divergence(self, report: ReplayReport, index: int) -> None:
        """Go to one of the divergences of a report.

        Args:
            report: What the last replay of the run at hand found.
            index: Which divergence, from 0.
        """
        raise NotImplementedError

    def divergence_shown(self) -> int:
        """The divergence that is selected when a report is shown."""
        return 0

    def show_resumed(self, run: Run) -> None:
        """Follow a run that goes on."""
        raise NotImplementedError

    def blocked(self, command_id: str) -> str | None:
        """Say why the run at hand cannot be run again."""
        if command_id in ("replay.open", "resume.open"):
            found = self.at_hand()
            if found is None:
                return "there is no run yet"
            source, run = found
            if run.damaged is not None:
                return run.damaged
            return why_not_replayable(run) if command_id == "replay.open" else why_not_resumable(source, run)
        return super().blocked(command_id)

    # Replay.

    def action_replay(self) -> None:
        """Show what the last replay found, else open the dialog that replays."""
        found = self.at_hand()
        if found is None:
            return
        last = self.replays.get(found[1].id)
        if last is None:
            self._open_replay(*found)
        else:
            self._show_report(*found, last.report)

    def _open_replay(self, source: RunSource, run: Run) -> None:
        """Open the dialog, as it was left the last time."""
        last = self.replays.get(run.id)
        observe, arguments, agent = (
            (last.report.observed, last.arguments, last.agent) if last is not None else (False, (), "")
        )
        dialog = ReplayDialog(source, run, self.replayed_from(), observe=observe, arguments=arguments, agent=agent)
        self.app.push_screen(dialog, partial(self._replayed, source, run))

    def _replayed(self, source: RunSource, run: Run, replayed: Replayed | None) -> None:
        if replayed is not None:
            self.replays[run.id] = replayed
            self.forget_divergence()
            self._show_report(source, run, replayed.report)

    def forget_divergence(self) -> None:
        """A new replay was made: what is shown of an earlier one is of no interest any more."""

    def _show_report(self, source: RunSource, run: Run, report: ReplayReport) -> None:
        dialog = ReplayedDialog(report, self.divergence_shown())
        self.app.push_screen(dialog, partial(self._wished, source, run, report))

    def _wished(self, source: RunSource, run: Run, report: ReplayReport, wish: Wish | None) -> None:
        if wish is not None and wish.again:
            self._open_replay(source, run)
        elif wish is not None and wish.index is not None:
            self.show_divergence(report, wish.index)

    # Resume.

    def action_resume(self) -> None:
        """Open the dialog that resumes the run at hand."""
        found = self.at_hand()
        if found is not None:
            source, run = found
            self.app.push_screen(ResumeDialog(source, run), partial(self._resumed, source))

    def _resumed(self, source: RunSource, handle: ResumeHandle | None) -> None:
        if handle is None:
            return
        run = source.run(handle.run_id)
        forks_of(self).add(run.name, handle)
        self.show_resumed(run)
