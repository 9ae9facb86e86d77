"""Making sure that a file is a store of ours, in a format that this program can read, before anything else is done."""

from __future__ import annotations

import sqlite3
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt import _version
from agent_tt._pattern import lazy_re
from agent_tt.addresses import Address
from agent_tt.errors import NewerFormat, NotAStore, OlderFormat, ReadOnlySource, StoreNotFound, StoreUnreadable
from agent_tt.store.file import locate, schema
from agent_tt.store.file.connecting import connect
from agent_tt.store.file.connection import Database
from agent_tt.store.file.sqlite_errors import BUSY_TIMEOUT_S, SQLITE_ERRORS, our_error
from agent_tt.store.file.tables import check_tables
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.tables.definitions import META

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.store.file.connection import Durability

__all__ = ["open_database"]

_RETRY_S: Final = 0.01
_FORMAT: Final = lazy_re(r"[1-9][0-9]{0,8}")
_PLACE_HINT: Final = "Check the rights of the folder, or name another file with --store."


def open_database(
    path: Path, *, create: bool = False, read_only: bool = False, durability: Durability = "full"
) -> Database:
    """Open a store file, after making it where that is allowed.

    Raises:
        StoreNotFound: there is none, and `create` is False.
        NotAStore: it is a folder, a file of another kind, or a database with the tables of another program alone.
        NewerFormat, OlderFormat: another agent-tt wrote it.
    """
    if isinstance(path, Address):
        from agent_tt.store.postgres.opening import open_address

        return open_address(path, create=create, read_only=read_only, durability=durability)
    if path.is_dir():
        inside = path / locate.FILE_NAME
        hint = f"Name the file: {inside}" if inside.exists() else "Name the store file itself."
        raise NotAStore(f"{path} is a folder, not a store", hint=hint)
    locate.refuse_special(path)
    if not path.exists():
        if not create or read_only:
            raise StoreNotFound(
                f"there is no store at {path}", hint="Record a run first, or name another file with --store."
            )
        try:
            locate.make_room(path)
        except OSError as error:
            raise ReadOnlySource(f"no store can be made at {path}: {error}", hint=_PLACE_HINT) from error
    if create and not read_only:
        _create(path)
    return Database(path, read_only=read_only, durability=durability, check=partial(_check_format, path))


def _create(path: Path) -> None:
    """Create the tables that are missing. Several processes may do this at once.

    They are made while the file still has a rollback journal: so they, and the number in its header by which a file is
    recognised, are in the file itself at once and not in a log beside it.
    """
    connection = connect(path, mode="rwc")
    try:
        if not _is_made(path, connection):
            connection.execute(f"PRAGMA page_size = {schema.PAGE_SIZE}")
            connection.execute("PRAGMA synchronous = full")
            with Transaction(connection) as tx:
                if not _has_tables(connection):
                    _make_tables(connection, tx)
        _switch_to_wal(path, connection)
    except SQLITE_ERRORS as error:
        raise _unusable(path, error) from error
    finally:
        connection.close()


def _make_tables(connection: sqlite3.Connection, tx: Transaction) -> None:
    from agent_tt.store.file import provenance

    for statement in schema.STATEMENTS:
        connection.execute(statement)
    facts = {
        "format": str(schema.FORMAT_VERSION),
        "created_by": f"agent-tt {_version.__version__}",
        "gc_epoch": "0",
    }
    stamp = provenance.new_stamp()
    if stamp is not None:
        facts[provenance.META_KEY] = stamp
    for fact in facts.items():
        META.insert(tx, fact)
    connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {schema.FORMAT_VERSION}")


def _is_made(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether the tables are there; raises before a file of another program is touched."""
    connection.execute("BEGIN")  # both reads see one moment of a file that another process may be making
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    made = _has_tables(connection)
    connection.execute("COMMIT")
    if made and application != schema.APPLICATION_ID:
        raise NotAStore(f"{path} is a database of another program", hint="Name a file of agent-tt, or a new one.")
    return made


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _switch_to_wal(path: Path, connection: sqlite3.Connection) -> None:
    """Set the journal mode; SQLite does not wait by itself when several processes do this at once."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            ((mode,),) = connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
            continue
        if mode != "wal":
            raise StoreUnreadable(f"{path} cannot be a store: its disk does not support it", hint="Use a local disk.")
        return


def _check_format(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse what a new connection leads to where it is not a store that this program can read."""
    try:
        ((application,),) = connection.execute("PRAGMA application_id").fetchall()
        found = None
        if application == schema.APPLICATION_ID:
            check_tables(path, connection)
            found = _stored_format(connection)
    except SQLITE_ERRORS as error:
        raise _unusable(path, error) from error
    if found is None:
        raise NotAStore(f"{path} is not a store of agent-tt", hint="Name another file with --store.")
    if found > schema.FORMAT_VERSION:
        raise NewerFormat(
            f"{path} has format {found}, newer than the {schema.FORMAT_VERSION} that this agent-tt reads",
            found=found,
            supported=schema.FORMAT_VERSION,
            hint="Upgrade agent-tt.",
        )
    if found < schema.FORMAT_VERSION:
        raise OlderFormat(
            f"{path} has format {found}, older than the {schema.FORMAT_VERSION} that this agent-tt reads",
            found=found,
            supported=schema.FORMAT_VERSION,
            hint="Record the run again, into a new file; or read this one with the agent-tt that wrote it.",
        )


def _stored_format(connection: sqlite3.Connection) -> int | None:
    found = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    text = found[0] if found else None
    return int(text) if isinstance(text, str) and _FORMAT.fullmatch(text) else None


def _unusable(path: Path, error: sqlite3.DatabaseError | UnicodeDecodeError) -> StoreUnreadable | ReadOnlySource:
    if "no such table" in str(error):
        return NotAStore(f"{path} is not a store of agent-tt", hint="Name another file with --store.")
    return our_error(path, error)
