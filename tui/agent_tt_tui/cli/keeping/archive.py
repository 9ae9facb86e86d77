"""`agent-tt archive` and `unarchive`: runs that lists leave out."""

from __future__ import annotations

import click

from agent_tt_tui.cli.marks import found_runs, marking, say_marked, with_forks_option, with_their_forks
from agent_tt_tui.cli.options import Options, common_options, runs_argument


@click.command()
@runs_argument
@with_forks_option
@common_options
def archive(options: Options, runs: tuple[str, ...], *, with_forks: bool) -> None:
    """Archive runs: lists leave them out unless asked for all, and `latest` is never one of them.

    They lose nothing, and are named as before. Exit code 1, and nothing is done, when one of them is pinned.

    \b
    agent-tt archive refund-loop --with-forks
    agent-tt runs --all
    --json: the runs, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    _set_archived(options, runs, "archived", archived=True, with_forks=with_forks)


@click.command()
@runs_argument
@with_forks_option
@common_options
def unarchive(options: Options, runs: tuple[str, ...], *, with_forks: bool) -> None:
    """List runs again that were archived.

    Exit code 3 when one of them is not there; nothing is done then.

    \b
    --json: the runs, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    _set_archived(options, runs, "listed", archived=False, with_forks=with_forks)


def _set_archived(options: Options, runs: tuple[str, ...], word: str, *, archived: bool, with_forks: bool) -> None:
    with marking(options) as store:
        found = found_runs(store, runs)
        ids = [run.id for run in (with_their_forks(store, found) if with_forks else found)]
        store.set_archived(ids, archived=archived)
        say_marked(options, found_runs(store, ids), word)
