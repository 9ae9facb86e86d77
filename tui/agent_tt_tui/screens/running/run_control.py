"""What the screens that show runs do with them: how they ended, and stopping one that goes on, whoever started it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt_tui.feature import Feature
from agent_tt_tui.keymaps.shared import CHOOSE, STOP
from agent_tt_tui.look import look_of
from agent_tt_tui.running_forks import forks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.running_forks import Handle
    from agent_tt_tui.screen import CommandScreen


class RunControl(Feature):
    """Shows how the runs of a screen ended, and stops one that goes on: started here, or elsewhere."""

    COMMANDS = frozenset({"run.ending", "live.stop"})

    def __init__(
        self,
        screen: CommandScreen[None],
        shown_runs: Callable[[], Sequence[Run]],
        source_of: Callable[[Run], RunSource],
    ) -> None:
        """Initialise the feature.

        Args:
            screen: the screen.
            shown_runs: the runs that it shows now, A before B.
            source_of: where a shown run lies.
        """
        self._screen, self._source_of = screen, source_of
        self.shown_runs = shown_runs
        """The runs that the screen shows now, A before B."""

    def own_fork(self) -> Handle | None:
        """The process of a shown run, if it was started here and still runs."""
        handles = (forks_of(self._screen).running(run.id) for run in self.shown_runs())
        return next((handle for handle in handles if handle is not None), None)

    def _going_on(self) -> Run | None:
        """The run on this screen that still runs, B before A."""
        return next((run for run in reversed(self.shown_runs()) if run.status == "running"), None)

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be stopped."""
        if command_id == "run.ending" or self.own_fork() is not None:
            return None
        run = self._going_on()
        if run is None:
            return "no run is running on this screen"
        if self._source_of(run).read_only:
            return f"this file is only read: {run.name} can only be stopped where it was started"
        return None

    def action_ending(self) -> None:
        """Show how the runs ended."""
        from agent_tt_tui.screens.dialogs.ending import Ending, EndingDialog

        runs, forks = self.shown_runs(), forks_of(self._screen)
        sides = ("A", "B") if len(runs) > 1 else ("",)
        endings = [
            Ending(side, run, forks.output(run.id), self._source_of(run)) for side, run in zip(sides, runs, strict=True)
        ]
        self._screen.app.push_screen(EndingDialog(endings))

    def action_stop(self) -> None:
        """Stop the run that goes on: at once where it was started here, else after asking."""
        from agent_tt.supervising.stopping import GRACE_SECONDS

        handle, run = self.own_fork(), self._going_on()
        if handle is not None:
            self._screen.say("stopping it", None)
            self._screen.run_worker(
                lambda: self._stop(handle), group="stop", exclusive=True, thread=True, exit_on_error=False
            )
        elif run is not None:
            question = (
                f"{run.name} was not started here. Interrupt the process that records it, and kill it"
                f" where it still runs after {GRACE_SECONDS:.0f} s?"
            )
            self._screen.confirm("Stop a run", question, partial(self._stop_elsewhere, run))

    def _stop_elsewhere(self, run: Run) -> None:
        self._screen.say(f"stopping {run.name}", None)
        work = partial(self._stop_run, self._source_of(run).path, run)
        self._screen.run_worker(work, group="stop", exclusive=True, thread=True, exit_on_error=False)

    def _stop_run(self, path: Path, run: Run) -> None:
        from agent_tt.supervising.stopping import stop_run

        try:
            ended = stop_run(path, run.id)
        except AgentTTError as error:
            said = f"it was not stopped: {error.message}" + (f" ({error.hint})" if error.hint else "")
        else:
            if ended.status == "interrupted":
                said = "it was stopped; what it did is kept"
            else:
                said = f"it came to its own end before it could be stopped: {ended.status}"
        self._screen.app.call_from_thread(self._screen.say, said, None)

    def parting_words(self, below: Sequence[Feature]) -> str:
        """Say of a run that was started here that it goes on."""
        forks = forks_of(self._screen)
        run = next((run for run in self.shown_runs() if forks.running(run.id) is not None), None)
        there = next((feature for feature in below if isinstance(feature, RunControl)), None)
        shown = there.shown_runs() if there is not None else ()
        if run is None or there is None or run in shown:
            return ""
        stop = look_of(self._screen).key(STOP)
        return f"{run.name} goes on running; {there.way_to(run)} it again, and {stop} there stops it"

    def way_to(self, run: Run) -> str:
        """Say what shows a run that this screen does not: `c shows`."""
        commands = self._screen.CONTEXT.commands
        if run.facts.asked_again.run and any(each.id == "again.open" for each in commands):
            return "the list of runs has"  # no key of this run leads there
        compare = next((each for each in commands if each.id in ("compare.open", "runs.compare")), None)
        if compare is not None and run.parent in [shown.id for shown in self.shown_runs()]:
            return f"{look_of(self._screen).key(compare)} shows"
        return f"{look_of(self._screen).key(CHOOSE)} opens"

    def _stop(self, handle: Handle) -> None:
        handle.stop()
        self._screen.app.call_from_thread(self._screen.say, "it was stopped; what it did is kept")
