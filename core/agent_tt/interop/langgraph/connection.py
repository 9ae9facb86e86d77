"""Reading an SQLite database that belongs to someone else.

Opening a database in WAL mode the usual way creates or changes the files beside it, and `immutable=1` ignores the
write-ahead log. So the way in is chosen by what lies there:

- no log, or an empty one: the file is read in place with `immutable=1`; should anyone write meanwhile, its size or time
  differs afterwards and the read is done again;
- a log with content: the file and its log are copied to a private folder and read there. While the run goes on, the
  file itself changes only when its owner moves the log into it, so following a run copies the log alone;
- a file too large to copy, with its index beside it: in place with `readonly_shm=1`, which reads the log through the
  owner's index, or through one in memory when the owner is gone. Beside a living owner this view can be one commit
  behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from urllib.parse import quote

from agent_tt.errors import Damaged, StoreBusy, StoreNotFound, StoreUnreadable
from agent_tt.temporary import kept_folder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DatabaseFile", "reading_many"]

Result = TypeVar("Result")
Stamp: TypeAlias = "tuple[int, int, int]"

LARGEST_COPY: Final = 256 * 1024 * 1024
"""Bytes of a file and its log above which they are not copied while there is another way."""

_ATTEMPTS: Final = 8
_ABSENT: Final = (0, 0, 0)
_AT_REST_NS: Final = 2_000_000_000
"""Nanoseconds after which a file that was not changed is taken for one that nobody is writing to just now."""

_LOG_HEADER: Final = 32
_LOG, _INDEX, _JOURNAL = "-wal", "-shm", "-journal"


class DatabaseFile:
    """A database file that is only looked at. Safe to use from several threads.

    Args:
        path: the file.
        largest_copy: see `LARGEST_COPY`.

    Raises:
        StoreNotFound: there is no such file.
    """

    def __init__(self, path: Path, *, largest_copy: int = LARGEST_COPY) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._largest_copy = largest_copy
        self._reading = threading.RLock()
        self._counting = threading.Lock()
        self._version = 0
        self._counted: tuple[Stamp, ...] = ()
        self._view = _View()
        self._finalizer = weakref.finalize(self, self._view.close)
        self._existing_stamps()

    def close(self) -> None:
        """Remove the private copy, if there is one."""
        with self._reading:
            self._finalizer()

    def version(self) -> int:
        """A number that differs after the file or its log changed, or the file came or went."""
        stamps = self._stamps()
        with self._counting:
            if stamps != self._counted:
                self._counted = stamps
                self._version += 1
            return self._version

    def size(self) -> int:
        """How many bytes the file and its write-ahead log take."""
        main, log, _ = self._stamps()
        return main[0] + log[0]

    def fingerprint(self) -> str | None:
        """What the file and its logs look like, in every process; None if they were changed a moment ago.

        Times of files are as coarse as the system's clock ticks: what is written twice within one looks written once.
        """
        real = self._real_name
        found = []
        for each in ("", _LOG, _JOURNAL):
            with contextlib.suppress(OSError):
                found.append((each, os.stat(real + each)))  # noqa: PTH116  # as `_stamp`
        if not found or any(status.st_ctime_ns > time.time_ns() - _AT_REST_NS for _, status in found):
            return None
        return repr([(each, one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino) for each, one in found])

    def read(self, work: Callable[[sqlite3.Connection], Result], *, refresh: bool = False) -> Result:
        """The result of `work` on one consistent state of the database; it may be called several times.

        Args:
            work: what reads.
            refresh: see what was written since the last read with `refresh`. Without it, a private copy is good enough:
                beside a busy writer everything would be copied for each value otherwise.

        Raises:
            StoreNotFound: the file is gone.
            StoreBusy: the file changed again each time it was read.
            StoreUnreadable: it cannot be opened.
            Damaged: SQLite finds it damaged.
        """
        with self._reading:
            if not self._finalizer.alive:
                raise StoreUnreadable(f"{self.path} was closed")
            for attempt in range(_ATTEMPTS):
                # What is read again and again has its stamps looked at once each time: afterwards.
                again = attempt == 0 and not refresh and not self._view.is_copy and self._view.connection is not None
                stamps = self._view.stamps if again else self._existing_stamps()
                try:
                    connection = self._open(stamps, refresh=refresh)
                    if connection is None:
                        continue
                    result = work(connection)
                except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                    if self._stamps() == stamps:
                        raise self._unreadable(error) from error
                    self._view.close()
                    continue
                if self._view.is_copy or self._stamps() == stamps:
                    return result
            raise StoreBusy(
                f"{self.path} is being changed faster than it can be read", hint="Try again when its writer pauses."
            )

    @property
    def _real(self) -> Path:
        """The file itself: the log of a file lies beside it, not beside a link to it."""
        return Path(self._real_name)

    @property
    def _real_name(self) -> str:
        return os.path.realpath(self._name) if os.path.islink(self._name) else self._name  # noqa: PTH114  # as `_stamp`

    def _stamps(self) -> tuple[Stamp, ...]:
        """Size, time and identity of the file, its log and its rollback journal."""
        real = self._real_name
        return (_stamp(real), _stamp(real + _LOG), _stamp(real + _JOURNAL))

    def _existing_stamps(self) -> tuple[Stamp, ...]:
        stamps = self._stamps()
        if stamps[0] == _ABSENT:
            raise StoreNotFound(f"there is no file {self.path}", hint="Check the path given with --store.")
        return stamps

    def _open(self, stamps: tuple[Stamp, ...], *, refresh: bool) -> sqlite3.Connection | None:
        """The connection for this state of the files; None if they changed while they were copied."""
        view = self._view
        if view.connection is not None and (view.stamps == stamps or (view.is_copy and not refresh)):
            return view.connection
        real = self._real
        main, log, journal = stamps
        if not log[0] and not journal[0]:
            view.use(_connect(real, "immutable=1"), stamps)
            return view.connection
        too_large = main[0] + log[0] > self._largest_copy
        if too_large and not journal[0] and _stamp(_beside(real, _INDEX))[0]:
            with contextlib.suppress(sqlite3.Error):
                connection = _connect(real, "mode=ro&readonly_shm=1")
                view.use(connection, stamps)
                return connection
        copy = view.copy(real, stamps)
        if not self._is_one_state(copy, stamps):
            view.forget_copy()
            return None
        view.use(_connect(copy, "mode=rw" if journal[0] else "mode=ro"), stamps, is_copy=True)
        return view.connection

    def _is_one_state(self, copy: Path, stamps: tuple[Stamp, ...]) -> bool:
        """Whether file and log were copied as they were at one moment.

        A log that only grew meanwhile is no harm: what is incomplete at its end counts for nothing.
        """
        main, _, journal = self._stamps()
        return (main, journal) == (stamps[0], stamps[2]) and _log_start(copy) == _log_start(self._real)

    def _unreadable(self, error: sqlite3.Error | OSError | UnicodeDecodeError) -> StoreUnreadable:
        # SQLite quotes what it found in a damaged schema, which Python then may not be able to decode.
        damage = isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError)
        if damage and not isinstance(error, sqlite3.OperationalError):
            return Damaged(f"{self.path} is damaged: {error}", hint="Recover it with SQLite's own `.recover`.")
        return StoreUnreadable(
            f"{self.path} cannot be read: {error}", hint="Check its permissions and free disk space."
        )


class _View:
    """The open connection, and the private copy that it may stand on."""

    def __init__(self) -> None:
        self.connection: sqlite3.Connection | None = None
        self.stamps: tuple[Stamp, ...] = ()
        self.is_copy = False
        self._folder: Path | None = None
        self._copied: Stamp | None = None

    def use(self, connection: sqlite3.Connection, stamps: tuple[Stamp, ...], *, is_copy: bool = False) -> None:
        self._disconnect()
        self.connection, self.stamps, self.is_copy = connection, stamps, is_copy

    def copy(self, path: Path, stamps: tuple[Stamp, ...]) -> Path:
        """Copy what changed since the last copy; give the path of the copy."""
        self._disconnect()
        if self._folder is None:
            self._folder = Path(kept_folder("agent-tt-"))
        target = self._folder / "copy.db"
        _beside(target, _INDEX).unlink(missing_ok=True)
        main, log, journal = stamps
        if self._copied != main:
            shutil.copyfile(path, target)
        for suffix, size in ((_LOG, log[0]), (_JOURNAL, journal[0])):
            if size:
                shutil.copyfile(_beside(path, suffix), _beside(target, suffix))
            else:
                _beside(target, suffix).unlink(missing_ok=True)
        # A rollback changes the copy of the file itself, which then serves no second time.
        self._copied = None if journal[0] else main
        return target

    def forget_copy(self) -> None:
        """The copy may mix two states of the file: take all of it anew."""
        self._copied = None

    def close(self) -> None:
        self._disconnect()
        self._copied = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _disconnect(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection, self.stamps, self.is_copy = None, (), False


def _connect(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?{options}", uri=True, check_same_thread=False
    )
    try:
        connection.text_factory = _text
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def reading_many(connection: sqlite3.Connection, work: Callable[[], Result]) -> Result:
    """The result of `work`, which reads very many texts; it is called again where one of them is not UTF-8."""
    connection.text_factory = str  # a call of Python's for each text would take a third of the time
    try:
        return work()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error).lower():
            raise
        connection.text_factory = _text
        return work()
    finally:
        connection.text_factory = _text


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _log_start(path: Path) -> bytes:
    """The header of a write-ahead log, which changes when the log is begun anew."""
    try:
        with _beside(path, _LOG).open("rb") as log:
            return log.read(_LOG_HEADER)
    except FileNotFoundError:
        return b""


def _stamp(path: Path | str) -> Stamp:
    try:
        status = os.stat(path)  # noqa: PTH116  # asked for before each value is read
    except OSError:
        return _ABSENT
    return (status.st_size, status.st_mtime_ns, status.st_ino)
