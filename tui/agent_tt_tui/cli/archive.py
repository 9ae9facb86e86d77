"""`agent-tt archive`: runs that lists leave out."""

from __future__ import annotations

import click

from agent_tt_tui.cli.marks import found_runs, marking, say_marked, with_their_forks
from agent_tt_tui.cli.options import Options, common_options, complete_runs


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_runs)
@click.option("--with-forks", is_flag=True, help="Also what was forked from them, and from that.")
@common_options
def command(options: Options, runs: tuple[str, ...], *, with_forks: bool) -> None:
    """Archive runs: lists leave them out unless asked for all, and `latest` is never one of them.

    They lose nothing, and are named as before. Exit code 1, and nothing is done, when one of them is pinned.

    \b
    agent-tt archive refund-loop --with-forks
    agent-tt runs --all
    --json: the runs, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with marking(options) as store:
        found = found_runs(store, runs)
        ids = [run.id for run in (with_their_forks(store, found) if with_forks else found)]
        store.set_archived(ids, archived=True)
        say_marked(options, found_runs(store, ids), "archived")
