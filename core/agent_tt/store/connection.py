"""One connection to a store file: queries, durable transactions, and what must hold around them.

The connection is shared by the threads of a process under one lock, and never across a fork: a forked child opens its
own and only abandons the parent's (closing it could truncate a log that the parent still writes).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

from agent_tt.errors import Damaged, NotAStore, ReadOnlySource, StoreBusy, StoreNotFound, StoreUnreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from agent_tt.history.rows import Row, SqlValue, Transaction

__all__ = ["BUSY_TIMEOUT_S", "Database", "Durability", "connect"]

BUSY_TIMEOUT_S: Final = 10.0
"""How long a writer waits for another process's lock."""

Durability = Literal["full", "normal"]

_COMMITS_PER_CHECKPOINT: Final = 256


class Database:
    """A store file that is open, for reading or for reading and writing.

    Attributes:
        path: the file.
        read_only: whether writing is refused.
        lock: held during every query and transaction; a writer may hold it longer to keep its own order.
    """

    def __init__(self, path: Path, *, read_only: bool = False, durability: Durability = "full") -> None:
        self.path = path
        self.read_only = read_only
        self.lock = threading.RLock()
        self._durability = durability
        self._commits = 0
        self._closed = False
        self._connection = self._connect()
        _OPEN.add(self)

    def _connect(self) -> sqlite3.Connection:
        connection = connect(self.path, mode="ro" if self.read_only else "rw")
        if not self.read_only:
            # Only explicit FULL checkpoints: SQLite before 3.51.3 can corrupt a file when a passive checkpoint meets
            # another connection's commit; FULL holds the writer lock.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute(f"PRAGMA synchronous = {self._durability}")
        return connection

    def close(self) -> None:
        """Lets go of the file. Closing twice is fine."""
        with self.lock:
            self._closed = True
            _OPEN.discard(self)
            self._connection.close()

    def abandon(self) -> None:
        """Called in a forked child: leaves the parent's connection alone and opens an own one."""
        _ABANDONED.append(self._connection)
        self.lock = threading.RLock()
        self._connection = self._connect()

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives.

        Raises:
            StoreUnreadable: the file cannot be read (see its subclasses).
        """
        with self.lock, self._translated():
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except sqlite3.OperationalError as error:
                if "Could not decode" not in str(error):
                    raise
            return self._query_damaged_text(sql, parameters)

    def _query_damaged_text(self, sql: str, parameters: Sequence[SqlValue]) -> list[Row]:
        """The same rows where a damaged text is not UTF-8: what cannot be read of it is shown as U+FFFD."""
        self._connection.text_factory = _lenient_text
        try:
            return self._connection.execute(sql, parameters).fetchall()
        finally:
            self._connection.text_factory = str

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Transaction]:
        """A write transaction: committed when the block is left, rolled back when it raises.

        Args:
            durable: whether the commit must survive a power cut by itself. False leaves that to the next durable
                commit, which covers it too; it survives the end of the process in any case.

        Raises:
            ReadOnlySource: the store is only read.
            StoreBusy: another process holds the lock.
        """
        if self.read_only:
            raise ReadOnlySource(f"{self.path} is open for reading only", hint="Open it without read_only to write.")
        with self.lock, self._translated():
            connection = self._connection
            relaxed = not durable and self._durability == "full"
            if relaxed:
                connection.execute("PRAGMA synchronous = normal")
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield _OpenTransaction(connection)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:  # the commit itself failed
                    connection.execute("ROLLBACK")
                if relaxed:
                    connection.execute("PRAGMA synchronous = full")
            self._commits += 1
            if self._commits % _COMMITS_PER_CHECKPOINT == 0:
                self.checkpoint("FULL")

    def checkpoint(self, mode: Literal["FULL", "TRUNCATE"]) -> None:
        """Moves the log into the file if no reader is in the way; never waits for one."""
        with self.lock, self._translated():
            connection = self._connection
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
            except sqlite3.OperationalError as error:
                if not _is_busy(error):
                    raise
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")

    def version(self) -> int:
        """A number that differs after this or another connection committed."""
        ((others,),) = self.query("PRAGMA data_version")
        return int(others) << 32 | self._commits

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Errors of SQLite become ours."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            if self._closed:
                raise StoreUnreadable(f"{self.path} was closed", hint="Open it again.") from error
            raise
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            raise _our_error(self.path, error) from error


class _OpenTransaction:
    """What a transaction offers; its errors are translated by the transaction around it."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        return self._connection.execute(sql, parameters).fetchall()

    def execute(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> int:
        return self._connection.execute(sql, parameters).lastrowid or 0

    def execute_many(self, sql: str, rows: Iterable[Sequence[SqlValue]], /) -> None:
        self._connection.executemany(sql, rows)


def connect(path: Path, *, mode: Literal["ro", "rw", "rwc"]) -> sqlite3.Connection:
    """A plain connection: explicit transactions, usable from any thread (one at a time).

    A file that can only be read, in a folder that can only be read, is opened as immutable if nobody has left a log.

    Raises:
        StoreNotFound: there is no such file.
        StoreUnreadable: it cannot be opened.
    """
    uri = f"file:{quote(str(path))}?mode={mode}"
    try:
        connection = _open(uri)
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError as error:
        if not path.exists():
            raise StoreNotFound(f"there is no store at {path}", hint=_MISSING_HINT) from error
        wal = path.with_name(path.name + "-wal")
        if mode != "ro" or "unable to open" not in str(error) or (wal.exists() and wal.stat().st_size):
            raise _our_error(path, error) from error
        connection = _open(uri + "&immutable=1")
    except sqlite3.DatabaseError as error:
        raise _our_error(path, error) from error
    return connection


def _open(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT_S)


def _our_error(path: Path, error: sqlite3.DatabaseError) -> StoreUnreadable | ReadOnlySource:
    text = str(error)
    if _is_busy(error):
        hint = "Another process is writing; try again, or look for one that hangs."
        return StoreBusy(f"{path} was locked for longer than {BUSY_TIMEOUT_S:.0f} seconds", hint=hint)
    if "readonly" in text:
        return ReadOnlySource(f"{path} can only be read: {text}", hint="Check the rights of the file and its folder.")
    if "full" in text:
        return StoreUnreadable(f"{path} cannot grow: {text}", hint="Free some space on its disk.")
    if "not a database" in text:
        return NotAStore(f"{path} is not a store of agent-tt", hint="Name another file with --store.")
    if "malformed" in text or "decode" in text:
        return Damaged(f"{path} is damaged: {text}", hint="Run `agent-tt verify` to see what can still be read.")
    return StoreUnreadable(f"{path} cannot be used: {text}", hint="Check the rights of the file and its folder.")


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))


def _lenient_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_MISSING_HINT: Final = "Record a run first, or name another file with --store."

_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()
_ABANDONED: list[sqlite3.Connection] = []
"""Connections of a parent process; kept forever, because closing one here would disturb the parent."""


def _after_fork_in_child() -> None:
    for database in list(_OPEN):
        database.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
