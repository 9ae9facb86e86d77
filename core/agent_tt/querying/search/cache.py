r"""The file that an index of texts lies in: beside no store, for nobody else to read, and never needed.

It lies in the user's cache folder (`$XDG_CACHE_HOME/agent-tt/search`), one file for each store. All in it was derived
from the store: a file that is damaged, of another version or of another store is thrown away and made anew.

| table | holds |
|---|---|
| `about` | whose index it is, and of which version |
| `runs` | how far each run is indexed: `upto` the last step that was looked at, `open` those that were not over yet |
| `texts` | each text once for a run and kind, with how often it came up, and the first places |
| `more` | the places of a text that came up later, a row for each time that the index was written |
| `requests` | what each request to a model has in common with the one before it, a row for each time as well |
| `grams` | FTS5 without contents: which texts hold three characters in a row (folded, `\2\2` after the end) |
| `words` | FTS5 without contents: which texts hold a word |

A text's number says what it belongs to (kind, run, count), so that all of a kind of a run is a range of numbers, in the
order in which it came up. A place is `[step, order, call, path]`, in JSON that is zstd-compressed where it is long.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.cache_files import (
    CacheLost,
    alone_in,
    cache_path,
    clear_up,
    file_of,
    make_file,
    make_folder,
    remove_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MOST_BYTES", "Cache", "Indexed", "can_index", "first_id", "last_id", "run_of"]

_VERSION: Final = 5
_APPLICATION_ID: Final = 0x41545453
_BUSY_S: Final = 10.0
_TRIES: Final = 20
_RETRY_S: Final = 0.05

_PRAGMAS: Final = (
    "secure_delete = ON",
    "temp_store = MEMORY",
    "synchronous = NORMAL",
    "trusted_schema = OFF",
    "cache_size = -16000",
)

MOST_BYTES: Final = 1 << 30
"""Size of a file from which on the runs that were searched longest ago leave it."""

_RUN_BITS: Final = 24
_COUNT_BITS: Final = 34

_TABLES: Final = (
    "CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE runs(no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, first INTEGER NOT NULL,
  upto INTEGER NOT NULL, part INTEGER NOT NULL DEFAULT 0, open TEXT NOT NULL DEFAULT '[]', mark TEXT,
  seen TEXT, unread TEXT NOT NULL DEFAULT '[]', used_us INTEGER)""",
    """CREATE TABLE texts(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text TEXT NOT NULL, uses INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL, places BLOB NOT NULL)""",
    "CREATE INDEX text_steps ON texts(first, last)",
    """CREATE TABLE more(text INTEGER NOT NULL, part INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  uses INTEGER NOT NULL, places BLOB NOT NULL, PRIMARY KEY(text, part)) WITHOUT ROWID""",
    "CREATE TABLE requests(run INTEGER NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(run, part))",
    """CREATE VIRTUAL TABLE grams USING fts5(folded, content='', detail=none, columnsize=0,
  tokenize='trigram case_sensitive 1')""",
    """CREATE VIRTUAL TABLE words USING fts5(folded, content='', detail=none, columnsize=0,
  tokenize='unicode61 remove_diacritics 0')""",
    "CREATE VIRTUAL TABLE gram_rows USING fts5vocab(grams, instance)",
)


class Indexed(NamedTuple):
    """What is indexed of a run.

    Attributes:
        id: the run.
        number: its number in the index.
        first: the step before the first one that it recorded itself.
        upto: the last step that was looked at.
        part: how often something was written about it.
        still_open: the steps that were not over then, as JSON.
        mark: what tells whether the steps that were indexed have changed; None where none was.
        seen: what the run looked like when all of it was indexed; None before that.
        unread: what could not be looked at then, in words, as a JSON array.
        used_us: when it was searched, to the hour; microseconds since 1970.
    """

    id: str
    number: int
    first: int
    upto: int
    part: int
    still_open: str
    mark: str | None
    seen: str | None
    unread: str
    used_us: int | None


_INDEXED: Final = "SELECT id, no, first, upto, part, open, mark, seen, unread, used_us FROM runs"


@cache
def can_index() -> bool:
    """Whether there can be an index here: SQLite has FTS5 with trigrams (since 3.34), and files have owners."""
    if not hasattr(os, "getuid"):
        return False
    connection = sqlite3.connect(":memory:")
    try:
        for statement in _TABLES:
            connection.execute(statement)
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True


def first_id(kind: int, run: int) -> int:
    """The lowest number of texts of a kind of a run."""
    return (kind << _RUN_BITS | run) << _COUNT_BITS


def last_id(kind: int, run: int) -> int:
    """The highest number of texts of a kind of a run."""
    return first_id(kind, run + 1) - 1


def run_of(text: int) -> int:
    """The number of the run that a text belongs to."""
    return text >> _COUNT_BITS & (1 << _RUN_BITS) - 1


class Cache:
    """A connection to the index of one store. It belongs to one thread at a time."""

    def __init__(self, store: Path, folder: Path | None = None, *, create: bool = True) -> None:
        """Open the index of a store, made anew where it cannot be used.

        Args:
            store: the file whose index it is.
            folder: where indexes lie; by default the user's cache folder.
            create: make it where it is missing.

        Raises:
            CacheLost: it cannot be made, or is missing.
        """
        self._store = store
        self._file: tuple[int, int] | None = None
        self.path = cache_path(store, folder)
        if not create and not self.path.exists():
            raise CacheLost(f"there is no {self.path}")
        self._connection = self._open_or_remake()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def throw_away(self) -> None:
        """Delete the file, unless somebody else did; whoever else has it open makes a new one too."""
        self.close()
        with suppress(CacheLost), alone_in(self.path.parent):
            if file_of(self.path) == self._file:
                remove_all(self.path)

    def start_over(self) -> None:
        """Delete the file with all that is in it, and begin a new one.

        Raises:
            CacheLost: none can be made.
        """
        self.throw_away()
        self._connection = self._open_or_remake()

    @contextmanager
    def using(self) -> Iterator[sqlite3.Connection]:
        """The connection, to read.

        Raises:
            CacheLost: the file is damaged, and gone now, or was thrown away by somebody else.
        """
        if file_of(self.path) != self._file:
            raise CacheLost("somebody threw it away")
        try:
            yield self._connection
        except sqlite3.OperationalError as error:
            if not _is_passing(error):
                self.throw_away()
            raise CacheLost(str(error)) from error
        except sqlite3.DatabaseError as error:
            self.throw_away()
            raise CacheLost(str(error)) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection in a transaction: committed when the block is left, rolled back when it raises.

        Raises:
            CacheLost: the file is damaged, gone or full; nothing was written.
        """
        with self.using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def settle(self) -> None:
        """Move what was written into the file, if nobody is in the way."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def size(self) -> int:
        """Bytes that the file takes, without room that is free in it."""
        with self.using() as connection:
            pages, free, page = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * page)

    def run(self, run_id: str) -> Indexed | None:
        """What is indexed of a run; None where nothing is."""
        with self.using() as connection:
            row = connection.execute(f"{_INDEXED} WHERE id = ?", (run_id,)).fetchone()
        return None if row is None else Indexed(*row)

    def runs(self) -> dict[str, Indexed]:
        """What is indexed of each run, by its id."""
        with self.using() as connection:
            return {row[0]: Indexed(*row) for row in connection.execute(_INDEXED)}

    # -------------------------------------------------------------------- the file

    def _open_or_remake(self) -> sqlite3.Connection:
        folder = self.path.parent
        try:
            make_folder(folder)
        except OSError as error:
            raise CacheLost(str(error)) from error
        with alone_in(folder):
            clear_up(folder, self.path)
            for attempt in range(1, _TRIES + 1):
                try:
                    connection = self._open()
                except (sqlite3.Error, OSError) as error:
                    if attempt == _TRIES or _is_full(error):
                        raise CacheLost(str(error)) from error
                    if _is_busy(error):
                        time.sleep(_RETRY_S)
                    else:
                        remove_all(self.path)
                else:
                    self._file = file_of(self.path)
                    return connection
        raise CacheLost("it cannot be opened")

    def _open(self) -> sqlite3.Connection:
        make_file(self.path)
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=_BUSY_S)
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").fetchall()
            if not self._is_mine(connection):
                self._make(connection)
        except BaseException:
            connection.close()
            raise
        # What passive checkpoints of SQLite before 3.51.3 can do to a file, nobody needs here: see `settle`.
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        return connection

    def _about(self) -> dict[str, str]:
        found = file_of(self._store)
        return {
            "version": str(_VERSION),
            "store": os.path.realpath(self._store).encode("utf-8", "backslashreplace").decode(),
            "file": "" if found is None else f"{found[0]}:{found[1]}",
        }

    def _is_mine(self, connection: sqlite3.Connection) -> bool:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables and not application:
            return False
        if application != _APPLICATION_ID or dict(connection.execute("SELECT key, value FROM about")) != self._about():
            raise sqlite3.DatabaseError("it is another's")
        connection.execute("SELECT 1 FROM grams LIMIT 0").fetchall()
        return True

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:  # somebody may have been faster
            for statement in _TABLES:
                connection.execute(statement)
            connection.executemany("INSERT INTO about(key, value) VALUES(?, ?)", list(self._about().items()))
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute("COMMIT")


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _is_full(error: Exception) -> bool:
    return "full" in str(error) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EROFS))


def _is_passing(error: sqlite3.OperationalError) -> bool:
    """Whether an error says nothing against the file."""
    return any(words in str(error) for words in ("interrupted", "locked", "full", "unable to open", "disk I/O"))
