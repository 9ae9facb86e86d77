"""Which kind of database a path names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.errors import NotAStore

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.interop.langgraph.database import Database

__all__ = ["open_database"]

_MAGIC: Final = b"SQLite format 3\0"


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
    from agent_tt.store.file.heads import read_head

    # After a kill the file may be empty, and everything in its log.
    if path.is_file() and read_head(path, len(_MAGIC)) not in (b"", _MAGIC):
        raise NotAStore(f"{path} is not an SQLite database", hint="Other files open as they are: `agent-tt open FILE`.")
    return SqliteDatabase(path)
