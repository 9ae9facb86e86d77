"""`agent-tt stats`: how runs went, what they took and cost, and how large the store is."""

from __future__ import annotations

import difflib
import time
from typing import TYPE_CHECKING, Final, TypeAlias, cast, get_args

import click

from agent_tt.errors import NotFound, UsageError
from agent_tt.model.quantities import moment
from agent_tt.model.statistics import CallGroups, Chosen, RunGroups
from agent_tt.shapes.statistics import statistics_shape
from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Terminal, facts
from agent_tt_tui.cli.wording import status_cell
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.model import Usage
    from agent_tt.model.statistics import CallGroup, NotableStep, RunGroup, Spread, Statistics
    from agent_tt.protocols import RunSource

    Growth: TypeAlias = Mapping[str | None, int]

_RUNS: Final = get_args(RunGroups)
_CALLS: Final = get_args(CallGroups)
_BY: Final = (*_RUNS, *_CALLS)
_UNKNOWN: Final = "unknown"


@click.command()
@click.option("--by", type=click.Choice(_BY), help="Group by this; agent where nothing is said.")
@click.option("--agent", metavar="ENTRY", help="Only runs of this entry point.")
@click.option("--since", metavar="WHEN", help="Only runs that began since: 30d, 12h, 2026-03-02.")
@click.option(
    "--limit", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="List so many of each."
)
@click.option("--prometheus", is_flag=True, help="Write Prometheus' text format.")
@common_options
def command(
    options: Options, by: str | None, agent: str | None, since: str | None, limit: int, *, prometheus: bool
) -> None:
    """Show how runs ended, what they took and cost, replays, and the size of the store. Archived runs count too.

    Rows of a store are counted as they stand: `agent-tt verify` says whether they are what was recorded. A fork counts
    with its own steps alone. What is not known is left out, or called unknown, and never 0. Without --by, --json and
    --prometheus have every grouping.

    \b
    agent-tt stats --since 30d
    agent-tt stats --by tool --agent refund_loop.py:main
    --json: {runs, statuses, success_rate, sampled_out, forks, steps, tokens_in, tokens_out, cost_usd, unpriced_calls,
             took: {count, total_ms, median_ms, p95_ms, longest_ms},
             checkpoints: {taken, failed, success_rate},
             replays: {replays, verdicts, success_rate, divergence_rate, took},
             bytes, free_bytes, growth: [{day, bytes}],
             slowest: [{run, name, step, step_name, kind, ms, share}], costliest, loops, errors,
             by: {agent: [{name, runs, …}], day, version, tag, model: [{name, calls, errors, …}], tool}}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    if prometheus and options.as_json:
        raise UsageError("--json and --prometheus are two forms", hint="Ask for one of them.")
    chosen = Chosen(agent, None if since is None else moment(since, time.time_ns() // 1000), limit)
    is_data = prometheus or options.as_json
    wanted = (by,) if by is not None else _BY if is_data else ("agent",)
    with options.source() as source:
        whole = source.statistics(chosen)
        if agent is not None and not whole.whole.runs:
            _check_agent(source, agent)
        runs = {name: source.run_groups(chosen, cast("RunGroups", name)) for name in wanted if name in _RUNS}
        growth = source.growth(chosen) if "day" in wanted else None
        calls = {name: source.call_groups(chosen, cast("CallGroups", name)) for name in wanted if name in _CALLS}
    if prometheus:
        from agent_tt.querying.prometheus import prometheus_text

        click.echo(prometheus_text(whole, runs, calls), nl=False)
    elif options.as_json:
        write_json(statistics_shape(whole, runs, calls, growth))
    else:
        _print(options.terminal(), whole, runs, calls, growth or {}, limit)


def _check_agent(source: RunSource, agent: str) -> None:
    """Refuse an entry point that no run has.

    Raises:
        NotFound: none has it.
    """
    known = [group.name for group in source.run_groups(Chosen(), "agent") if group.name is not None]
    if agent not in known:
        near = difflib.get_close_matches(agent, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else "`agent-tt stats` lists those that there are."
        raise NotFound(f"no run has the entry point {agent!r}", hint=hint)


# -------------------------------------------------------------------- for people


def _print(
    terminal: Terminal,
    whole: Statistics,
    runs: Mapping[str, Sequence[RunGroup]],
    calls: Mapping[str, Sequence[CallGroup]],
    growth: Growth,
    limit: int,
) -> None:
    group, dot = whole.whole, terminal.glyphs.dot
    terminal.line(
        Cell(counted(group.runs, "run"), "strong"),
        "  ",
        facts([counted(group.steps, "step"), _tokens(group.usage), _cost(group.usage)], dot),
    )
    columns = (Column("ENDED"), Column("RUNS", "right"), Column("", "right"))
    terminal.table(
        columns,
        [
            [
                status_cell(status, terminal.glyphs),
                Cell(shown.count(count)),
                Cell(shown.percent(count / group.runs), "muted"),
            ]
            for status, count in sorted(group.statuses.items(), key=lambda item: -item[1])
        ],
    )
    if group.sampled_out:
        told = f"{counted(group.sampled_out, 'more run')} succeeded and {'was' if group.sampled_out == 1 else 'were'}"
        terminal.line(Cell(f"{told} sampled out: they count in rates of success, and nowhere else", "muted"))
    for label, said in _facts(whole, dot):
        terminal.line(Cell(f"{label:<13}", "muted"), said)
    for by, run_groups in runs.items():
        _print_groups(terminal, by, run_groups, growth, limit)
    for by, call_groups in calls.items():
        _print_calls(terminal, by, call_groups, limit)
    _print_steps(terminal, "SLOWEST STEPS", whole.slowest, lambda step: shown.duration(step.amount / 1e6))
    _print_steps(terminal, "COSTLIEST STEPS", whole.costliest, lambda step: shown.cost(step.amount))
    for loop in whole.loops:
        said = facts([counted(loop.runs, "run"), f"{loop.times:,} equal steps"], dot)
        terminal.line(Cell("loop  ", "changed"), terminal.safe(loop.name), "  ", Cell(said, "muted"))
    for error in whole.errors:
        name = error.class_name.rpartition(":")[2]
        said = facts([f"{name} of {error.name or 'runs'}", counted(error.runs, "run"), error.message], dot)
        head = f"{error.count:,}{terminal.glyphs.times} "
        terminal.line(Cell(head, "failed"), terminal.short(said, terminal.columns - len(head)))


def _facts(whole: Statistics, dot: str) -> list[tuple[str, str]]:
    checkpoints, replays = whole.checkpoints, whole.replays
    rows = [("runs took", _spread(whole.whole.took, dot))]
    if checkpoints is None:
        rows.append(("checkpoints", _UNKNOWN))
    else:
        failed = f"{checkpoints.failed:,} could not be taken"
        rows.append(("checkpoints", facts([f"{checkpoints.taken:,} taken", failed], dot)))
    if replays is None:
        rows.append(("replays", _UNKNOWN))
    else:
        said = [
            counted(replays.replays, "replay"),
            _rate("as recorded", replays.success_rate),
            _rate("diverged", replays.divergence_rate),
            _spread(replays.took, dot) if replays.took.count else None,
        ]
        rows.append(("replays", facts(said, dot)))
    size = _UNKNOWN if whole.bytes is None else shown.size(whole.bytes)
    free = f"{shown.size(whole.free_bytes)} free" if whole.free_bytes else None
    return [*rows, ("store", facts([size, free], dot))]


def _print_groups(terminal: Terminal, by: str, groups: Sequence[RunGroup], growth: Growth, limit: int) -> None:
    columns = (
        Column(by.upper(), flexible=True),
        Column("RUNS", "right"),
        Column("WELL", "right"),
        Column("STEPS", "right"),
        Column("TOKENS", "right"),
        Column("COST", "right"),
        Column("TOOK, 95 %", "right"),
        *([Column("STORED", "right")] if growth else []),
    )
    listed = groups[-limit:] if by == "day" and limit else groups[:limit]
    rows = [
        [
            Cell(group.name or ("no tag" if by == "tag" else _UNKNOWN), "muted" if group.name is None else "strong"),
            Cell(shown.count(group.runs)),
            Cell("" if group.success_rate is None else shown.percent(group.success_rate)),
            Cell(shown.count(group.steps)),
            Cell(_count_tokens(group.usage)),
            Cell(_cost(group.usage) or ""),
            Cell("" if group.took.p95_us is None else shown.duration(group.took.p95_us / 1e6)),
            *([Cell(shown.size(growth.get(group.name, 0)))] if growth else []),
        ]
        for group in listed
    ]
    _print_table(terminal, columns, rows, len(groups) - len(listed))


def _print_calls(terminal: Terminal, by: str, groups: Sequence[CallGroup], limit: int) -> None:
    columns = (
        Column(by.upper(), flexible=True),
        Column("CALLS", "right"),
        Column("ERRORS", "right"),
        Column("RUNS", "right"),
        Column("TOKENS", "right"),
        Column("COST", "right"),
        Column("TOOK", "right"),
        Column("LONGEST", "right"),
    )
    rows = [
        [
            Cell(group.name or _UNKNOWN, "muted" if group.name is None else "strong"),
            Cell(shown.count(group.calls)),
            Cell(shown.count(group.errors), "failed" if group.errors else "muted"),
            Cell(shown.count(group.runs)),
            Cell(_count_tokens(group.usage)),
            Cell(_cost(group.usage) or ""),
            Cell("" if group.total_us is None else shown.duration(group.total_us / 1e6)),
            Cell("" if group.longest_us is None else shown.duration(group.longest_us / 1e6)),
        ]
        for group in groups[:limit]
    ]
    _print_table(terminal, columns, rows, len(groups) - len(rows))


def _print_table(terminal: Terminal, columns: Sequence[Column], rows: list[list[Cell]], left: int) -> None:
    if rows:
        terminal.line()
        terminal.table(columns, rows)
    if left > 0:
        terminal.line(Cell(f"and {left:,} more: --limit lists them", "muted"))


def _print_steps(
    terminal: Terminal, title: str, steps: Sequence[NotableStep], amount: Callable[[NotableStep], str]
) -> None:
    columns = (
        Column(title, flexible=True),
        Column("RUN", flexible=True),
        Column("", "right"),
        Column("OF ITS RUN", "right"),
    )
    rows = [
        [
            Cell(step.name, "strong"),
            Cell(f"{step.run_name}@{step.step}", "muted"),
            Cell(amount(step)),
            Cell("" if step.share is None else shown.percent(step.share), "muted"),
        ]
        for step in steps
    ]
    _print_table(terminal, columns, rows, 0)


def _rate(word: str, part: float | None) -> str | None:
    return None if part is None else f"{shown.percent(part)} {word}"


def _spread(spread: Spread, dot: str) -> str:
    if spread.median_us is None or spread.p95_us is None:
        return _UNKNOWN
    return facts(
        [f"median {shown.duration(spread.median_us / 1e6)}", f"95 % {shown.duration(spread.p95_us / 1e6)}"], dot
    )


def _count_tokens(usage: Usage) -> str:
    tokens = shown.total_tokens(usage.tokens_in, usage.tokens_out)
    return "" if tokens is None else shown.count(tokens)


def _tokens(usage: Usage) -> str:
    tokens = shown.total_tokens(usage.tokens_in, usage.tokens_out)
    return "tokens unknown" if tokens is None else shown.tokens(tokens)


def _cost(usage: Usage) -> str | None:
    """What is known of the cost, and whether that is all."""
    if usage.cost_usd is not None:
        return shown.cost(usage.cost_usd, usage.unpriced or 0)
    return "cost unknown" if usage.unpriced else None
