"""Bringing a store of an older format up to date: a copy first, then one transaction."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.errors import StoreUnreadable
from agent_tt.store import schema
from agent_tt.store.connection import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["MIGRATIONS", "Migration", "backup_path", "migrate"]

Migration: TypeAlias = "Callable[[sqlite3.Connection], None]"
"""Turns a store of one format into the next, inside the transaction that is open."""

MIGRATIONS: Final[Mapping[int, Migration]] = {}
"""By the format that each one starts from. Format 1 is the first."""


def backup_path(path: Path, found: int) -> Path:
    """Where the copy of a store of format `found` is put before it is migrated."""
    return path.with_name(f"{path.name}.format-{found}")


def migrate(path: Path, found: int, migrations: Mapping[int, Migration] = MIGRATIONS) -> None:
    """Migrates a store from format `found` to the current one; all of it happens, or nothing does.

    Several processes may try at once: the first does it, the others find it done.

    Raises:
        StoreUnreadable: no way leads from that format to this one, or the migration failed.
    """
    missing = [number for number in range(found, schema.FORMAT_VERSION) if number not in migrations]
    if missing:
        raise StoreUnreadable(
            f"{path} has format {found}, which this agent-tt cannot migrate", hint="Use an older agent-tt."
        )
    connection = connect(path, mode="rw")
    try:
        connection.execute("BEGIN IMMEDIATE")
        current = int(connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()[0])
        if current < schema.FORMAT_VERSION:
            _copy(path, backup_path(path, current))
            for number in range(current, schema.FORMAT_VERSION):
                migrations[number](connection)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(schema.FORMAT_VERSION),))
            connection.execute(f"PRAGMA user_version = {schema.FORMAT_VERSION}")
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        raise StoreUnreadable(f"{path} could not be migrated: {error}", hint="Nothing was changed in it.") from error
    finally:
        connection.close()


def _copy(path: Path, backup: Path) -> None:
    """Copies the store as it is before the migration, with what is still in its log."""
    source = connect(path, mode="ro")
    target = sqlite3.connect(backup)
    try:
        source.backup(target)
    finally:
        target.close()
        source.close()
