"""What the history needs of a database: rows out, rows in. The connection itself belongs to the floor above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from agent_tt.errors import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MOST_RUNS", "SEQ_BITS", "Row", "Rows", "SqlValue", "Transaction", "row_key", "whole"]

SqlValue: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Any, ...]
"""One row as SQLite gives it: nothing about its types may be taken for granted, any file can be opened."""

SEQ_BITS: Final = 32
MOST_RUNS: Final = 1 << (63 - SEQ_BITS)
"""Numbers of runs and tracks are below this: a key that holds one is a 64-bit number."""
_LARGEST: Final = (1 << SEQ_BITS) - 1


class Rows(Protocol):
    """Something that answers queries. No lock or transaction is held once a method has returned."""

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives."""
        ...


class Transaction(Rows, Protocol):
    """An open write transaction; leaving it commits."""

    def execute(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> int:
        """Runs one statement and gives the row number of what it inserted last."""
        ...

    def execute_many(self, sql: str, rows: Iterable[Sequence[SqlValue]], /) -> None:
        """Runs one statement for each of `rows`."""
        ...

    def version(self) -> int | None:
        """A number that changes with every commit to the file; None where it is not known.

        A writer's next transaction begins with its last number plus one exactly if nobody else has written in between.
        """
        ...

    def seal(self, name: str, owner: SqlValue, member: bytes, count: int, /) -> None:
        """Count a row of a table into the seal of its owner, or out of it.

        Args:
            name: the table's.
            owner: whose the row is.
            member: what stands for the row.
            count: 1 for a row that is there now, -1 for one that is not any more.
        """
        ...


def row_key(track: int, seq: int) -> int:
    """The row number of checkpoint `seq` of a track, in `deltas` and `keyframes`."""
    return track << SEQ_BITS | seq


def whole(found: object, what: str) -> int:
    """A number that counts something (runs, tracks, steps, checkpoints), from a column that may hold anything.

    Raises:
        Damaged: it is none; `what` says where.
    """
    if type(found) is not int or not 0 <= found <= _LARGEST:
        raise Damaged(f"{what} is damaged: {str(found)[:40]!r} stands where a number should", hint=_HINT)
    return found


_HINT: Final = "Run `agent-tt verify` to see what else is affected."
