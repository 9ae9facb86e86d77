"""`agent-tt meta`: facts about a run or one of its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.querying.checkpoints import find_place
from agent_tt.shapes.records import label_shape
from agent_tt_tui.cli.marks import markable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.shapes.records import Shape


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("facts", nargs=-1, metavar="[KEY=VALUE]…")
@click.option("--at", "step", metavar="STEP", help="The state after this step, instead of the run.")
@click.option("--remove", multiple=True, metavar="KEY", help="Remove this fact; may be given several times.")
@common_options
def command(options: Options, run: str, facts: tuple[str, ...], *, step: str | None, remove: tuple[str, ...]) -> None:
    """Write facts down about RUN, or about the state after one of its steps; without any, list them.

    A VALUE is JSON, except that of `purpose` and `ticket`, which are texts. A fork begins with the facts of the run
    that it was forked from. Exit code 2 when a VALUE is not JSON, 3 when there is no such run
    or step.

    \b
    agent-tt meta refund-loop ticket=OPS-12 purpose="find the loop" budget=3
    --json: {run, step, name, metadata}, with a step of null for the run
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.model import Label
    from agent_tt.model.fact_text import parse_fact

    more = dict(parse_fact(text) for text in facts)
    with options.source(run) as source:
        found, number = find_place(source, run, step)
        if more or remove:
            markable(source).set_metadata(found.id, more, remove=remove, step=number)
            found = source.run(found.id)
        label = None if number is None else source.labels(found.id).get(number, Label(number))
    shape = label_shape(found, label)
    if options.as_json:
        write_json(shape)
    else:
        _print(options, shape)


def _print(options: Options, shape: Shape) -> None:
    from agent_tt.codec.text import summary

    terminal = options.terminal()
    metadata: Wire = shape["metadata"]
    rows = [
        [Cell(name, "strong"), Cell(value if isinstance(value, str) else summary(value, terminal.columns))]
        for name, value in (metadata.items() if isinstance(metadata, dict) else ())
    ]
    if rows:
        terminal.table((Column("", flexible=True), Column("", flexible=True)), rows)
    else:
        terminal.line("no facts are written down yet")
