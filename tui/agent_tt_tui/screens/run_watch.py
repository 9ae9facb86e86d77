"""What the screens that show runs do with them: how they ended, and stopping one that goes on, whoever started it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.supervising.stopping import GRACE_SECONDS, stop_run
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screens.asked import AskedScreen
from agent_tt_tui.screens.ending import Ending, EndingDialog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.running_forks import Handle


class RunWatch(AskedScreen):
    """A screen that shows runs, some of which may be running: started here, or elsewhere."""

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

    def _going_on(self) -> Run | None:
        """The run on this screen that still runs, B before A."""
        return next((run for run in reversed(self.shown_runs()) if run.status == "running"), None)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command that concerns the runs cannot be used now."""
        if command_id == "live.stop" and self.own_fork() is None:
            run = self._going_on()
            if run is None:
                return "no run is running on this screen"
            if self.source_of(run).read_only:
                return f"this file is only read: {run.name} can only be stopped where it was started"
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
        """Stop the run that goes on: at once where it was started here, else after asking."""
        handle, run = self.own_fork(), self._going_on()
        if handle is not None:
            self.say("stopping it", None)
            self.run_worker(lambda: self._stop(handle), group="stop", exclusive=True, thread=True, exit_on_error=False)
        elif run is not None:
            question = (
                f"{run.name} was not started here. Interrupt the process that records it, and kill it"
                f" where it still runs after {GRACE_SECONDS:.0f} s?"
            )
            self.app.push_screen(ConfirmDialog("Stop a run", question), partial(self._stop_elsewhere, run))

    def _stop_elsewhere(self, run: Run, stop: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if stop:
            self.say(f"stopping {run.name}", None)
            path = self.source_of(run).path
            work = partial(self._stop_run, path, run)
            self.run_worker(work, group="stop", exclusive=True, thread=True, exit_on_error=False)

    def _stop_run(self, path: Path, run: Run) -> None:
        try:
            ended = stop_run(path, run.id)
        except AgentTTError as error:
            said = f"it was not stopped: {error.message}" + (f" ({error.hint})" if error.hint else "")
        else:
            if ended.status == "interrupted":
                said = "it was stopped; what it did is kept"
            else:
                said = f"it came to its own end before it could be stopped: {ended.status}"
        self.app.call_from_thread(self.say, said, None)

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
