"""What the debugger does with a replay: it starts one, lands on what differs, goes from one divergence to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.replaying.preflight import why_not_replayable
from agent_tt_tui.screens.replay import ReplayDialog, ReplayedDialog, Wish
from agent_tt_tui.screens.time_travel import TimeTravelScreen
from agent_tt_tui.viewmodel.replayed import call_in

if TYPE_CHECKING:
    from agent_tt.replaying.divergence import Finding
    from agent_tt.replaying.report import ReplayReport


class ReplayingScreen(TimeTravelScreen):
    """One run, at one of its steps, beside what its last replay found."""

    _report: ReplayReport | None = None
    """What the last replay found."""

    _landing: Finding | None = None
    """The divergence whose call is to be shown once its step is read."""

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id == "replay.open":
            return why_not_replayable(self.model.run)
        if command_id.startswith("time.error") and self.divergence.findings:
            return None
        return super().blocked(command_id)

    def action_replay(self) -> None:
        """Show what the last replay found, else open the dialog that replays."""
        if self._report is None:
            self._open_replay()
        else:
            self._show_report(self._report)

    def _open_replay(self) -> None:
        observe = self._report is not None and self._report.observed
        step = self.number if self.number < self.model.last else 0
        dialog = ReplayDialog(self.model.source, self.model.run, step, observe=observe)
        self.app.push_screen(dialog, self._replayed)

    def _replayed(self, report: ReplayReport | None) -> None:
        if report is not None:
            self._report = report
            self._close_divergence()
            self._show_report(report)

    def _show_report(self, report: ReplayReport) -> None:
        self.app.push_screen(ReplayedDialog(report, self.divergence.index), self._wished)

    def _wished(self, wish: Wish | None) -> None:
        if wish is not None and wish.again:
            self._open_replay()
        elif wish is not None and wish.index is not None:
            self.land(wish.index)

    def land(self, index: int) -> None:
        """Go to the step and the call of a divergence, and show it in the place of the diff.

        Args:
            index: Which divergence of the last replay, from 0.
        """
        if self._report is None:
            return
        findings = self._report.divergences
        self.divergence.show(findings, index)
        self.timeline.show_divergences(frozenset(found.step for found in findings if found.step is not None))
        self.share_screen()
        self.divergence.lines.focus()
        self._landing = findings[index]
        # An effect outside every step is shown beside the step that is shown already.
        self.go(self.number if self._landing.step is None else self._landing.step)
        self.refresh_footer()

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
            self.land(index)
        else:
            self.say(f"this is the {'last' if direction > 0 else 'first'} divergence: r lists them")

    def action_escape(self) -> None:
        """Give the pane of a divergence back to the diff, or leave what else is open."""
        if self.divergence.findings and not self.zoomed:
            self._close_divergence()
        else:
            super().action_escape()

    def _close_divergence(self) -> None:
        had_focus = self.divergence.has_focus_within
        self.divergence.show((), 0)
        self.timeline.show_divergences(frozenset())
        if had_focus:
            self.timeline.focus()
        self.share_screen()
        self.refresh_footer()
