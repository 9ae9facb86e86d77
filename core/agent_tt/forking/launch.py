"""Starting a planned fork in a process of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint
from agent_tt.forking.child_environment import RUN_VARIABLE, STORE_VARIABLE
from agent_tt.forking.handle import ForkHandle
from agent_tt.model import AgentCode, ErrorInfo, NewRun
from agent_tt.recording.entry import fingerprint
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.forking.plan import ForkPlan

__all__ = ["start_fork"]

_FLAGS = (
    "-P",  # the folder it runs in is not searched for modules: a `json.py` there must not break the start
    "-u",  # what the agent prints is seen at once, and is not lost when it is killed
    "-X",
    "faulthandler",  # a crash of the interpreter says where
)


def start_fork(plan: ForkPlan) -> ForkHandle:
    """Write the fork's run with its edited state and start its agent in a child process.

    The child runs in the recorded working directory with the recorded Python, in a session of its own and without
    standard input. What it prints goes to a temporary file that has no name and is gone with the handle.

    Raises:
        InvalidEntryPoint: the process could not be started; the run is kept as failed.
        StoreUnreadable: the run could not be written.
    """
    store = open_store(plan.store)
    try:
        run_id = store.begin_fork(
            plan.run.id,
            plan.step,
            state=plan.state,
            new=_new_run(plan),
            edits=plan.edits,
            policy=plan.policy,
        )
        with tempfile.TemporaryFile() as output:
            try:
                process = _start(plan, store.path, run_id, output.fileno())
            except OSError as error:
                why = f"{plan.code.interpreter} could not be started in {plan.code.cwd}: {error.strerror}"
                store.set_run_status(run_id, "failed", ErrorInfo("agent_tt.errors:InvalidEntryPoint", why))
                raise InvalidEntryPoint(why, hint="check the run's interpreter and working directory") from error
            return ForkHandle(plan.store, run_id, process, output)
    finally:
        store.close()


def _new_run(plan: ForkPlan) -> NewRun:
    """What the fork is before its agent says anything: what its parent was."""
    parent = plan.run
    return NewRun(
        name=plan.name or "",
        code=_code(plan),
        model=parent.model,
        user_id=parent.user_id,
        metadata=parent.metadata,
    )


def _code(plan: ForkPlan) -> AgentCode:
    recorded = plan.run.code
    same = plan.code.entry == recorded.entry
    return replace(
        recorded,
        entry=plan.code.entry,
        version=recorded.version if same else None,
        fingerprint=fingerprint(plan.code.file),
        root=plan.code.root,
        cwd=plan.code.cwd,
        interpreter=plan.code.interpreter,
        restore=plan.code.restore,
    )


def _start(plan: ForkPlan, store: Path, run_id: str, output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  running the agent is what was asked for
        [plan.code.interpreter, *_FLAGS, "-m", "agent_tt._child"],
        cwd=plan.code.cwd,
        env={**os.environ, STORE_VARIABLE: str(store.resolve()), RUN_VARIABLE: run_id},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,  # Ctrl-C in the terminal reaches us first; we then stop the child and all it started
    )
