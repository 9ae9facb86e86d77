"""A sweep that was started from this app: `agent-tt sweep --resume`, as a process of its own that ends with the app."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import STORE_VARIABLE, told
from agent_tt.supervising.keeper import Keeper
from agent_tt.temporary import temporary_file

if TYPE_CHECKING:
    from pathlib import Path

_TAIL_BYTES: Final = 64 * 1024
_GRACE_SECONDS: Final = 15.0


class SweepProcess:
    """The command that drives a sweep; what it writes is kept for as long as this is.

    Args:
        store: the file that holds the sweep.
        sweep_id: the sweep, which nobody drives.

    Attributes:
        run_id: the sweep's id, by which `RunningForks` knows it.
    """

    def __init__(self, store: Path, sweep_id: str) -> None:
        self.run_id = sweep_id
        command = [sys.executable, "-m", "agent_tt_tui", "sweep", "--resume", sweep_id]
        self._keeper = Keeper(f"sweep-{sweep_id}", drives=True)
        with temporary_file() as output:
            self._process = subprocess.Popen(  # noqa: S603  # our own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, STORE_VARIABLE: told(store), "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"},
            )
            self._output = os.dup(output.fileno())
        weakref.finalize(self, os.close, self._output)
        self._keeper.watch(self._process.pid)
        threading.Thread(target=self._settle, name=f"agent-tt sweep {sweep_id}", daemon=True).start()

    def poll(self) -> int | None:
        """Its exit code; None while it goes on."""
        return self._process.poll()

    def stop(self, grace: float = _GRACE_SECONDS) -> None:
        """Stop it as Ctrl-C would, and wait until its runs are over; kill it after `grace` seconds."""
        self._signal(signal.SIGINT)
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def detach(self) -> None:
        """Let it go on when the app ends."""
        self._keeper.hand_over()

    def output(self, limit: int = _TAIL_BYTES) -> str:
        """The last `limit` bytes that it wrote."""
        size = os.fstat(self._output).st_size
        start = max(0, size - limit)
        return os.pread(self._output, size - start, start).decode("utf-8", "replace")

    def trouble(self) -> str:
        """Why it ended, where it did not end well; "" else."""
        if self.poll() in (None, 0):
            return ""
        lines = [line for line in self.output().splitlines() if line.startswith("agent-tt: ")]
        return lines[-1].removeprefix("agent-tt: ") if lines else f"the sweep ended with code {self.poll()}"

    def _settle(self) -> None:
        self._process.wait()
        self._keeper.dismiss()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)
