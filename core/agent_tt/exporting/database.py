r"""Runs as a flat SQLite database, for Datasette and for SQL: plain columns, foreign keys, full-text search, views.

It is made by sqlite-utils. Everything recorded is text in columns; what does not print is written out in it
(`\u001b`), so that no terminal that shows a row obeys it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt.codec.text import printable
from agent_tt.codec.texts import texts
from agent_tt.codec.wire import is_envelope
from agent_tt.errors import UsageError
from agent_tt.exporting.database_tables import COLUMNS, INDEXES, KEYS, SEARCHED, VIEWS, descriptions
from agent_tt.exporting.export import Export
from agent_tt.exporting.rows import call_row, first_step, json_text, note_row, run_row, step_row, value_changes
from agent_tt.providers.model_talk import ModelTalks

if TYPE_CHECKING:
    from pathlib import Path

    import sqlite_utils

    from agent_tt.codec.wire import Wire
    from agent_tt.exporting.database_tables import Kind
    from agent_tt.exporting.export import Exported
    from agent_tt.exporting.rows import Row, ValueChange
    from agent_tt.model import Call, Run
    from agent_tt.providers.shapes import Message

__all__ = ["FlatDatabase"]

_MOST_WAITING: Final = 500
"""Rows that are written at once."""

_LARGEST: Final = 1 << 63
_FLOATS: Final = 1 << 1000
_TYPES: Final = {"text": str, "json": str, "integer": int, "float": float}


class FlatDatabase(Export):
    """A database of the runs, their steps, calls, messages, values and notes."""

    SUFFIXES: ClassVar = (".db", ".sqlite", ".sqlite3")
    HELP: ClassVar = "A flat SQLite database: tables, views and full-text search, ready for Datasette."

    def write(self, exported: Exported, path: Path) -> None:
        """Write the runs into a new database."""
        import sqlite3

        import sqlite_utils

        runs = {run.id: run for run in exported.runs}
        database = sqlite_utils.Database(path, execute_plugins=False)
        try:
            writer = _Writer(database)
            for run in runs.values():
                writer.add("runs", run_row(run) | {"parent_run": run.parent if run.parent in runs else None})
            for run in runs.values():
                writer.add_run(exported, run)
            writer.finish()
        except sqlite3.Error as error:
            raise UsageError(f"the database cannot be written: {error}") from error
        finally:
            database.close()


class _Writer:
    """Rows on their way into a database: numbered here, written many at once."""

    def __init__(self, database: sqlite_utils.Database) -> None:
        self._database = database
        self._waiting: dict[str, list[Row]] = defaultdict(list)
        self._ids: dict[str, int] = defaultdict(int)
        for table, columns in COLUMNS.items():
            keys = [(column, *target) for column, target in KEYS.get(table, {}).items()]
            pk = next(iter(columns))
            database.create_table(
                table, {name: _TYPES[kind] for name, (kind, _) in columns.items()}, pk=pk, foreign_keys=keys
            )

    def add(self, table: str, row: Row) -> int:
        """Take in a row, and give its number; what its table has no column for is left out."""
        self._ids[table] += 1
        number = self._ids[table]
        plain: Row = {name: _plain(row.get(name), kind) for name, (kind, _) in COLUMNS[table].items()}
        if "id" in plain:
            plain["id"] = number
        self._waiting[table].append(plain)
        if len(self._waiting[table]) >= _MOST_WAITING:
            self.flush()
        return number

    def flush(self) -> None:
        """Write what waits, in the order in which rows name one another."""
        with self._database.conn:
            for table in COLUMNS:
                if self._waiting[table]:
                    self._database.table(table).insert_all(self._waiting[table])
                    self._waiting[table] = []

    def add_run(self, exported: Exported, run: Run) -> None:
        """Write what a run has."""
        source, first = exported.source, first_step(exported, run)
        steps: dict[int, int] = {}
        calls: dict[tuple[int, int], int] = {}
        talks = _Talks(self)
        for step in source.steps(run.id, first):
            steps[step.number] = self.add("steps", step_row(run, step))
            for call in source.calls(run.id, step.number) if step.calls else ():
                row = call_row(run, call) | {"step_id": steps[step.number], "words": _words(call)}
                row["inside"] = calls.get(call.facts.inside) if call.facts.inside is not None else None
                calls[call.step, call.number] = self.add("calls", row)
                if call.kind == "llm":
                    talks.add(run, call, calls[call.step, call.number])
        for note in source.notes(run.id):
            self.add("notes", note_row(run, note) | {"step_id": steps.get(note.step or 0)})
        for tag in run.tags:
            self.add("tags", {"run": run.id, "tag": tag})
        held: dict[tuple[str, str], ValueChange] = {}
        for change in value_changes(source, run, first):
            before = held.pop((change.track, change.path), None)
            if before is not None:
                self._add_value(run, before, change.step - 1, steps)
            if change.new is not None:
                held[change.track, change.path] = change
        for change in held.values():
            self._add_value(run, change, source.step_count(run.id), steps)

    def _add_value(self, run: Run, change: ValueChange, last: int, steps: dict[int, int]) -> None:
        value: Wire = json.loads(change.new or b"null")
        row: Row = {
            "run": run.id,
            "track": change.track,
            "path": change.path,
            "value": value if isinstance(value, str) else (change.new or b"null").decode(),
            "type": _type(value),
            "from_step": change.step,
            "to_step": last,
            "step_id": steps.get(change.step),
        }
        self.add("state_values", row)

    def finish(self) -> None:
        """Make indexes, searches and views, and say what everything is."""
        self.flush()
        for table, columns in SEARCHED.items():
            self._database.table(table).enable_fts(columns, fts_version="FTS5")
        for table, indexes in INDEXES.items():
            for index in indexes:
                self._database.table(table).create_index(index)
        for name, (_, query) in VIEWS.items():
            self._database.create_view(name, query)
        for of, column, description in descriptions():
            described: Row = {"of": of, "column": column, "description": description}
            self.add("metadata", described)
        self.flush()


class _Talks:
    """The messages of the model calls of a run, each once: those of a conversation that goes on are there already."""

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer
        self._reader = ModelTalks()
        self._known: dict[tuple[int | None, bytes], int] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._followed: set[int] = set()
        self._conversations = 0

    def add(self, run: Run, call: Call, number: int) -> None:
        """Write those messages of a call that are not written yet."""
        talk = self._reader.of(call)
        last: int | None = None
        for message in talk.shown:
            last = self._one(run, last, message, number, is_said=False)
        for message in talk.said:
            last = self._one(run, last, message, number, is_said=True)

    def _one(self, run: Run, before: int | None, message: Message, call: int, *, is_said: bool) -> int:
        asked: list[Wire] = [{"id": each.id, "name": each.name, "arguments": each.arguments} for each in message.calls]
        row: Row = {
            "role": message.role,
            "text": message.text,
            "reasoning": message.reasoning or None,
            "tool_calls": asked or None,
            "answers": message.answers or None,
        }
        key = before, blake2b(json_text(row | {"reasoning": None}), digest_size=16).digest()
        if key in self._known:
            return self._known[key]
        if before is None or before in self._followed:
            self._conversations += 1
            conversation = self._conversations
        else:
            conversation = self._places[before][0]
        position = 1 if before is None else self._places[before][1] + 1
        place: Row = {"conversation": conversation, "position": position, "previous": before}
        number = self._writer.add("messages", {**row, **place, "run": run.id, "call_id": call, "said": is_said})
        self._known[key], self._places[number] = number, (conversation, position)
        if before is not None:
            self._followed.add(before)
        return number


def _words(call: Call) -> str | None:
    """The texts of a call, for a search; of a model's they are messages."""
    if call.kind == "llm":
        return None
    return "\n".join(text for value in (call.args, call.result) for _, text in texts(value)) or None


def _type(value: Wire) -> str:
    match value:
        case str():
            return "text"
        case None:
            return "null"
        case bool():
            return "truth"
        case int() | float():
            return "number"
        case list():
            return "list"
    return "typed" if is_envelope(value) else "object"


def _plain(value: Wire, kind: Kind) -> str | int | float | None:
    """A value as a column has it; text shows what does not print, and keeps its lines and tabs."""
    if value is None:
        return None
    if kind == "json":
        return printable(json_text(value).decode())
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return float(value) if abs(value) < _FLOATS else None  # a file may say anything
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json_text(value).decode()
    return "\t".join(map(printable, text.split("\t")))
