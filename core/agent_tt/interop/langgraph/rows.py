"""The two tables of a LangGraph database, without the values: those are fetched when they are asked for.

`checkpoints` has one row for each checkpoint, `writes` one for each value that a task wrote *from* a checkpoint: what
is stored with checkpoint C is what produced C's child.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import is_envelope
from agent_tt.errors import Damaged
from agent_tt.interop.langgraph.decode import read_value
from agent_tt.interop.langgraph.detect import Family
from agent_tt.interop.langgraph.envelopes import to_wire

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.detect import Tables

__all__ = ["CheckpointKey", "CheckpointRow", "ThreadRows", "WriteRow", "fetch_blob", "read_threads"]

CheckpointKey = tuple[str, str]
"""Namespace and checkpoint id: what names a checkpoint within a thread."""

_CHECKPOINT_BLOB: Final = {
    Family.CURRENT: (
        "SELECT checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
    ),
    Family.OLDEST: "SELECT checkpoint FROM checkpoints WHERE thread_id = ? AND ? = '' AND thread_ts = ?",
}
_WRITE_BLOB: Final = (
    "SELECT value FROM writes"
    " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND task_id = ? AND idx = ?"
)
_SHORT: Final = 200
_GREGORIAN_TO_UNIX: Final = 0x01B21DD213814000
"""Ticks of 100 ns between the epochs of UUID times (1582-10-15) and Unix times (RFC 9562, 5.6)."""


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """One row of `checkpoints`.

    Attributes:
        thread: the thread it belongs to.
        namespace: "" for the graph itself, `node:task` (nested with `|`) for a subgraph.
        encoding: how the blob is written: `msgpack`, `json`, ….
        metadata: what LangGraph and the user said about it.
        flaw: what is wrong with the row itself, or "".
    """

    thread: str
    namespace: str
    id: str
    parent: str | None
    encoding: str
    metadata: Mapping[str, Wire]
    flaw: str = ""

    @property
    def key(self) -> CheckpointKey:
        """What names it within its thread."""
        return (self.namespace, self.id)

    @property
    def source(self) -> str:
        """`input`, `loop`, `update` or `fork`; `loop` where the metadata does not say."""
        source = self.metadata.get("source")
        return source if isinstance(source, str) else "loop"

    @property
    def superstep(self) -> int | None:
        """LangGraph's own count, -1 for the first input. It repeats across branches."""
        step = self.metadata.get("step")
        return step if type(step) is int else None

    @property
    def hosts(self) -> Mapping[str, str]:
        """For a subgraph: the checkpoint of each enclosing namespace that it ran from."""
        parents = self.metadata.get("parents")
        return {ns: at for ns, at in parents.items() if isinstance(at, str)} if isinstance(parents, dict) else {}

    @property
    def delta_counts(self) -> Mapping[str, int]:
        """The delta channels that it does not hold, with the supersteps that wrote to them since one did."""
        counters = self.metadata.get("counters_since_delta_snapshot")
        return {
            channel: counts[0]
            for channel, counts in (counters.items() if isinstance(counters, dict) else ())
            if isinstance(counts, list) and counts and isinstance(counts[0], int)
        }

    @property
    def told_writes(self) -> list[tuple[str, Mapping[str, Wire]]]:
        """What nodes wrote, by node, once for each task: checkpoints before format 4 say so themselves."""
        told = self.metadata.get("writes")
        return [
            (node, update)
            for node, updates in (told.items() if isinstance(told, dict) and self.source == "loop" else ())
            for update in (updates if isinstance(updates, list) else [updates])
            if isinstance(update, dict) and not is_envelope(update)
        ]

    @property
    def time_us(self) -> int | None:
        """When it was made, in microseconds since the epoch: its id is a UUID of version 6."""
        try:
            made = uuid.UUID(self.id)
        except ValueError:
            return None
        # `UUID.version` is None where the variant is not the standard's: LangGraph.js writes inputs so.
        if made.time_hi_version >> 12 != 6:  # the version's number is its name
            return None
        ticks = (made.time_low << 28) | (made.time_mid << 12) | (made.time_hi_version & 0x0FFF)
        return (ticks - _GREGORIAN_TO_UNIX) // 10


@dataclass(frozen=True, slots=True)
class WriteRow:
    """One row of `writes`.

    Attributes:
        checkpoint: the checkpoint that it is stored with.
        task_path: which task wrote it, as LangGraph spells task paths; "" where the table does not say.
        index: order within the task; negative numbers mark errors, interrupts and answers.
        encoding: how the value is written.
    """

    thread: str
    checkpoint: CheckpointKey
    task_id: str
    task_path: str
    index: int
    channel: str
    encoding: str


@dataclass(frozen=True, slots=True)
class ThreadRows:
    """Everything about one thread but the values.

    Attributes:
        checkpoints: in order of their ids, which is the order in which they were made.
        writes: by the checkpoint that they were stored with, in LangGraph's order: task path, task, index.
    """

    thread: str
    checkpoints: Mapping[CheckpointKey, CheckpointRow]
    writes: Mapping[CheckpointKey, tuple[WriteRow, ...]]


def read_threads(connection: sqlite3.Connection, tables: Tables) -> dict[str, ThreadRows]:
    """The rows of all threads, the one with the newest checkpoint first."""
    checkpoints: dict[str, dict[CheckpointKey, CheckpointRow]] = {}
    for columns in connection.execute(_checkpoints_query(tables)):
        if isinstance(columns[0], str):
            row = _checkpoint(columns)
            checkpoints.setdefault(row.thread, {})[row.key] = row
    writes: dict[str, dict[CheckpointKey, list[WriteRow]]] = {}
    if tables.has_writes:
        task_path = "task_path" if tables.has_task_path else "''"
        query = (
            f"SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, {task_path}, idx, channel, type FROM writes"  # noqa: S608
            " ORDER BY 5, task_id, idx"
        )
        for of, namespace, checkpoint, task, path, index, channel, encoding in connection.execute(query):
            if not isinstance(of, str) or of not in checkpoints:
                continue
            key = (_text(namespace), _text(checkpoint))
            number = index if type(index) is int else 0
            write = WriteRow(of, key, _text(task), _text(path), number, _text(channel), _text(encoding))
            writes.setdefault(of, {}).setdefault(key, []).append(write)
    newest = sorted(sorted(checkpoints), key=lambda of: max(key[1] for key in checkpoints[of]), reverse=True)
    return {
        of: ThreadRows(of, checkpoints[of], {key: tuple(rows) for key, rows in writes.get(of, {}).items()})
        for of in newest
    }


def _checkpoints_query(tables: Tables) -> str:
    if tables.family is Family.CURRENT:
        return (
            "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, metadata"
            " FROM checkpoints ORDER BY checkpoint_id, checkpoint_ns"
        )
    metadata = "metadata" if tables.has_metadata else "NULL"
    return (
        f"SELECT thread_id, '', thread_ts, parent_ts, '', {metadata}"  # noqa: S608  # one of two words
        " FROM checkpoints ORDER BY thread_ts"
    )


def fetch_blob(connection: sqlite3.Connection, tables: Tables, row: CheckpointRow | WriteRow) -> bytes | None:
    """The stored bytes of a checkpoint or of a written value; None if there are none."""
    names: tuple[str | int, ...]
    if isinstance(row, CheckpointRow):
        query, names = _CHECKPOINT_BLOB[tables.family], (row.thread, row.namespace, row.id)
    else:
        query, names = _WRITE_BLOB, (row.thread, *row.checkpoint, row.task_id, row.index)
    found = connection.execute(query, names).fetchone()
    blob = found[0] if found else None
    return blob.encode() if isinstance(blob, str) else blob if isinstance(blob, bytes) else None


def _checkpoint(columns: tuple[object, ...]) -> CheckpointRow:
    thread, namespace, checkpoint, parent, encoding, metadata = columns
    short = isinstance(metadata, str | bytes) and len(metadata) < _SHORT
    facts, flaw = _short_metadata(metadata) if short else _metadata(metadata)
    return CheckpointRow(
        _text(thread),
        _text(namespace),
        _text(checkpoint),
        _text(parent) or None,
        _text(encoding),
        facts,
        flaw,
    )


@lru_cache(maxsize=1024)
def _short_metadata(raw: object) -> tuple[Mapping[str, Wire], str]:
    """What many checkpoints say alike: shared, never change it."""
    return _metadata(raw)


def _metadata(raw: object) -> tuple[Mapping[str, Wire], str]:
    """The metadata as a wire object, and what is wrong with it."""
    if raw is None:
        return {}, ""
    blob = raw.encode() if isinstance(raw, str) else raw
    try:
        facts = read_value("json", blob) if isinstance(blob, bytes) else None
    except Damaged:
        facts = None
    wire = to_wire(facts)
    if isinstance(facts, dict) and isinstance(wire, dict):
        return wire, ""
    return {}, "its metadata is not a JSON object"


def _text(value: object) -> str:
    """A column's value as text: SQLite lets any column hold any type."""
    return value if isinstance(value, str) else "" if value is None else str(value)
