"""`agent-tt rename`: another name for a run, or one for a checkpoint."""

from __future__ import annotations

import click

from agent_tt.querying.checkpoints import find_place
from agent_tt.shapes.records import label_shape
from agent_tt_tui.cli.marks import marking
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("name")
@click.option("--at", "step", metavar="STEP", help="Name the state after this step; an empty NAME removes the name.")
@common_options
def command(options: Options, run: str, name: str, step: str | None) -> None:
    """Call RUN by another NAME, or the state after one of its steps.

    Forks that are called after RUN are renamed with it, and the names that they had still name them. No two runs get
    one name; the name of a checkpoint is good wherever a STEP is, in its run. Exit code 2 when the name is taken.

    \b
    agent-tt rename refund-loop "loop of March"
    agent-tt rename "loop of March" "before it went wrong" --at 2
    --json: {run, step, name, metadata}, with a step of null for the run
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.model import Label

    with marking(options, run) as store:
        found, number = find_place(store, run, step)
        if number is None:
            store.rename_run(found.id, name)
        else:
            store.name_checkpoint(found.id, number, name or None)
        renamed = store.run(found.id)
        label = None if number is None else store.labels(found.id).get(number, Label(number))
    if options.as_json:
        write_json(label_shape(renamed, label))
        return
    terminal = options.terminal()
    before, after = (found.name, renamed.name) if label is None else (f"{found.name}@{label.step}", label.name)
    said = "has no name any more" if after is None else f"is now called {terminal.safe(after)}"
    terminal.line(f"{terminal.safe(before)} {said}")
