"""`agent-tt pin`: runs that are kept."""

from __future__ import annotations

import click

from agent_tt_tui.cli.marks import found_runs, marking, say_marked
from agent_tt_tui.cli.options import Options, common_options, complete_runs


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_runs)
@common_options
def command(options: Options, runs: tuple[str, ...]) -> None:
    """Pin runs: a pinned run is neither archived nor deleted. One that was archived is listed again.

    Exit code 3 when one of them is not there; nothing is done then.

    \b
    --json: the runs, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with marking(options, *runs) as store:
        found = found_runs(store, runs)
        store.set_pinned([run.id for run in found], pinned=True)
        say_marked(options, found_runs(store, [run.id for run in found]), "pinned")
