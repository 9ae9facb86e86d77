"""Running a recorded agent again, from a screen with a run at hand: replaying it offline, resuming it for real."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from agent_tt_tui.feature import Feature
from agent_tt_tui.running_forks import forks_of

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.running.replay import Replayed
    from agent_tt_tui.screens.running.replayed import Wish


class RunAtHand(Protocol):
    """The run that the keys of a screen act on, and where it is shown what running it again has brought."""

    def at_hand(self) -> tuple[RunSource, Run] | None:
        """The run and where it is; None while there is none."""

    def replayed_from(self) -> int:
        """The step after which a replay's answers are counted too; 0 counts the whole run once."""

    def divergence_shown(self) -> int:
        """The divergence that is selected when a report is shown."""

    def show_divergence(self, report: ReplayReport, index: int) -> None:
        """Go to one of the divergences of a report.

        Args:
            report: what the last replay of the run at hand found.
            index: which divergence, from 0.
        """

    def forget_divergence(self) -> None:
        """Show no divergence any more: a new replay was made."""

    def show_resumed(self, run: Run) -> None:
        """Follow a run that goes on."""


class RunAgain(Feature):
    """Replays and resumes the run at hand; what the last replay of each run found is kept."""

    COMMANDS = frozenset({"replay.open", "resume.open"})

    def __init__(self, screen: CommandScreen[None], run: RunAtHand, replays: dict[str, Replayed]) -> None:
        """Initialise the feature.

        Args:
            screen: the screen.
            run: which run its keys act on.
            replays: the last replay of each run, by the run's id; those that are made are put there.
        """
        self._screen, self._run, self._replays = screen, run, replays

    def blocked(self, command_id: str) -> str | None:
        """Say why the run at hand cannot be run again."""
        from agent_tt.replaying.preflight import why_not_replayable

        found = self._run.at_hand()
        if found is None:
            return "there is no run yet"
        source, run = found
        if run.damaged is not None:
            return run.damaged
        return why_not_replayable(run) if command_id == "replay.open" else _why_not_resumable(source, run)

    # Replay.

    def action_replay(self) -> None:
        """Show what the last replay found, else open the dialog that replays."""
        found = self._run.at_hand()
        if found is None:
            return
        last = self._replays.get(found[1].id)
        if last is None:
            self._open_replay(*found)
        else:
            self._show_report(*found, last.report)

    def _open_replay(self, source: RunSource, run: Run) -> None:
        """Open the dialog, as it was left the last time."""
        from agent_tt_tui.screens.running.replay import ReplayDialog

        last = self._replays.get(run.id)
        observe, arguments, agent = (
            (last.report.observed, last.arguments, last.agent) if last is not None else (False, (), "")
        )
        dialog = ReplayDialog(source, run, self._run.replayed_from(), observe=observe, arguments=arguments, agent=agent)
        self._screen.ask(dialog, partial(self.replayed, source, run))

    def replayed(self, source: RunSource, run: Run, replayed: Replayed) -> None:
        """Keep a replay that was made of a run, and show what it found."""
        self.keep(run, replayed)
        self._show_report(source, run, replayed.report)

    def keep(self, run: Run, replayed: Replayed) -> None:
        """Keep a replay that was made, in place of the last one of its run."""
        self._replays[run.id] = replayed
        self._run.forget_divergence()

    def _show_report(self, source: RunSource, run: Run, report: ReplayReport) -> None:
        from agent_tt_tui.screens.running.replayed import ReplayedDialog

        dialog = ReplayedDialog(report, self._run.divergence_shown())
        self._screen.ask(dialog, partial(self._wished, source, run, report))

    def _wished(self, source: RunSource, run: Run, report: ReplayReport, wish: Wish) -> None:
        if wish.again:
            self._open_replay(source, run)
        elif wish.index is not None:
            self._run.show_divergence(report, wish.index)

    # Resume.

    def action_resume(self) -> None:
        """Open the dialog that resumes the run at hand."""
        from agent_tt_tui.screens.running.resume import ResumeDialog

        found = self._run.at_hand()
        if found is not None:
            source, run = found
            self._screen.ask(ResumeDialog(source, run), partial(self._resumed, source))

    def _resumed(self, source: RunSource, handle: RunHandle) -> None:
        run = source.run(handle.run_id)
        forks_of(self._screen).add(run.name, handle)
        self._run.show_resumed(run)


def _why_not_resumable(source: RunSource, run: Run) -> str | None:
    """Why a run cannot be resumed; None where that can be tried."""
    if source.read_only or run.read_only:
        return "this file is only read: its runs cannot be resumed"
    if run.status == "running":
        return "it is running: there is nothing to resume"
    if run.status not in ("crashed", "interrupted"):
        return f"it has {run.status}: only a run that crashed or was interrupted can be resumed"
    return None
