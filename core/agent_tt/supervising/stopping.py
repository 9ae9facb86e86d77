"""End a run whose process was started by another one: `agent-tt stop`, and a sweep that takes up what was under way.

A run names the process that records it by machine, boot, number and start time, and the process of a fork carries the
run's mark. What is not known to be that process, still running and this user's, is never signalled.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

import psutil

from agent_tt.errors import AgentTTError, RunNotFound, UsageError
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import RunFacts
from agent_tt.store import open_store
from agent_tt.store.liveness import current_owner
from agent_tt.supervising.processes import Processes, process_of, send

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Owner, Run
    from agent_tt.protocols import Store

__all__ = ["GRACE_SECONDS", "RunElsewhere", "stop_run"]

GRACE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05
_WHY: Final = ErrorInfo("agent_tt.errors:Interrupted", "it was stopped with `agent-tt stop`")


class RunElsewhere:
    """A run that another process records. Has what those that started one themselves have: `poll` and `stop`.

    Args:
        store: the file that holds it.
        run_id: the run.

    Attributes:
        run_id: the run.
    """

    def __init__(self, store: Path, run_id: str) -> None:
        self.run_id = run_id
        self._store = store

    def poll(self) -> int | None:
        """0 when the run is over, however it ended; None while it goes on."""
        try:
            with closing(open_store(self._store)) as store:
                return 0 if store.settle_run(self.run_id) is None else None
        except RunNotFound:  # somebody deleted it, which is refused while it runs
            return 0

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """Stop it as `stop_run` does; does nothing where it is over.

        Raises:
            UsageError: it cannot be stopped from here.
        """
        if self.poll() is None:
            stop_run(self._store, self.run_id, grace=grace)

    def output(self, limit: int = 0) -> str:  # noqa: ARG002  as of a handle
        """Nothing: whoever started it sees what it prints."""
        return ""


def stop_run(path: Path, run_id: str, *, grace: float = GRACE_SECONDS) -> Run:
    """Interrupt the process that records a run, as Ctrl-C would, and kill it where it goes on.

    A fork or a resumed run ends with everything that its agent started. Of a program that records itself it is enough
    that the run ends: what goes on after it is not ours.

    Args:
        path: the store.
        run_id: the run.
        grace: how many seconds it has to end by itself.

    Returns:
        The run as it ended: interrupted with the reason, unless it came to its own end meanwhile.

    Raises:
        RunNotFound: there is no such run.
        UsageError: it is over, or its process is on another machine, another user's, or not known for certain.
    """
    with closing(open_store(path)) as store:
        run = store.run(run_id)
        owner = store.settle_run(run_id)
        if owner is None:
            raise UsageError(
                f"{run.name} does not run: it is {store.run(run_id).status}", hint="`agent-tt runs` shows what runs"
            )
        root, is_ours = _process(run, owner)
        processes = Processes(run_id if is_ours else f"stop-{root.pid}", root.pid)
        _stop_questions(store, run_id)
        if is_ours:
            processes.interrupt()
        else:
            processes.look()
            send(root, signal.SIGINT)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline and not _is_over(store, run_id, processes, is_ours=is_ours):
            time.sleep(_POLL_SECONDS)
        if not _is_over(store, run_id, processes, is_ours=is_ours):
            store.set_run_status(run_id, "interrupted", _WHY)  # before whoever started it sees only that it was killed
            send(root, signal.SIGSTOP)  # what is stopped starts nothing
            processes.end(mercy=False, root=True)
        _settle(store, run_id)
        if store.run(run_id).status in ("running", "crashed", "interrupted"):
            store.set_run_status(run_id, "interrupted", _WHY)
        return store.run(run_id)


def _settle(store: Store, run_id: str) -> None:
    """Wait until the killed process is seen to be gone."""
    deadline = time.monotonic() + GRACE_SECONDS
    while store.settle_run(run_id) is not None and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _is_over(store: Store, run_id: str, processes: Processes, *, is_ours: bool) -> bool:
    return store.settle_run(run_id) is None and (not is_ours or processes.is_gone())


def _process(run: Run, owner: Owner) -> tuple[psutil.Process, bool]:
    """Find the process of a run; and whether it was started by us to fill that run.

    Raises:
        UsageError: it must not be signalled.
    """
    here = current_owner()
    if owner.host != here.host:
        raise UsageError(f"{run.name} runs on {owner.host}, and this is {here.host}", hint="stop it there")
    marked = Processes(run.id, None).found()
    if marked:
        first = min(marked, key=lambda each: (each.pid != owner.pid, each.create_time()))
        return _checked(run, first), True
    if run.parent is not None or RunFacts.resumed.is_in(run.metadata):
        raise UsageError(f"the agent of {run.name} is just being started", hint="try again in a moment")
    process = process_of(owner.pid)
    if process is None or not owner.start:
        raise UsageError(
            f"whether process {owner.pid} still is what records {run.name} cannot be told on this system",
            hint=f"look at it, and end it yourself: kill -INT {owner.pid}",
        )
    return _checked(run, process), False


def _checked(run: Run, process: psutil.Process) -> psutil.Process:
    if process.pid == os.getpid():
        raise UsageError(f"{run.name} is recorded by this process itself", hint="stop it from another one")
    with suppress(psutil.Error):
        if process.uids().real == os.getuid():
            return process
        raise UsageError(
            f"{run.name} is recorded by process {process.pid} of the user {process.username()}",
            hint="only that user may stop it",
        )
    raise UsageError(f"process {process.pid} of {run.name} is just ending", hint="look again in a moment")


def _stop_questions(store: Store, run_id: str) -> None:
    """Let threads that wait for a decision go on: only the main thread hears of Ctrl-C."""
    with suppress(AgentTTError):
        store.stop_questions(run_id)
