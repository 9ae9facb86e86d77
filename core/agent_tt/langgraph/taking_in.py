"""Copying a thread of a LangGraph database into a store, so that a fork can go on from it.

The database is only read, and nothing that it names is imported. The copy is a thread of its own, `FILE/THREAD`;
checkpoints that it has already are not copied again.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, NotAStore, RunNotFound, UsageError
from agent_tt.interop.langgraph.checkpoint import FORMAT
from agent_tt.interop.langgraph.opening import open_database
from agent_tt.langgraph.past import ForkedThread
from agent_tt.langgraph.thread_reading import ThreadReader
from agent_tt.langgraph.threads import Threads
from agent_tt.store.threads import open_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.interop.langgraph.database import Database, Document
    from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows
    from agent_tt.interop.threads.entries import Saved
    from agent_tt.protocols import Store

__all__ = ["take_in_run", "take_in_thread"]

_SENDS = "__pregel_tasks"
_SERIALIZED: Final = frozenset({"msgpack", "bytes", "bytearray", "null"})
"""How LangGraph's serializer of now writes values."""


def take_in_thread(store: Path, database: Path, thread_id: str, checkpoint_id: str) -> tuple[str, int]:
    """Copy a thread into a store, which is made where it is missing.

    Args:
        store: the store.
        database: the LangGraph database; not a byte of it changes.
        thread_id: the thread.
        checkpoint_id: a checkpoint of the graph itself in it.

    Returns:
        The id of the run in the store that has the checkpoint, and the number of its step.

    Raises:
        NotAStore: the database has another layout.
        RunNotFound: the thread is gone.
        UsageError: it is encrypted, or of a form that keeps Sends elsewhere.
        Damaged: a value of it cannot be read.
    """
    with closing(open_database(database)) as opened, closing(Threads(open_threads(store))) as threads:
        if not opened.is_current:
            raise NotAStore(
                f"{database} was written by a LangGraph whose checkpoints cannot be gone on from",
                hint="go on with the thread once in LangGraph itself, with a release of now",
            )
        rows = opened.threads(thread_id).get(thread_id)
        if rows is None:
            raise RunNotFound(f"there is no thread {thread_id!r} any more in {database}")
        reader = ThreadReader(opened, rows, partial(_check, opened, rows))
        with threads.use(f"{database.stem}/{thread_id}") as thread:
            known = {key for entries in thread.entries.values() for key in entries}
            new = [row for row in rows.checkpoints.values() if row.id not in known]
            thread.take_in(_whole(reader, new), are_over=True)
            return thread.place_of(checkpoint_id)


def _whole(reader: ThreadReader, rows: Sequence[CheckpointRow]) -> Iterator[Saved]:
    for _, found in reader.checkpoints(rows):
        if isinstance(found, Damaged):
            raise found
        yield found


def take_in_run(store: Path, source: Store, run: str, step: int) -> tuple[str, int]:
    """Copy what a run says of its thread up to a step into another store; give the run and the step there."""
    past = ForkedThread(source, run, step)
    read = past.reader()
    threads = Threads(open_threads(store))
    try:
        with threads.use(past.id) as thread:
            entries = [entry for of_namespace in past.entries.values() for entry in of_namespace.values()]
            thread.take_in([read(entry) for entry in sorted(entries, key=lambda entry: entry.id)])
            return thread.place_of(past.latest)
    finally:
        threads.close()


def _check(database: Database, rows: ThreadRows, row: CheckpointRow, document: Document) -> None:
    """Refuse a checkpoint that a graph cannot go on from as it is stored.

    Raises:
        UsageError: it is one.
        Damaged: it cannot be read.
    """
    foreign = sorted(document.encodings - _SERIALIZED)
    if foreign:
        raise UsageError(
            f"the checkpoints of {database.path} are stored as {foreign[0]}, which cannot be gone on from",
            hint="fork a thread of a database that a LangGraph of now wrote, without encryption",
        )
    content = document.unpacked()
    form = content.get("v") if isinstance(content, dict) else None
    writes = rows.writes.get(row.key, ())
    if (form if isinstance(form, int) else 1) < FORMAT and any(write.channel == _SENDS for write in writes):
        raise UsageError(
            f"{database.path} keeps Sends as LangGraph did before 0.6, so it is not known where its threads go on",
            hint="go on with the thread once in LangGraph itself, with a release of now",
        )
