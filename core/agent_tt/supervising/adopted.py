"""A process that another process started: waited for and signalled, and never mistaken for another one."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING, Final

import psutil

from agent_tt.supervising.beginning import began
from agent_tt.supervising.processes import process_of, send

if TYPE_CHECKING:
    import signal

__all__ = ["AdoptedProcess"]

_POLL_SECONDS: Final = 0.05


class AdoptedProcess:
    """Stand for a process as `subprocess.Popen` does for a child. Its exit code cannot be known.

    Args:
        pid: its number.
        since: when it began (see `beginning`); None for whoever has this number now.

    Attributes:
        pid: its number.
        returncode: None while it runs, then 0: nobody but its parent is told more.
    """

    def __init__(self, pid: int, since: float | None = None) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._process = process_of(pid)
        if self._process is not None and since is not None and began(pid) != since:
            self._process = None

    def poll(self) -> int | None:
        """0 when it has ended, None while it runs."""
        if self.returncode is None and (self._process is None or not _runs(self._process)):
            self.returncode = 0
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs after `timeout` seconds.
        """
        ends = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if ends is not None and timeout is not None and time.monotonic() >= ends:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(_POLL_SECONDS)
        return 0

    def send_signal(self, number: signal.Signals) -> None:
        """Signal it, and its group where it leads one."""
        if self._process is None or not _runs(self._process):
            return
        try:
            if os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, number)
                return
        except OSError:  # it is ending this moment
            return
        send(self._process, number)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False
