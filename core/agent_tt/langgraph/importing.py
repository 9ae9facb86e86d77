"""Copying threads of a LangGraph database into a store: whatever is new in them, and nothing that cannot be read.

The database is only read, and nothing that it names is imported: values are unpacked and packed again, as `values`
does with what LangGraph's serializer gives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, RunNotFound, UsageError
from agent_tt.history.payloads.damage import find_placeholder
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.langgraph.decode import Sealed, read_value
from agent_tt.interop.langgraph.detect import tables_of
from agent_tt.interop.langgraph.envelopes import to_wire
from agent_tt.interop.langgraph.rows import fetch_blob, read_threads
from agent_tt.langgraph.entries import saved_checkpoint
from agent_tt.langgraph.threads import Threads
from agent_tt.langgraph.values import Values, packed
from agent_tt.langgraph.writes import Write
from agent_tt.store.threads import open_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.detect import Tables
    from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows, WriteRow
    from agent_tt.langgraph.entries import Entry, Saved
    from agent_tt.langgraph.thread import Thread

__all__ = ["Imported", "import_threads"]

_LEFT_OUT: Final = "it is left out"


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one thread.

    Attributes:
        thread: its id.
        run: the id of its first run in the store; None where nothing of it is there.
        added, known: how many checkpoints are new, and how many were there already.
        problems: what was left out, and why; each names its checkpoint.
    """

    thread: str
    run: str | None
    added: int
    known: int
    problems: tuple[str, ...] = ()


def import_threads(
    source: Path,
    target: Path,
    threads: Collection[str] = (),
    report: Callable[[int, int], None] | None = None,
) -> list[Imported]:
    """Copy threads of a LangGraph database, with their branches and subgraphs, into a store; each is one transaction.

    What is there already stays. What cannot be read is left out and named.

    Args:
        source: the database; it is only read.
        target: the store, made where it is missing.
        threads: which ones; all of them where none is named.
        report: told (threads done, in all).

    Raises:
        StoreNotFound, StoreUnreadable: the database is not there, or cannot be read.
        UsageError: it is not a LangGraph database.
        RunNotFound: it has no such thread; nothing was copied.
        NotAStore, NewerFormat, OlderFormat: the target is something else.
    """
    file = DatabaseFile(source)
    try:
        tables = file.read(tables_of)
        if tables is None:
            hint = "Runs of agent-tt's own stores need no import: `agent-tt runs --store FILE`."
            raise UsageError(f"{source} is not a LangGraph database", hint=hint)
        found = file.read(lambda connection: read_threads(connection, tables))
        missing = [name for name in threads if name not in found]
        if missing:
            raise RunNotFound(
                f"{source} has no thread {missing[0]!r}", hint=f"List them with `agent-tt runs --store {source}`."
            )
        # The oldest first: the store lists the newest run first, as the database does.
        chosen = [rows for name, rows in reversed(found.items()) if not threads or name in threads]
        store = Threads(open_threads(target))
        try:
            done = []
            for number, rows in enumerate(chosen):
                if report is not None:
                    report(number, len(chosen))
                with store.use(rows.thread) as thread:
                    done.append(_Importer(file, tables, rows).into(thread))
            return done
        finally:
            store.close()
    finally:
        file.close()


class _Importer:
    """Reads the checkpoints of one thread of a database."""

    def __init__(self, file: DatabaseFile, tables: Tables, rows: ThreadRows) -> None:
        self._file = file
        self._tables = tables
        self._rows = rows
        self._values = Values()
        self._problems: list[str] = []

    def into(self, thread: Thread) -> Imported:
        """Add to a thread what it lacks."""
        rows = self._rows
        known = {row.key for row in rows.checkpoints.values() if thread.find(row.namespace, row.id) is not None}
        if thread.entries and not known:
            what = "the store has another thread of that id, which shares no checkpoint with this one"
            return Imported(rows.thread, thread.run_id, 0, 0, (f"{what}; {_LEFT_OUT}",))
        before = sum(map(len, thread.entries.values()))
        new = (row for row in rows.checkpoints.values() if row.key not in known)
        thread.take_in(self._read(new), are_over=True)
        for row in rows.checkpoints.values():
            entry = thread.find(row.namespace, row.id) if row.key in known else None
            if entry is not None:
                self._add_writes(thread, entry, row)
        added = sum(map(len, thread.entries.values())) - before
        run = thread.run_id if thread.entries else None
        return Imported(rows.thread, run, added, len(known), tuple(self._problems))

    def _read(self, rows: Iterator[CheckpointRow]) -> Iterator[Saved]:
        for row in rows:
            try:
                yield self._saved(row)
            except Damaged as error:
                self._problems.append(f"{_named(row)}: {error.message}; {_LEFT_OUT}")

    def _saved(self, row: CheckpointRow) -> Saved:
        """A checkpoint as it is stored, with what tasks wrote on top of it.

        Raises:
            Damaged: some of it cannot be read.
        """
        if row.flaw:
            raise Damaged(row.flaw)
        document = read_value(row.encoding, self._blob(row))
        if isinstance(document, Sealed):
            raise Damaged(f"it is kept as {document.encoding}, which cannot be read")
        if not isinstance(document, dict) or not isinstance(document.get("channel_values"), dict):
            raise Damaged("it is not a checkpoint: it has no channel values")
        checkpoint = {**document, "id": row.id}
        found = saved_checkpoint(row.namespace, row.parent, checkpoint, dict(row.metadata), self._kept)
        return replace(found, writes=[self._write(write) for write in self._rows.writes.get(row.key, ())])

    def _add_writes(self, thread: Thread, entry: Entry, row: CheckpointRow) -> None:
        """Add what tasks wrote on top of a checkpoint since it was copied."""
        there = {(write.task, write.number) for write in thread.writes(entry)}
        rows = [write for write in self._rows.writes.get(row.key, ()) if (write.task_id, write.index) not in there]
        if rows:
            try:
                writes = [self._write(write) for write in rows]
            except Damaged as error:
                self._problems.append(f"what was written on top of {_named(row)}: {error.message}; {_LEFT_OUT}")
            else:
                thread.put_writes(row.namespace, row.id, writes)
                thread.interrupt()

    def _write(self, row: WriteRow) -> Write:
        value = read_value(row.encoding, self._blob(row))
        wire = self._kept(value)[0] if not isinstance(value, Sealed) else self._sealed(row)
        return Write(row.task_id, row.task_path, row.index, row.channel, wire)

    def _sealed(self, row: WriteRow) -> Wire:
        """What is stored of bytes that only the graph's own serializer reads."""
        return self._values.to_wire((row.encoding, self._blob(row) or b""))[0]

    def _kept(self, value: object) -> tuple[Wire, object]:
        """What is stored of an unpacked value, and the value."""
        if value is None:
            return None, None
        if isinstance(value, bytes | bytearray):
            return self._values.to_wire((type(value).__name__, bytes(value)))
        try:
            typed = "msgpack", packed(value)
        except (TypeError, ValueError):  # of JSON: what constructors made cannot be packed, and is kept to be looked at
            wire = to_wire(value)
            if find_placeholder(wire) is not None:
                raise Damaged("a value of it cannot be read") from None
            return wire, value
        return self._values.to_wire(typed)

    def _blob(self, row: CheckpointRow | WriteRow) -> bytes | None:
        return self._file.read(lambda connection: fetch_blob(connection, self._tables, row))


def _named(row: CheckpointRow) -> str:
    return f"checkpoint {row.id}" + (f" of {row.namespace}" if row.namespace else "")
