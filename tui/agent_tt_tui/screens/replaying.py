"""What the debugger does with a run that runs again: it lands on what a replay found, and follows it live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.screens.time_travel import TimeTravelScreen
from agent_tt_tui.viewmodel.replayed import call_in

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.divergence import Finding
    from agent_tt.replaying.report import ReplayReport


class ReplayingScreen(TimeTravelScreen):
    """One run, at one of its steps, beside what its last replay found."""

    land_on: int | None = None
    """The divergence of the run's last replay to open at, from 0; None opens as usual."""

    _landing: Finding | None = None
    """The divergence whose call is to be shown once its step is read."""

    def on_mount(self) -> None:
        """Show the divergence that was gone to from another screen."""
        if self.land_on is not None:
            self.show_divergence(self.replays[self.model.run.id].report, self.land_on)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id.startswith("time.error") and self.divergence.findings:
            return None
        return super().blocked(command_id)

    def at_hand(self) -> tuple[RunSource, Run]:
        """The run that is shown."""
        return self.model.source, self.model.run

    def replayed_from(self) -> int:
        """The step that is shown; at the end there is nothing after it."""
        return self.number if self.number < self.model.last else 0

    def divergence_shown(self) -> int:
        """The divergence that was gone to last."""
        return self.divergence.index

    def show_divergence(self, report: ReplayReport, index: int) -> None:
        """Go to the step and the call of a divergence, and show it in the place of the diff."""
        findings = report.divergences
        self.divergence.show(findings, index)
        self.timeline.show_divergences(frozenset(found.step for found in findings if found.step is not None))
        self.share_screen()
        self.divergence.lines.focus()
        self._landing = findings[index]
        # An effect outside every step is shown beside the step that is shown already.
        self.go(self.number if self._landing.step is None else self._landing.step)
        self.refresh_footer()

    def show_resumed(self, run: Run) -> None:
        """Follow the run, which grows again."""
        self.reading.poll()
        self.action_follow()
        if self.own_fork() is not None:
            self.say(f"{run.name} goes on for real: S stops it")

    def show_landing(self) -> None:
        """Show the call that a divergence is about, as soon as its step has been read; called by `show_view`."""
        landing, view = self._landing, self.view
        if landing is None or view is None or landing.step not in (None, view.number):
            return
        self._landing = None
        number = call_in(view.calls, landing)
        if number is None and landing.step is None:
            return
        if self.call_pane.display:
            self.call_pane.go_to(number)
        else:
            self.inspector.show_call(number)

    def action_error(self, direction: int) -> None:
        """Go to the next or previous divergence where they are shown, else to the next or previous failed step."""
        findings = self.divergence.findings
        if not findings:
            super().action_error(direction)
            return
        index = self.divergence.index + direction
        if 0 <= index < len(findings):
            self.show_divergence(self.replays[self.model.run.id].report, index)
        else:
            self.say(f"this is the {'last' if direction > 0 else 'first'} divergence: r lists them")

    def action_escape(self) -> None:
        """Give the pane of a divergence back to the diff, or leave what else is open."""
        if self.divergence.findings and not self.zoomed:
            self.forget_divergence()
        else:
            super().action_escape()

    def forget_divergence(self) -> None:
        """Give the pane back to the diff."""
        had_focus = self.divergence.has_focus_within
        self.divergence.show((), 0)
        self.timeline.show_divergences(frozenset())
        if had_focus:
            self.timeline.focus()
        self.share_screen()
        self.refresh_footer()
