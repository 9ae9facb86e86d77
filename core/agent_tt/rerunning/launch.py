"""Starting an agent again in a process of its own: the fork that was planned, or the run that is to be resumed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import told
from agent_tt.errors import InvalidEntryPoint, UsageError
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.forking.entry.code import program_facts
from agent_tt.importing import import_file
from agent_tt.model import AgentCode, ErrorInfo, NewFork, NewRun
from agent_tt.model.facts import ResumedFacts, RunFacts
from agent_tt.model.threads import is_in_database
from agent_tt.querying.watches.kept_watches import hand_down_watches
from agent_tt.recording.runs.entry import fingerprint
from agent_tt.rerunning.accepting import from_where_it_changed
from agent_tt.rerunning.ending import NO_ENTRY
from agent_tt.rerunning.handle import RunHandle
from agent_tt.rerunning.process import start_agent
from agent_tt.rerunning.rerun import Rerun
from agent_tt.sources import open_source
from agent_tt.store import open_patiently
from agent_tt.store.file.provenance import check_made_here
from agent_tt.temporary import temporary_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.answering import Asked
    from agent_tt.intercepting.limits import Limits
    from agent_tt.model import Run, RunStatus
    from agent_tt.protocols import Store
    from agent_tt.rerunning.rerun import Beginning, Following
    from agent_tt.rerunning.warm.pool import WarmAgents
    from agent_tt.resuming.plan import ResumePlan

__all__ = ["check_startable", "start_fork", "start_resume"]

MADE_UP_TAG: Final = "mock"
"""Tag of a run whose models were not asked."""


def check_startable(plan: ForkPlan) -> None:
    """Check what can be refused of a fork before anything is written or started.

    Raises:
        Untrusted: the store came from elsewhere.
        UsageError: it may run tools that nothing records, and nobody has allowed them.
    """
    if plan.copied_from is None:
        check_made_here(plan.store, plan.run)
    plan.check_held()


def start_fork(plan: ForkPlan, *, asked: Asked | None = None, warm: WarmAgents | None = None) -> RunHandle:
    """Write the fork's run with its edited state and start its agent in a child process.

    Args:
        plan: the fork.
        asked: decides the calls whose policy is `ask`; see `RunHandle`.
        warm: forks its process, where it is one of many; see `start_agent`.

    Raises:
        Untrusted: the store came from elsewhere.
        UsageError: it may run tools that nothing records, and nobody has allowed them.
        InvalidEntryPoint: the process could not be started; the run is kept as failed.
        UsageError: there is no folder for temporary files.
        StoreUnreadable: the run could not be written.
    """
    check_startable(plan)
    if plan.copied_from is not None:
        plan = _in_its_store(plan, plan.copied_from)
    if plan.accepts_changes:
        plan = from_where_it_changed(plan)

    def begin(store: Store) -> str:
        run_id = store.begin_fork(
            NewFork(
                plan.run.id,
                plan.step,
                state=plan.state,
                new=_new_run(plan),
                edits=plan.edits,
                policy=plan.policy,
                way_back_in=plan.by,
            )
        )
        hand_down_watches(store, plan.run.id, run_id)
        if plan.effects_said != plan.run.facts.effects:
            store.set_metadata(plan.run.id, RunFacts.effects.entry({**plan.effects_said}))
        return run_id

    begins: Beginning = "state" if plan.by == "restore" else "recording"
    run = replace(plan.run, metadata={**plan.run.metadata, **RunFacts.effects.entry({**plan.effects})})
    launch = _Launch(plan.store, run, begins, "edited", begin, unstarted="failed")
    limits = plan.terms.limits
    if limits.memory is not None:
        warm = None  # what processes share counts less than it would
    return launch.start(asked, interpreter=plan.code.interpreter, folder=plan.code.cwd, limits=limits, warm=warm)


def _in_its_store(plan: ForkPlan, file: Path) -> ForkPlan:
    """The same fork of a copy of its run, in the store that the fork is written to.

    Raises:
        InvalidEntryPoint: it is a thread of LangGraph, which is not installed here.
        UsageError: what was planned is not what lies in the store.
    """
    run_id, step = _taken_in(plan, file) if is_in_database(plan.run) else (_imported(plan, file), plan.step)
    with closing(open_patiently(plan.store)) as store:
        run = replace(store.run(run_id), code=plan.run.code)
        state = apply_edits(store.state(run_id, step), plan.edits) if plan.terms.is_graph else plan.state
    return replace(plan, run=run, step=step, state=state, copied_from=None)


def _imported(plan: ForkPlan, file: Path) -> str:
    """Copy a run out of a file of another system; its id in the store."""
    (done,) = [each for each in import_file(file, plan.store, [plan.run.id]) if each.name == plan.run.id]
    with closing(open_patiently(plan.store)) as store:
        is_there = done.run is not None and store.run(done.run).steps >= plan.step
        if done.run is not None and is_there and store.digest(done.run, plan.step) == plan.copied_state:
            return done.run
    why = done.problems[0] if done.problems else "the file has changed"
    raise UsageError(f"{plan.run.name} is not as it was when the fork was planned: {why}", hint="open it again")


def _taken_in(plan: ForkPlan, file: Path) -> tuple[str, int]:
    """Copy a thread out of a database of LangGraph; the id of its run in the store, and the step of the checkpoint."""
    with closing(open_source(file)) as source:
        checkpoint = source.steps(plan.run.id)[plan.step - 1].facts.checkpoint_id if plan.step else None
    if checkpoint is None:
        raise UsageError(f"step {plan.step} of {plan.run.name} has no checkpoint of the graph", hint="fork another")
    try:
        from agent_tt.langgraph.taking_in import take_in_thread
    except ModuleNotFoundError as error:
        raise InvalidEntryPoint(str(error), hint="a thread is forked by the Python that has LangGraph") from error
    return take_in_thread(plan.store, file, plan.run.origin["thread"], checkpoint)


def start_resume(plan: ResumePlan, *, asked: Asked | None = None) -> RunHandle:
    """Let a run go on: its agent starts in a child process, with the recorded Python in the recorded folder.

    Args:
        plan: what is resumed.
        asked: decides about calls of a fork whose policy is `ask`; see `RunHandle`.

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

    def begin(store: Store) -> str:
        store.reopen_run(run.id)
        resumed = *run.facts.resumed, ResumedFacts(plan.to_wire())
        store.set_metadata(run.id, RunFacts.resumed.entry(resumed))
        return run.id

    return _Launch(plan.store, run, "recording", "live", begin, unstarted=run.status).start(asked)


@dataclass(frozen=True, slots=True)
class _Launch:
    """An agent that is to be started.

    Attributes:
        store: the file that its run lies in.
        run: the run that was recorded, which says with what and where it runs.
        begins, follows: see `Rerun`.
        begin: writes into the store what is about to run; gives the id of the run that the process fills.
        unstarted: what becomes of that run where its process cannot be started.
    """

    store: Path
    run: Run
    begins: Beginning
    follows: Following
    begin: Callable[[Store], str]
    unstarted: RunStatus

    def start(
        self,
        asked: Asked | None,
        *,
        interpreter: str | None = None,
        folder: str | None = None,
        limits: Limits | None = None,
        warm: WarmAgents | None = None,
    ) -> RunHandle:
        """Start it, without standard input. What it prints goes to a file without a name, gone with the handle."""
        with temporary_file() as output:
            with closing(open_patiently(self.store)) as store:
                run_id, path = self.begin(store), store.path.resolve()
            rerun = Rerun(told(path), run_id, self.begins, self.follows)
            try:
                started = start_agent(
                    rerun, self.run, output, mark=run_id, interpreter=interpreter, folder=folder, warm=warm
                )
            except InvalidEntryPoint as error:
                with closing(open_patiently(self.store)) as store:
                    store.set_run_status(run_id, self.unstarted, ErrorInfo(NO_ENTRY, error.message))
                raise
            return RunHandle(
                self.store,
                run_id,
                started.process,
                output,
                keeper=started.keeper,
                seconds=None if limits is None else limits.seconds,
                memory=None if limits is None else limits.memory,
                asked=asked,
            )


def _new_run(plan: ForkPlan) -> NewRun:
    """What the fork is before its agent says anything: what its parent was."""
    parent = plan.run
    facts = program_facts(parent, plan.code)
    own = (
        RunFacts.langgraph_thread,
        RunFacts.langgraph_early_writes,
        RunFacts.fork_terms,
        RunFacts.fork_sweep,
        RunFacts.fork_expect,
        RunFacts.edits_without_effect,
        RunFacts.asked_unrecorded,
        RunFacts.asked_again,
    )
    for fact in own:  # the parent's
        facts.pop(fact.key, None)
    facts.pop(RunFacts.process.key, None)  # its own says which it is; until then it is none of the recorded one's runs
    if plan.effects_said:
        RunFacts.effects.put(facts, {**plan.effects_said})
    if plan.sweep is not None:
        RunFacts.fork_sweep.put(facts, plan.sweep)
    if plan.expect is not None:
        RunFacts.fork_expect.put(facts, plan.expect)
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


def _unknown(plan: ResumePlan) -> UsageError:
    first, count = plan.unknown[0], len(plan.unknown)
    more = f", and {count - 1} more" if count > 1 else ""
    return UsageError(
        f"whether {first.name} happened (step {first.step}{more}) is not known: it writes, and was in flight",
        hint="find out, and say so: in a terminal, with --happened or --not-happened, or with resume(…, in_flight=…)",
    )
