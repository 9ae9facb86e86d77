"""Rows written by hand, with their proofs, and files changed without them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from agent_tt.store.file.transaction import Transaction
from agent_tt.store.tables.definitions import TABLES

if TYPE_CHECKING:
    from pathlib import Path


def insert(tx: Any, table: str, **values: Any) -> int:
    """A row with its proof, as the store writes it."""
    made = TABLES[table]
    return made.insert(tx, [values.get(column) for column in made.columns])


def change(path: Path, table: str, where: str, **changes: Any) -> None:
    """Changes rows as the store does: they are proven anew."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, Transaction(connection) as tx:
        TABLES[table].change(tx, where, (), changes)


def execute(path: Path, statement: str, *given: Any) -> None:
    """Changes a file as another program would."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, given)
        connection.commit()


def update(tx: Any, table: str, where: str = "1", given: Any = (), /, **changes: Any) -> None:
    """Changes rows in a transaction; they are proven anew."""
    TABLES[table].change(tx, where, given, changes)
