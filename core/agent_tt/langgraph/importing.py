"""Copying threads of a LangGraph database into a store: whatever is new in them, and nothing that cannot be read.

The database is only read, and nothing that it names is imported: see `thread_reading`.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, NotAStore, RunNotFound, UsageError
from agent_tt.interop.langgraph.opening import open_database
from agent_tt.langgraph.thread_reading import ThreadReader
from agent_tt.langgraph.threads import Threads
from agent_tt.model import Imported
from agent_tt.store.threads import open_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from agent_tt.interop.langgraph.database import Database
    from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows
    from agent_tt.interop.threads.entries import Entry, Saved
    from agent_tt.langgraph.thread import Thread

__all__ = ["import_threads"]

_LEFT_OUT: Final = "it is left out"
_ROWS: Final = 1_000
_BYTES: Final = 4_000_000
"""What a transaction reads until it ends with the thread that it is at: whoever else writes must not wait for long."""


def import_threads(
    source: Path,
    target: Path,
    threads: Collection[str] = (),
    report: Callable[[int, int], None] | None = None,
) -> list[Imported]:
    """Copy threads of a LangGraph database, with their branches and subgraphs, into a store.

    One transaction takes in several threads, each as a whole: one that is broken off leaves no part of a thread, and is
    repeated for the rest. What is there already stays. What cannot be read is left out and named.

    Args:
        source: the database, a file or an address; it is only read.
        target: the store, made where it is missing.
        threads: which ones; all of them where none is named.
        report: told (threads done, in all).

    Raises:
        StoreNotFound, StoreUnreadable: the database is not there, or cannot be read.
        UsageError: it is not a LangGraph database.
        RunNotFound: it has no such thread; nothing was copied.
        NotAStore, NewerFormat, OlderFormat: the target is something else.
    """
    try:
        database = open_database(source)
    except NotAStore as error:
        hint = "Runs of agent-tt's own stores need no import: `agent-tt runs --store FILE`."
        raise UsageError(error.message, hint=hint) from error
    with closing(database):
        found = database.threads()
        missing = [name for name in threads if name not in found]
        if missing:
            raise RunNotFound(
                f"{source} has no thread {missing[0]!r}", hint=f"List them with `agent-tt runs --store {source}`."
            )
        # The oldest first: the store lists the newest run first, as the database does.
        chosen = [rows for name, rows in reversed(found.items()) if not threads or name in threads]
        with closing(Threads(open_threads(target))) as store:
            done: list[Imported] = []
            while len(done) < len(chosen):
                with store.together():
                    rows_read = bytes_read = 0
                    while len(done) < len(chosen) and rows_read < _ROWS and bytes_read < _BYTES:
                        if report is not None:
                            report(len(done), len(chosen))
                        rows = chosen[len(done)]
                        importer = _Importer(database, rows)
                        with store.use(rows.thread, to_write=True) as thread, thread.whole():
                            done.append(importer.into(thread))
                        rows_read += len(rows.checkpoints) + sum(map(len, rows.writes.values()))
                        bytes_read += importer.bytes_read
            return done


class _Importer:
    """Reads the checkpoints of one thread of a database."""

    def __init__(self, database: Database, rows: ThreadRows) -> None:
        self._rows = rows
        self._reader = ThreadReader(database, rows)
        self._problems: list[str] = []

    @property
    def bytes_read(self) -> int:
        """How many bytes of the database were read."""
        return self._reader.bytes_read

    def into(self, thread: Thread) -> Imported:
        """Add to a thread what it lacks."""
        rows = self._rows
        known = {row.key for row in rows.checkpoints.values() if thread.find(row.namespace, row.id) is not None}
        if thread.entries and not known:
            what = "the store has another thread of that id, which shares no checkpoint with this one"
            return Imported(rows.thread, thread.run_id, 0, 0, (f"{what}; {_LEFT_OUT}",))
        before = sum(map(len, thread.entries.values()))
        new = [row for row in rows.checkpoints.values() if row.key not in known]
        thread.take_in(self._read(new), are_over=True)
        for row in rows.checkpoints.values():
            entry = thread.find(row.namespace, row.id) if row.key in known else None
            if entry is not None:
                self._add_writes(thread, entry, row)
        added = sum(map(len, thread.entries.values())) - before
        run = thread.run_id if thread.entries else None
        return Imported(rows.thread, run, added, len(known), tuple(self._problems))

    def _read(self, rows: Sequence[CheckpointRow]) -> Iterator[Saved]:
        for row, found in self._reader.checkpoints(rows):
            if isinstance(found, Damaged):
                self._problems.append(f"{_named(row)}: {found.message}; {_LEFT_OUT}")
            else:
                yield found

    def _add_writes(self, thread: Thread, entry: Entry, row: CheckpointRow) -> None:
        """Add what tasks wrote on top of a checkpoint since it was copied."""
        there = {(write.task, write.number) for write in thread.writes(entry)}
        rows = [write for write in self._rows.writes.get(row.key, ()) if (write.task_id, write.index) not in there]
        if rows:
            try:
                writes = self._reader.writes(rows)
            except Damaged as error:
                self._problems.append(f"what was written on top of {_named(row)}: {error.message}; {_LEFT_OUT}")
            else:
                thread.put_writes(row.namespace, row.id, writes)
                thread.interrupt()


def _named(row: CheckpointRow) -> str:
    return f"checkpoint {row.id}" + (f" of {row.namespace}" if row.namespace else "")
