"""What the screens that show runs do with them: how they ended, and stopping what was started here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screens.asked import AskedScreen
from agent_tt_tui.screens.ending import Ending, EndingDialog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.running_forks import Handle


class RunWatch(AskedScreen):
    """A screen that shows runs, some of which may be running because they were started here."""

    def shown_runs(self) -> Sequence[Run]:
        """The runs that the screen shows now, A before B."""
        raise NotImplementedError

    def source_of(self, run: Run) -> RunSource:
        """Where a shown run lies."""
        raise NotImplementedError

    def own_fork(self) -> Handle | None:
        """The process of a shown run, if it was started here and still runs."""
        handles = (forks_of(self).running(run.id) for run in self.shown_runs())
        return next((handle for handle in handles if handle is not None), None)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command that concerns the runs cannot be used now."""
        if command_id == "live.stop" and self.own_fork() is None:
            return "no run that was started here is running on this screen"
        return super().blocked(command_id)

    def action_ending(self) -> None:
        """Show how the runs ended."""
        runs, forks = self.shown_runs(), forks_of(self)
        sides = ("A", "B") if len(runs) > 1 else ("",)
        endings = [
            Ending(side, run, forks.output(run.id), self.source_of(run)) for side, run in zip(sides, runs, strict=True)
        ]
        self.app.push_screen(EndingDialog(endings))

    def action_stop(self) -> None:
        """Stop the run that was started here."""
        handle = self.own_fork()
        if handle is not None:
            self.say("stopping it", None)
            self.run_worker(lambda: self._stop(handle), group="stop", exclusive=True, thread=True, exit_on_error=False)

    def action_back(self) -> None:
        """Leave the screen, and say of a run that was started here that it goes on."""
        forks = forks_of(self)
        going_on = [run for run in self.shown_runs() if forks.running(run.id) is not None]
        super().action_back()
        below = self.app.screen
        if going_on and below is not self and isinstance(below, RunWatch) and going_on[0] not in below.shown_runs():
            run = going_on[0]
            key = "c shows" if run.parent in [shown.id for shown in below.shown_runs()] else "enter opens"
            below.say(f"{run.name} goes on running; {key} it again, and S there stops it")

    def _stop(self, handle: Handle) -> None:
        handle.stop()
        self.app.call_from_thread(self.say, "it was stopped; what it did is kept")
