"""Starting a planned fork in a process of its own."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint
from agent_tt.forking.child_environment import RUN_VARIABLE, STORE_VARIABLE
from agent_tt.forking.handle import ForkHandle
from agent_tt.model import AgentCode, ErrorInfo, NewRun
from agent_tt.recording.entry import fingerprint
from agent_tt.replaying.agent_process import start_agent
from agent_tt.store import open_store
from agent_tt.store.provenance import check_made_here

if TYPE_CHECKING:
    from agent_tt.forking.plan import ForkPlan

__all__ = ["start_fork"]


def start_fork(plan: ForkPlan) -> ForkHandle:
    """Write the fork's run with its edited state and start its agent in a child process.

    The child runs in the recorded working directory with the recorded Python, in a session of its own and without
    standard input. What it prints goes to a temporary file that has no name and is gone with the handle.

    Raises:
        Untrusted: the store came from elsewhere.
        InvalidEntryPoint: the process could not be started; the run is kept as failed.
        StoreUnreadable: the run could not be written.
    """
    check_made_here(plan.store, plan.run)
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
            told = {STORE_VARIABLE: str(store.path.resolve()), RUN_VARIABLE: run_id}
            code = plan.code
            try:
                process = start_agent(
                    "agent_tt._child", plan.run, told, output, interpreter=code.interpreter, folder=code.cwd
                )
            except InvalidEntryPoint as error:
                why = ErrorInfo("agent_tt.errors:InvalidEntryPoint", error.message)
                store.set_run_status(run_id, "failed", why)
                raise
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
