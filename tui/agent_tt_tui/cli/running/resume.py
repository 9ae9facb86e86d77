"""`agent-tt resume`: go on with a run that crashed or was interrupted."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import UsageError
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.running.following import follow, let_go, stopped_as_by_ctrl_c, tell_end, tell_step
from agent_tt_tui.cli.running.questions import refuse_unasked
from agent_tt_tui.cli.running.trust import ask_for_trust, trust_option
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt.rerunning.handle import RunHandle
    from agent_tt.resuming.plan import Happened, ResumePlan

_LONGEST_ARGUMENTS: Final = 300


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.option("--dry-run", is_flag=True, help="Show what was in flight, and run nothing.")
@click.option("--happened", metavar="STEP.CALL=JSON", multiple=True, help="This call happened, and gave this result.")
@click.option("--not-happened", metavar="STEP.CALL", multiple=True, help="This call did not happen: make it.")
@click.option("--redo-unrecorded", is_flag=True, help="Do again what was not recorded (a connection, a process).")
@click.option("--detach", is_flag=True, help="Let it run on by itself, and write only which run it is.")
@trust_option
@common_options
def command(
    options: Options,
    run: str,
    *,
    dry_run: bool,
    happened: tuple[str, ...],
    not_happened: tuple[str, ...],
    redo_unrecorded: bool,
    detach: bool,
    trust: bool,
) -> None:
    """Resume RUN where it crashed or was interrupted, for real, in a process of its own.

    What its calls were answered is given to the agent again; none of them is made twice. A call that was in flight is
    made again if it only reads, asks a model or has an idempotency key. Of any other that writes you are asked
    whether it happened; with --json, or without a terminal, the run is not resumed then (exit code 2), unless
    --happened or --not-happened says so.

    What the agent does before the break without it being recorded halts it: nobody knows how much of it was done.

    Exit code 1 when the agent does not ask again what was recorded, 5 when it failed.

    \b
    agent-tt resume refund-loop
    --json: the run, as in `runs`; with --dry-run {run, name, answered,
            in_flight: [{step, call, kind, name, effect, args, unknown}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.rerunning.launch import start_resume
    from agent_tt.resuming.plan import plan_resume

    with options.source() as source:
        plan = plan_resume(source, source.run(run))
    if dry_run and options.as_json:
        write_json(_shape(plan))
    elif dry_run:
        _print_plan(options.terminal(), plan)
    else:
        ask_for_trust(options, plan.store, plan.run, trust=trust)
        said = _decisions(plan, happened, not_happened)
        if all(_place(call) in said for call in plan.unknown):
            plan = plan.decide(lambda call: said[_place(call)])
        elif options.can_ask:
            terminal = options.terminal()
            plan = plan.decide(lambda call: said[_place(call)] if _place(call) in said else _ask(terminal, plan, call))
        plan = replace(plan, redo_unrecorded=redo_unrecorded)
        resumed_us = time.time_ns() // 1000
        if detach:
            with stopped_as_by_ctrl_c(), start_resume(plan) as handle:
                let_go(options, handle)
            return
        asks = options.can_ask
        with stopped_as_by_ctrl_c(), start_resume(plan, asked=None if asks else refuse_unasked()) as handle:
            if not options.as_json:
                _follow(options, plan, handle, resumed_us, asks=asks)
            tell_end(options, handle, effects=False)


def _follow(options: Options, plan: ResumePlan, handle: RunHandle, resumed_us: int, *, asks: bool) -> None:
    """Write each step that ends from now on as soon as it is over."""
    terminal, told = options.terminal(), set[int]()
    name = terminal.safe(plan.run.name)
    terminal.line(Cell(name, "strong"), f"  goes on after {counted(plan.answered, 'call')}")
    first = min((call.step for call in plan.in_flight), default=max(1, plan.run.steps))
    with options.source() as source:

        def tell(_ended: bool) -> None:  # noqa: FBT001 - `follow` calls it
            for step in source.steps(handle.run_id, first):
                if step.number not in told and step.status != "running" and (step.ended_us or 0) >= resumed_us:
                    told.add(step.number)
                    tell_step(terminal, source, handle.run_id, step)

        follow(terminal, source, handle, tell, asks=asks)


def _place(call: Call) -> str:
    """A call as the options name it."""
    return f"{call.step}.{call.number}"


def _decisions(
    plan: ResumePlan, happened: tuple[str, ...], not_happened: tuple[str, ...]
) -> dict[str, Happened | None]:
    """What the options say of calls in flight."""
    waiting = {_place(call): call for call in plan.unknown}
    said: dict[str, Happened | None] = dict.fromkeys(not_happened)
    for words in happened:
        place, is_said, text = words.partition("=")
        if not is_said:
            raise click.UsageError(f"--happened {words}: write STEP.CALL=JSON, the result as JSON")
        if place in said:
            raise click.UsageError(f"{place} is given twice: it cannot have happened and not have happened")
        said[place] = plan.said(waiting[place], text) if place in waiting else None
    for place in said.keys() - waiting.keys():
        known = f"only {', '.join(waiting)}" if waiting else "no call"
        raise click.UsageError(f"{place} is not asked about: {known} of {plan.run.name} is")
    return said


def _ask(terminal: Terminal, plan: ResumePlan, call: Call) -> Happened | None:
    """Ask a person whether a call happened, and what it gave."""
    terminal.line(Cell(terminal.safe(call.name), "strong"), f"  step {call.step}: {_arguments(terminal, call)}")
    terminal.line("It was in flight, and nobody knows whether it happened.")
    if call.kind != "tool":
        again = "started again from its beginning" if call.kind == "subprocess" else "sent again"
        click.confirm(f"It is {again} now. Go on?", abort=True)
        return None
    if not click.confirm("Did it happen?", default=None):
        return None
    example = plan.example_of(call)
    if example is not None:
        shown = terminal.short(json.dumps(example, ensure_ascii=False), _LONGEST_ARGUMENTS)
        terminal.line(Cell(f"An earlier call gave {shown}", "muted"))

    def read(text: str) -> Happened:
        try:
            return plan.said(call, text)
        except UsageError as error:  # click asks once more then
            raise click.UsageError("\n".join(filter(None, (error.message, error.hint)))) from None

    answer: Happened = click.prompt("What did it give (JSON)", default="null", value_proc=read)
    return answer


def _arguments(terminal: Terminal, call: Call) -> str:
    return terminal.short(json.dumps(call.args, ensure_ascii=False), _LONGEST_ARGUMENTS)


def _print_plan(terminal: Terminal, plan: ResumePlan) -> None:

    told = f"{counted(plan.answered, 'call')} answered, {len(plan.in_flight)} in flight"
    terminal.line(Cell(terminal.safe(plan.run.name), "strong"), "  ", Cell(told, "muted"))
    if plan.in_flight:
        rows = [
            [
                Cell(_place(call)),
                Cell(f"{call.name} ({'writes' if call.effect == 'write' else call.kind})"),
                Cell(_arguments(terminal, call)),
                Cell("you are asked" if call in plan.unknown else "made again"),
            ]
            for call in plan.in_flight
        ]
        columns = (Column("STEP.CALL", "right"), Column("NAME"), Column("ARGUMENTS", flexible=True), Column(""))
        terminal.table(columns, rows)
    terminal.line(Cell("Nothing was run.", "muted"))


def _shape(plan: ResumePlan) -> Wire:
    return {
        "run": plan.run.id,
        "name": plan.run.name,
        "answered": plan.answered,
        "in_flight": [
            {
                "step": call.step,
                "call": call.number,
                "kind": call.kind,
                "name": call.name,
                "effect": call.effect,
                "args": call.args,
                "unknown": call in plan.unknown,
            }
            for call in plan.in_flight
        ],
    }
