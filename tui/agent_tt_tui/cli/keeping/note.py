"""`agent-tt note`: what people write down about a run or one of its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.errors import NotFound, UsageError
from agent_tt.querying.checkpoints import find_place
from agent_tt.shapes.records import notes_shape
from agent_tt_tui.cli.marks import markable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Note, Run


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("text", required=False)
@click.option("--at", "step", metavar="STEP", help="The state after this step, instead of the run.")
@click.option("--remove", type=int, metavar="ID", help="Remove the note with this number.")
@common_options
def command(options: Options, run: str, text: str | None, step: str | None, remove: int | None) -> None:
    """Write a note about RUN, or about the state after one of its steps; without TEXT, list the notes.

    A note about a run of a file that is only read is kept in your own store. Exit code 3 when there is no such run,
    step or note.

    \b
    agent-tt note refund-loop "the help centre was down"
    agent-tt note refund-loop --at 2 "same words again"
    --json: {run, notes: [{id, step, text, created}]}, as they are then
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    if text is not None and remove is not None:
        raise UsageError("--remove takes no text", hint="Remove one note, then write another.")
    if text is not None and not text.strip():
        raise UsageError("a note needs a text", hint="--remove ID removes one.")
    with options.source(run) as source:
        found, number = find_place(source, run, step)
        if text is not None:
            markable(source).add_note(found.id, number, "note", text.strip())
        elif remove is not None:
            if remove not in {note.id for note in source.notes(found.id) if note.kind == "note"}:
                raise NotFound(f"{found.name} has no note {remove}", hint=f"`agent-tt note {run}` lists them.")
            markable(source).delete_note(remove)
        notes = [note for note in source.notes(found.id) if number is None or note.step == number]
    if options.as_json:
        write_json({"run": found.id, "notes": notes_shape(notes)})
    else:
        _print(options, found, notes)


def _print(options: Options, run: Run, notes: Sequence[Note]) -> None:

    terminal = options.terminal()
    shown = [note for note in notes if note.kind == "note"]
    if not shown:
        terminal.line(f"no notes about {terminal.safe(run.name)} yet")
    for note in shown:
        where = "" if note.step is None else f"@{note.step}"
        first, *more = note.body.splitlines() or [""]
        terminal.line(Cell(f"{note.id:>4} ", "muted"), Cell(f"{where:<5} " if where else ""), terminal.safe(first))
        for line in more:
            terminal.line(" " * (11 if where else 5), terminal.safe(line))
