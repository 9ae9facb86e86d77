"""Sweeps: the same fork with many values, several times each, and what came out of it in one matrix.

| module | what it does |
|---|---|
| `axes` | what is varied, as people write it and as edits of a fork |
| `definition` | the product of axes, kept in the store |
| `plan` | the pre-flight: each cell planned as the fork that it is |
| `driving` | beginning a sweep, or taking one up again |
| `running` | driving it, so many runs at a time; stopped and resumed at any moment |
| `matrix` | what came out, read from the forks |
| `faults` | wrong answers of tools, one after the other, and what the agent does with each |
| `intervals` | how sure a rate is |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.config import ToolEffect
    from agent_tt.model import Run, WayBackIn
    from agent_tt.sweeping.matrix import Matrix

__all__ = ["resume_sweep", "sweep"]


def sweep(
    run: str | Run,
    step: int | str | None = None,
    changes: Mapping[str, Sequence[object]] | None = None,
    *,
    results: Mapping[str, Sequence[object]] | None = None,
    parameters: Mapping[str, Sequence[object]] | None = None,
    models: Sequence[str] = (),
    systems: Sequence[str] = (),
    agents: Sequence[str] = (),
    executors: Sequence[str] = (),
    policies: Mapping[str, Sequence[str]] | None = None,
    samples: int = 1,
    jobs: int = 1,
    outcomes: Iterable[str] = (),
    allow: Iterable[str] = (),
    effects: Mapping[str, ToolEffect] | None = None,
    by: WayBackIn | None = None,
    accept_changes: bool = False,
    overrides: Mapping[str, object] | None = None,
    stop_at: int | None = None,
    time_limit: str | float | None = None,
    max_tokens: int | None = None,
    max_memory: str | int | None = None,
    script: str | Path | Sequence[object] | None = None,
    seed: int | None = None,
    max_cost: float | None = None,
    new_keys: bool = False,
    store: str | Path | None = None,
    report: Callable[[Matrix], None] | None = None,
) -> Matrix:
    """Fork `run` after `step` with every combination of values, `samples` times each, and wait for all of it.

    ```python
    matrix = agent_tt.sweep("refund-loop", 1, {"budget.max_searches": [1, 3, 5]}, samples=5, jobs=2)
    for cell in matrix.cells:
        print(cell.labels, cell.tally.succeeded.share, cell.tally.succeeded.interval)
    ```

    Whatever is given one value only holds for all runs. Ctrl-C stops the runs that are under way; `resume_sweep` goes
    on with the rest. Tools that write are denied, unless `allow` or `policies` lets them run.

    Args:
        run: a run, or its id, name, unique id prefix, or `latest`.
        step: number of the step whose state the runs start from (0: the input), or `~1`, `@error`. Where a call is
            varied it may be left out.
        changes: the values that each path of the state takes: `{"temperature": [0, 0.5, 1]}`.
        results: the results that tools came back with, by `STEP[.CALL][.PATH]`.
        parameters: the values of each parameter of all later requests.
        models: the models of all later requests.
        systems: the system prompts of all later requests.
        agents: entry points, `module:callable` or `path/file.py:callable`.
        executors: who runs the agent: `python`, `mock`, registered ones.
        policies: `live` and `deny`, by tool.
        samples: how often each combination is taken.
        jobs: how many runs are under way at a time.
        outcomes: what is asked of each run: a path of its last state (`answer`), or an expression about its last
            step (`budget < 0 and not error`), in which `state.` may be left out.
        allow: names of writing tools that may run in every run, unless `policies` says something else of them.
        effects: what tools do that do not say it themselves, `read` or `write` by name; kept with the runs.
        by: `restore` or `replay`; None chooses.
        accept_changes: as of `agent_tt.fork`.
        overrides: what the agents are told beside their state, by name.
        stop_at: the last step that each run takes.
        time_limit: seconds that each run may take, or `5m`.
        max_tokens: tokens that the models of each run may read and write.
        max_memory: bytes of memory that each agent's process may take up, or `2GB`.
        script: answers of a scripted model.
        seed: varies the answers that `mock` makes up; each sample adds one to it.
        max_cost: US dollars: once all runs together have cost that, none is begun.
        new_keys: whether `changes` may name keys that the state does not have.
        store: the store that holds the run; else the one that this project uses.
        report: is told how far it is.

    Returns:
        What came out: a cell for each combination with its samples, rates with 95 % intervals, means.

    Raises:
        NotFound: there is no such store, run or step.
        UsageError: it makes no sense, or one of its runs could not run; the message says which and why.
        Interrupted: it was stopped before its end, or has cost as much as it may; the hint says how to go on.
        AgentFailed: some of its runs crashed each time.
    """
    from contextlib import closing

    from agent_tt.codec.encode import encode
    from agent_tt.forking.effects_said import checked_effects
    from agent_tt.forking.request import ForkRequest
    from agent_tt.forking.terms import terms_from
    from agent_tt.store import open_store
    from agent_tt.store.file.locate import resolve_store_path
    from agent_tt.sweeping.axes import AxisKind, axes_of, axis_from_values
    from agent_tt.sweeping.definition import Definition, with_executors
    from agent_tt.sweeping.driving import drive, start_sweep
    from agent_tt.sweeping.plan import plan_sweep

    by_place: tuple[tuple[AxisKind, Mapping[str, Sequence[object]] | None], ...] = (
        ("set", changes),
        ("result", results),
        ("param", parameters),
        ("policy", policies),
    )
    by_kind: tuple[tuple[AxisKind, Sequence[str]], ...] = (
        ("model", models),
        ("system", systems),
        ("agent", agents),
    )
    axes = [
        axis_from_values(kind, place, [encode(value) for value in values])
        for kind, places in by_place
        for place, values in (places or {}).items()
    ]
    axes += [axis_from_values(kind, "", list(values)) for kind, values in by_kind if values]
    said = terms_from(
        overrides=overrides or {},
        stop_at=stop_at,
        time_limit=time_limit,
        max_tokens=max_tokens,
        max_memory=max_memory,
        script=script,
    )
    terms, executor_axis = with_executors(said, executors, seed)
    definition = Definition(
        axes=axes_of([*axes, *executor_axis]),
        fork=ForkRequest(
            step=step,
            allow=tuple(allow),
            effects=checked_effects(effects or {}),
            by=by,
            accept_changes=accept_changes,
            terms=terms,
        ),
        samples=samples,
        jobs=jobs,
        outcomes=tuple(outcomes),
        max_cost=max_cost,
        new_keys=new_keys,
    )
    with closing(open_store(resolve_store_path(store))) as source:
        plan = plan_sweep(source, run, definition)
    return drive(start_sweep(plan), report)


def resume_sweep(
    name: str,
    *,
    jobs: int | None = None,
    max_cost: float | None = None,
    store: str | Path | None = None,
    report: Callable[[Matrix], None] | None = None,
) -> Matrix:
    """Resume a sweep that was stopped or killed: what has an outcome is not taken again.

    Args:
        name: its name, `refund-loop/sweep-1`, its id or the unique beginning of it, or `latest`.
        jobs: how many runs are under way at a time; None for as many as before.
        max_cost: US dollars that all runs together may cost; None for as many as before.
        store: the store that holds it; else the one that this project uses.
        report: is told how far it is.

    Returns:
        What came out, as of `sweep`.

    Raises:
        RunNotFound: there is no such sweep.
        IsRunning: somebody drives it.
        Interrupted, AgentFailed: as `sweep`.
    """
    from agent_tt.store.file.locate import resolve_store_path
    from agent_tt.sweeping.driving import drive, take_up

    return drive(take_up(resolve_store_path(store), name, jobs=jobs, max_cost=max_cost), report)
