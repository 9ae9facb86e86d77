"""A SqliteSaver's file, of whichever layout, as a `Database`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, NotAStore
from agent_tt.interop.langgraph.connection import DatabaseFile, reading_many
from agent_tt.interop.langgraph.database import MOST_AHEAD, Database, Document
from agent_tt.interop.langgraph.detect import Family, tables_of
from agent_tt.interop.langgraph.kept_rows import keep_rows, kept_rows
from agent_tt.interop.langgraph.rows import CheckpointRow, newest_first, threads_of
from agent_tt.interop.langgraph.space import read_space

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from agent_tt.interop.langgraph.database import Fetched
    from agent_tt.interop.langgraph.detect import Tables
    from agent_tt.interop.langgraph.rows import CheckpointKey, ThreadRows, WriteRow
    from agent_tt.interop.langgraph.sieve import Sieve
    from agent_tt.model.space import Space

__all__ = ["SqliteDatabase", "fetch_blob", "read_threads"]

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


class SqliteDatabase(Database):
    """One file.

    Args:
        path: the file.

    Raises:
        StoreNotFound: there is no such file.
        NotAStore: it is not a LangGraph database of a layout that can be read.
        StoreUnreadable: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = DatabaseFile(path)
        try:
            self._tables = _readable(self._file.read(tables_of), path)
        except BaseException:
            self._file.close()
            raise

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def is_current(self) -> bool:
        """Whether it is not of LangGraph before 0.2, whose tables were others."""
        return self._tables.family is Family.CURRENT and self._tables.has_writes

    def close(self) -> None:
        """Let go of the file, and remove the private copy of it, if there is one."""
        self._file.close()

    def version(self) -> int:
        """Give a number that differs after the file or its write-ahead log changed."""
        return self._file.version()

    def size(self) -> int:
        """How many bytes the file and its log take."""
        return self._file.size()

    def fingerprint(self) -> str | None:
        """Say what the file and its logs look like; None while they may still be written to."""
        return self._file.fingerprint()

    def threads(self, only: str | None = None) -> dict[str, ThreadRows]:
        """The rows of all threads or of one, the one with the newest checkpoint first."""
        if only is not None:
            return self._file.read(lambda connection: read_threads(connection, self._tables, only), refresh=True)
        size, before = self.size(), self.fingerprint()
        kept = kept_rows(self.path, size, before)
        if kept is not None:
            threads = self._file.read(
                lambda connection: read_threads(connection, self._tables, known=kept), refresh=True
            )
            if self.fingerprint() == before:
                return threads
        read: list[Sequence[object]] = []
        threads = self._file.read(lambda connection: read_threads(connection, self._tables, read=read), refresh=True)
        if self.fingerprint() == before:
            keep_rows(self.path, size, before, read)
        return threads

    def documents(self, rows: Sequence[CheckpointRow]) -> list[Document]:
        """The checkpoints of some rows."""
        return [Document((row.encoding, self._blob(row))) for row in rows]

    def values(self, rows: Sequence[WriteRow]) -> list[bytes | None]:
        """Give the stored bytes of values that tasks wrote."""
        return [self._blob(row) for row in rows]

    def outlines(self, rows: Collection[CheckpointRow]) -> Mapping[tuple[str, CheckpointKey], Document]:
        """Read whole checkpoints at once, as many as `MOST_AHEAD` bytes allow."""
        try:
            return self.ahead([*rows], ())[0]
        except Damaged:  # each is read by itself then, and those that can be are
            return {}

    def ahead(self, checkpoints: Sequence[CheckpointRow], writes: Sequence[WriteRow]) -> Fetched:
        """Some checkpoints and values, read as of one state of the file, which is looked at once."""

        def work(connection: sqlite3.Connection) -> Fetched:
            documents: dict[tuple[str, CheckpointKey], Document] = {}
            values: dict[WriteRow, bytes | None] = {}
            left = MOST_AHEAD
            rows: list[CheckpointRow | WriteRow] = [*checkpoints, *writes]
            for row in rows:
                if left < 0:
                    break
                blob = fetch_blob(connection, self._tables, row)
                left -= len(blob or b"")
                if isinstance(row, CheckpointRow):
                    documents[row.thread, row.key] = Document((row.encoding, blob))
                else:
                    values[row] = blob
            return documents, values

        return self._file.read(work)

    def sift(self, sieve: Sieve) -> None:
        """Have a sieve take in all values, in the order in which they lie in the file."""
        names = "thread_id, checkpoint_ns, checkpoint_id"
        of_checkpoints = f"{names}, type" if self._tables.family is Family.CURRENT else "thread_id, '', thread_ts, ''"

        def work(connection: sqlite3.Connection) -> None:
            sieve.take_checkpoints(connection.execute(f"SELECT {of_checkpoints}, checkpoint FROM checkpoints"))  # noqa: S608
            if self._tables.has_writes:
                sieve.take_values(connection.execute(f"SELECT {names}, channel, type, value FROM writes"))  # noqa: S608

        self._file.read(lambda connection: reading_many(connection, lambda: work(connection)))

    def space(self, report: Callable[[int, int], None]) -> Space:
        """What fills the file."""
        return read_space(self._file, report)

    def _blob(self, row: CheckpointRow | WriteRow) -> bytes | None:
        return self._file.read(lambda connection: fetch_blob(connection, self._tables, row))


def _readable(tables: Tables | None, path: Path) -> Tables:
    if tables is None:
        raise NotAStore(f"{path} is not a LangGraph database", hint="It has no tables of LangGraph.")
    return tables


def read_threads(
    connection: sqlite3.Connection,
    tables: Tables,
    only: str | None = None,
    *,
    known: Sequence[Sequence[object]] | None = None,
    read: list[Sequence[object]] | None = None,
) -> dict[str, ThreadRows]:
    """The rows of all threads or of one, the one with the newest checkpoint first.

    Args:
        connection: the file.
        tables: which tables it has.
        only: the thread; None for all.
        known: the rows of all checkpoints, where they are known: then they are not read.
        read: receives them where they are.
    """
    where, names = ("", ()) if only is None else (" WHERE thread_id = ?", (only,))
    task_path = "task_path" if tables.has_task_path else "''"
    columns = f"thread_id, checkpoint_ns, checkpoint_id, task_id, {task_path}, idx, channel, type"
    of_writes = f"SELECT {columns} FROM writes{where} ORDER BY 5, task_id, idx"  # noqa: S608

    def work() -> dict[str, ThreadRows]:
        writes = connection.execute(of_writes, names) if tables.has_writes else ()
        checkpoints = known
        if checkpoints is None:
            checkpoints = connection.execute(_checkpoints_query(tables, where), names).fetchall()
            if read is not None:
                read[:] = checkpoints
        return threads_of(checkpoints, writes)

    return newest_first(reading_many(connection, work))


def _checkpoints_query(tables: Tables, where: str) -> str:
    if tables.family is Family.CURRENT:
        columns = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, metadata"
        return f"SELECT {columns} FROM checkpoints{where} ORDER BY checkpoint_id, checkpoint_ns"  # noqa: S608
    metadata = "metadata" if tables.has_metadata else "NULL"
    return f"SELECT thread_id, '', thread_ts, parent_ts, '', {metadata} FROM checkpoints{where} ORDER BY thread_ts"  # noqa: S608


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
