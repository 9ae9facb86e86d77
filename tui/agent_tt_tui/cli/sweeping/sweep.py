"""`agent-tt sweep`: the same fork with many values, several times each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from agent_tt.querying.checkpoints import find_place
from agent_tt_tui.cli.options import Options, common_options, complete_runs, gathering, write_json
from agent_tt_tui.cli.running.following import stopped_as_by_ctrl_c
from agent_tt_tui.cli.running.fork_options import effect_option, takes_request
from agent_tt_tui.cli.running.trust import ask_for_trust, trust_option
from agent_tt_tui.cli.sweeping.faults import faults_option
from agent_tt_tui.cli.sweeping.sweep_shapes import matrix_shape, sweep_plan_shape, sweep_shape
from agent_tt_tui.cli.sweeping.sweep_text import Progress, print_beginning, print_list, print_matrix, print_plan

if TYPE_CHECKING:
    from agent_tt.forking.request import ForkRequest
    from agent_tt.sweeping.axes import Axis, AxisKind
    from agent_tt.sweeping.definition import Definition
    from agent_tt.sweeping.driving import Claimed
    from agent_tt.sweeping.matrix import Matrix

_JOBS = 2

_AXES: Final[tuple[tuple[AxisKind, str, str], ...]] = (
    ("set", "PATH=V,V", "Values of the state, in JSON: temperature=0,0.5,1."),
    ("retype", "PATH=V,V", "The same, as plain JSON whatever type of value is there."),
    ("insert", "PATH=V,V", "Values inserted into a list of the state."),
    ("delete", "PATH", "Remove a key or an item of the state, in every run."),
    ("move", "PATH=PATH", "Move a value of the state, in every run."),
    ("result", "STEP[.CALL][.PATH]=V,V", "What a tool came back with, in JSON."),
    ("error", "STEP[.CALL]=ERROR", "What a call raised; again for another."),
    ("answer", "STEP[.CALL]=TEXT", "What the model said; again for another."),
    ("system", "TEXT", "The system prompt of every later request; again for another."),
    ("model", "NAME,NAME", "Models of every later request."),
    ("param", "NAME=V,V", "Values of a parameter of every later request."),
    ("mute", "STEP,STEP", "Steps undone, as if they had never happened; one in each run."),
    ("agent", "A,B", "Entry points, MODULE:CALLABLE or FILE.py:CALLABLE."),
    ("executor", "NAME,NAME", "Who runs it: python, mock (no model calls), a plugin's."),
    ("policy", "NAME=WORD,WORD", "What becomes of its calls: live, recorded, stub:JSON, error:Class: text or deny."),
)
"""What can be varied: the options of `fork`, each with the values that it takes."""


def _axis(kind: str, text: str) -> Axis:
    from agent_tt.sweeping.axes import axis_of

    return axis_of(cast("AxisKind", kind), text)


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@click.option("--at", "step", metavar="STEP", help="The step to fork after; 0 is the input.")
@gathering("axes", _AXES, _axis)
@click.option("--samples", type=click.IntRange(min=1), metavar="N", help="Run each combination N times.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help=f"So many runs at a time; {_JOBS} unless said.")
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    metavar="ASKED",
    help="A path of the last state, or a question: 'budget < 0', 'tokens > 500'.",
)
@click.option("--by", type=click.Choice(["restore", "replay"]), help="How each agent gets to the step.")
@click.option("--accept-changes", is_flag=True, help="Where the changed code asks something else, go live from there.")
@click.option("--allow", multiple=True, metavar="TOOL", help="Let this tool write in every run; others are denied.")
@effect_option
@click.option("--override", "overrides", multiple=True, metavar="KEY=VALUE", help="Pass the agents a setting, in JSON.")
@click.option("--stop-at", metavar="STEP", type=click.IntRange(min=1), help="Stop each run when this step has ended.")
@click.option("--time-limit", metavar="TIME", help="Stop each run after 30s, 5m or 1h30m.")
@click.option("--max-tokens", metavar="N", type=click.IntRange(min=0), help="Stop each run after that many tokens.")
@click.option("--max-memory", metavar="SIZE", help="Most memory of each agent's process: 512MB, 2GB.")
@click.option(
    "--max-cost",
    "budget",
    metavar="USD",
    type=click.FloatRange(min=0),
    help="Start no further run once all together have cost that.",
)
@click.option(
    "--script",
    metavar="FILE.json",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Answer model calls from this list of answers, in order.",
)
@click.option(
    "--seed", "first_seed", type=int, metavar="N", help="Varies the answers of --executor mock; each sample adds 1."
)
@click.option("--new-keys", is_flag=True, help="Let --set give the state keys that it does not have.")
@click.option("--yes", is_flag=True, help="Start more than 100 runs.")
@click.option("--dry-run", is_flag=True, help="Show what would run, and run nothing.")
@click.option("--resume", metavar="SWEEP", help="Resume a sweep that was stopped or killed.")
@click.option("--show", metavar="SWEEP", help="Show how far a sweep is and what came out.")
@click.option("--list", "listed", is_flag=True, help="List sweeps; of RUN, where it is named.")
@trust_option
@common_options
@faults_option
@takes_request
def command(
    options: Options,
    /,
    run: str | None,
    *,
    request: ForkRequest,
    axes: list[Axis],
    resume: str | None,
    show: str | None,
    listed: bool,
    jobs: int | None,
    budget: float | None,
    yes: bool,
    dry_run: bool,
    trust: bool,
    samples: int | None,
    outcomes: tuple[str, ...],
    first_seed: int | None,
    new_keys: bool,
) -> None:
    """Fork RUN after STEP (also RUN@STEP) with every combination of values, --samples times each; then count results.

    With --faults nothing is varied but the answers of tools: each in turn is nothing, an error, cut, stale or foreign,
    writes are held, and what the agent notices is told from what it passes on. Exit code 1 where it passes one on,
    else 2 where of one nobody knows.

    Each combination is a cell of a matrix, each of its runs a fork `RUN/sweep-N/CELL.SAMPLE`. An option with one value
    holds for all runs. Values are separated by commas outside of JSON. Ctrl-C stops what is under way; --resume goes on
    with what has no outcome yet. Runs that fail are outcomes too: exit code 0 says that each run has one.

    \b
    agent-tt sweep refund-loop --at 1 --set budget.max_searches=1,3,5 --samples 5
    agent-tt sweep refund-loop --at 1 --agent refund_loop.py:main,refund_loop.py:main_v2
    agent-tt sweep trip-planner --at 2 --set 'trip.destination="Oslo","Rome"' --dry-run
    agent-tt sweep trip-planner --at 2 --param temperature=0,1 --outcome 'budget < 0'
    agent-tt sweep trip-planner --faults --dry-run
    agent-tt sweep --resume refund-loop/sweep-1
    --json: {sweep, axes, cells: [{cell, values, samples: [{sample, status, run, steps, …}],
            succeeded: {count, runs, share, low, high}, …}], total, pooled};
            with --dry-run {run, step, cells, runs, expected, …}, with --list [{…sweep}];
            with --faults {run, name, noticed, passed_on, unknown, stopped, faults: [{tool, step,
            call, fault, answer, reaction, how, fork}]}, with --dry-run only what would be tried
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    chosen = [name for name, said in (("--resume", resume), ("--show", show), ("--list", listed)) if said]
    if len(chosen) > 1:
        raise click.UsageError(f"{chosen[0]} and {chosen[1]} do not go together")
    if chosen and (axes or (run is not None and not listed)):
        raise click.UsageError(f"{chosen[0]} takes a sweep as it was begun: leave the rest out")
    if listed:
        _list(options, run)
    elif show is not None:
        with options.source() as source:
            from agent_tt.sweeping.matrix import MatrixReader

            _tell(options, MatrixReader(source, show).read())
    elif resume is not None:
        _resume(options, resume, jobs, budget, trust=trust)
    elif run is None:
        raise click.UsageError("name the RUN to fork, or a sweep with --resume or --show; --list lists them")
    else:
        from agent_tt.sweeping.definition import Definition

        asked = Definition(
            axes=tuple(axes),
            fork=request,
            samples=samples or 1,
            jobs=jobs or _JOBS,
            outcomes=outcomes,
            max_cost=budget,
            new_keys=new_keys,
        )
        found, definition = _definition(options, run, asked, first_seed)
        _begin(options, found, definition, yes=yes, dry_run=dry_run, trust=trust)


def _definition(options: Options, run: str, asked: Definition, seed: int | None) -> tuple[str, Definition]:
    """The id of the run that is forked, and how.

    Raises:
        UsageError: it makes no sense.
        RunNotFound, StepNotFound: there is no such run or step.
    """
    from agent_tt.sweeping.axes import axes_of
    from agent_tt.sweeping.definition import with_executors

    known = axes_of(asked.axes)
    executors = [str(value) for axis in known if axis.kind == "executor" for value in axis.values]
    terms, several = with_executors(asked.fork.terms, executors, seed)
    with options.source(run) as source:
        found, number = find_place(source, run, asked.fork.step)
    axes = (*(axis for axis in known if axis.kind != "executor"), *several)
    return found.id, replace(asked, axes=axes, fork=replace(asked.fork, step=number, terms=terms)).checked()


def _begin(options: Options, run: str, definition: Definition, *, yes: bool, dry_run: bool, trust: bool) -> None:
    from agent_tt.errors import UsageError
    from agent_tt.sweeping.driving import start_sweep
    from agent_tt.sweeping.plan import plan_sweep

    with options.source() as source:
        plan = plan_sweep(source, run, definition)
    if dry_run:
        if options.as_json:
            write_json(sweep_plan_shape(plan))
        else:
            print_plan(options.terminal(), plan)
        return
    if plan.needs_a_yes and not yes:
        raise UsageError(
            f"that would be {definition.run_count:,} runs", hint="--dry-run shows what they may cost; --yes starts them"
        )
    ask_for_trust(options, plan.first.store, plan.run, trust=trust)
    if not options.as_json:
        print_beginning(options.terminal(), plan)
    _drive(options, start_sweep(plan))


def _resume(options: Options, name: str, jobs: int | None, max_cost: float | None, *, trust: bool) -> None:
    from agent_tt.sweeping.driving import take_up

    with options.source() as source:
        if source.capabilities.records:
            sweep = source.sweep(name)
            ask_for_trust(options, source.path, source.run(sweep.run), trust=trust)
        path = source.path
    _drive(options, take_up(path, name, jobs=jobs, max_cost=max_cost))


def _drive(options: Options, claimed: Claimed) -> None:
    """Drive it, showing how far it is, and show what came out, though it may be stopped before its end."""
    from agent_tt.sweeping.driving import drive
    from agent_tt.sweeping.matrix import MatrixReader

    terminal = None if options.as_json else options.terminal()
    progress = Progress(terminal)
    try:
        with stopped_as_by_ctrl_c(), progress:
            drive(claimed, progress.report, progress.stopping)
    finally:
        if progress.has_begun:
            with Options(claimed.store, options.as_json).source() as source:
                _tell(options, MatrixReader(source, claimed.sweep_id, claimed.definition).read())


def _tell(options: Options, matrix: Matrix) -> None:
    if options.as_json:
        write_json(matrix_shape(matrix))
    else:
        print_matrix(options.terminal(), matrix)


def _list(options: Options, run: str | None) -> None:
    from agent_tt.errors import AgentTTError
    from agent_tt.sweeping.matrix import MatrixReader

    with options.source() as source:
        sweeps = source.sweeps()
        if run is not None:
            found = source.run(run)
            sweeps = [sweep for sweep in sweeps if sweep.run == found.id]
        matrices: list[Matrix] = []
        damaged: list[str] = []
        for sweep in sweeps:
            try:
                matrices.append(MatrixReader(source, sweep.id).read())
            except AgentTTError as error:
                damaged.append(f"{sweep.name}: {error.message}")
    if options.as_json:
        write_json([sweep_shape(matrix) for matrix in matrices])
    else:
        print_list(options.terminal(), matrices, damaged)
