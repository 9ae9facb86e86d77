"""`agent-tt sessions`: sessions of coding agents on this machine."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

import click

from agent_tt import config
from agent_tt.errors import AgentTTError, UsageError
from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.found.sessions import Found, Scan

_SHOWN = 50


@click.command()
@click.argument("words", nargs=-1)
@click.option("--limit", type=click.IntRange(1), metavar="N", help=f"The newest N; else {_SHOWN}, and all with --json.")
@common_options
def command(options: Options, words: tuple[str, ...], limit: int | None) -> None:
    """List sessions of coding agents on this machine, newest first; with WORDS those that say all of them.

    They are looked for where Claude Code, Codex, Gemini CLI, OpenCode, pi and OpenHands keep them. Of each its
    beginning and its end are read, and what is shown is what these say; nothing is copied or sent. `agent-tt open FILE`
    opens one, `agent-tt import FILE` copies it. `sessions = false` in the settings turns the search off.

    \b
    --json: [{program, file, id, title, folder, modified, size, run}], run being the one
             that it was imported as
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.found.sessions import Scan, find_sessions

    if config.load().sessions is False:
        raise UsageError("sessions are not looked for: the settings say `sessions = false`", hint="Name a file.")
    scan = Scan()
    wanted = [word.casefold() for word in words]
    most = limit or (None if options.as_json else _SHOWN)
    with counter("reading", show=not options.as_json) as report:
        fitting = (each for each in _told(find_sessions(scan), scan, report) if each.says(wanted))
        found = [*islice(fitting, most)]
    imported = _imported(options)
    if options.as_json:
        write_json([_shape(each, imported.get(str(each.path))) for each in found])
        return
    terminal = options.terminal()
    now = time.time()
    columns = (
        Column("PROGRAM"),
        Column("FIRST WORDS", flexible=True),
        Column("FILE", flexible=True),
        Column("SIZE", "right"),
        Column("AGE", "right"),
    )
    rows = [
        (
            Cell(each.program, "strong"),
            Cell(each.title or ""),
            Cell(shown.short_path(each.path), "muted"),
            Cell("" if each.size is None else shown.size(each.size)),
            Cell(shown.age(max(0.0, now - each.modified_us / 1e6)), "muted"),
        )
        for each in found
    ]
    if rows:
        terminal.table(columns, rows)
    said = f"{shown.counted(scan.total, 'session')} found, {shown.count(len(found))} shown"
    more = len(scan.unread) + scan.more_unread
    terminal.line(said + (f"; {shown.counted(more, 'place')} could not be read" if more else ""))
    for path, why in scan.unread:
        terminal.line(Cell(terminal.safe(f"{path}: {why}"), "failed"))


def _told(found: Iterator[Found], scan: Scan, report: Callable[[int, int], None]) -> Iterator[Found]:
    for number, each in enumerate(found):
        report(number, scan.total)
        yield each


def _imported(options: Options) -> dict[str, str]:
    """The runs of the store that were imported from files, by file."""
    try:
        with options.source() as source:
            runs = source.runs(archived=True)
    except AgentTTError:  # there is none yet
        return {}
    return {run.origin["file"]: run.id for run in reversed(runs) if "file" in run.origin and run.parent is None}


def _shape(each: Found, run: str | None) -> dict[str, Wire]:
    return {
        "program": each.program,
        "file": str(each.path),
        "id": each.id,
        "title": each.title,
        "folder": each.folder,
        "modified": each.modified_us,
        "size": each.size,
        "run": run,
    }
