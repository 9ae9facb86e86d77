"""One moment of a database: all that is asked of it sees the same rows, whoever writes meanwhile."""

from __future__ import annotations

from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt.store.file import schema
from agent_tt.store.postgres.connecting import connect
from agent_tt.store.postgres.dialect import OF_A_FILE, bound, in_words_of_postgres, loaded
from agent_tt.store.postgres.driver import psycopg
from agent_tt.store.postgres.errors import Translation
from agent_tt.store.postgres.schema import SCHEMA
from agent_tt.store.tables.definitions import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.addresses import Address
    from agent_tt.history.rows import Row
    from agent_tt.store.postgres.connecting import Connection
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["Moment", "one_moment", "schema_problems"]

_AT_ONCE: Final = 500
_FORMAT: Final = "PRAGMA user_version"
_PAGES: Final = f"""SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) / 8192 AS BIGINT) FROM pg_class c
  WHERE c.relnamespace = '{SCHEMA}'::regnamespace AND c.relkind = 'r'"""  # noqa: S608  # ours
"""Asks how large the tables of the store are, in pages of 8 KiB."""


class _Found:
    """What a statement gives: rows that come as they are looked at, or all of them."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def fetchone(self) -> Row | None:
        return next(self._rows, None)

    def fetchmany(self, count: int) -> list[Row]:
        return list(islice(self._rows, count))

    def fetchall(self) -> list[Row]:
        return list(self._rows)


class Moment:
    """Asks one moment of a database, as a connection to a file is asked."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._count = 0

    def execute(self, sql: str, parameters: Sequence[SqlValue] = ()) -> _Found:
        """What `sql` gives."""
        if sql == _FORMAT:
            return _Found(iter([(schema.FORMAT_VERSION,)]))
        if sql == "PRAGMA page_count":
            sql = _PAGES
        elif sql in OF_A_FILE:
            return _Found(iter(OF_A_FILE[sql]))
        return _Found(self._rows(sql, parameters))

    def _rows(self, sql: str, parameters: Sequence[SqlValue]) -> Iterator[Row]:
        theirs, _ = in_words_of_postgres(sql)
        self._count += 1
        with self._connection.cursor(f"moment_{self._count}", binary=True) as cursor:
            cursor.execute(theirs, bound(parameters))
            while some := cursor.fetchmany(_AT_ONCE):
                yield from loaded(some)


@contextmanager
def one_moment(address: Address, *, seconds: float | None = None) -> Iterator[Moment]:
    """The moment at which the first thing is asked, in a transaction that only reads.

    Args:
        address: where it is.
        seconds: after how many the server gives up one question; None for never.

    Raises:
        StoreUnreadable: it cannot be read.
    """
    with closing(connect(address, read_only=True)) as connection, Translation(address):
        connection.autocommit = False
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        if seconds is not None:
            connection.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")  # a number of ours
        yield Moment(connection)


def schema_problems(address: Address) -> list[str]:
    """One line for each table, or column of one, that is missing; what was added is not looked at."""
    columns: dict[str, set[str]] = {}
    with one_moment(address) as moment:
        for table, column in moment.execute(
            "SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = ?",
            (SCHEMA,),
        ):
            columns.setdefault(str(table), set()).add(str(column))
    problems = []
    for name, table in TABLES.items():
        if name not in columns:
            problems.append(f"table {name} is missing")
        problems += [
            f"table {name} has no column {column}"
            for column in (*table.columns, "proof")
            if name in columns and column not in columns[name]
        ]
    return problems
