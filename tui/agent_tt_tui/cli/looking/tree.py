"""`agent-tt tree`: runs and their forks, with what each fork changed and how it ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from agent_tt.model.facts import UserFacts
from agent_tt.shapes.records import held_runs, run_shape
from agent_tt_tui import format as shown
from agent_tt_tui.cli.changes import change_line, changes_of
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Terminal, facts
from agent_tt_tui.cli.wording import branch, ended_cell, marks_of, no_runs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.viewmodel.runs.runtree import RunRow

_MOST_EDITS: Final = 4


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@click.option("--all", "archived", is_flag=True, help="Archived runs too.")
@common_options
def command(options: Options, run: str | None, *, archived: bool) -> None:
    """Show runs and their forks as a tree: where each fork began, what was edited, its policy, how it ended.

    With RUN, the whole tree that it stands in, from the run that was recorded first.

    \b
    agent-tt tree refund-loop
    --json: [{…as in runs, forks: [{…}]}]; a fork has fork_step, edits, way_back_in and policy
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt_tui.viewmodel.runs.runtree import run_rows

    with options.source(*([run] if run else [])) as source:
        found = None if run is None else source.run(run)
        runs = source.runs(archived=archived) if found is None else _family(source, found, archived=archived)
        held = held_runs(source, runs)
        place, hidden = source.path, not runs and bool(source.runs(archived=True, limit=1))
    rows = run_rows(runs, sweeps="apart" if options.as_json else "grouped")
    if options.as_json:
        write_json(_tree_shape(rows, held))
        return
    terminal = options.terminal()
    if rows:
        _print(terminal, rows, found)
    else:
        terminal.line(no_runs(terminal, place, hidden=hidden))


def _family(source: RunSource, run: Run, *, archived: bool) -> list[Run]:
    """The run that all began with, and everything that was forked from it."""
    from agent_tt.errors import RunNotFound

    root, seen = run, {run.id}
    while root.parent is not None and root.parent not in seen:
        seen.add(root.parent)
        try:
            root = source.run(root.parent)
        except RunNotFound:  # a copy of a fork may have come without it
            break
    forks = [fork for fork in source.forks(root.id, deep=True) if archived or not fork.archived or fork.id in seen]
    return [root, *forks]


def _print(terminal: Terminal, rows: Sequence[RunRow], chosen: Run | None) -> None:

    columns = (
        Column("RUN", flexible=True),
        Column("AT", "right"),
        Column("STATUS"),
        Column("STEPS", "right"),
        Column("TOKENS", "right"),
        Column("COST", "right"),
    )
    table: list[list[Cell]] = []
    for row in rows:
        if row.group is not None:
            name = branch(row, terminal.glyphs) + row.label
            table.append(
                [Cell(name, "strong"), Cell(str(row.run.fork_step), "muted"), Cell(row.group.summary, "muted")]
            )
            continue
        run = row.run
        tokens = shown.total_tokens(run.tokens_in, run.tokens_out)
        here = chosen is not None and run.id == chosen.id and len(rows) > 1
        name = branch(row, terminal.glyphs) + row.label + marks_of(run, terminal.glyphs)
        table.append(
            [
                Cell(name, "yours" if here else "strong"),
                Cell("" if run.fork_step is None else str(run.fork_step), "muted"),
                ended_cell(run, terminal),
                Cell(shown.count(run.steps)),
                Cell("" if tokens is None else shown.count(tokens)),
                Cell("" if run.cost_usd is None else shown.cost(run.cost_usd, run.unpriced)),
            ]
        )
    agents = {row.run.id: row.run.agent for row in rows}
    below = [_below(terminal, row, _has_forks(rows, index), agents) for index, row in enumerate(rows)]
    terminal.table(columns, table, below)


def _has_forks(rows: Sequence[RunRow], index: int) -> bool:
    return index + 1 < len(rows) and len(rows[index + 1].last) > len(rows[index].last)


def _below(
    terminal: Terminal,
    row: RunRow,
    has_forks: bool,  # noqa: FBT001  the other half of a row
    agents: Mapping[str, str | None],
) -> list[list[Cell | str]]:
    """What a fork changed, how it got back in, what it was allowed, and what went wrong: a line each.

    Args:
        terminal: where it is written.
        row: the row of the run.
        has_forks: whether forks stand below it.
        agents: the entry points of all runs that are shown, by id: a fork may run another than its parent did.
    """
    from agent_tt.intercepting.policy import policy_texts

    if row.group is not None:
        return []
    run, glyphs = row.run, terminal.glyphs
    rails = "".join("  " if last else f"{glyphs.rail} " for last in row.last) + (
        f"{glyphs.rail} " if has_forks else "  "
    )
    room = replace(terminal, columns=max(24, terminal.columns - len(rails)))
    changes = changes_of(run.edits)
    lines: list[list[Cell | str]] = [change_line(room, change) for change in changes[:_MOST_EDITS]]
    if len(changes) > _MOST_EDITS:
        lines.append([Cell(f"{glyphs.cut} {len(changes) - _MOST_EDITS:,} more", "muted")])
    allowed = ", ".join(f"{tool} {word}" for tool, word in policy_texts(run.policy).items())
    other = run.agent if run.agent is not None and agents.get(run.parent or "", run.agent) != run.agent else None
    told = facts([run.way_back_in, other and f"runs {other}", allowed or None, *_remarks(run)], glyphs.dot)
    if told:
        lines.append([Cell(room.short(told, room.columns), "muted")])
    if run.error is not None:
        lines.append([Cell(room.short(run.error.short, room.columns), "failed")])
    return [[Cell(rails, "muted"), *line] for line in lines]


def _remarks(run: Run) -> list[str]:
    """The facts and tags that a person wrote down."""
    facts = [f"{fact.key} {run.metadata[fact.key]}" for fact in UserFacts.every() if run.metadata.get(fact.key)]
    return [*facts, *(f"#{tag}" for tag in run.tags)]


def _tree_shape(rows: Iterable[RunRow], held: Collection[str]) -> list[Wire]:
    """`[{…as in runs, forks: [{…}]}]`: runs with what was forked from them inside, from rows in the order of a tree."""
    roots: list[Wire] = []
    open_lists: list[list[Wire]] = [roots]
    for row in rows:
        forks: list[Wire] = []
        del open_lists[len(row.last) + 1 :]
        open_lists[-1].append({**run_shape(row.run), "held": row.run.id in held, "forks": forks})
        open_lists.append(forks)
    return roots
