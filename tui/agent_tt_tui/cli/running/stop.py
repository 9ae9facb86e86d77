"""`agent-tt stop`: end runs that are going on, whoever started them."""

from __future__ import annotations

import click

from agent_tt.shapes.records import run_shape
from agent_tt_tui.cli.marks import found_runs, writable
from agent_tt_tui.cli.options import Options, common_options, runs_argument, write_json
from agent_tt_tui.cli.wording import run_line

_NO = 1


@click.command()
@runs_argument
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=5.0,
    metavar="SECONDS",
    help="Seconds to wait until it has ended by itself, before it is killed; by default 5.",
)
@common_options
def command(options: Options, runs: tuple[str, ...], *, grace: float) -> int:
    """Stop runs that are going on: a fork, a resumed run, or a program that records itself.

    Its process is interrupted as by Ctrl-C, and killed where it goes on after --grace SECONDS: of a fork and a resumed
    run with everything that its agent has started. The run ends as interrupted, and says why.

    Only processes of your own on this machine are stopped, and only where it is certain that it is still the one that
    records the run. Exit code 1 when a run came to its own end meanwhile, 2 when one does not run or may not be
    stopped, 3 when there is no such run.

    \b
    agent-tt stop refund-loop/fork-2
    --json: [{…as in runs}]
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.supervising.stopping import stop_run

    with options.source() as source:
        store = writable(source)
        chosen = [run.id for run in found_runs(store, runs)]
        path = store.path
    ended = [stop_run(path, run_id, grace=grace) for run_id in chosen]
    if options.as_json:
        write_json([run_shape(run) for run in ended])
    else:
        terminal = options.terminal()
        for run in ended:
            run_line(terminal, run)
    return 0 if all(run.status == "interrupted" for run in ended) else _NO
