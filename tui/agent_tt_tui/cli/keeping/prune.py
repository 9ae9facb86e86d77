"""`agent-tt prune`: a store without old runs, a LangGraph database without the checkpoints that nobody needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_tt.addresses import Address
from agent_tt.errors import UsageError
from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.pruning_plan import Plan

_MOST_LISTED = 12
_NO = 1


@click.command()
@click.argument("threads", nargs=-1)
@click.option(
    "--keep-last",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many stay: of each thread 1 where nothing is said; of a store's runs the newest.",
)
@click.option("--max-size", metavar="SIZE", help="Of a store: the oldest runs go until it is about as small: 2GB.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the pruned database there."
)
@click.option("--in-place", is_flag=True, help="Prune the file itself. It asks first.")
@click.option("--yes", is_flag=True, help="Do not ask; of a store, prune it.")
@common_options
def command(
    options: Options,
    threads: tuple[str, ...],
    keep_last: int | None,
    max_size: str | None,
    out: Path | None,
    *,
    in_place: bool,
    yes: bool,
) -> int:
    """Make a store smaller by the age, number or size of its runs, or a LangGraph database by its older checkpoints.

    Of a store runs go by their class: those with the tag test after 1 day, that succeeded after 7, other ones after 30,
    with the tag flagged after 90; pinned and golden ones never. The settings say otherwise, see
    docs/configuration.md. --keep-last and --max-size ask for this alone. A run stays as long as a fork of it stays.

    Of a LangGraph database the newest checkpoints of each thread stay, or of THREADS, with what these need: what their
    delta channels are put together from, their subgraphs, and what waits for a person. LangGraph's own history of what
    stays is as before. A database that is pruned itself must not be in use.

    It only says what would go, until there is --out or --in-place; of a store --yes is enough. Exit code 1 when you say
    no.

    \b
    agent-tt prune --max-size 2GB --yes
    agent-tt prune --keep-last 20 --store checkpoints.db
    agent-tt prune --keep-last 20 --store checkpoints.db --out smaller.db
    --json: of a store {done, runs: [{…as in runs, class, why, bytes}], stay: {reason: count}, untouched,
            bytes, file_bytes, file_bytes_after, stayed};
            of a database {out, keep_last, threads: [{thread, kept, dropped, kept_for, bytes}], untouched,
            checkpoints, bytes}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.sources import is_store

    path = options.store_path()
    if isinstance(path, Address) and not is_store(path):
        hint = "LangGraph's PostgresSaver has a `prune`."
        raise UsageError(f"{path} is only read: nothing is pruned on a server", hint=hint)
    if isinstance(path, Address) or (path.is_file() and is_store(path)):
        from agent_tt_tui.cli.keeping.prune_runs import prune_store

        if threads or out is not None:
            raise UsageError(
                f"{path} is a store, which is pruned as a whole and in its place",
                hint="`agent-tt delete` takes runs by name.",
            )
        return prune_store(options, keep_last, max_size, in_place=in_place, yes=yes)
    if max_size is not None:
        raise UsageError("--max-size is for stores of ours", hint="Of a LangGraph database say --keep-last.")
    return _prune_database(options, path, threads, keep_last or 1, out, in_place=in_place, yes=yes)


def _prune_database(
    options: Options,
    path: Path,
    threads: tuple[str, ...],
    keep_last: int,
    out: Path | None,
    *,
    in_place: bool,
    yes: bool,
) -> int:
    """Prune a LangGraph database."""
    from agent_tt.interop.langgraph.connection import DatabaseFile
    from agent_tt.interop.langgraph.detect import tables_of
    from agent_tt.interop.langgraph.prune import prune_in_place, write_pruned
    from agent_tt.interop.langgraph.pruning_plan import plan_pruning

    if out is not None and in_place:
        raise UsageError("--out writes a copy, --in-place writes none", hint="Give one of them.")
    with counter("looking at threads", show=not options.as_json) as report:
        file = DatabaseFile(path)
        try:
            if not _is_sqlite(path) or file.read(tables_of) is None:
                raise UsageError(f"{path} is not a LangGraph database", hint="Neither is it a store of agent-tt.")
            plan = file.read(lambda connection: plan_pruning(connection, keep_last, threads, report))
            if out is not None:
                plan = write_pruned(file, out, keep_last, threads, report)
        finally:
            file.close()
    if in_place and plan.threads:
        question = f"Drop {counted(plan.checkpoints, 'checkpoint')} for good?"
        if not yes and not options.agreed("pruning a file itself", question, lambda terminal: _list(terminal, plan)):
            options.terminal().line("Nothing was pruned.")
            return _NO
        with counter("pruning", show=not options.as_json) as report:
            plan = prune_in_place(path, keep_last, threads, report)
    done = path if in_place and plan.threads else out
    if options.as_json:
        write_json({"out": None if done is None else str(done), **_shape(plan)})
        return 0
    terminal = options.terminal()
    _list(terminal, plan)
    size = "" if done is None else f"; {terminal.safe(str(done))} has {shown.size(done.stat().st_size)}"
    went = f"{counted(plan.checkpoints, 'checkpoint')} with {shown.size(plan.bytes)}"
    terminal.line(f"{went} {'would go' if done is None else 'went'}{size}")
    if done is None and plan.threads:
        terminal.line(Cell("nothing was written: --out FILE writes a copy, --in-place prunes the file itself", "muted"))
    return 0


def _is_sqlite(path: Path) -> bool:
    from agent_tt.store.file.heads import read_head

    try:
        head = read_head(path, 16)
    except FileNotFoundError:
        return True  # the reader says it
    return not head or head.startswith(b"SQLite format 3\0")


def _list(terminal: Terminal, plan: Plan) -> None:
    columns = (Column("thread", flexible=True), Column("stay", "right"), Column("go", "right"), Column("", "right"))
    largest = sorted(plan.threads, key=lambda thread: thread.bytes, reverse=True)
    rows = [
        (
            Cell(each.thread),
            Cell(f"{len(each.kept):,}"),
            Cell(f"{len(each.dropped):,}"),
            Cell(shown.size(each.bytes), "strong"),
        )
        for each in largest[:_MOST_LISTED]
    ]
    if rows:
        terminal.table(columns, rows)
    if len(largest) > _MOST_LISTED:
        terminal.line(Cell(f"and {counted(len(largest) - _MOST_LISTED, 'more thread')}", "muted"))
    for why in dict.fromkeys(why for thread in plan.threads for why in thread.kept_for):
        count = sum(thread.kept_for.get(why, 0) for thread in plan.threads)
        terminal.line(Cell(f"{counted(count, 'older checkpoint')} stay: {why}", "muted"))


def _shape(plan: Plan) -> dict[str, Wire]:
    return {
        "keep_last": plan.keep_last,
        "threads": [
            {
                "thread": each.thread,
                "kept": len(each.kept),
                "dropped": len(each.dropped),
                "kept_for": dict(each.kept_for),
                "bytes": each.bytes,
            }
            for each in plan.threads
        ],
        "untouched": plan.untouched,
        "checkpoints": plan.checkpoints,
        "bytes": plan.bytes,
    }
