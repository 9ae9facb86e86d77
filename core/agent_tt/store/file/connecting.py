"""Connecting to a store file: how it is opened, and how long a connection waits for the lock of another process."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

from agent_tt.errors import StoreNotFound
from agent_tt.store.file.in_place import Openings
from agent_tt.store.file.sqlite_errors import BUSY_TIMEOUT_S, SQLITE_ERRORS, our_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["OPENINGS", "PATIENCE", "connect", "waiting_at_most"]

OPENINGS: Final = Openings()
"""The openings of this process, of which only one that was alone knows its descriptors."""

_MISSING_HINT: Final = "Record a run first, or name another file with --store."


def connect(path: Path, *, mode: Literal["ro", "rw", "rwc"]) -> sqlite3.Connection:
    """A plain connection: explicit transactions, usable from any thread (one at a time).

    A file that can only be read, in a folder that can only be read, is opened as immutable if nobody has left a log.

    Raises:
        StoreNotFound: there is no such file.
        StoreUnreadable: it cannot be opened.
    """
    uri = f"file:{quote(os.fsencode(path))}?mode={mode}"
    with OPENINGS.one():
        try:
            connection = _open(uri)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA schema_version")
        except sqlite3.OperationalError as error:
            if not path.exists():
                raise StoreNotFound(f"there is no store at {path}", hint=_MISSING_HINT) from error
            wal = path.with_name(path.name + "-wal")
            if mode != "ro" or "unable to open" not in str(error) or (wal.exists() and wal.stat().st_size):
                raise our_error(path, error) from error
            connection = _open(uri + "&immutable=1")
        except SQLITE_ERRORS as error:
            raise our_error(path, error) from error
    return connection


def _open(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=PATIENCE.seconds)


class _Patience(threading.local):
    """How long connections that this thread opens wait for another process's lock, in seconds."""

    seconds = BUSY_TIMEOUT_S


PATIENCE: Final = _Patience()


@contextmanager
def waiting_at_most(seconds: float) -> Iterator[None]:
    """Let every connection that this thread opens meanwhile wait no longer than this for a lock, now and later."""
    before, PATIENCE.seconds = PATIENCE.seconds, seconds
    try:
        yield
    finally:
        PATIENCE.seconds = before
