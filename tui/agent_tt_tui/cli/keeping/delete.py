"""`agent-tt delete`: runs that are gone for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.shapes.records import run_shape
from agent_tt_tui import format as shown
from agent_tt_tui.cli.marks import found_runs, with_forks_option, writable
from agent_tt_tui.cli.options import Options, common_options, runs_argument, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.cli.wording import status_cell
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run

_MOST_LISTED = 12
_NO = 1


@click.command()
@runs_argument
@with_forks_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def command(options: Options, runs: tuple[str, ...], *, with_forks: bool, yes: bool) -> int:
    """Delete runs for good, with everything that belongs to them alone. It asks first.

    A fork cannot be read without what it was forked from: a run that has forks is deleted with them or not at all. Runs
    that are pinned or running are not deleted. Exit code 1 when one of them stands in the way, which is then named, or
    when you say no, 2 when the file is only read: nothing is deleted then.

    \b
    agent-tt delete refund-loop --with-forks
    --json: {deleted: [{…as in runs}], freed_bytes}; needs --yes
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with options.source() as source:
        store = writable(source)
        chosen = [run.id for run in found_runs(store, runs)]
        planned = store.plan_deletion(chosen, with_forks=with_forks)
        question = f"Delete {counted(len(planned), 'run')} for good?"
        if not yes and not options.agreed("deleting", question, lambda terminal: _list(terminal, planned)):
            options.terminal().line("Nothing was deleted.")
            return _NO
        deletion = store.delete_runs(chosen, with_forks=with_forks)
    from agent_tt.querying.search.finder import forget_runs

    forget_runs(store.path, [run.id for run in deletion.runs])
    if options.as_json:
        write_json({"deleted": [run_shape(run) for run in deletion.runs], "freed_bytes": deletion.freed_bytes})
        return 0

    count = counted(len(deletion.runs), "run")
    options.terminal().line(f"deleted {count}; {shown.size(deletion.freed_bytes)} are free again")
    return 0


def _list(terminal: Terminal, runs: Sequence[Run]) -> None:

    columns = (Column("", flexible=True), Column(""), Column("", "right"))
    rows = [
        [Cell(run.name, "strong"), status_cell(run.status, terminal.glyphs), Cell(counted(run.steps, "step"))]
        for run in runs[:_MOST_LISTED]
    ]
    terminal.table(columns, rows)
    if len(runs) > _MOST_LISTED:
        terminal.line(Cell(f"{terminal.glyphs.cut} and {len(runs) - _MOST_LISTED:,} more", "muted"))
