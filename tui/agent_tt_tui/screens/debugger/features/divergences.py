"""Errors and divergences: the keys that go from one to the next, and what the last replay of the run found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual import events

from agent_tt_tui.feature import hears
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.panes import LowerPane
from agent_tt_tui.widgets.dialogs.divergence_views import DivergencePane

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.divergence import Finding
    from agent_tt.replaying.report import ReplayReport
    from agent_tt_tui.screens.debugger.features.playing import Playing
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.screens.running.replay import Replayed
    from agent_tt_tui.viewmodel.debugger.stepview import StepView

_LEAST_ROWS: Final = 6


class Divergences(DebuggerFeature):
    """Goes to failed steps, or to the divergences of the last replay while one of these is shown."""

    COMMANDS = frozenset({"time.error_previous", "time.error_next"})

    def __init__(self, time: Time, playing: Playing, replays: dict[str, Replayed], land_on: int | None) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            playing: What follows a run that goes on.
            replays: The last replay of each run, by the run's id.
            land_on: The divergence of the run's last replay to open at, from 0; None opens as usual.
        """
        super().__init__(time)
        self._playing, self._replays, self._land_on = playing, replays, land_on
        self.panes.opens_lower = land_on is not None
        self.pane = DivergencePane()
        """What shows a divergence."""
        self.panes.lower.append(
            LowerPane(
                self.pane,
                self.pane.lines,
                lambda: self.pane.finding is not None,
                # Whoever asked for a divergence wants to read it, also where the diff is given up for lack of rows.
                lambda plan: max(plan.diff, _LEAST_ROWS),
                lambda: self.pane.needed(self.panes.inspector.size.width),
            )
        )

    @hears(events.Mount)
    def _on_mount(self, _event: events.Mount) -> None:
        """Show the divergence that was gone to from another screen."""
        if self._land_on is not None:
            self.show_divergence(self._replays[self.model.run.id].report, self._land_on)

    def blocked(self, command_id: str) -> str | None:
        """Say that nothing failed."""
        del command_id
        if self.pane.findings or self.model.overview.errors:
            return None
        return "no step of this run failed"

    def action_error(self, direction: int) -> None:
        """Go to the next or previous divergence where they are shown, else to the next or previous failed step."""
        if not self.pane.findings:
            found = self.model.overview.next_error(self.time.number, direction)
            self.time.go_or_say(found, f"no {'later' if direction > 0 else 'earlier'} step failed")
            return
        index = self.pane.index + direction
        if 0 <= index < len(self.pane.findings):
            self.show_divergence(self._replays[self.model.run.id].report, index)
        else:
            which = "last" if direction > 0 else "first"
            self.screen.say(f"this is the {which} divergence: {self.key('replay.open')} lists them")

    def escape(self) -> bool:
        """Give the pane of a divergence back to the diff."""
        if not self.pane.findings or self.panes.zoomed:
            return False
        self.forget_divergence()
        return True

    # The run that is shown, run again; see `RunAtHand`.

    def at_hand(self) -> tuple[RunSource, Run]:
        """The run that is shown."""
        return self.model.source, self.model.run

    def replayed_from(self) -> int:
        """The step that is shown; at the end there is nothing after it."""
        return self.time.number if self.time.number < self.model.last else 0

    def divergence_shown(self) -> int:
        """The divergence that was gone to last."""
        return self.pane.index

    def show_divergence(self, report: ReplayReport, index: int) -> None:
        """Go to the step and the call of a divergence, and show it in the place of the diff."""
        findings = report.divergences
        found = findings[index]
        self.pane.show(findings, index)
        self.panes.timeline.show_divergences(frozenset(each.step for each in findings if each.step is not None))
        self.panes.share()
        self.pane.lines.focus()
        # An effect outside every step is shown beside the step that is shown already.
        self.time.go(self.time.number if found.step is None else found.step, partial(self._show_call, found))
        self.screen.refresh_footer()

    def _show_call(self, found: Finding, view: StepView) -> None:
        from agent_tt_tui.viewmodel.running.replayed import call_in

        number = call_in(view.calls, found)
        if number is not None or found.step is not None:
            self.panes.show_call(number)

    def forget_divergence(self) -> None:
        """Give the pane back to the diff."""
        had_focus = self.pane.has_focus_within
        self.pane.show((), 0)
        self.panes.timeline.show_divergences(frozenset())
        if had_focus:
            self.panes.timeline.focus()
        self.panes.share()
        self.screen.refresh_footer()

    def show_resumed(self, run: Run) -> None:
        """Follow the run, which grows again."""
        self.time.reading.poll()
        self._playing.action_follow()
        if forks_of(self.screen).running(run.id) is not None:
            self.screen.say(f"{run.name} goes on for real: {self.key('live.stop')} stops it")
