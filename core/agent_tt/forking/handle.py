"""A fork that runs: waiting for it, seeing what it prints, stopping it, and writing down its end where it cannot."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from typing import TYPE_CHECKING, Self

from agent_tt.errors import AgentFailed, AgentTTError, Interrupted, StoreUnreadable
from agent_tt.model import ErrorInfo
from agent_tt.store import open_store

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO

    from agent_tt.model import Run, RunStatus

__all__ = ["ForkHandle"]

_GRACE_SECONDS = 5.0
_TAIL_BYTES = 64 * 1024
_LINES_KEPT = 20
_ENDED: frozenset[RunStatus] = frozenset({"succeeded", "failed", "interrupted"})


class ForkHandle:
    """A fork's child process and the run that it fills. May be used from several threads.

    As a context manager it stops the child when the block is left by an exception (Ctrl-C, for example); a block that
    ends normally leaves the child running.

    Attributes:
        run_id: the fork's run.
        store: the file that it is written to.
    """

    def __init__(self, store: Path, run_id: str, process: subprocess.Popen[bytes], output: BinaryIO) -> None:
        self.run_id = run_id
        self.store = store
        self._process = process
        self._output = os.dup(output.fileno())
        weakref.finalize(self, os.close, self._output)
        self._stopping = threading.Event()
        self._settled = threading.Event()
        self._lock = threading.Lock()
        self._failure: AgentTTError | None = None
        threading.Thread(target=self._settle, name=f"agent-tt fork {run_id}", daemon=True).start()

    def __repr__(self) -> str:
        return f"<ForkHandle of run {self.run_id}, {'running' if self.poll() is None else 'ended'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop()

    def poll(self) -> int | None:
        """The child's exit code (negative: the signal that killed it), None while it runs."""
        return self._process.returncode if self._settled.is_set() else None

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the child has ended and its run says how. Ctrl-C stops the child.

        Args:
            timeout: longest wait in seconds; None waits as long as it takes.

        Returns:
            The child's exit code, None when it still runs after `timeout`.
        """
        try:
            self._settled.wait(timeout)
        except KeyboardInterrupt:
            self.stop()
            raise
        return self.poll()

    def result(self) -> Run:
        """Wait, then give the finished run.

        Raises:
            AgentFailed: the agent raised, exited with a failure, could not be started or was killed.
            Interrupted: it was stopped, or stopped itself.
            StoreUnreadable: the run cannot be read, or could not be written to its end.
        """
        self.wait()
        if self._failure is not None:
            raise self._failure
        store = open_store(self.store, read_only=True)
        try:
            run = store.run(self.run_id)
        finally:
            store.close()
        if run.status == "succeeded":
            return run
        hint = f"agent-tt open {run.id} shows what it did"
        why = run.error.short if run.error is not None else f"its run reads {run.status}"
        if run.status == "interrupted":
            if self._stopping.is_set():
                raise Interrupted(f"{run.name} was stopped", hint=hint)
            if self.poll() == StoreUnreadable.exit_code:
                raise StoreUnreadable(f"{run.name} could not be recorded to its end: {why}", hint=hint)
            raise Interrupted(f"{run.name} was interrupted: {why}", hint=hint)
        trace = run.error.traceback if run.error is not None else ""
        raise AgentFailed(f"{run.name} failed: {why}", traceback=trace, hint=hint)

    def stop(self, grace: float = _GRACE_SECONDS) -> None:
        """Interrupt the agent as Ctrl-C would and wait; after `grace` seconds kill it and all that it started.

        Its run ends as interrupted. Does nothing when the child has ended. Blocks for `grace` seconds and
        a moment at most, so an interface calls it from a thread.
        """
        if self._settled.is_set():
            return
        self._stopping.set()
        self._signal(signal.SIGINT)
        try:
            if not self._settled.wait(grace):
                self._signal(signal.SIGKILL)
                self._settled.wait()
        except KeyboardInterrupt:  # a second Ctrl-C: no more patience
            self._signal(signal.SIGKILL)
            self._settled.wait()
            raise

    def output(self, limit: int = _TAIL_BYTES) -> str:
        """The last `limit` bytes that the child printed, as text. It is the agent's: it may hold control codes."""
        size = os.fstat(self._output).st_size
        start = max(0, size - limit)
        return os.pread(self._output, size - start, start).decode("utf-8", "replace")

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:  # the number of a process that was waited for may belong to another one
            if self._process.returncode is None:
                try:
                    os.killpg(self._process.pid, number)
                except (ProcessLookupError, PermissionError):  # it is ending this moment
                    return

    def _settle(self) -> None:
        """Wait for the child (in a thread of the handle) and make sure that its run says how it ended."""
        try:
            self._write_end(self._reap())
        except AgentTTError as error:
            self._failure = error
        finally:
            self._settled.set()

    def _reap(self) -> int:
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.wait()
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)  # its number stays taken until it is reaped
        if self._stopping.is_set():
            self._signal(signal.SIGKILL)  # what the agent started and left behind
        with self._lock:
            return self._process.wait()

    def _write_end(self, code: int) -> None:
        store = open_store(self.store)
        try:
            run = store.run(self.run_id)
            if run.status in _ENDED or (run.status == "crashed" and run.error is not None):
                return  # it has said itself how it ended
            if self._stopping.is_set():
                status: RunStatus = "interrupted"
                error = ErrorInfo("builtins:KeyboardInterrupt", "it was stopped")
            else:
                status = "crashed"
                last_lines = "\n".join(self.output().splitlines()[-_LINES_KEPT:])
                error = ErrorInfo("agent_tt.errors:AgentFailed", _how_it_died(code), last_lines)
            store.set_run_status(self.run_id, status, error)
        finally:
            store.close()


def _how_it_died(code: int) -> str:
    if code >= 0:
        return f"its process exited with code {code} without ending its run"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    return f"its process was killed by {name}"
