"""A store in a database of a server, open: queries, durable transactions, and whether anything has changed.

It has one connection, which the threads of a process share under one lock as they share that of a file; a process that
an agent forks makes one of its own.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from agent_tt.errors import ReadOnlySource, StoreUnreadable
from agent_tt.store.file.connecting import PATIENCE
from agent_tt.store.file.connection import Database, register
from agent_tt.store.postgres.connecting import connect, let_go, reconnect
from agent_tt.store.postgres.dialect import OF_A_FILE, bound, in_words_of_postgres, loaded
from agent_tt.store.postgres.driver import psycopg
from agent_tt.store.postgres.errors import Translation, is_lost
from agent_tt.store.postgres.purging import write_anew
from agent_tt.store.postgres.schema import CHANNEL
from agent_tt.store.postgres.transaction import PostgresTransaction, ask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Literal

    from agent_tt.addresses import Address
    from agent_tt.history.rows import Row
    from agent_tt.store.file.connection import Durability
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.postgres.connecting import Connection
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["PostgresDatabase"]

_LOG = logging.getLogger(__name__)

_TOLD_S: Final = 0.1
"""Who writes tells those who follow no more often: a server does one telling at a time, and commits wait for it."""
_LOOK_S: Final = 0.4
"""Who follows looks so often by itself whether anything was written, in case nobody told."""
_BACK_S: Final = 5.0
"""How long a server that was lost is waited for, at most: it may be on its way up again."""


class PostgresDatabase(Database):
    """A database with our tables that is open, for reading or for reading and writing. See `Database`."""

    path: Address
    is_file = False

    def __init__(self, address: Address, *, read_only: bool = False, durability: Durability = "full") -> None:
        # Nothing of a file's is set up: no place on a disk, no log.
        self.path = address
        self.read_only = read_only
        self.lock = threading.RLock()
        self.translated = Translation(address)  # type: ignore[assignment]  # the same, of another database's errors
        self.whole: Transaction | None = None
        self.is_broken = False
        self._durability = durability
        self._patience_s = PATIENCE.seconds
        self._is_closed = False
        self._open: PostgresTransaction | None = None
        self._told_at = 0.0
        self.written: dict[int, int] = {}
        self._follower = _Follower(address)
        self._here: Connection | None = connect(address, read_only=read_only)
        register(self)

    # ---------------------------------------------------------------- the connection

    @property
    def connection(self) -> Connection:
        """The connection, made anew where there is none."""
        if self._is_closed:
            raise StoreUnreadable(f"{self.path} was closed", hint="Open it again.")
        if self._here is None:
            self._here = connect(self.path, read_only=self.read_only)
        return self._here

    def reconnect(self) -> Connection:
        """A new connection, after the server was lost; it is waited for.

        Raises:
            StoreUnreadable: it does not come back.
        """
        if self._here is not None:
            self._here.close()
            self._here = None
        patience = min(self._patience_s, _BACK_S)
        self._here = reconnect(self.path, read_only=self.read_only, patience_s=patience)
        return self._here

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        with self.lock:
            self._is_closed = True
            self._follower.close()
            if self._here is not None:
                let_go(self.path, self._here)
                self._here = None

    def __del__(self) -> None:
        """A store that nobody holds any more has nobody who closes it."""
        if not getattr(self, "_is_closed", True):
            with contextlib.suppress(Exception):
                self.close()

    def abandon(self) -> None:
        """Called in a forked child: leaves the parent's connection alone; its own is made when it is needed."""
        _OF_A_PARENT.append((self._here, self._follower, self._open))
        self.lock = threading.RLock()
        self._here, self._open, self.whole = None, None, None
        self._follower = _Follower(self.path)

    # ---------------------------------------------------------------- asking

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives.

        Raises:
            StoreUnreadable: the database cannot be read (see its subclasses).
        """
        if sql in OF_A_FILE:
            return list(OF_A_FILE[sql])
        with self.lock, self.translated:
            if self._open is not None:
                return self._open.query(sql, parameters)
            theirs, _ = in_words_of_postgres(sql)
            given = bound(parameters)
            try:
                return loaded(ask(self.connection, [(theirs, given)])[0].fetchall())
            except psycopg.Error as error:
                if not is_lost(error):
                    raise
            return loaded(ask(self.reconnect(), [(theirs, given)])[0].fetchall())

    @contextlib.contextmanager
    def moment(self) -> Iterator[int | None]:
        """Keep other threads of this process away while the block lasts.

        Each question is answered as of when it is asked: what is committed of a run never changes. No version is given,
        as others may have written between two questions.
        """
        with self.lock:
            yield None

    # ---------------------------------------------------------------- writing

    def adding(self) -> AbstractContextManager[Transaction]:
        """A write transaction that adds runs and changes nothing that is there: others write meanwhile."""
        return _Adding(self).transaction()

    def begin(
        self, *, durable: bool, run: int | None = None, is_counted: bool = True, is_alone: bool = True
    ) -> Transaction:
        """Begin a transaction; only its block calls this, with the lock held."""
        if self.read_only:
            raise ReadOnlySource(f"{self.path} is open for reading only", hint="Open it without read_only to write.")
        with self.translated:
            # What a file keeps when its process is killed, a server that crashes may lose: steps wait for the disk.
            is_durable = (durable or (run is not None and is_counted)) and self._durability == "full"
            tx = PostgresTransaction(self, durable=is_durable, run=run, is_counted=is_counted, is_alone=is_alone)
            try:
                self._settle()
                tx.__enter__()
            except psycopg.Error as error:
                if not is_lost(error):
                    self._settle()
                    raise
                self.reconnect()
                tx.begin_anew()
            self._open = tx
            return tx

    def _settle(self) -> None:
        """End a transaction that an interrupt or an error has left open; let go of a connection that hangs."""
        connection, idle = self._here, psycopg.pq.TransactionStatus.IDLE
        if connection is None or connection.info.transaction_status == idle:
            return
        with contextlib.suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        if connection.info.transaction_status != idle:
            connection.close()
            self._here = None

    def is_over(self, tx: PostgresTransaction) -> None:
        """A transaction has ended, one way or the other."""
        if self._open is tx:
            self._open = None
        self._settle()

    def committed(self) -> None:
        """Tell those who follow that something was written, unless they were told just now."""
        self._follower.written()
        now = time.monotonic()
        if now - self._told_at < _TOLD_S or self._here is None:
            return
        self._told_at = now
        with contextlib.suppress(psycopg.Error):  # it was written, and whoever looks sees it
            self._here.execute(
                f"SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', '')"
            )  # ours

    def of_run(self, run: int) -> Database:
        """The same database for who writes one run: others write other runs meanwhile."""
        return _OfRun(self, run)

    def each_run(self, runs: Sequence[int]) -> Iterator[tuple[Database, Sequence[int]]]:
        """The same database for who says of each run that its process is there."""
        for run in runs:
            yield _OfRun(self, run, is_counted=False), [run]

    # ---------------------------------------------------------------- what a server does by itself

    def checkpoint(self, mode: Literal["FULL", "TRUNCATE"]) -> None:
        """Do nothing: a server moves its log by itself."""

    def compact(self) -> None:
        """Do nothing: a server uses the room again by itself."""

    def purge(self) -> bool:
        """Write the tables anew, without what was deleted. Whether nobody was in the way, and this user may do it."""
        with self.lock, self.translated:
            return write_anew(self.connection)

    def version(self) -> int:
        """A number that differs after anything was committed, here or elsewhere."""
        with self.translated:
            return self._follower.version()


class _OfRun(Database):
    """A database for who writes one run. See `PostgresDatabase.of_run`."""

    is_file = False

    def __init__(self, database: PostgresDatabase, run: int, *, is_counted: bool = True) -> None:
        self._database = database
        self._run = run
        self._is_counted = is_counted
        self.path = database.path
        self.read_only = database.read_only
        self.translated = database.translated

    @property
    def lock(self) -> threading.RLock:  # type: ignore[override]  # only the database changes it
        """That of the database."""
        return self._database.lock

    @property
    def whole(self) -> Transaction | None:  # type: ignore[override]
        """That of the database."""
        return self._database.whole

    @property
    def is_broken(self) -> bool:
        """That of the database."""
        return self._database.is_broken

    @is_broken.setter
    def is_broken(self, is_so: bool) -> None:
        self._database.is_broken = is_so

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives."""
        return self._database.query(sql, parameters)

    def moment(self) -> AbstractContextManager[int | None]:
        """What the database gives."""
        return self._database.moment()

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """A write transaction, on this run alone."""
        whole = self._database.whole
        if isinstance(whole, PostgresTransaction):
            whole.note_write(self._run)
        return super().transaction(durable=durable)

    def begin(self, *, durable: bool) -> Transaction:
        """Begin what `transaction` promises."""
        return self._database.begin(durable=durable, run=self._run, is_counted=self._is_counted)

    def committed(self) -> None:
        """Tell those who follow."""
        self._database.committed()

    def of_store(self) -> Database:
        """The database for who writes more than one run."""
        return self._database

    def checkpoint(self, mode: Literal["FULL", "TRUNCATE"]) -> None:
        """Do nothing: a server moves its log by itself."""


class _Adding(_OfRun):
    """A database for who adds runs. See `PostgresDatabase.adding`."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, 0)

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """A write transaction that others do not wait for."""
        return Database.transaction(self, durable=durable)

    def begin(self, *, durable: bool) -> Transaction:
        """Begin what `transaction` promises."""
        return self._database.begin(durable=durable, is_alone=False)


class _Follower:
    """Whether anything has changed: it is told by whoever writes, on a connection of its own, and looks besides.

    A look asks which transactions there are, which costs a server nothing: what another database of it does may look
    like a change, and no change looks like none.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._changes = 1
        self._looked_at = 0.0
        self._seen = ""
        self._is_closed = False

    def written(self) -> None:
        """This process has written something."""
        self._changes += 1

    def version(self) -> int:
        with self._lock:
            if self._is_closed:  # a thread that follows looks once more, and nobody would close its connection
                return self._changes
            try:
                return self._version()
            except psycopg.Error as error:
                self._drop()
                if not is_lost(error):
                    raise
                self._changes += 1  # nobody knows
                return self._changes

    def _version(self) -> int:
        now = time.monotonic()
        connection = self._connection
        if connection is None:
            connection = self._connection = connect(self._address, read_only=True)
            with contextlib.suppress(psycopg.NotSupportedError, psycopg.errors.ReadOnlySqlTransaction):
                connection.execute(f"LISTEN {CHANNEL}")
            self._looked_at = 0.0
        told = sum(1 for _ in connection.notifies(timeout=0))
        if told or now - self._looked_at >= _LOOK_S:
            self._looked_at = now
            row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
            seen = str(row[0]) if row is not None else ""
            if told or seen != self._seen:
                self._changes += 1
            self._seen = seen
        return self._changes

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


_OF_A_PARENT: Final[list[object]] = []
"""Connections of a parent process; kept forever, because closing one here would end the parent's."""
