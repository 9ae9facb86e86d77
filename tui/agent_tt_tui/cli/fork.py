"""`agent-tt fork`: run an agent again from a step, with an edited state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.stopping import stopped_as_by_ctrl_c
from agent_tt_tui.cli.trust import ask_for_trust, trust_option

if TYPE_CHECKING:
    from agent_tt.forking.boundary import Expected
    from agent_tt.forking.handle import ForkHandle
    from agent_tt.forking.plan import ForkPlan
    from agent_tt_tui.cli.terminal import Terminal

_POLL_SECONDS = 0.1


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.option("--at", "step", required=True, metavar="STEP", help="The step to start after; 0 is the input.")
@click.option(
    "--set", "assignments", multiple=True, metavar="PATH=VALUE", help="Change the state first; VALUE is JSON."
)
@click.option("--agent", metavar="MODULE:CALLABLE", help="Run this entry point (or FILE.py:CALLABLE) instead.")
@click.option("--allow", multiple=True, metavar="TOOL", help="Let this tool write; all others that write are denied.")
@click.option("--name", help="Name of the new run, instead of RUN/fork-N.")
@click.option("--dry-run", is_flag=True, help="Show what would run, and run nothing.")
@trust_option
@common_options
def command(
    options: Options,
    run: str,
    step: str,
    *,
    assignments: tuple[str, ...],
    agent: str | None,
    allow: tuple[str, ...],
    name: str | None,
    dry_run: bool,
    trust: bool,
) -> None:
    """Run RUN's agent again from the state after STEP, for real, in a process of its own.

    Exit code 5 when the agent failed; its run is kept.

    \b
    agent-tt fork refund-loop --at 1 --agent refund_loop.py:main_v2
    agent-tt fork trip-planner --at 2 --set 'trip.destination="Oslo"'
    --json: the new run, as in `runs`; with --dry-run {run, step, name, entry, file,
            line, function, way_back_in, edits, boundary, expected, problems}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.forking.edits import parse_assignment
    from agent_tt.forking.plan import plan_fork

    edits = [parse_assignment(text) for text in assignments]
    with options.source(run) as source:
        found = source.run(run)
        number = source.step_number(found, step)
        plan = plan_fork(source, found, number, edits=edits, agent=agent, allow=allow, name=name)
    if dry_run and options.as_json:
        from agent_tt_tui.cli.shapes import plan_shape

        write_json(plan_shape(plan))
    elif dry_run:
        _print_plan(options.terminal(), plan)
    else:
        ask_for_trust(options, plan.store, plan.run, trust=trust)
        _run(options, plan)


def _run(options: Options, plan: ForkPlan) -> None:
    from agent_tt.forking.launch import start_fork

    with stopped_as_by_ctrl_c(), start_fork(plan) as handle:
        if not options.as_json:
            _follow(options.terminal(), plan, handle)
        handle.wait()
    with options.source() as source:
        run = source.run(handle.run_id)
    if options.as_json:
        from agent_tt_tui.cli.shapes import run_shape

        write_json(run_shape(run))
    else:
        from agent_tt_tui.cli.wording import run_line

        run_line(options.terminal(), run)
    handle.result()


def _follow(terminal: Terminal, plan: ForkPlan, handle: ForkHandle) -> None:
    """Write each step as soon as it is over, and what is left when the agent has ended."""
    from agent_tt.sources import open_source
    from agent_tt_tui.cli.changes import change_of, print_changes
    from agent_tt_tui.cli.terminal import Cell
    from agent_tt_tui.cli.wording import step_line

    entry = terminal.safe(plan.code.entry)
    terminal.line(Cell(terminal.safe(f"{plan.run.name} after step {plan.step}"), "strong"), f"  {entry}")
    print_changes(terminal, [change_of(edit) for edit in plan.edits])
    for problem in plan.problems:
        terminal.line(Cell("note  ", "muted"), terminal.safe(problem))
    source = open_source(plan.store)
    try:
        next_step, ended = plan.step + 1, False
        while not ended:
            # Asked first: a step that is written between the two questions is then still found.
            ended = handle.wait(_POLL_SECONDS) is not None
            for step in source.steps(handle.run_id, next_step):
                if step.status == "running" and not ended:
                    break
                calls = source.calls(handle.run_id, step.number) if step.calls else []
                step_line(terminal, step, calls)
                next_step = step.number + 1
    finally:
        source.close()


def _print_plan(terminal: Terminal, plan: ForkPlan) -> None:
    from agent_tt_tui.cli.changes import change_of, print_changes
    from agent_tt_tui.cli.terminal import Cell, Column

    where = plan.code.entry if plan.code.file is None else f"{plan.code.file}:{plan.code.line} {plan.code.function}"
    rows = [
        ("fork", f"{plan.run.name} after step {plan.step}, {plan.step_name}"),
        ("way back in", plan.code.way_back_in),
        ("will run", where + ("  (changed since it was recorded)" if plan.code.changed else "")),
        ("new run", plan.name or f"{plan.run.name}/fork-N"),
        ("expected", _expected(plan.expected)),
        *(("note", problem) for problem in plan.problems),
    ]
    terminal.table(
        (Column(""), Column("", flexible=True)), [[Cell(label, "muted"), Cell(text)] for label, text in rows]
    )
    print_changes(terminal, [change_of(edit) for edit in plan.edits])
    terminal.line()
    columns = (Column("BOUNDARY", flexible=True), Column("SEEN", "right"), Column("EXPECT", "right"), Column("POLICY"))
    terminal.table(
        columns,
        [
            [
                Cell(f"{row.name} ({'writes' if row.effect == 'write' else row.kind})"),
                Cell(str(row.seen)),
                Cell(str(row.expected)),
                Cell(row.policy, "failed" if row.policy == "deny" else "well"),
            ]
            for row in plan.boundary
        ],
    )
    terminal.line(Cell("Nothing was run.", "muted"))


def _expected(expected: Expected) -> str:
    from agent_tt_tui import format as shown
    from agent_tt_tui.cli.terminal import counted

    tokens = [count for count in (expected.tokens_in, expected.tokens_out) if count is not None]
    parts = [
        counted(expected.steps, "step"),
        shown.tokens(sum(tokens)) if tokens else "",
        "" if expected.cost_usd is None else shown.cost(expected.cost_usd),
        "" if expected.duration_us is None else shown.duration(expected.duration_us / 1e6),
    ]
    return ", ".join(part for part in parts if part)
