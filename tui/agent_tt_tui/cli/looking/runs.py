"""`agent-tt runs`: the recorded runs, forks below what they were forked from."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from agent_tt.codec.collector import collector_paused
from agent_tt.errors import NotAStore
from agent_tt.shapes.records import Shape, held_runs, run_shape, run_shapes
from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.cli.wording import branch, ended_cell, hoped_cell, marks_of, no_runs, tell_unread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.querying.expecting import Hoped


@click.command()
@click.option("--all", "archived", is_flag=True, help="Archived runs too.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The newest N only.")
@common_options
def command(options: Options, *, archived: bool, limit: int | None) -> None:
    """List recorded runs, newest first. Of a folder (--store FOLDER) those of every file in it that opens.

    \b
    --json: [{id, name, status, steps, parent, fork_step, agent, started, tags, held, …}], of a
             fork with --expect also expect: {expression, came, why}; of a folder also file
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with collector_paused():  # what is listed stays until it is printed, and the command ends
        if options.store is not None and options.store.is_dir():
            _list_folder(options, options.store, archived=archived, limit=limit)
        else:
            _list(options, archived=archived, limit=limit)


def _list(options: Options, *, archived: bool, limit: int | None) -> None:
    from agent_tt.querying.expecting import hoped_of
    from agent_tt_tui.cli.running.trust import bundle_of

    with options.source() as source:
        runs = source.runs(archived=archived, limit=limit)
        hidden = not runs and bool(source.runs(archived=True, limit=1))
        hoped = {run.id: found for run in runs if (found := hoped_of(source, run)) is not None}
        place, bundle, held = source.path, bundle_of(source), held_runs(source, runs)
    if options.as_json:
        write_json([_shape(run, hoped.get(run.id)) | {"held": run.id in held} for run in runs])
        return
    terminal = options.terminal()
    if not runs:
        terminal.line(no_runs(terminal, place, hidden=hidden))
        return
    _print_runs(terminal, runs, hoped, held)
    if bundle is not None:
        terminal.line(Cell(terminal.safe(f"{place.name}: a bundle, {bundle.signature.words}"), "muted"))


def _list_folder(options: Options, folder: Path, *, archived: bool, limit: int | None) -> None:
    """List the runs of the files in a folder, and name those that do not open.

    Raises:
        NotAStore: none of them opens.
    """
    from agent_tt.found.folders import Unread, open_all

    unread: list[Unread] = []
    shapes: list[Shape] = []
    terminal = options.terminal()
    opened = 0
    with counter("opening", show=not options.as_json) as report:
        for source in open_all(folder, unread, report):
            opened += 1
            runs = source.runs(archived=archived, limit=limit)
            name = str(source.path.relative_to(folder))
            if options.as_json:
                shapes += [shape | {"file": str(source.path)} for shape in run_shapes(source, runs)]
            else:
                terminal.line(Cell(terminal.safe(name), "strong"), f"  {shown.counted(len(runs), 'run')}")
                _print_runs(terminal, runs, {}, held_runs(source, runs))
    if not opened:
        first = f" The first: {unread[0].path.name}: {unread[0].why}." if unread else ""
        files = shown.counted(len(unread), "file")
        raise NotAStore(f"{folder} is a folder, and none of its {files} opens", hint=f"Name a file with runs.{first}")
    if options.as_json:
        write_json([*shapes])
    tell_unread(unread, folder)


def _shape(run: Run, hoped: Hoped | None) -> Shape:
    return run_shape(run) | ({} if hoped is None else {"expect": hoped.to_json()})


def _print_runs(terminal: Terminal, runs: Sequence[Run], hoped: Mapping[str, Hoped], held: Collection[str]) -> None:
    from agent_tt_tui.viewmodel.runs.runtree import run_rows

    columns = (
        Column("RUN", flexible=True),
        Column("STATUS"),
        *([Column("HOPED FOR")] if hoped else []),
        Column("STEPS", "right"),
        Column("TOKENS", "right"),
        Column("COST", "right"),
        Column("AGE", "right"),
        Column("ID", flexible=True),
    )
    now = time.time()
    rows: list[list[Cell]] = []
    for row in run_rows(runs):
        run = row.run
        tokens = shown.total_tokens(run.tokens_in, run.tokens_out)
        rows.append(
            [
                Cell(branch(row, terminal.glyphs) + row.label + marks_of(run, terminal.glyphs), "strong"),
                ended_cell(run, terminal, is_held=run.id in held),
                *([hoped_cell(hoped[run.id].came, terminal) if run.id in hoped else Cell("")] if hoped else []),
                Cell(shown.count(run.steps)),
                Cell("" if tokens is None else shown.count(tokens)),
                Cell("" if run.cost_usd is None else shown.cost(run.cost_usd, run.unpriced)),
                Cell(shown.age_since(run.started_us, now), "muted"),
                Cell("" if run.id == run.name else run.id, "muted"),
            ]
        )
    terminal.table(columns, rows)
