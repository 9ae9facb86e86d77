"""The checkpoints of a thread of a LangGraph database, in the form in which a store of ours keeps them.

Nothing that the database names is imported: values are unpacked and packed again, as `values` does with what
LangGraph's serializer gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged
from agent_tt.history.payloads.damage import find_placeholder
from agent_tt.interop.langgraph.decode import Sealed, read_value
from agent_tt.interop.langgraph.envelopes import to_wire
from agent_tt.interop.threads.entries import saved_checkpoint
from agent_tt.interop.threads.writes import Write
from agent_tt.langgraph.values import Values, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.database import Database, Document
    from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows, WriteRow
    from agent_tt.interop.threads.entries import Saved

__all__ = ["ThreadReader"]

_AT_ONCE: Final = 8
"""Checkpoints that are fetched together: few, as each may be large."""


class ThreadReader:
    """Reads the checkpoints of one thread.

    Args:
        database: the database.
        rows: the thread.
        check: looks at a checkpoint before it is read, and raises what is to end the reading.

    Attributes:
        bytes_read: how many bytes it has fetched.
    """

    def __init__(
        self,
        database: Database,
        rows: ThreadRows,
        check: Callable[[CheckpointRow, Document], None] = lambda _row, _document: None,
    ) -> None:
        self._database = database
        self._rows = rows
        self._check = check
        self._values = Values()
        self.bytes_read = 0

    def checkpoints(self, rows: Sequence[CheckpointRow]) -> Iterator[tuple[CheckpointRow, Saved | Damaged]]:
        """Give each checkpoint with what tasks wrote on top of it, or why it cannot be read."""
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            written = [write for row in some for write in self._rows.writes.get(row.key, ())]
            blobs = dict(zip(written, self._fetched(written), strict=True))
            for row, document in zip(some, self._database.documents(some), strict=True):
                self.bytes_read += document.size
                self._check(row, document)
                try:
                    yield row, self._saved(row, document, blobs)
                except Damaged as error:
                    yield row, error

    def writes(self, rows: Sequence[WriteRow]) -> list[Write]:
        """Read what tasks wrote.

        Raises:
            Damaged: some of it cannot be read.
        """
        return [self._write(row, blob) for row, blob in zip(rows, self._fetched(rows), strict=True)]

    def _fetched(self, rows: Sequence[WriteRow]) -> list[bytes | None]:
        values = self._database.values(rows)
        self.bytes_read += sum(len(value) for value in values if value is not None)
        return values

    def _saved(self, row: CheckpointRow, stored: Document, blobs: Mapping[WriteRow, bytes | None]) -> Saved:
        if row.flaw:
            raise Damaged(row.flaw)
        document = stored.unpacked()
        if isinstance(document, Sealed):
            raise Damaged(f"it is kept as {document.encoding}, which cannot be read")
        if not isinstance(document, dict) or not isinstance(document.get("channel_values"), dict):
            raise Damaged("it is not a checkpoint: it has no channel values")
        sealed = next((each for each in document["channel_values"].values() if isinstance(each, Sealed)), None)
        if sealed is not None:
            raise Damaged(f"a value of it is kept as {sealed.encoding}, which cannot be read")
        checkpoint = {**document, "id": row.id}
        found = saved_checkpoint(row.namespace, row.parent, checkpoint, dict(row.metadata), self._kept)
        writes = self._rows.writes.get(row.key, ())
        return replace(found, writes=[self._write(write, blobs[write]) for write in writes])

    def _write(self, row: WriteRow, blob: bytes | None) -> Write:
        value = read_value(row.encoding, blob)
        # What only the graph's own serializer reads is kept as its bytes.
        sealed = isinstance(value, Sealed)
        wire = self._values.to_wire((row.encoding, blob or b""))[0] if sealed else self._kept(value)[0]
        return Write(row.task_id, row.task_path, row.index, row.channel, wire)

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
