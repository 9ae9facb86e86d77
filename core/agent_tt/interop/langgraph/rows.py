"""The two tables that every LangGraph database has, without the values: those are fetched when they are asked for.

`checkpoints` has one row for each checkpoint, `writes` one for each value that a task wrote *from* a checkpoint: what
is stored with checkpoint C is what produced C's child.
"""

from __future__ import annotations

import re
import uuid
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.wire import is_envelope
from agent_tt.errors import Damaged
from agent_tt.interop.langgraph.decode import read_value
from agent_tt.interop.langgraph.envelopes import to_wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["CheckpointKey", "CheckpointRow", "ThreadRows", "WriteRow", "column_text", "newest_first", "threads_of"]

CheckpointKey = tuple[str, str]
"""Namespace and checkpoint id: what names a checkpoint within a thread."""

_TEXTS: Final = {str}
_SHORT: Final = 200
_VERSION_6: Final = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
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
        if _VERSION_6.fullmatch(self.id):  # the usual spelling, which is read four times as fast
            return (int(self.id[:8] + self.id[9:13] + self.id[15:18], 16) - _GREGORIAN_TO_UNIX) // 10
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


def threads_of(checkpoints: Iterable[Sequence[object]], writes: Iterable[tuple[Any, ...]]) -> dict[str, ThreadRows]:
    """The threads of rows as a database gives them.

    Args:
        checkpoints: thread, namespace, id, parent, encoding and metadata, in order of the ids.
        writes: thread, namespace, checkpoint, task, task path, index, channel and encoding, in LangGraph's order.
    """
    found: dict[str, dict[CheckpointKey, CheckpointRow]] = {}
    for columns in checkpoints:
        if isinstance(columns[0], str):
            row = _checkpoint(columns)
            found.setdefault(row.thread, {})[row.key] = row
    written: dict[str, dict[CheckpointKey, list[WriteRow]]] = {}
    for of, *names, index, channel, encoding in writes:
        if not isinstance(of, str) or of not in found:
            continue
        texts = (*names, channel, encoding)
        namespace, checkpoint, task, path, channel_name, how = (
            texts if {*map(type, texts)} == _TEXTS else map(column_text, texts)
        )
        number = index if type(index) is int else 0
        write = WriteRow(of, (namespace, checkpoint), task, path, number, channel_name, how)
        written.setdefault(of, {}).setdefault(write.checkpoint, []).append(write)
    return {
        of: ThreadRows(of, rows, {key: tuple(each) for key, each in written.get(of, {}).items()})
        for of, rows in found.items()
    }


def newest_first(threads: Mapping[str, ThreadRows]) -> dict[str, ThreadRows]:
    """The same threads, the one with the newest checkpoint first."""
    last = {of: max(key[1] for key in rows.checkpoints) for of, rows in threads.items()}
    return {of: threads[of] for of in sorted(sorted(threads), key=last.__getitem__, reverse=True)}


def _checkpoint(columns: Sequence[object]) -> CheckpointRow:
    thread, namespace, checkpoint, parent, encoding, metadata = columns
    short = isinstance(metadata, str | bytes) and len(metadata) < _SHORT
    facts, flaw = _short_metadata(metadata) if short else _metadata(metadata)
    return CheckpointRow(
        column_text(thread),
        column_text(namespace),
        column_text(checkpoint),
        column_text(parent) or None,
        column_text(encoding),
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


def column_text(value: object) -> str:
    """A column's value as text: SQLite lets any column hold any type."""
    return value if isinstance(value, str) else "" if value is None else str(value)
