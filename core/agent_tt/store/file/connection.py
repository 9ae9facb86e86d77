"""One connection to a store file: queries, durable transactions, and what must hold around them.

The connection is shared by the threads of a process under one lock, and never across a fork: a forked child opens its
own and only abandons the parent's (closing it could truncate a log that the parent still writes).

Each thread commits for itself. Gathering the commits of several threads into one was measured: 1.3 times as many for
four and eight threads that do nothing but commit, 8 % fewer for one or two; tasks of an event loop share a thread and
gain nothing. Agents wait for models, not for a commit of 0.2 ms.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from agent_tt.errors import AgentTTError, ReadOnlySource, StoreBusy, StoreUnreadable
from agent_tt.store.file.connecting import OPENINGS, PATIENCE, connect, waiting_at_most
from agent_tt.store.file.in_place import Place, keep_forever, open_descriptors
from agent_tt.store.file.sqlite_errors import Translation
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.tables.histories import HistoryRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from agent_tt.history.rows import Row
    from agent_tt.store.file.in_place import Trouble
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["Database", "Durability", "register"]

_LOG = logging.getLogger(__name__)

Durability = Literal["full", "normal"]

_COMMITS_PER_CHECKPOINT: Final = 512
"""They write about as many pages as SQLite's own default, 1000."""


class Database(HistoryRows):
    """A store file that is open, for reading or for reading and writing.

    Attributes:
        path: the file.
        read_only: whether writing is refused.
        lock: held during every query and transaction; a writer may hold it longer to keep its own order.
        translated: while it lasts, errors of SQLite become ours.
        whole: the transaction that everything is a part of, inside `as_one`.
        is_broken: whether a part of it failed, so that nothing of it may be written.
    """

    is_file = True
    """Whether it is a file, which SQLite can read by itself, and not a database of a server."""

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        durability: Durability = "full",
        check: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        """Open the file; `check` refuses it, before anything else is done with the connection."""
        self.path = path
        self.read_only = read_only
        self.lock = threading.RLock()
        self._durability = durability
        self.translated = Translation(path)
        self._commits = self._opened = 0
        self._closed = False
        self._is_lost = False
        self.whole: Transaction | None = None
        self.is_broken = False
        self._patience_s = PATIENCE.seconds
        self._connection = self._connect(check)
        register(self)

    def _connect(self, check: Callable[[sqlite3.Connection], None] | None = None) -> sqlite3.Connection:
        begun = OPENINGS.before()
        before = open_descriptors() if not self.read_only else frozenset[int]()
        with waiting_at_most(self._patience_s):
            connection = connect(self.path, mode="ro" if self.read_only else "rw")
        if check is not None:
            try:
                check(connection)
            except BaseException:
                connection.close()
                raise
        if not self.read_only:
            # One of the new descriptors may be another thread's.
            self._place = Place.of(self.path, before if OPENINGS.was_alone(begun) else None)
            # Only explicit FULL checkpoints: SQLite before 3.51.3 can corrupt a file when a passive checkpoint meets
            # another connection's commit; FULL holds the writer lock.
            with self.translated:
                connection.execute("PRAGMA wal_autocheckpoint = 0")
                connection.execute(f"PRAGMA synchronous = {self._durability}")
        self._is_forced = True
        self._commits += 1  # what another connection to the file knew counts no more
        self._opened += 1
        return connection

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        with self.lock:
            if not self._closed and not self.read_only and self._must_stay_open(self._place.trouble()):
                self._lose()
            self._closed = True
            _OPEN.discard(self)
            if not self._is_lost:
                self._connection.close()

    def abandon(self) -> None:
        """Called in a forked child: leaves the parent's connection alone and opens an own one.

        Where that cannot be opened, every further use of it says so.
        """
        _ABANDONED.append(self._connection)
        self.lock = threading.RLock()
        self.whole = None
        if not self.read_only and not self._place.hold_again():
            self._lose()
            return
        try:
            self._connection = self._connect()
        except AgentTTError as error:
            _LOG.warning("%s could not be opened in a process that was forked: %s", self.path, error)
            self._lose()

    def _must_stay_open(self, trouble: Trouble | None) -> bool:
        """Whether closing the connection would do harm to files that are not its own any more.

        SQLite deletes the log by its name: where the store was replaced, that is the new one's.
        """
        return trouble in _NOT_TO_BE_CLOSED or (trouble == "removed" and self.path.exists())

    def _lose(self) -> None:
        """Never touch the connection again, not even to close it."""
        if not self._is_lost:
            self._is_lost = True
            keep_forever(self._connection)

    def _check_usable(self) -> None:
        if self._is_lost:
            raise StoreUnreadable(f"{self.path} is not open any more", hint="Open it again.")

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives.

        Raises:
            StoreUnreadable: the file cannot be read (see its subclasses).
        """
        with self.lock:
            self._check_usable()
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except Exception as error:
                with self.translated:
                    if not isinstance(error, sqlite3.OperationalError) or "Could not decode" not in str(error):
                        raise
                    return self._query_damaged_text(sql, parameters)

    def _query_damaged_text(self, sql: str, parameters: Sequence[SqlValue]) -> list[Row]:
        """The same rows where a damaged text is not UTF-8: what cannot be read of it is shown as U+FFFD."""
        self._connection.text_factory = _lenient_text
        try:
            return self._connection.execute(sql, parameters).fetchall()
        finally:
            self._connection.text_factory = str

    def moment(self) -> AbstractContextManager[int | None]:
        """All that this thread reads while the block lasts is as of one moment.

        A query alone takes SQLite's lock and gives it up again, which takes longer than finding a row. Other threads
        wait for the block, so it is for short questions of several queries. The block is given the version that it
        sees, or None inside a transaction, of which nobody knows whether it will stay.

        Raises:
            StoreUnreadable: the file cannot be read (see its subclasses).
        """
        return _Moment(self)

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """A write transaction: committed when the block is left, rolled back when it raises.

        Args:
            durable: whether the commit must survive a power cut by itself. False leaves that to the next durable
                commit, which covers it too; it survives the end of the process in any case.

        Raises:
            ReadOnlySource: the store is only read.
            StoreBusy: another process holds the lock.
            StoreUnreadable: it cannot be written, for whatever reason SQLite gives, or the file is gone. Nothing was.
        """
        return _LockedTransaction(self, durable=durable)

    def begin(self, *, durable: bool) -> Transaction:
        """Begin what `transaction` promises; only its block calls this, with the lock held."""
        if self.read_only:
            raise ReadOnlySource(f"{self.path} is open for reading only", hint="Open it without read_only to write.")
        self._check_in_place()
        connection = self._connection
        with self.translated:
            if connection.in_transaction:  # an interrupt came between its beginning and its block
                connection.execute("ROLLBACK")
            if self._durability == "full" and durable is not self._is_forced:
                connection.execute(f"PRAGMA synchronous = {'full' if durable else 'normal'}")
                self._is_forced = durable
            return Transaction(connection, self._version_within).__enter__()

    def begin_reading(self) -> sqlite3.Connection | None:
        """Begin what `moment` promises; only its block calls this, with the lock held. None inside a transaction."""
        with self.translated:
            self._check_usable()
            if self._connection.in_transaction:
                return None
            self._connection.execute("BEGIN")
            return self._connection

    def _version_within(self) -> int | None:
        """What `Transaction.version` gives inside a transaction of this connection."""
        known = self._place.changes()
        if known is None:
            return int(self._connection.execute("PRAGMA data_version").fetchone()[0]) << 32 | self._commits
        return self._opened << 32 | known

    def committed(self) -> None:
        """Count a commit, and move the log into the file from time to time; only a transaction's block calls this."""
        self._commits += 1
        if self._commits % _COMMITS_PER_CHECKPOINT == 0:
            self.checkpoint("FULL")

    @contextmanager
    def as_one(self) -> Iterator[Transaction]:
        """Everything that this thread writes while the block lasts is one transaction: all of it, or nothing.

        Within another such block it is a part of that. What remembers rows beside the file (the writer of a run) must
        be thrown away where the block raises.

        Raises:
            As `transaction`.
        """
        with self.transaction() as tx:
            if self.whole is not None:
                yield tx
                return
            self.whole, self.is_broken = tx, False
            try:
                yield tx
            finally:
                self.whole = None
            if self.is_broken:
                raise StoreUnreadable(f"{self.path} could not be written as a whole: a part of it failed")

    def _check_in_place(self) -> None:
        """Refuse to write where nobody will find it, or into somebody else's file: SQLite would, without a word."""
        if self._closed:
            return
        self._check_usable()
        trouble = self._place.trouble()
        if trouble == "log removed" and self._keep_log():
            return
        if trouble is not None:
            if trouble in _NOT_TO_BE_CLOSED:  # not one that was replaced: it can still be read
                self._lose()
            what, hint = _TROUBLES[trouble]
            raise StoreUnreadable(f"{self.path} {what}", hint=hint)

    def _keep_log(self) -> bool:
        """Move what the removed `-wal` file held into the store and open it anew; whether that could be done."""
        try:
            with self.translated:
                self._connection.execute("PRAGMA busy_timeout = 0")
                ((busy, *_),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if busy or self._place.trouble() != "log removed":
                    return False
                self._connection.close()
                self._connection = self._connect()
        except AgentTTError as error:
            _LOG.warning("the log of %s was removed, and could not be saved: %s", self.path, error)
            return False
        return True

    def checkpoint(self, mode: Literal["FULL", "TRUNCATE"]) -> None:
        """Move the log into the file if nobody is in the way; never wait.

        What was committed is safe in the log, so a checkpoint that fails is only logged, and tried again later.
        """
        with self.lock:
            if self.whole is not None or self._is_lost:
                return
            try:
                self._execute_at_once(f"PRAGMA wal_checkpoint({mode})")
            except StoreBusy:
                pass
            except AgentTTError as error:
                _LOG.warning("the log of %s could not be moved into it: %s", self.path, error)

    def compact(self) -> None:
        """Write the file anew without the room that is free in it, if nobody is in the way.

        A transaction like any other: after a kill the file is as it was. What fails is only logged.
        """
        with self.lock:
            try:
                self._execute_at_once("VACUUM")
            except StoreBusy:
                return
            except AgentTTError as error:
                _LOG.warning("%s could not be made smaller: %s", self.path, error)
            self._commits += 1

    def purge(self) -> bool:
        """Write the file anew and empty its log: no byte of what was deleted is left. Whether nobody was in the way.

        A transaction like any other: after a kill the file is as it was.
        """
        with self.lock:
            try:
                self._execute_at_once("VACUUM")
                ((busy, *_),) = self._execute_at_once("PRAGMA wal_checkpoint(TRUNCATE)")
            except StoreBusy:
                return False
            finally:
                self._commits += 1
            return not busy

    def _execute_at_once(self, statement: str) -> list[Row]:
        """Execute a statement without waiting for anybody; give its rows.

        Raises:
            StoreBusy: somebody is in the way.
        """
        connection = self._connection
        with self.translated:
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                return connection.execute(statement).fetchall()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {int(self._patience_s * 1000)}")

    def of_run(self, run: int) -> Database:  # noqa: ARG002  # a file has one lock for all
        """The database for who writes one run."""
        return self

    def each_run(self, runs: Sequence[int]) -> Iterator[tuple[Database, Sequence[int]]]:
        """The database for who writes a little of each of some runs: how many of them at once."""
        yield self, runs

    def adding(self) -> AbstractContextManager[Transaction]:
        """A write transaction that adds runs and changes nothing that is there: on a server others write meanwhile."""
        return self.transaction()

    def of_store(self) -> Database:
        """The database for who writes more than one run; where one is given out for a run, that of all of them."""
        return self

    def version(self) -> int:
        """A number that differs after this or another connection committed."""
        ((others,),) = self.query("PRAGMA data_version")
        return int(others) << 32 | self._commits


class _Moment:
    """The block of queries that see one moment: it holds the lock, and a read transaction unless one is open."""

    __slots__ = ("_connection", "_database")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> int | None:
        database = self._database
        database.lock.acquire()
        try:
            self._connection = database.begin_reading()
            return None if self._connection is None else database.version()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._connection is not None and self._connection.in_transaction:
                with self._database.translated:
                    self._connection.execute("COMMIT")
        finally:
            self._database.lock.release()


class _LockedTransaction:
    """The block of a transaction: it holds the lock, and begins and ends one of its own or a part of the whole."""

    __slots__ = ("_database", "_durable", "_tx")

    def __init__(self, database: Database, *, durable: bool) -> None:
        self._database = database
        self._durable = durable
        self._tx: Transaction | None = None

    def __enter__(self) -> Transaction:
        database = self._database
        database.lock.acquire()
        try:
            if database.whole is None:
                self._tx = database.begin(durable=self._durable)
        except BaseException:
            database.lock.release()
            raise
        return database.whole or self._tx  # type: ignore[return-value]  # one of them is there

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database = self._database
        if self._tx is None and error is None:
            database.lock.release()
            return
        try:
            with database.translated:
                if self._tx is not None:
                    self._tx.__exit__(kind, error, trace)
                elif error is not None:
                    database.is_broken = True
            if error is not None:
                database.translated.__exit__(kind, error, trace)
            elif self._tx is not None:
                database.committed()
        finally:
            database.lock.release()


def _lenient_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_NOT_TO_BE_CLOSED: Final = ("closed", "overwritten", "log replaced")
"""Troubles in which closing the connection would write into a file that is not ours any more."""

_TROUBLES: Final[dict[Trouble, tuple[str, str]]] = {
    "removed": (
        "was removed or replaced while it was open",
        "Put it back, or start again: what was recorded since is lost.",
    ),
    "closed": ("was closed by the program that writes it", "Close no descriptors that the program did not open."),
    "overwritten": ("was overwritten while it was open", "Put it back, or record into another file."),
    "log removed": ("lost its -wal file while it was open", "Put it back; `agent-tt verify` says what is missing."),
    "log replaced": ("got another -wal file while it was open", "`agent-tt verify` says what is missing."),
}

_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()
_ABANDONED: list[sqlite3.Connection] = []
"""Connections of a parent process; kept forever, because closing one here would disturb the parent."""


def register(database: Database) -> None:
    """Let a process that is forked abandon a database."""
    _OPEN.add(database)


def _after_fork_in_child() -> None:
    OPENINGS.__init__()  # type: ignore[misc]  # another thread of the parent may have been opening one
    for database in list(_OPEN):
        database.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
