"""Runs of a sweep whose driver was killed while their agents went on: nobody's children, but known by their rows."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from agent_tt.errors import RunNotFound
from agent_tt.forking.processes import Processes

if TYPE_CHECKING:
    from agent_tt.store.liveness import Owner
    from agent_tt.store.sweeps import Sweeps

__all__ = ["Orphan", "adopt"]

_POLL_SECONDS: Final = 0.05


class Orphan:
    """The process of an agent that another process started. Has what the driver needs of a `ForkHandle`.

    Args:
        sweeps: the store.
        run_id: the run that it fills.
        owner: the process, as its run names it.

    Attributes:
        run_id: the run that it fills.
    """

    def __init__(self, sweeps: Sweeps, run_id: str, owner: Owner) -> None:
        self.run_id = run_id
        self._sweeps = sweeps
        self._pid = owner.pid
        # Its number is its own for as long as it lives: it may be asked only while `settle` says so.
        self._processes = Processes(run_id, owner.pid)

    def poll(self) -> int | None:
        """0 when the run is over, however it ended; None while it goes on."""
        return None if self._is_there() else 0

    def stop(self, grace: float = 5.0) -> None:
        """Interrupt the agent as Ctrl-C would, and end it after `grace` seconds."""
        self._signal(signal.SIGINT)
        deadline = time.monotonic() + grace
        while self._is_there():
            if time.monotonic() >= deadline:
                self._signal(signal.SIGSTOP)  # what is stopped starts nothing
                if self._is_there():
                    self._processes.end(mercy=False)
                self._signal(signal.SIGKILL)
                deadline = time.monotonic() + grace
            time.sleep(_POLL_SECONDS)

    def _is_there(self) -> bool:
        try:
            return self._sweeps.settle(self.run_id) is not None
        except RunNotFound:  # somebody deleted it, which is refused while it runs
            return False

    def _signal(self, number: signal.Signals) -> None:
        if self._is_there():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, number)  # it leads a session, and so a group, of its own


def adopt(sweeps: Sweeps, run_id: str) -> Orphan | None:
    """The process that fills a run that is under way; None where there is none: the run is over from now on."""
    owner = sweeps.settle(run_id)
    return None if owner is None else Orphan(sweeps, run_id, owner)
