"""`agent-tt import`: runs of other programs' files, and of bundles, as runs of a store."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from agent_tt.errors import AgentTTError, NotAStore, UsageError
from agent_tt_tui.cli.options import Options, StorePath, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.cli.wording import tell_unread
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.found.folders import Unread
    from agent_tt.model import Imported

_LEFT_OUT = 1


@click.command()
@click.argument("file", type=StorePath())
@click.argument("runs", nargs=-1)
@click.option(
    "--into",
    type=StorePath(),
    metavar="FILE",
    help="The store; else the one that recordings go into.",
)
@common_options
def command(options: Options, file: Path, runs: tuple[str, ...], into: Path | None) -> int:
    """Copy what other programs wrote into a store: as runs that can be pinned, searched together and kept.

    FILE is a session, a trace, a list of messages, a bundle, or a LangGraph database (also the address of one); or a
    folder, of which every file is tried that is not a store of agent-tt. It is only read. Without RUNS all of its runs
    or threads are copied, with their branches. Secrets are taken out of sessions and traces; threads are kept as they
    are, as a graph may go on from them, and runs of a bundle name no code any more. What is there already stays: a
    session that has grown is gone on with, and one that has changed is written anew. Exit code 1 when something was
    left out, which is named.

    \b
    agent-tt import ~/.claude/projects/-desk/0b1c2d3e.jsonl
    agent-tt import traces/ --into runs.db
    agent-tt import checkpoints.db desk-1
    agent-tt import incident.att
    --json: {store, runs: [{file, name, run, added, known, problems}],
             unread: [{file, why}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.importing import import_file
    from agent_tt.interop.bundle.container import is_bundle_file
    from agent_tt.store.file.locate import writable_store_path

    store = writable_store_path(options.store if into is None else into)
    unread: list[Unread] = []
    if is_bundle_file(file):
        if runs:
            raise UsageError("a bundle is imported whole", hint=f"agent-tt import {file}")
        done = _bundle(options, file, store)
    elif file.is_dir():
        if runs:
            raise UsageError(f"{file} is a folder, and runs are named in a file", hint="Name the file.")
        done = _folder(options, file, store, unread)
    else:
        with counter("importing", show=not options.as_json) as report:
            done = [(file, each) for each in import_file(file, store, runs, report)]
    if options.as_json:
        write_json(
            {
                "store": str(store),
                "runs": [_shape(path, each) for path, each in done],
                "unread": [{"file": str(each.path), "why": each.why} for each in unread],
            }
        )
    else:
        _tell(options, store, [each for _, each in done])
        tell_unread(unread, file)
    left_out = any(each.problems for _, each in done) or any(not each.is_other for each in unread)
    return _LEFT_OUT if left_out else 0


def _bundle(options: Options, file: Path, store: Path) -> list[tuple[Path, Imported]]:
    """Import the runs of a bundle, and say whether it is signed."""
    from agent_tt.interop.bundle.source import BundleSource, import_bundle
    from agent_tt.model import Imported

    with closing(BundleSource(file)) as source:
        copied = import_bundle(source, store)
        if not options.as_json:
            options.terminal().line(f"{options.terminal().safe(str(file))}: {source.signature.words}")
        return [
            (file, Imported(run.name, copied[run.id], added=run.steps, known=0))
            if run.id in copied
            else (file, Imported(run.name, run.id, added=0, known=run.steps))
            for run in source.runs(archived=True)
        ]


def _folder(options: Options, folder: Path, store: Path, unread: list[Unread]) -> list[tuple[Path, Imported]]:
    """Import the files of a folder; those that cannot be are added to `unread`."""
    from agent_tt.found.folders import Unread, files_in
    from agent_tt.importing import import_file
    from agent_tt.interop.bundle.container import is_bundle_file

    files, unlisted = files_in(folder)
    unread += unlisted
    done: list[tuple[Path, Imported]] = []
    with counter("importing", show=not options.as_json) as report:
        for number, path in enumerate(files):
            report(number, len(files))
            try:
                is_bundle = is_bundle_file(path)
                done += (
                    _bundle(options, path, store) if is_bundle else [(path, each) for each in import_file(path, store)]
                )
            except (NotAStore, UsageError) as error:
                unread.append(Unread(path, error.message, is_other=True))
            except AgentTTError as error:
                unread.append(Unread(path, error.message))
    return done


def _tell(options: Options, store: Path, done: Sequence[Imported]) -> None:
    terminal = options.terminal()
    columns = (Column("name", flexible=True), Column("run"), Column("added", "right"), Column("known", "right"))
    rows = [
        (Cell(each.name), Cell(each.run or ""), Cell(f"{each.added:,}", "strong"), Cell(f"{each.known:,}"))
        for each in done
    ]
    if rows:
        terminal.table(columns, rows)
    for each in done:
        for problem in each.problems:
            terminal.line(Cell(terminal.safe(f"{each.name}: {problem}"), "failed"))
    added = sum(each.added for each in done)
    terminal.line(f"{counted(added, 'step')} added to {terminal.safe(str(store))}")


def _shape(file: Path, each: Imported) -> dict[str, Wire]:
    return {
        "file": str(file),
        "name": each.name,
        "run": each.run,
        "added": each.added,
        "known": each.known,
        "problems": list(each.problems),
    }
