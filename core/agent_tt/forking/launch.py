"""Starting a planned fork in a process of its own."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.errors import InvalidEntryPoint
from agent_tt.forking.accepting import from_where_it_changed
from agent_tt.forking.child_environment import RUN_VARIABLE, STORE_VARIABLE
from agent_tt.forking.code import program_facts
from agent_tt.forking.handle import ForkHandle
from agent_tt.model import AgentCode, ErrorInfo, NewRun
from agent_tt.model.facts import RunFacts
from agent_tt.querying.watches.kept_watches import hand_down_watches
from agent_tt.recording.entry import fingerprint
from agent_tt.replaying.agent_process import start_agent
from agent_tt.store import open_patiently
from agent_tt.store.provenance import check_made_here
from agent_tt.temporary import temporary_file

if TYPE_CHECKING:
    from agent_tt.forking.answering import Asked
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.model import WayBackIn

__all__ = ["start_fork"]

MADE_UP_TAG: Final = "mock"
"""Tag of a run whose models were not asked."""

_CHILDREN: Final[dict[WayBackIn, str]] = {"restore": "agent_tt._child", "replay": "agent_tt._reenter_child"}


def start_fork(plan: ForkPlan, *, asked: Asked | None = None) -> ForkHandle:
    """Write the fork's run with its edited state and start its agent in a child process.

    The child runs in the recorded working directory with the recorded Python, in a session of its own and without
    standard input. What it prints goes to a temporary file that has no name and is gone with the handle.

    Args:
        plan: the fork.
        asked: decides the calls whose policy is `ask`; see `ForkHandle`.

    Raises:
        Untrusted: the store came from elsewhere.
        UsageError: it may run tools that nothing records, and nobody has allowed them.
        InvalidEntryPoint: the process could not be started; the run is kept as failed.
        UsageError: there is no folder for temporary files.
        StoreUnreadable: the run could not be written.
    """
    check_made_here(plan.store, plan.run)
    plan.check_held()
    if plan.accepts_changes:
        plan = from_where_it_changed(plan)
    with temporary_file() as output, closing(open_patiently(plan.store)) as store:
        run_id = store.begin_fork(
            plan.run.id,
            plan.step,
            state=plan.state,
            new=_new_run(plan),
            edits=plan.edits,
            policy=plan.policy,
            way_back_in=plan.by,
        )
        hand_down_watches(store, plan.run.id, run_id)
        told = {STORE_VARIABLE: str(store.path.resolve()), RUN_VARIABLE: run_id}
        code = plan.code
        try:
            started = start_agent(
                _CHILDREN[plan.by],
                plan.run,
                told,
                output,
                mark=run_id,
                fills=plan.store,
                interpreter=code.interpreter,
                folder=code.cwd,
            )
        except InvalidEntryPoint as error:
            why = ErrorInfo("agent_tt.errors:InvalidEntryPoint", error.message)
            store.set_run_status(run_id, "failed", why)
            raise
        limits = plan.terms.limits
        return ForkHandle(
            plan.store,
            run_id,
            started.process,
            output,
            keeper=started.keeper,
            seconds=limits.seconds,
            memory=limits.memory,
            asked=asked,
        )


def _new_run(plan: ForkPlan) -> NewRun:
    """What the fork is before its agent says anything: what its parent was."""
    parent = plan.run
    facts = program_facts(parent, plan.code)
    for fact in (RunFacts.fork_terms, RunFacts.fork_sweep, RunFacts.edits_without_effect):  # the parent's own
        facts.pop(fact.key, None)
    facts.pop(RunFacts.process.key, None)  # its own says which it is; until then it is none of the recorded one's runs
    if plan.sweep is not None:
        facts[RunFacts.fork_sweep.key] = dict(plan.sweep)
    if kept := plan.terms.to_mapping():
        facts[RunFacts.fork_terms.key] = kept
    return NewRun(
        name=plan.name or "",
        code=_code(plan),
        model=parent.model,
        user_id=parent.user_id,
        metadata=facts,
        tags=(MADE_UP_TAG,) if plan.terms.is_mock else (),
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
