"""Asking tables in SQL: rows out, rows in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.history.rows import Row

__all__ = ["Rows", "SqlValue", "Statements"]

SqlValue: TypeAlias = int | float | str | bytes | None


class Rows(Protocol):
    """Something that answers queries. No lock or transaction is held once a method has returned."""

    __slots__ = ()

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives."""


class Statements(Rows, Protocol):
    """What changes tables, in a transaction that is open."""

    __slots__ = ()

    def execute(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> int:
        """Run one statement; give the row number of what it inserted last."""

    def execute_many(self, sql: str, rows: Iterable[Sequence[SqlValue]], /) -> None:
        """Run one statement for each of `rows`."""

    def seal(self, name: str, owner: SqlValue, member: bytes, count: int, /) -> None:
        """Count a row of a table into the seal of its owner, or out of it.

        Args:
            name: the table's.
            owner: whose the row is.
            member: what stands for the row.
            count: 1 for a row that is there now, -1 for one that is not any more.
        """
