"""`agent-tt import`: threads of a LangGraph database, or the runs of a bundle, as runs of a store."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from agent_tt.errors import UsageError
from agent_tt_tui.cli.options import Options, StorePath, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.langgraph.importing import Imported

_LEFT_OUT = 1


@click.command()
@click.argument("file", type=StorePath())
@click.argument("threads", nargs=-1)
@click.option(
    "--into",
    type=StorePath(),
    metavar="FILE",
    help="The store; else the one that recordings go into.",
)
@common_options
def command(options: Options, file: Path, threads: tuple[str, ...], into: Path | None) -> int:
    """Copy threads of a LangGraph database, or the runs of a bundle, into a store, to be searched and gone on with.

    The runs of a bundle name no code any more: nothing of it runs before you name it.

    FILE is only read. Without THREADS all of its threads are copied, each with its branches and subgraphs. What is
    there already stays, and only what is new is added. Exit code 1 when something was left out: a checkpoint that
    cannot be read is named, and so is a thread whose id another thread of the store has.

    \b
    agent-tt import checkpoints.db
    agent-tt import checkpoints.db desk-1 --into runs.db
    agent-tt import incident.att
    --json: {store, threads: [{thread, run, added, known, problems}]}; of a bundle {store, runs: [{run, name}], known}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.interop.bundle.container import is_bundle_file
    from agent_tt.store.file.locate import writable_store_path

    if is_bundle_file(file):
        if threads:
            raise UsageError("a bundle is imported whole", hint=f"agent-tt import {file}")
        return _import_bundle(options, file, writable_store_path(options.store if into is None else into))
    try:
        from agent_tt.langgraph.importing import import_threads
    except ModuleNotFoundError as missing:
        raise UsageError(str(missing), hint="It is needed to import, not to open such a file.") from missing

    store = writable_store_path(options.store if into is None else into)
    with counter("importing", show=not options.as_json) as report:
        done = import_threads(file, store, threads, report)
    if options.as_json:
        write_json({"store": str(store), "threads": [_shape(thread) for thread in done]})
    else:
        _tell(options, store, done)
    return _LEFT_OUT if any(thread.problems for thread in done) else 0


def _import_bundle(options: Options, file: Path, store: Path) -> int:
    from agent_tt.interop.bundle.source import BundleSource, import_bundle

    with closing(BundleSource(file)) as source:
        copied = import_bundle(source, store)
        runs = [(copied[run.id], run.name) for run in source.runs(archived=True) if run.id in copied]
        known, signature = len(source.runs(archived=True)) - len(runs), source.signature
    if options.as_json:
        write_json({"store": str(store), "runs": [{"run": run, "name": name} for run, name in runs], "known": known})
        return 0
    terminal = options.terminal()
    for run, name in runs:
        terminal.line(terminal.safe(f"{name}  {run}"))
    there = f", {known} there already" if known else ""
    terminal.line(f"{counted(len(runs), 'run')} added to {terminal.safe(str(store))}{there} ({signature.words})")
    return 0


def _tell(options: Options, store: Path, done: list[Imported]) -> None:
    terminal = options.terminal()
    columns = (Column("thread", flexible=True), Column("run"), Column("added", "right"), Column("known", "right"))
    rows = [
        (Cell(each.thread), Cell(each.run or ""), Cell(f"{each.added:,}", "strong"), Cell(f"{each.known:,}"))
        for each in done
    ]
    if rows:
        terminal.table(columns, rows)
    for each in done:
        for problem in each.problems:
            terminal.line(Cell(f"{each.thread}: {problem}", "failed"))
    added = sum(each.added for each in done)
    terminal.line(f"{counted(added, 'checkpoint')} added to {terminal.safe(str(store))}")


def _shape(thread: Imported) -> dict[str, Wire]:
    return {
        "thread": thread.thread,
        "run": thread.run,
        "added": thread.added,
        "known": thread.known,
        "problems": list(thread.problems),
    }
