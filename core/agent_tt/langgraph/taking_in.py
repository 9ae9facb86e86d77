"""Copying a thread of a LangGraph database into a store, so that a fork can go on from it.

The database is only read, and nothing that it names is imported: values go from bytes to wire values. The copy is a
thread of its own, `FILE/THREAD`; checkpoints that it has already are not copied again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent_tt.errors import Damaged, UsageError
from agent_tt.interop.langgraph.decode import read_value
from agent_tt.interop.langgraph.stored_rows import stored_thread
from agent_tt.langgraph.entries import saved_checkpoint
from agent_tt.langgraph.past import ForkedThread
from agent_tt.langgraph.threads import Threads
from agent_tt.langgraph.values import Values, packed
from agent_tt.langgraph.writes import Write
from agent_tt.store.threads import open_threads

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.stored_rows import StoredCheckpoint, StoredWrite
    from agent_tt.langgraph.entries import Saved
    from agent_tt.protocols import Store

__all__ = ["take_in_run", "take_in_thread"]

_SENDS = "__pregel_tasks"
_FIRST_WITH_SENDS = 4
"""From this form of a checkpoint on it holds its own Sends; before, they lay with the writes of its parent."""


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
        UsageError: it is encrypted, or of a form that keeps Sends elsewhere.
        Damaged: a value of it cannot be read.
    """
    rows = stored_thread(database, thread_id)
    values = Values()
    threads = Threads(open_threads(store))
    try:
        with threads.use(f"{database.stem}/{thread_id}") as thread:
            known = {key for entries in thread.entries.values() for key in entries}
            new = (_saved(values, row, database) for row in rows if row.id not in known)
            thread.take_in(new, are_over=True)
            return thread.place_of(checkpoint_id)
    finally:
        threads.close()


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


def _saved(values: Values, row: StoredCheckpoint, database: Path) -> Saved:
    checkpoint = read_value(row.encoding, row.value)
    if not isinstance(checkpoint, dict) or row.encoding != "msgpack":
        raise UsageError(
            f"the checkpoints of {database} are stored as {row.encoding}, which cannot be gone on from",
            hint="fork a thread of a database that a LangGraph of now wrote, without encryption",
        )
    if int(checkpoint.get("v", 1)) < _FIRST_WITH_SENDS and any(write.channel == _SENDS for write in row.writes):
        raise UsageError(
            f"{database} keeps Sends as LangGraph did before 0.6, so it is not known where its threads go on",
            hint="go on with the thread once in LangGraph itself, with a release of now",
        )
    try:
        said = json.loads(row.metadata or "{}")
    except ValueError as error:
        raise Damaged(f"the metadata of checkpoint {row.id} in {database} is not JSON") from error
    document = {**checkpoint, "id": row.id, "channel_values": checkpoint.get("channel_values") or {}}
    saved = saved_checkpoint(row.namespace, row.parent, document, said, lambda value: (_wire(values, value), value))
    saved.writes.extend(_write(values, write) for write in row.writes)
    return saved


def _write(values: Values, write: StoredWrite) -> Write:
    wire: Wire = None
    if write.encoding != "null" and write.value is not None:
        wire, _ = values.to_wire((write.encoding, write.value))
    return Write(write.task, write.path, write.number, write.channel, wire)


def _wire(values: Values, value: object) -> Wire:
    """The wire value of what a checkpoint held, as the serializer would have written it alone."""
    if value is None:
        return None
    if isinstance(value, bytes | bytearray):
        return values.to_wire((type(value).__name__, bytes(value)))[0]
    return values.to_wire(("msgpack", packed(value)))[0]
