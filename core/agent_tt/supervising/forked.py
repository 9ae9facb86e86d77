"""A child of this process that another process has forked for it: waited for and ended as `subprocess.Popen` does."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from typing import Final

__all__ = ["ForkedProcess", "await_end"]

_POLL_SECONDS: Final = 0.02


def await_end(pid: int, seconds: float | None) -> None:
    """Wait until a process of ours has ended, or for that long; a moment on systems that do not tell of the end."""
    try:
        file = os.pidfd_open(pid)
    except (AttributeError, OSError):  # an older system
        time.sleep(_POLL_SECONDS if seconds is None else min(_POLL_SECONDS, seconds))
        return
    try:
        poll = select.poll()
        poll.register(file, select.POLLIN)
        poll.poll(None if seconds is None else seconds * 1000)
    finally:
        os.close(file)


class ForkedProcess:
    """Stand for a child as `subprocess.Popen` does. Safe to use from several threads.

    Args:
        pid: its number.
        args: the command that its process shows.

    Attributes:
        pid: its number.
        args: the command that its process shows.
        returncode: None until it was waited for; then its exit code, negative for the signal that killed it.

    Raises:
        ChildProcessError: no child of this process has that number.
    """

    def __init__(self, pid: int, args: list[str]) -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # raises where it is not ours
        self.pid = pid
        self.args = args
        self.returncode: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        with self._lock:
            if self.returncode is None:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:  # the program that runs here waits for any child of its process
                    self.returncode = 0
                else:
                    self.returncode = os.waitstatus_to_exitcode(status) if pid else None
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended.

        Raises:
            subprocess.TimeoutExpired: it still runs after `timeout` seconds.
        """
        ends = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0 and timeout is not None:
                raise subprocess.TimeoutExpired(self.args, timeout)
            await_end(self.pid, left)
        return code

    def kill(self) -> None:
        """Kill it; does nothing when it was waited for."""
        with self._lock:
            if self.returncode is None:
                os.kill(self.pid, signal.SIGKILL)
