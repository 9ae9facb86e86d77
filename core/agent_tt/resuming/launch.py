"""Starting the agent of a run that goes on, in a process of its own."""

from __future__ import annotations

import subprocess
import tempfile
from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError, InvalidEntryPoint, UsageError
from agent_tt.forking.child_environment import RUN_VARIABLE, STORE_VARIABLE
from agent_tt.forking.handle import ForkHandle
from agent_tt.model import ErrorInfo
from agent_tt.replaying.launch import FLAGS, environment_of, folder_of, interpreter_of
from agent_tt.replaying.repeats import RESUMED
from agent_tt.store import open_store

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.resuming.plan import ResumePlan

__all__ = ["DIVERGED", "ResumeHandle", "start_resume"]

DIVERGED: Final = 1
"""Exit code of the child whose agent was halted."""


class ResumeHandle(ForkHandle):
    """The child process of a run that goes on; see `agent_tt.forking.handle`."""

    def result(self) -> Run:
        """Wait, then give the finished run.

        Raises:
            AgentTTError: the agent does not ask again what was recorded. The run can be resumed once more.
            AgentFailed: the agent raised, exited with a failure, could not be started or was killed.
            Interrupted: it was stopped, or stopped itself.
            StoreUnreadable: the run cannot be read, or could not be written to its end.
        """
        self.wait()
        if self.poll() != DIVERGED:
            return super().result()
        with closing(open_store(self.store, read_only=True)) as store:
            run = store.run(self.run_id)
        why = "it was halted" if run.error is None else run.error.message
        raise AgentTTError(
            f"{run.name} could not be gone on with: {why}",
            hint="put the code back as it was and resume it again, or fork it",
        )


def start_resume(plan: ResumePlan) -> ResumeHandle:
    """Let a run go on: its agent starts in a child process, with the recorded Python in the recorded folder.

    Raises:
        UsageError: it is not known of every call in flight whether it happened; or the run does not wait any more.
        InvalidEntryPoint: the process could not be started; the run is as it was.
        StoreUnreadable: the run could not be written.
    """
    if plan.unknown:
        raise _unknown(plan)
    run = plan.run
    interpreter, folder = interpreter_of(run), folder_of(run)
    environment = environment_of(run) | {STORE_VARIABLE: str(plan.store.resolve()), RUN_VARIABLE: run.id}
    with closing(open_store(plan.store)) as store:
        store.reopen_run(run.id)
        said = run.metadata.get(RESUMED)
        store.set_metadata(run.id, {RESUMED: [*(said if isinstance(said, list) else []), plan.to_wire()]})
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603  running the agent is what was asked for
                [interpreter, *FLAGS, "-m", "agent_tt._resume_child"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # as a fork: Ctrl-C reaches us first
            )
        except OSError as error:
            why = f"{interpreter} could not be started in {folder}: {error.strerror}"
            with closing(open_store(plan.store)) as store:
                store.set_run_status(run.id, run.status, ErrorInfo("agent_tt.errors:InvalidEntryPoint", why))
            raise InvalidEntryPoint(why, hint="check the run's interpreter and working directory") from error
        return ResumeHandle(plan.store, run.id, process, output)


def _unknown(plan: ResumePlan) -> UsageError:
    first, count = plan.unknown[0], len(plan.unknown)
    more = f", and {count - 1} more" if count > 1 else ""
    return UsageError(
        f"whether {first.name} happened (step {first.step}{more}) is not known: it writes, and was in flight",
        hint="find out, and say so: run `agent-tt resume` in a terminal, or give resume(…, in_flight=…)",
    )
