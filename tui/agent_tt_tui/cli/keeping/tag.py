"""`agent-tt tag`: words by which runs are found again."""

from __future__ import annotations

import click

from agent_tt.errors import UsageError
from agent_tt.shapes.records import run_shape
from agent_tt_tui.cli.marks import markable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("tags", nargs=-1, metavar="[TAG]…")
@click.option("--remove", multiple=True, metavar="TAG", help="Remove this tag; may be given several times.")
@common_options
def command(options: Options, run: str, tags: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Tag RUN; without any TAG, list its tags. The list of runs finds them (`/` in the terminal app).

    Exit code 3 when there is no such run.

    \b
    agent-tt tag refund-loop flaky march --remove new
    --json: the run, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    if any(not tag.strip() or not tag.isprintable() for tag in tags):
        raise UsageError("a tag needs at least one character, and all of them must be seen")
    with options.source(run) as source:
        found = source.run(run)
        if tags or remove:
            kept = [tag for tag in dict.fromkeys((*found.tags, *(tag.strip() for tag in tags))) if tag not in remove]
            markable(source).set_tags(found.id, kept)
            found = source.run(found.id)
    if options.as_json:
        write_json(run_shape(found))
        return
    terminal = options.terminal()
    terminal.line(terminal.safe(" ".join(found.tags)) if found.tags else f"{terminal.safe(found.name)} has no tags")
