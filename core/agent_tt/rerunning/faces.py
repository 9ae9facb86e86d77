"""What a program calls to run a recorded agent again: `replay`, `resume` and `fork`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.config import ToolEffect
    from agent_tt.forking.policy.answering import Asked
    from agent_tt.model import Call, Edit, Run, WayBackIn
    from agent_tt.replaying.report import ReplayReport
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt.resuming.plan import Happened

__all__ = ["fork", "replay", "resume"]


def replay(
    run: str | Run,
    *,
    observe: bool = False,
    store: str | Path | None = None,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    agent: str | None = None,
) -> ReplayReport:
    """Run the agent of `run` again in a child process, with every call answered from the recording.

    Models, tools and requests are not reached: what the recording does not answer halts the agent. The run itself is
    not changed, and no new one is made; what came of the replay is kept beside it (`agent-tt replays`).

    ```python
    report = agent_tt.replay("refund-loop")
    assert report.is_faithful, report.divergences
    ```

    Args:
        run: a run, or its id, name, unique id prefix, or `latest`.
        observe: go on after a changed request with the answer recorded at that place, and collect all that differs.
        store: the store that holds the run; else the one that this project uses.
        arguments: what the agent finds behind its name in `sys.argv`.
        timeout: longest time in seconds; None waits as long as it takes.
        agent: another entry point, of code that has moved: `module:callable`, `path/file.py:callable`, or of a program
            that was recorded as a whole `path/file.py:__main__`.

    Returns:
        What differs, with its places, in `report.verdict` whether it went as recorded; `report.check()` raises where
        the replay failed.

    Raises:
        NotFound: there is no such store or run.
        UsageError: `agent` cannot stand for the program that was recorded.
        InvalidEntryPoint: the agent cannot be found or started.
        AgentFailed: its process died without a report, or took too long.
    """
    from agent_tt.rerunning.replay import run_replay
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    source = open_source(resolve_store_path(store))
    try:
        found = source.run(run) if isinstance(run, str) else run
        return run_replay(source, found, observe=observe, arguments=arguments, timeout=timeout, agent=agent)
    finally:
        source.close()


def resume(
    run: str | Run,
    *,
    in_flight: Callable[[Call], Happened | None] | None = None,
    redo_unrecorded: bool = False,
    store: str | Path | None = None,
) -> RunHandle:
    """Resume a run that broke off, in a child process.

    Calls that were answered are not made again. The agent's own code runs again from its beginning, as in a replay; it
    is halted where it asks something else than was recorded, and then the run is left as it was.

    ```python
    handle = agent_tt.resume("refund-loop", in_flight=lambda call: Happened({"id": 7}) if paid(call.args) else None)
    print(handle.result().status)
    ```

    Args:
        run: a run that crashed or was interrupted; or its id, name, unique id prefix, or `latest`.
        in_flight: asked of each call that writes and was in flight, unless it has an idempotency key. It gives
            `Happened(result)` where that did happen, None where it did not and is to be made.
        redo_unrecorded: let the agent do again, before the break, what nothing was recorded of: connections that it
            opens, processes that it starts. Else that halts it, since nobody knows how much of it was done.
        store: the store that holds the run; else the one that this project uses.

    Returns:
        A handle with `run_id`, `wait()`, `result()` and `stop()`.

    Raises:
        NotFound: there is no such store or run.
        UsageError: the run did not break off; or there are calls in flight to decide about, and no `in_flight`.
        InvalidEntryPoint: the agent cannot be started.
    """
    from dataclasses import replace

    from agent_tt.rerunning.launch import start_resume
    from agent_tt.resuming.plan import plan_resume
    from agent_tt.store import open_store
    from agent_tt.store.file.locate import resolve_store_path

    source = open_store(resolve_store_path(store))
    try:
        plan = plan_resume(source, source.run(run) if isinstance(run, str) else run)
    finally:
        source.close()
    plan = replace(plan, redo_unrecorded=redo_unrecorded)
    return start_resume(plan if in_flight is None else plan.decide(in_flight))


def fork(
    run: str | Run,
    step: int | str | None = None,
    changes: Mapping[str, object] | Sequence[Edit] | None = None,
    *,
    results: Mapping[str, object] | None = None,
    errors: Mapping[str, str] | None = None,
    answers: Mapping[str, object] | None = None,
    system: str | None = None,
    model: str | None = None,
    parameters: Mapping[str, object] | None = None,
    mute: Iterable[int] = (),
    store: str | Path | None = None,
    agent: str | None = None,
    allow: Iterable[str] = (),
    policy: Mapping[str, object] | None = None,
    effects: Mapping[str, ToolEffect] | None = None,
    name: str | None = None,
    by: WayBackIn | None = None,
    accept_changes: bool = False,
    executor: str | None = None,
    overrides: Mapping[str, object] | None = None,
    stop_at: int | None = None,
    time_limit: str | float | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    max_memory: str | int | None = None,
    breaks: Iterable[str] = (),
    script: str | Path | Sequence[object] | None = None,
    seed: int | None = None,
    with_originals: bool = False,
    expect: str | None = None,
    asked: Asked | None = None,
) -> RunHandle:
    """Run the agent of `run` again from the state after `step`, changed as asked.

    The agent really runs, in a child process: models are asked and reading tools run. Tools that write are denied, as
    an error that the agent sees, unless `allow` names them. An agent that takes a state is handed it; any other runs
    from its beginning, with what it asked up to `step` answered from the recording.

    ```python
    handle = agent_tt.fork("refund-loop", 1, {"budget.max_searches": 3})
    print(handle.result().status)
    agent_tt.fork("refund-loop", results={"6": {"status": "refunded"}}).wait()
    ```

    Args:
        run: a run, or its id, name, unique id prefix, or `latest`.
        step: number of the step whose state it starts from (0: the input), or `~1`, `@error`. Where a call is edited
            it may be left out.
        changes: new values by path (`{"messages[3].content": "hello"}`), or edits of any kind.
        results: what tools came back with, by `STEP[.CALL][.PATH]`: `{"6.items[0].price": 20}`.
        errors: what calls raised, by `STEP[.CALL]`: `{"6": "TimeoutError: no answer"}`.
        answers: what the model said, by `STEP[.CALL]`: words, or `[{"name": "tool", "arguments": {...}}]`.
        system: the system prompt of every later request.
        model: the model of every later request.
        parameters: parameters of every later request; None leaves one out.
        mute: numbers of steps that are undone, as if they had never happened.
        store: the store that holds the run; else the one that this project uses.
        agent: another entry point, `module:callable` or `path/file.py:callable`; `path/file.py:__main__` is a script.
        allow: names of writing tools that may run: the short form of `policy={name: "live"}`. Where `policy` says
            something else of the same name, that holds.
        policy: what becomes of calls, by a tool's name, a pattern (`search_*`) or a boundary (`*llm`, `*read`,
            `*write`, `*http`, `*subprocess`, `*socket`): `live`, `recorded`, `recorded-or-ask`,
            `recorded-or-deny`, `stub:JSON`, `error:Class: text`, `ask` or `deny`. It is stronger than what is
            configured; what writes is denied where nobody says more.
        effects: what tools do that do not say it themselves, `read` or `write` by name. It is kept with the run, and
            later forks of this agent know it.
        name: the new run's name; else `NAME/fork-N`.
        by: `restore` or `replay`; None chooses.
        accept_changes: where the agent runs from its beginning and asks something else than was recorded, because its
            code has changed, let it go live from there.
        executor: who runs it: `python`, `mock` (models are not asked) or the name of a registered one.
        overrides: what the agent is told beside its state, by name.
        stop_at: the last step that it takes.
        time_limit: seconds, or `5m`.
        max_tokens: tokens that models may read and write.
        max_cost: US dollars that they may cost.
        max_memory: bytes of memory that its process may take up, or `2GB`.
        breaks: expressions such as `state.budget < 0` or `tool == "charge"`: it stops after the first step with which
            one of them begins to hold, before the agent's next line.
        script: answers of a scripted model, or a JSON file with them; see `agent_tt.forking.terms.read_script`.
        seed: varies the answers that `mock` makes up.
        with_originals: whether the agent is given what marks of personal data stand for, out of the vault.
        expect: what is hoped of it, an expression about its last step such as `paid == true`; it is kept with the run,
            and `handle.hoped()` says whether it came.
        asked: decides about calls whose policy is `ask`: given an `agent_tt.questions.CallQuestion` it returns
            `question.run()`, `question.run(amount=5)`, `question.give(value)`, `question.fail("TimeoutError: …")` or
            `question.refuse("why")`. Without it they wait for `handle.answer`, `agent-tt answer` or the app.

    Returns:
        A handle with `run_id`, `wait()`, `result()` and `stop()`.

    Raises:
        NotFound: there is no such store, run or step.
        UsageError: an edit does not fit, or the run cannot be forked there; the message says why.
        NotRebuildable: the state holds a value that cannot become a Python object again.
    """
    from contextlib import closing

    from agent_tt.forking.editing.written import call_edits, request_edits
    from agent_tt.forking.effects_said import checked_effects
    from agent_tt.forking.plan import plan_fork
    from agent_tt.forking.policy.policies import configured_policy, written_rules
    from agent_tt.forking.request import ForkRequest
    from agent_tt.forking.terms import terms_from
    from agent_tt.model import Edit
    from agent_tt.rerunning.launch import start_fork
    from agent_tt.store import open_store
    from agent_tt.store.file.locate import resolve_store_path

    by_path: Mapping[str, object] = changes if isinstance(changes, Mapping) else {}
    edits = () if isinstance(changes, Mapping) else changes or ()
    request = ForkRequest(
        step=step,
        changes=by_path,
        edits=(
            *edits,
            *call_edits(results=results, errors=errors, answers=answers),
            *request_edits(system=system, model=model, parameters=parameters),
            *(Edit("mute", "", target="step", step=number) for number in mute),
        ),
        agent=agent,
        policy=configured_policy().with_all(written_rules(allow, policy or {})),
        effects=checked_effects(effects or {}),
        name=name,
        by=by,
        accept_changes=accept_changes,
        expect=expect,
        terms=terms_from(
            executor=executor,
            overrides=overrides or {},
            stop_at=stop_at,
            time_limit=time_limit,
            max_tokens=max_tokens,
            max_cost=max_cost,
            max_memory=max_memory,
            breaks=breaks,
            script=script,
            seed=seed,
            originals=with_originals,
        ),
    )
    with closing(open_store(resolve_store_path(store))) as source:
        plan = plan_fork(source, run, request)
    return start_fork(plan, asked=asked)
