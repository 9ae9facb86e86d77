"""`agent-tt pin` and `unpin`: runs that are kept."""

from __future__ import annotations

import click

from agent_tt_tui.cli.marks import found_runs, marking, say_marked
from agent_tt_tui.cli.options import Options, common_options, runs_argument


@click.command()
@runs_argument
@common_options
def pin(options: Options, runs: tuple[str, ...]) -> None:
    """Pin runs: a pinned run is neither archived nor deleted. One that was archived is listed again.

    Exit code 3 when one of them is not there; nothing is done then.

    \b
    --json: the runs, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with marking(options, *runs) as store:
        ids = [run.id for run in found_runs(store, runs)]
        store.set_pinned(ids, pinned=True)
        say_marked(options, found_runs(store, ids), "pinned")


@click.command()
@runs_argument
@common_options
def unpin(options: Options, runs: tuple[str, ...]) -> None:
    """Take the pins of runs away: they can be archived and deleted again.

    Exit code 3 when one of them is not there; nothing is done then.

    \b
    --json: the runs, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with marking(options) as store:
        ids = [run.id for run in found_runs(store, runs)]
        store.set_pinned(ids, pinned=False)
        say_marked(options, found_runs(store, ids), "unpinned")
