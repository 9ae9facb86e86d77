"""The rows of one thread with their values as they are stored, for who copies the thread. Nothing is decoded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tt.errors import NotAStore
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.langgraph.detect import Family, tables_of

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

__all__ = ["StoredCheckpoint", "StoredWrite", "stored_thread"]


@dataclass(frozen=True, slots=True)
class StoredWrite:
    """One row of `writes`: what a task wrote, with its value as bytes of an encoding."""

    task: str
    path: str
    number: int
    channel: str
    encoding: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """One row of `checkpoints`, with what was written on top of it."""

    namespace: str
    id: str
    parent: str | None
    encoding: str
    value: bytes
    metadata: bytes | str | None
    writes: tuple[StoredWrite, ...]


def stored_thread(path: Path, thread: str) -> list[StoredCheckpoint]:
    """List all checkpoints of a thread, the oldest first.

    Args:
        path: the database, which is only read.
        thread: its id.

    Raises:
        NotAStore: it is not a database that a LangGraph of now writes.
        StoreUnreadable, Damaged: it cannot be read.
    """
    file = DatabaseFile(path)
    try:
        found = file.read(lambda connection: _read(connection, thread))
    finally:
        file.close()
    if found is None:
        raise NotAStore(
            f"{path} was written by a LangGraph whose checkpoints cannot be gone on from",
            hint="go on with the thread once in LangGraph itself, with a release of now",
        )
    return found


def _read(connection: sqlite3.Connection, thread: str) -> list[StoredCheckpoint] | None:
    tables = tables_of(connection)
    if tables is None or tables.family is not Family.CURRENT or not tables.has_writes:
        return None
    path = "task_path" if tables.has_task_path else "''"
    writes: dict[tuple[str, str], list[StoredWrite]] = {}
    for namespace, of, *row in connection.execute(
        f"SELECT checkpoint_ns, checkpoint_id, task_id, {path}, idx, channel, type, value FROM writes"  # noqa: S608
        " WHERE thread_id = ? ORDER BY checkpoint_id, task_id, idx",
        (thread,),
    ):
        task, task_path, number, channel, encoding, value = row
        write = StoredWrite(str(task), str(task_path), int(number), str(channel), str(encoding or "null"), value)
        writes.setdefault((str(namespace), str(of)), []).append(write)
    rows = connection.execute(
        "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints"
        " WHERE thread_id = ? ORDER BY checkpoint_id",
        (thread,),
    )
    return [
        StoredCheckpoint(
            str(namespace),
            str(own),
            parent and str(parent),
            str(encoding),
            value,
            metadata,
            tuple(writes.get((str(namespace), str(own)), ())),
        )
        for namespace, own, parent, encoding, value, metadata in rows
    ]
