"""A write transaction on a server: all of it or nothing, durable when it ends, one writer at a time for each run.

**Locks.** Whoever writes one run holds its row of `writes`, and shares the lock of the whole store with others who do.
Whoever only adds runs shares it, too. Whoever does anything else, as renaming a run or deleting some, has that lock
alone. So recorders on many machines wait for one another only where they write the same run.

**Round trips.** What is written is gathered, and sent together with what is asked next, or with the commit. What
several runs may write (large parts, paths, seals) is sent last and in one order for all, so that no two wait for each
other.

**A lost server.** A commit whose answer was lost may have been made: the server is asked, as soon as it is there again,
by the transaction's id and the run's count of writes. The id alone does not tell: after a crash the server gives an id
again if nothing of its transaction had reached the disk. A commit that was not made is made once more, where nobody has
written the run in between. What was written of no run alone has no count, so that nobody knows: it is said.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from agent_tt.errors import StoreUnreadable
from agent_tt.history.hashing import row_id
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.postgres.dialect import OF_A_FILE, bound, in_words_of_postgres, loaded
from agent_tt.store.postgres.driver import psycopg
from agent_tt.store.postgres.errors import is_lost
from agent_tt.store.tables.definitions import BLOBS, KEYFRAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from agent_tt.history.rows import Row
    from agent_tt.store.postgres.connecting import Connection
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["LOCK", "PostgresTransaction", "ask"]

_LOG = logging.getLogger(__name__)

LOCK: Final = int.from_bytes(b"agent_tt", "big") >> 1
"""The number of the lock of the whole store, among the advisory locks of its database."""

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_LATER: Final = "SET LOCAL synchronous_commit = off"
"""The next durable commit of the server covers this one too."""
_ALONE: Final = f"SELECT pg_advisory_xact_lock({LOCK})"  # a number of ours
_SHARED: Final = f"SELECT pg_advisory_xact_lock_shared({LOCK})"  # a number of ours
_ID: Final = "SELECT 0, pg_current_xact_id()::text"
_COUNTED: Final = (
    "INSERT INTO writes(run, n) VALUES(%s, 1) ON CONFLICT(run) DO UPDATE SET n = writes.n + 1"
    " RETURNING n, pg_current_xact_id()::text"
)
_HELD: Final = "SELECT n, pg_current_xact_id()::text FROM writes WHERE run = %s FOR UPDATE"
_SEAL_MASK: Final = (1 << 62) - 1
_SEAL: Final = (
    "INSERT INTO seals(name, owner, n, a, b) VALUES(%s, %s, %s, %s, %s) ON CONFLICT(name, owner) DO UPDATE SET"
    f" n = seals.n + excluded.n, a = (seals.a + excluded.a) & {_SEAL_MASK}, b = (seals.b + excluded.b) & {_SEAL_MASK}"
)
_REPLACES: Final = " ON CONFLICT(id) DO UPDATE SET " + ", ".join(
    f"{column} = excluded.{column}" for column in (*KEYFRAMES.columns[1:], "proof")
)
_STATUS: Final = "SELECT pg_xact_status(%s::xid8)"
_WRITTEN: Final = "SELECT coalesce(max(n), 0) FROM writes WHERE run = %s"

_LATE: Final = ("blobs", "paths", "dicts")
"""Tables that several runs may write a row of; what is written of them waits for the end."""
_INTO: Final = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_FROM: Final = re.compile(r"\b(?:FROM|JOIN) (\w+)")

Statement = tuple[str, "Sequence[Any]"]


@lru_cache(maxsize=1024)
def _late_table(sql: str) -> str | None:
    found = _INTO.match(sql)
    return found[1] if found is not None and found[1] in _LATE and sql.startswith("INSERT") else None


@lru_cache(maxsize=1024)
def _asks(sql: str) -> frozenset[str]:
    return frozenset("blobs" if name == "blob_at" else name for name in _FROM.findall(sql))


def ask(connection: Connection, statements: Sequence[Statement]) -> list[psycopg.Cursor[tuple[Any, ...]]]:
    """Send statements together, and give the cursors with their results."""
    cursors = []
    if len(statements) == 1:
        cursor = connection.cursor(binary=True)
        cursor.execute(*statements[0])
        return [cursor]
    with connection.pipeline():
        for sql, given in statements:
            cursor = connection.cursor(binary=True)
            cursor.execute(sql, given)
            cursors.append(cursor)
    return cursors


class Holder(Protocol):
    """The open database that a transaction is on, as far as it needs it.

    Attributes:
        written: how often each run was written, as far as this process has done it.
    """

    written: dict[int, int]

    @property
    def path(self) -> Path:
        """Its address."""

    @property
    def connection(self) -> Connection:
        """The connection."""

    def reconnect(self) -> Connection:
        """A new connection, after the server was lost."""

    def is_over(self, tx: PostgresTransaction) -> None:
        """A transaction has ended, one way or the other."""


class PostgresTransaction(Transaction):
    """An open write transaction; leaving it commits.

    Args:
        database: what it is on.
        durable: whether the commit must survive a crash of the server by itself.
        run: the run that is written, None where more than one is.
        is_alone: whether nobody else writes anything meanwhile, where no run is named; else only runs are added.
        is_counted: whether it counts as a write of the run, of which others who write it should know.
    """

    __slots__ = (
        "_alone",
        "_counted",
        "_database",
        "_durable",
        "_late",
        "_n",
        "_on",
        "_pending",
        "_run",
        "_sent",
        "_xid",
    )

    def __init__(
        self,
        database: Holder,
        *,
        durable: bool,
        run: int | None = None,
        is_counted: bool = True,
        is_alone: bool = True,
    ) -> None:
        self._database = database
        self._durable = durable
        self._run = run
        self._counted = is_counted
        self._alone = is_alone
        self._seals = {}
        self._pending: list[Statement] = []
        self._late: list[tuple[str, int, Statement]] = []
        self._sent: list[Statement] = []
        self._n = 0
        self._xid = ""

    @property
    def run(self) -> int | None:
        """The run that alone is written, None where the whole store is locked."""
        return self._run

    def version(self) -> int | None:
        """How often the run was written, this time included; None where the whole store is locked."""
        return None if self._run is None else self._n

    def note_write(self, run: int) -> None:
        """Let who writes a run know that this one has: it is a part of a transaction over the whole store."""
        if self._run is None:
            self._add(
                "INSERT INTO writes(run, n) VALUES(%s, 1) ON CONFLICT(run) DO UPDATE SET n = writes.n + 1", (run,)
            )

    # ---------------------------------------------------------------- asking

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives, with all that was written so far."""
        if sql in OF_A_FILE:
            return list(OF_A_FILE[sql])
        theirs, _ = in_words_of_postgres(sql)
        if self._late and not _asks(theirs).isdisjoint({table for table, _, _ in self._late}):
            self._pending += self._late_in_order()
        return loaded(self._flush((theirs, bound(parameters))).fetchall())

    def execute(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> int:
        """Run one statement; give the row number of what it inserted, where the database gives it."""
        theirs, gives = in_words_of_postgres(sql)
        if not gives:
            self._add(theirs, bound(parameters))
            return 0
        row = self._flush((theirs, bound(parameters))).fetchone()
        return int(row[0]) if row is not None else 0

    def execute_many(self, sql: str, rows: Iterable[Sequence[SqlValue]], /) -> None:
        """Run one statement for each of `rows`."""
        theirs, _ = in_words_of_postgres(sql)
        for row in rows:
            self._add(theirs, bound(row))

    def put_blob(self, digest: bytes, row: Callable[[], Row], /) -> None:
        """Write a blob, unless there is one of that hash."""
        number = row_id(digest)
        mine = {key: statement[1][1] for table, key, statement in self._late if table == "blobs"}
        while True:
            found = mine.get(number)
            if found is None:
                rows = self._flush(("SELECT hash FROM blob_at(%s)", (number,))).fetchall()
                found = rows[0][0] if rows else None
            if found is None:
                BLOBS.write(self, (number, digest, *row()))
                return
            if bytes(found) == digest:
                return
            number += 1

    def put_keyframe(self, row: Row, /) -> None:
        """Write a keyframe, in place of one with its key."""
        KEYFRAMES.write(self, row)
        sql, given = self._pending.pop()
        self._pending.append((sql + _REPLACES, given))

    def _add(self, sql: str, given: Sequence[Any]) -> None:
        table = _late_table(sql)
        if table is None:
            self._pending.append((sql, given))
            return
        if table == "blobs":  # another run may be writing the same one
            sql += " ON CONFLICT DO NOTHING"
        self._late.append((table, int(given[0]), (sql, given)))

    def _late_in_order(self) -> list[Statement]:
        late = sorted(self._late, key=lambda each: each[:2])
        self._late.clear()
        return [statement for _, _, statement in late]

    def _flush(self, asked: Statement) -> psycopg.Cursor[tuple[Any, ...]]:
        """Send what is pending, and what is asked; give the cursor of that."""
        statements = [*self._pending, asked]
        self._pending.clear()
        cursor = ask(self._on, statements)[-1]
        self._sent += statements if not asked[0].startswith("SELECT") else statements[:-1]
        return cursor

    # ---------------------------------------------------------------- beginning and ending

    def __enter__(self) -> Self:
        self._begin(self._database.connection)
        return self

    def begin_anew(self) -> None:
        """Begin on a new connection, after the server was lost.

        Raises:
            StoreUnreadable: the server has lost what it had said to be committed: it was told not to wait for its disk,
                or another one has taken its place.
        """
        self._begin(self._database.connection)
        self._check_nothing_lost()

    def _check_nothing_lost(self) -> None:
        known = self._database.written.get(self._run or 0, 0)
        if self._run is not None and self._n < known + self._counted:
            raise StoreUnreadable(
                f"{self._database.path} has lost what was written into it: it was told not to wait for its disk, or"
                " another server has taken its place",
                hint="`agent-tt verify` says what is missing.",
            )

    def _begin(self, connection: Connection) -> None:
        statements: list[Statement] = [(_BEGIN, ())]
        if not self._durable:
            statements.append((_LATER, ()))
        if self._run is None:
            statements += [(_ALONE if self._alone else _SHARED, ()), (_ID, ())]
        else:
            statements += [(_SHARED, ()), (_COUNTED if self._counted else _HELD, (self._run,))]
        self._on = connection  # the one that it was begun on, and no other
        row = ask(connection, statements)[-1].fetchone()
        self._n, self._xid = (int(row[0]), str(row[1])) if row is not None else (0, "")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self._commit()
        finally:
            self._database.is_over(self)

    def _commit(self) -> None:
        statements = [*self._pending, *self._late_in_order(), *self._sealing()]
        self._commit_all(statements)
        if self._run is not None:
            self._database.written[self._run] = self._n

    def _commit_all(self, statements: Sequence[Statement]) -> None:
        try:
            ask(self._on, [*statements, ("COMMIT", ())])
        except psycopg.Error as error:
            if not is_lost(error):
                raise
            self._make_sure([*self._sent, *statements], error)

    def _sealing(self) -> list[Statement]:
        """What writes the seals of the rows that were changed, in one order for all."""
        return [
            (_SEAL, (name, owner, count, one & _SEAL_MASK, other & _SEAL_MASK))
            for (name, owner), (count, one, other) in sorted(self._seals.items())
        ]

    def _make_sure(self, statements: Sequence[Statement], lost: psycopg.Error) -> None:
        """After the server was lost: find out whether the commit was made, and else make it once more.

        Raises:
            StoreUnreadable: the server does not come back, or nobody knows whether the commit was made.
            psycopg.Error: it cannot be made.
        """
        connection = self._database.reconnect()
        before, xid = self._n, self._xid
        is_committed = self._is_committed(connection, before, xid)
        if self._run is None:
            raise self._unsure() if is_committed else lost
        if is_committed:
            return
        self._begin(connection)
        self._check_nothing_lost()
        if self._n != before:
            connection.execute("ROLLBACK")
            if self._is_committed(connection, before, xid):  # it was being committed when it was asked for
                return
            raise lost
        _LOG.debug("run %s is written once more: the server was lost", self._run)
        ask(connection, [*statements, ("COMMIT", ())])

    def _unsure(self) -> StoreUnreadable:
        return StoreUnreadable(
            f"{self._database.path} was lost while it was written, and does not tell whether that was done",
            hint="Look whether it was, and do it again where it was not.",
        )

    def _is_committed(self, connection: Connection, n: int, xid: str) -> bool:
        """Whether this transaction was committed; of one that counts as no run's write, whether it may have been.

        Args:
            connection: one of after the server was lost.
            n: the count of the run's writes that it made.
            xid: its id; "" where the server was lost before it said one.
        """
        if not xid:
            return False
        if self._run is not None and self._counted:
            written = ask(connection, [(_WRITTEN, (self._run,))])[0].fetchone()
            if written is None or int(written[0]) < n:
                return False
        try:
            status = ask(connection, [(_STATUS, (xid,))])[0].fetchone()
        except psycopg.errors.InvalidParameterValue:  # the server has not come to this id again
            return False
        return status is not None and bool(status[0] == "committed")
