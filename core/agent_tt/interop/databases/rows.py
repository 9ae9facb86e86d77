"""Rows of a database of another program: nothing of them is believed before it was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    import sqlite3

    from agent_tt.providers.shapes import Json

__all__ = ["columns", "json_of", "number_of", "text_of"]


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
