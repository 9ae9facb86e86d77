"""`agent-tt unarchive`: runs that are listed again."""

from __future__ import annotations

import click

from agent_tt_tui.cli.marks import found_runs, marking, say_marked, with_their_forks
from agent_tt_tui.cli.options import Options, common_options, complete_runs


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_runs)
@click.option("--with-forks", is_flag=True, help="Also what was forked from them, and from that.")
@common_options
def command(options: Options, runs: tuple[str, ...], *, with_forks: bool) -> None:
    """List runs again that were archived.

    Exit code 3 when one of them is not there; nothing is done then.

    \b
    --json: the runs, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with marking(options) as store:
        found = found_runs(store, runs)
        ids = [run.id for run in (with_their_forks(store, found) if with_forks else found)]
        store.set_archived(ids, archived=False)
        say_marked(options, found_runs(store, ids), "listed")
