"""Which kind of database a path names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.addresses import Address

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.interop.langgraph.database import Database

__all__ = ["open_database"]


def open_database(path: Path) -> Database:
    """Open a LangGraph database, to read it.

    Args:
        path: a file, or the address of a database in PostgreSQL.

    Raises:
        StoreNotFound: there is no such file or database.
        NotAStore, NewerFormat: it is not a LangGraph database of a layout that can be read.
        StoreUnreadable: it cannot be read, or its server not be reached.
        UsageError: what speaks with the server is not installed.
    """
    if isinstance(path, Address):
        from agent_tt.interop.langgraph.postgres import PostgresDatabase

        return PostgresDatabase(path)
    from agent_tt.interop.langgraph.sqlite import SqliteDatabase

    return SqliteDatabase(path)
