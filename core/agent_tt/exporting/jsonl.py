"""Runs as JSON Lines: one object for each run, step, call, note and change of a value, in the order of the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import orjson

from agent_tt.codec.text import printable
from agent_tt.exporting.export import Export
from agent_tt.exporting.rows import call_row, first_step, json_text, note_row, run_row, step_row, value_changes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.exporting.export import Exported
    from agent_tt.exporting.rows import ValueChange
    from agent_tt.model import Run

__all__ = ["JsonLines"]


class JsonLines(Export):
    """One object a line. Of what a run recorded, the calls of one step and one state are in memory at once."""

    SUFFIXES: ClassVar = (".jsonl", ".ndjson")
    HELP: ClassVar = "JSON Lines: an object for each run, step, call, note and change of a value."
    IS_TEXT: ClassVar = True

    def write(self, exported: Exported, path: Path) -> None:
        """Write the runs, one after the other."""
        with path.open("wb") as file:
            for run in exported.runs:
                file.writelines(_lines(exported, run))


def _lines(exported: Exported, run: Run) -> Iterator[bytes]:
    source, first = exported.source, first_step(exported, run)
    yield _line("run", run_row(run))
    for note in source.notes(run.id):
        yield _line("note", note_row(run, note))
    for step in source.steps(run.id, first):
        yield _line("step", step_row(run, step))
        for call in source.calls(run.id, step.number) if step.calls else ():
            yield _line("call", call_row(run, call))
    for change in value_changes(source, run, first):
        yield _change(run, change)


def _line(kind: str, row: dict[str, Wire]) -> bytes:
    return json_text({"type": kind, **row}) + b"\n"


def _change(run: Run, change: ValueChange) -> bytes:
    row = {
        "type": "change",
        "run": run.id,
        "step": change.step,
        "track": printable(change.track),
        "path": change.path,
        "op": "add" if change.old is None else "remove" if change.new is None else "change",
        **({} if change.old is None else {"old": orjson.Fragment(change.old)}),
        **({} if change.new is None else {"new": orjson.Fragment(change.new)}),
    }
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
