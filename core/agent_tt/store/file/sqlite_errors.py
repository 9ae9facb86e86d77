"""Errors of SQLite as ours: each says what is wrong with which file, and what to do."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, NotAStore, ReadOnlySource, StoreBusy, StoreUnreadable
from agent_tt.store.file.heads import read_head

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["BUSY_TIMEOUT_S", "SQLITE_ERRORS", "Conflict", "Translation", "our_error"]

SQLITE_ERRORS: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading a damaged file raises. The module decodes the text of an error first, and that may quote a damaged name
which is not UTF-8."""

BUSY_TIMEOUT_S: Final = 10.0
"""How long a writer waits for another process's lock."""

_HEADER: Final = 100
"""Bytes of the header of an SQLite file: page size at 16, changes counted at 24 and 92, pages at 28 (big-endian)."""

_VERIFY_HINT: Final = "Run `agent-tt verify` to see what can still be read."


class Conflict(StoreUnreadable):
    """A row of that key is there already: another process wrote it first. Nothing of the transaction was written."""


class Translation:
    """While it lasts, errors of SQLite become ours. Keeps nothing, so that any thread may use it."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # OverflowError is how a whole number is refused that does not fit into a column.
        if isinstance(error, sqlite3.Error | OverflowError | UnicodeDecodeError):
            raise our_error(self._path, error) from error


def our_error(
    path: Path, error: sqlite3.Error | OverflowError | UnicodeDecodeError
) -> StoreUnreadable | ReadOnlySource:
    """The error of ours that says what SQLite's says of the file at `path`."""
    text = str(error)
    if isinstance(error, sqlite3.IntegrityError):
        return Conflict(f"{path} could not be written: {text}", hint=_VERIFY_HINT)
    if "closed database" in text:
        return StoreUnreadable(f"{path} was closed", hint="Open it again.")
    if _is_busy(error):
        hint = "Another process is writing; try again, or look for one that hangs."
        return StoreBusy(f"{path} was locked by another process for too long", hint=hint)
    if "readonly" in text:
        return ReadOnlySource(f"{path} can only be read: {text}", hint="Check the rights of the file and its folder.")
    if "full" in text:
        return StoreUnreadable(f"{path} cannot grow: {text}", hint="Free some space on its disk.")
    if "not a database" in text:
        return NotAStore(f"{path} is not a store of agent-tt", hint="Name another file with --store.")
    if "malformed" in text or "decode" in text or "no such" in text:
        return _cut_short(path) or Damaged(f"{path} is damaged: {text}", hint=_VERIFY_HINT)
    if isinstance(error, OverflowError | sqlite3.InterfaceError | sqlite3.ProgrammingError):
        return StoreUnreadable(f"{path} cannot hold a value that it was given: {text}")
    hint = "Check its disk, and the rights of the file and its folder."
    return StoreUnreadable(f"{path} cannot be used: {text}", hint=hint)


def _cut_short(path: Path) -> Damaged | None:
    """The error for a file that ends before the last page that its header names; None for any other."""
    try:
        size = path.stat().st_size
        header = read_head(path, _HEADER)
    except OSError:
        return None
    page = int.from_bytes(header[16:18], "big")
    named = int.from_bytes(header[28:32], "big") * (65536 if page == 1 else page)
    is_current = len(header) == _HEADER and header[24:28] == header[92:96]  # else nobody keeps the count of pages
    if len(header) == _HEADER and not (is_current and size < named):
        return None
    missing = (
        f"{named - size:,} of its {named:,} bytes are missing" if is_current else "all but its beginning is missing"
    )
    return Damaged(f"{path} is cut short: {missing}", hint="Copy it again, whole, from where it came from.")


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))
