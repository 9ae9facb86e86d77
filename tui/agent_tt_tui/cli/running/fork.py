"""`agent-tt fork`: run an agent again from a step, with an edited state."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from agent_tt.querying.checkpoints import find_place
from agent_tt.shapes.plans import graph_shape, next_nodes, plan_shape
from agent_tt_tui import format as shown
from agent_tt_tui.cli.changes import changes_of, print_changes
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.running.following import follow, let_go, stopped_as_by_ctrl_c, tell_end, tell_step
from agent_tt_tui.cli.running.fork_options import edit_options, policy_options, takes_request, terms_options
from agent_tt_tui.cli.running.questions import refuse_unasked
from agent_tt_tui.cli.running.trust import ask_for_trust, trust_option
from agent_tt_tui.cli.terminal import Cell, Column, Role, Terminal
from agent_tt_tui.cli.wording import place_words
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.forking.request import ForkRequest
    from agent_tt.rerunning.handle import RunHandle


_ROLES: Final[dict[str, Role]] = {"live": "well", "deny": "failed", "ask": "running"}
_UNKNOWN: Final = 2
_LONGEST: Final = 40
"""Columns of a policy."""


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.option("--at", "step", metavar="STEP", help="The step to start after; 0 is the input.")
@edit_options
@click.option(
    "--by",
    type=click.Choice(["restore", "replay"]),
    help="Hand the agent the state, or run it from its beginning with what it asked answered again; else chosen.",
)
@click.option("--accept-changes", is_flag=True, help="Where the changed code asks something else, go live from there.")
@click.option("--agent", metavar="MODULE:CALLABLE", help="Run this entry point (or FILE.py:CALLABLE) instead.")
@click.option(
    "--continue-with",
    metavar="PROVIDER:MODEL",
    help="Run no program: go on with the conversation alone, with openai:MODEL, anthropic:MODEL or google:MODEL.",
)
@policy_options
@click.option("--name", help="Name of the new run, instead of RUN/fork-N.")
@terms_options
@click.option("--expect", metavar="EXPRESSION", help="What you hope for after its last step; kept, and judged.")
@click.option("--hold", is_flag=True, help="Do not ask here: calls to approve wait for `agent-tt answer`.")
@click.option("--strict", is_flag=True, help="Exit with 1 where an edit had no effect.")
@click.option("--detach", is_flag=True, help="Let it run on by itself, and write only which run it fills.")
@click.option("--dry-run", is_flag=True, help="Show what would run, and run nothing.")
@trust_option
@common_options
@takes_request
def command(
    options: Options,
    run: str,
    *,
    request: ForkRequest,
    hold: bool,
    strict: bool,
    detach: bool,
    dry_run: bool,
    trust: bool,
) -> int:
    """Run RUN's agent again from the state after STEP (also RUN@STEP), for real, in a process of its own.

    An agent that takes a state is handed it; any other runs from its beginning, with its calls so far answered from
    the recording. Where a call is edited, the fork begins before its step, and --at may be left out.

    Exit code 5 when the agent failed; its run is kept. Exit code 1 when the agent does not ask again what it asked,
    because its code has changed: fork an earlier step, or --accept-changes; and with --strict where nothing came of an
    edit, which is told in any case.

    What you --expect is kept with the run, and asked of its last step: exit code 1 where it did not come, 2 where that
    is not known.

    It ends with this command, however that ends, unless it is told to --detach: `agent-tt stop` ends it then, and what
    it asks waits for `agent-tt answer`.

    Models and tools that read run; what writes is denied, and so are processes and connections that no call makes. Say
    what else is to become of something with --policy, [tool.agent-tt.policy] of pyproject.toml, or the user's file.

    \b
    agent-tt fork refund-loop --at 1 --agent refund_loop.py:main_v2
    agent-tt fork trip-planner --at 2 --set 'trip.destination="Oslo"'
    agent-tt fork trip-planner --result '6.items[0].price=20'
    agent-tt fork trip-planner --at 2 --policy book_hotel=ask --policy '*read=recorded'
    agent-tt fork trip-planner --answer 3='Book it.' --param temperature=0
    agent-tt fork refund-loop --at 1 --agent refund_loop.py:main_v2 --expect 'attempts <= 1'
    agent-tt fork trip-planner --at 2 --executor mock --seed 7 --stop-at 5 --time-limit 5m
    agent-tt fork session --at 3 --continue-with openai:gpt-5 --policy '*write=recorded-or-ask'
    agent-tt fork trip-planner --at 2 --break 'state.budget < 0' --break 'tool == "book_hotel"'
    --json: the new run, as in `runs`, with effects, held_back and unrecorded, as in `show --effects`,
            notes: [text], edits_without_effect: [{target, path, step, call, reason}] and
            expect: {expression, came, why} or null, came being true, false, or null for unknown;
            with --dry-run {run, step, name, by, entry, file, line, function, way_back_in,
            edits, boundary, unheld: [name], expected, terms, expect, problems}, and of a thread of LangGraph
            graph: {copied_from, next: [node], next_after_edit: [node], unknown}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.forking.plan import plan_fork

    with options.source(run) as source:
        found, number = find_place(source, run, request.step, option="--at or --input")
        plan = plan_fork(source, found, replace(request, step=number))
    if dry_run and options.as_json:
        write_json(plan_shape(plan) | graph_shape(plan))
    elif dry_run:
        _print_plan(options.terminal(), plan)
    else:
        if plan.copied_from is None:
            ask_for_trust(options, plan.store, plan.run, trust=trust)
        return _run(options, plan, hold=hold, detach=detach, strict=strict)
    return 0


def _run(options: Options, plan: ForkPlan, *, hold: bool, detach: bool, strict: bool) -> int:
    from agent_tt.rerunning.launch import start_fork

    if detach:
        with stopped_as_by_ctrl_c(), start_fork(plan) as handle:
            let_go(options, handle)
        return 0
    asks = options.can_ask and not hold
    asked = None if asks or hold else refuse_unasked()
    with stopped_as_by_ctrl_c(), start_fork(plan, asked=asked) as handle:
        if not options.as_json:
            _follow(options.terminal(), plan, handle, asks=asks)
        end = tell_end(options, handle, effects=True)
    if (strict and end.is_without_effect) or (end.hoped is not None and end.hoped.came == "did not come"):
        return 1
    return _UNKNOWN if end.hoped is not None and end.hoped.came == "unknown" else 0


def _follow(terminal: Terminal, plan: ForkPlan, handle: RunHandle, *, asks: bool) -> None:
    """Write each step as soon as it is over, and what is left when the agent has ended."""
    from agent_tt.sources import open_source

    entry = terminal.safe(plan.continues_with or plan.code.entry)
    with closing(open_source(plan.store)) as source:
        kept = source.run(handle.run_id).fork_step or 0  # another than was planned where changes were accepted
        terminal.line(Cell(terminal.safe(f"{plan.run.name} after step {kept}"), "strong"), f"  {entry}")
        print_changes(terminal, changes_of(plan.edits))
        _print_notes(terminal, [*_copied(plan), *plan.problems])
        next_step = kept + 1

        def tell(ended: bool) -> None:  # noqa: FBT001 - `follow` calls it
            nonlocal next_step
            for step in source.steps(handle.run_id, next_step):
                if step.status == "running" and not ended:
                    break
                tell_step(terminal, source, handle.run_id, step)
                next_step = step.number + 1

        follow(terminal, source, handle, tell, asks=asks)


def _copied(plan: ForkPlan) -> Sequence[str]:
    """Where a run goes that lies in a file of another system."""
    return () if plan.copied_from is None else (f"it is copied to {plan.store} first; {plan.copied_from} is only read",)


def _print_notes(terminal: Terminal, notes: Sequence[str]) -> None:
    """Write what is worth knowing, whole."""
    for note in notes:
        terminal.line(Cell("note  ", "muted"), terminal.safe(note))


def _print_plan(terminal: Terminal, plan: ForkPlan) -> None:
    line = "" if plan.code.line is None else f":{plan.code.line}"
    where = plan.code.entry if plan.code.file is None else f"{plan.code.file}{line} {plan.code.function}"
    if plan.code.is_script:
        where = str(plan.code.file or plan.code.entry)
    start = plan.code.way_back_in if plan.by == "restore" else f"by replay: {plan.code.way_back_in}"
    terms = plan.terms
    if plan.continues_with is not None:
        start = "the conversation goes on; the original program does not run"
        where = f"no program: {plan.continues_with} answers, at {terms.overrides['address']}"
        terms = replace(terms, overrides={})
    rows = [
        ("fork", f"{plan.run.name} after step {plan.step}, {plan.step_name}"),
        ("start", start),
        ("will run", where + ("  (changed since it was recorded)" if plan.code.changed else "")),
        ("new run", plan.name or f"{plan.run.name}/fork-N"),
        *([("answered", f"{counted(plan.answered, 'call')} from the recording")] if plan.answered else []),
        *_graph_rows(plan),
        *terms.rows(),
        ("expected", _expected(plan)),
        *([] if plan.expect is None else [("hoped for", plan.expect)]),
    ]
    notes = [*_copied(plan), *plan.problems]
    notes += [f"it does not start unless {row.name} is allowed: {_what_is_known(row)}" for row in plan.unheld]
    terminal.table(
        (Column(""), Column("", flexible=True)), [[Cell(label, "muted"), Cell(text)] for label, text in rows]
    )
    _print_notes(terminal, notes)
    print_changes(terminal, changes_of(plan.edits))
    terminal.line()
    _print_boundary(terminal, plan)
    terminal.line(Cell("Nothing was run." if plan.goes_on_with is None else "No node was run.", "muted"))


def _graph_rows(plan: ForkPlan) -> list[tuple[str, str]]:
    """Of a thread of LangGraph: where its copy lies, and which nodes run next."""
    if plan.goes_on_with is None:
        return []
    after, unknown = next_nodes(plan)
    edited = f"not known: {unknown}" if unknown else "" if after is None else _nodes(after)
    following = "unknown: the database does not tell" if plan.is_next_unknown else _nodes(plan.goes_on_with)
    return [("next", following + (f"; once the state is edited {edited}" if edited else ""))]


def _nodes(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing: the graph has ended"


def _expected(plan: ForkPlan) -> str:
    expected = plan.expected
    tokens = shown.total_tokens(expected.tokens_in, expected.tokens_out)
    parts = [
        counted(expected.steps, "step"),
        "" if tokens is None else shown.tokens(tokens),
        "" if expected.cost_usd is None else shown.cost(expected.cost_usd, expected.unpriced),
        "" if expected.duration_us is None else shown.duration(expected.duration_us / 1e6),
    ]
    return ", ".join(part for part in parts if part)


def _print_boundary(terminal: Terminal, plan: ForkPlan) -> None:
    """Write what the run called, and what the fork does with each of it."""
    columns = (
        Column("BOUNDARY", flexible=True),
        Column("MADE", "right"),
        Column("LATER", "right"),
        Column("POLICY"),
        Column("FROM"),
    )
    rows = [
        [
            Cell(f"{row.name} ({_what_is_known(row)})"),
            Cell(str(row.seen)),
            Cell(str(row.expected)),
            _policy_cell(terminal, plan, row),
            Cell("" if row.follows_caller else place_words(row.rule.where), "muted"),
        ]
        for row in plan.boundary
    ]
    terminal.table(columns, rows)


def _what_is_known(row: Boundary) -> str:
    """What it does, as far as that is known."""
    return row.why_not_held or ("writes" if row.effect == "write" else row.kind)


def _policy_cell(terminal: Terminal, plan: ForkPlan, row: Boundary) -> Cell:

    if plan.terms.is_mock and row.kind == "llm":
        return Cell("mock", "muted")
    if row.follows_caller:
        return Cell("as its caller", "muted")
    if row in plan.unheld:
        return Cell("not held", "changed")
    return Cell(terminal.short(row.rule.text, _LONGEST), _ROLES.get(row.policy, "changed"))
