"""The process that drives a sweep: started again, stopped, and what is said of it when it ends or goes on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import Untrusted
from agent_tt.store.file.provenance import check_made_here
from agent_tt_tui.feature import Feature
from agent_tt_tui.keymaps.sweep import SWEEP, SWEEP_OPEN
from agent_tt_tui.look import look_of
from agent_tt_tui.ran import ran_of
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screens.running.trust import ask_for_trust
from agent_tt_tui.sweep_process import SweepProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.protocols import RunSource
    from agent_tt.sweeping.matrix import Matrix
    from agent_tt_tui.running_forks import Handle
    from agent_tt_tui.screen import CommandScreen


class Driving(Feature):
    """Resumes and stops the sweep of a screen."""

    COMMANDS = frozenset({"sweep.resume", "sweep.stop"})

    def __init__(
        self, screen: CommandScreen[None], source: RunSource, sweep_id: str, matrix: Callable[[], Matrix | None]
    ) -> None:
        """Initialise the feature.

        Args:
            screen: the screen that shows the sweep.
            source: where the sweep is.
            sweep_id: its id.
            matrix: what came out so far; None while that is read for the first time.
        """
        self._screen, self._source, self._sweep_id, self._matrix = screen, source, sweep_id, matrix
        self._trouble = ""

    def blocked(self, command_id: str) -> str | None:
        """Say why it can be neither resumed nor stopped."""
        matrix, process = self._matrix(), self._process()
        if matrix is None:
            return "it is being read"
        if command_id == "sweep.stop":
            if process is not None and matrix.status != "complete":
                return None
            elsewhere = matrix.status == "running"
            return "it was started elsewhere: Ctrl-C stops it there" if elsewhere else "it is not running"
        if matrix.status == "running" or process is not None:
            return "it is running"
        if matrix.status == "complete":
            return "it is complete: every run has an outcome"
        return "this file is only read: its sweeps cannot be resumed" if self._source.read_only else None

    def _process(self) -> Handle | None:
        return forks_of(self._screen).running(self._sweep_id)

    def action_resume(self) -> None:
        """Go on with it, in a process of its own."""
        from agent_tt_tui.viewmodel.running.as_command import sweep_resume_command

        matrix = self._matrix()
        if matrix is None or matrix.run is None:
            self._screen.say("the run that it forks is gone")
            return
        try:
            check_made_here(self._source.path, matrix.run)
        except Untrusted as error:
            ask_for_trust(self._screen.app, error, self._source.path, run=self.action_resume, refuse=self._refuse)
            return
        self._trouble = ""
        forks_of(self._screen).add(matrix.sweep.name, SweepProcess(self._source.path, self._sweep_id))
        ran_of(self._screen).add("sweep", matrix.sweep.name, lambda: sweep_resume_command(self._source, self._sweep_id))
        self._screen.say("going on")
        self._screen.refresh_footer()

    def _refuse(self, why: tuple[str, str]) -> None:
        self._screen.say(" - ".join(why))

    def action_stop(self) -> None:
        """Stop it, as Ctrl-C would."""
        process = self._process()
        if process is not None:
            self._screen.say("stopping the running forks", None)
            stop = partial(self._stop, process)
            self._screen.run_worker(stop, group="stop", exclusive=True, thread=True, exit_on_error=False)

    def _stop(self, process: Handle) -> None:
        process.stop()
        said = f"it was stopped: {look_of(self._screen).key(SWEEP.command('sweep.resume'))} goes on with the rest"
        self._screen.app.call_from_thread(self._screen.say, said)

    def say_trouble(self) -> None:
        """Say once why the process that was started here has ended, where it did not end well."""
        process = forks_of(self._screen).ended(self._sweep_id)
        trouble = process.trouble() if isinstance(process, SweepProcess) else ""
        if trouble and trouble != self._trouble:
            self._trouble = trouble
            self._screen.say(trouble, None)

    def parting_words(self, below: Sequence[Feature]) -> str:
        """Say of a sweep that was started here that it goes on."""
        del below
        if self._process() is None:
            return ""
        matrix = self._matrix()
        name = matrix.sweep.name if matrix is not None else "the sweep"
        show, stop = map(look_of(self._screen).key, (SWEEP_OPEN, SWEEP.command("sweep.stop")))
        return f"{name} goes on running; {show} shows it again, and {stop} there stops it"
