"""Rows of a database of another program: nothing of them is believed before it was looked at."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from agent_tt.interop.transcripts.document import MOST_VALUE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.interop.langgraph.connection import DatabaseFile
    from agent_tt.providers.shapes import Json

__all__ = ["columns", "json_of", "number_of", "read", "rows_of", "text_of"]

Result = TypeVar("Result")


def read(file: DatabaseFile, work: Callable[[sqlite3.Connection], Result], *, refresh: bool = False) -> Result:
    """The result of reading a database whose values may be as large as their writer liked; see `DatabaseFile.read`."""

    def bounded(connection: sqlite3.Connection) -> Result:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)
        return work(connection)

    return file.read(bounded, refresh=refresh)


def rows_of(
    connection: sqlite3.Connection, table: str, names: Sequence[str], which: str, given: Sequence[Any], flaws: list[str]
) -> Iterator[tuple[Any, ...]]:
    """Rows of a table in an order; one that is too large is said among the flaws, and the others are read.

    Args:
        connection: the database.
        table: the table.
        names: the columns that are read.
        which: a query of their `rowid`, which reads nothing else that may be large.
        given: what fills its places.
        flaws: receives what was left out.
    """
    row = f"SELECT {', '.join(names)} FROM {table} WHERE rowid = ?"  # noqa: S608
    for (number,) in connection.execute(which, given):
        try:
            found = connection.execute(row, (number,)).fetchone()
        except sqlite3.DataError:
            flaws.append(f"row {number} of {table} is left out: it is larger than {MOST_VALUE_BYTES >> 20} MB")
            continue
        if found is not None:
            yield tuple(found)


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a real table; a view of that name could make reading it as costly as it likes."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql LIKE 'CREATE TABLE%'"
    if connection.execute(query, (table,)).fetchone() is None:
        return set()
    return {str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def text_of(value: Any) -> str:
    """A text, or nothing."""
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> int | None:
    """A whole number, or None."""
    return int(value) if isinstance(value, int | float) and abs(value) < 1 << 63 else None


def json_of(value: Any) -> Json:
    """The JSON in a text or in bytes; None where there is none.

    Raises:
        orjson.JSONDecodeError: it is another text.
    """
    found: Json = orjson.loads(value) if isinstance(value, str | bytes) and value else None
    return found
