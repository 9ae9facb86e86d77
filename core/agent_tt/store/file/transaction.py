"""A write transaction on a connection: all of it or nothing, with the seals of what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from agent_tt.store.tables.histories import HistoryWrites
from agent_tt.store.tables.proofs import seal_terms

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

    from agent_tt.history.rows import Row
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["Transaction"]

_SEAL_MASK: Final = (1 << 62) - 1
_SEAL: Final = (
    "INSERT INTO seals(name, owner, n, a, b) VALUES(?, ?, ?, ?, ?) ON CONFLICT(name, owner) DO UPDATE SET"
    f" n = n + excluded.n, a = (a + excluded.a) & {_SEAL_MASK}, b = (b + excluded.b) & {_SEAL_MASK}"
)
"""Adds to a seal; see `agent_tt.store.tables.proofs`."""


class Transaction(HistoryWrites):
    """An open write transaction; leaving it commits. Its errors are SQLite's, translated by the block around it."""

    __slots__ = ("_connection", "_seals", "_version")

    def __init__(self, connection: sqlite3.Connection, version: Callable[[], int | None] | None = None) -> None:
        self._connection = connection
        self._version = version
        self._seals: dict[tuple[str, SqlValue], list[int]] = {}

    def version(self) -> int | None:
        """A number that changes with every commit to the file; None where it is not known.

        A writer's next transaction begins with its last number plus one exactly if nobody else has written in between.
        """
        return None if self._version is None else self._version()

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives."""
        return self._connection.execute(sql, parameters).fetchall()

    def execute(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> int:
        """Run one statement; give the row number of what it inserted last."""
        return self._connection.execute(sql, parameters).lastrowid or 0

    def execute_many(self, sql: str, rows: Iterable[Sequence[SqlValue]], /) -> None:
        """Run one statement for each of `rows`."""
        self._connection.executemany(sql, rows)

    def seal(self, name: str, owner: SqlValue, member: bytes, count: int, /) -> None:
        """Count a row into the seal of its owner, or out of it; seals are written together, before the commit."""
        seal = self._seals.get((name, owner))
        if seal is None:
            seal = self._seals[name, owner] = [0, 0, 0]
        one, other = seal_terms(member)
        seal[0] += count
        seal[1] += count * one
        seal[2] += count * other

    def __enter__(self) -> Self:
        self._connection.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        connection = self._connection
        try:
            if error is None:
                self._write_seals()
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:  # the block, or the commit itself, failed
                connection.execute("ROLLBACK")

    def _write_seals(self) -> None:
        """Write the seals of the rows that were changed."""
        for (name, owner), (count, one, other) in self._seals.items():
            self._connection.execute(_SEAL, (name, owner, count, one & _SEAL_MASK, other & _SEAL_MASK))
        self._seals.clear()
