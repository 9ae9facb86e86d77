"""Starting the agent of a run that goes on, in a process of its own."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError, InvalidEntryPoint, UsageError
from agent_tt.forking.child_environment import RUN_VARIABLE, STORE_VARIABLE
from agent_tt.forking.handle import ForkHandle
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import ResumedFacts, RunFacts
from agent_tt.replaying.agent_process import start_agent
from agent_tt.store import open_patiently, open_store
from agent_tt.store.provenance import check_made_here
from agent_tt.temporary import temporary_file

if TYPE_CHECKING:
    from agent_tt.forking.answering import Asked
    from agent_tt.model import Run
    from agent_tt.resuming.plan import ResumePlan

__all__ = ["DIVERGED", "ResumeHandle", "start_resume"]

DIVERGED: Final = 1
"""Exit code of the child whose agent was halted."""

_NO_ENTRY: Final = "agent_tt.errors:InvalidEntryPoint"
_CHANGED_HINT: Final = "put the code back as it was and resume it again, or fork it"
_UNRECORDED_HINT: Final = (
    "nobody knows how much of that was done before the break, since it was not recorded:"
    " where it may be done again, resume with --redo-unrecorded (redo_unrecorded=True)"
)


class ResumeHandle(ForkHandle):
    """The child process of a run that goes on; see `agent_tt.forking.handle`."""

    def result(self) -> Run:
        """Wait, then give the finished run.

        Raises:
            AgentTTError: the agent does not ask again what was recorded, or does before the break what was not
                recorded. The run can be resumed once more.
            InvalidEntryPoint: the agent cannot be found any more. The run can be resumed once more.
            AgentFailed: the agent raised, exited with a failure or was killed.
            Interrupted: it was stopped, or stopped itself.
            StoreUnreadable: the run cannot be read, or could not be written to its end.
        """
        self.wait()
        if self.poll() not in (DIVERGED, InvalidEntryPoint.exit_code):
            return super().result()
        with closing(open_store(self.store, read_only=True)) as store:
            run = store.run(self.run_id)
        error = run.error or ErrorInfo("", "it was halted")
        if self.poll() == DIVERGED:
            is_unrecorded = error.message.startswith("unrecorded effect")
            raise AgentTTError(
                f"{run.name} could not be resumed: {error.message}",
                hint=_UNRECORDED_HINT if is_unrecorded else _CHANGED_HINT,
            )
        if error.class_name == _NO_ENTRY:
            raise InvalidEntryPoint(
                error.message, hint=f"{run.name} is as it was: put its code back and resume it again"
            )
        return super().result()


def start_resume(plan: ResumePlan, *, asked: Asked | None = None) -> ResumeHandle:
    """Let a run go on: its agent starts in a child process, with the recorded Python in the recorded folder.

    Args:
        plan: what is resumed.
        asked: decides about calls of a fork whose policy is `ask`; see `ForkHandle`.

    Raises:
        Untrusted: the store came from elsewhere.
        UsageError: it is not known of every call in flight whether it happened; or the run does not wait any more.
        InvalidEntryPoint: the process could not be started; the run is as it was.
        StoreUnreadable: the run could not be written.
    """
    if plan.unknown:
        raise _unknown(plan)
    run = plan.run
    check_made_here(plan.store, run)
    told = {STORE_VARIABLE: str(plan.store.resolve()), RUN_VARIABLE: run.id}
    with temporary_file() as output:
        with closing(open_patiently(plan.store)) as store:
            store.reopen_run(run.id)
            resumed = *run.facts.resumed, ResumedFacts(plan.to_wire())
            store.set_metadata(run.id, RunFacts.resumed.entry(resumed))
        try:
            started = start_agent("agent_tt._resume_child", run, told, output, mark=run.id, fills=plan.store)
        except InvalidEntryPoint as error:
            with closing(open_patiently(plan.store)) as store:
                why = ErrorInfo(_NO_ENTRY, error.message)
                store.set_run_status(run.id, run.status, why)
            raise
        return ResumeHandle(plan.store, run.id, started.process, output, keeper=started.keeper, asked=asked)


def _unknown(plan: ResumePlan) -> UsageError:
    first, count = plan.unknown[0], len(plan.unknown)
    more = f", and {count - 1} more" if count > 1 else ""
    return UsageError(
        f"whether {first.name} happened (step {first.step}{more}) is not known: it writes, and was in flight",
        hint="find out, and say so: in a terminal, with --happened or --not-happened, or with resume(…, in_flight=…)",
    )
