"""`agent-tt du`: what fills a file of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, StorePath, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model.space import Share, Space

_MOST_OWNERS = 10
_MOST_SHARES = 4


@click.command()
@click.argument("file", required=False, type=StorePath())
@click.option("--all", "every", is_flag=True, help="List everything, not only what is largest.")
@common_options
def command(options: Options, file: Path | None, *, every: bool) -> None:
    """Show which runs fill FILE, or the store: of a LangGraph database which threads, and which channels.

    Sizes are the file's own; a large file is not read for them. What checkpoints hold of a channel is told for the
    largest threads, and marked with ~ where it was reckoned from some of their checkpoints.

    \b
    agent-tt du checkpoints.db
    --json: {file, bytes, free_bytes, owners: [{name, bytes, shares: [{what, bytes, rows, estimated}]}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.sources import space_in

    path = options.store_path() if file is None else file
    with counter("measuring", show=not options.as_json) as report:
        space = space_in(path, report)
    if options.as_json:
        write_json(_shape(path, space))
        return
    terminal = options.terminal()
    columns = (Column("", "right"), Column("", flexible=True), Column("", flexible=True))
    rows: list[tuple[Cell, ...]] = []
    owners = space.owners if every else space.owners[:_MOST_OWNERS]
    for owner in owners:
        name = "shared" if owner.name is None else owner.name
        rows.append((Cell(shown.size(owner.bytes), "strong"), Cell(name, "strong")))
        shares = owner.shares if every else owner.shares[:_MOST_SHARES]
        rows += [(Cell(_size(share), "muted"), Cell(""), Cell(_what(share))) for share in shares if share.bytes]
    if rows:
        terminal.table(columns, rows)
    left = len(space.owners) - len(owners)
    if left:
        size = shown.size(sum(owner.bytes for owner in space.owners[_MOST_OWNERS:]))
        terminal.line(Cell(f"and {counted(left, 'smaller one')} with {size}: --all lists them", "muted"))
    free = f", of which {shown.size(space.free)} are free" if space.free else ""
    terminal.line(f"{terminal.safe(str(path))} has {shown.size(space.bytes)}{free}")


def _size(share: Share) -> str:
    return f"{'~' if share.estimated else ''}{shown.size(share.bytes)}"


def _what(share: Share) -> str:
    return share.what if share.rows is None else f"{share.what}, {counted(share.rows, 'row')}"


def _shape(path: Path, space: Space) -> dict[str, Wire]:
    return {
        "file": str(path),
        "bytes": space.bytes,
        "free_bytes": space.free,
        "owners": [
            {
                "name": owner.name,
                "bytes": owner.bytes,
                "shares": [
                    {"what": each.what, "bytes": each.bytes, "rows": each.rows, "estimated": each.estimated}
                    for each in owner.shares
                ],
            }
            for owner in space.owners
        ],
    }
