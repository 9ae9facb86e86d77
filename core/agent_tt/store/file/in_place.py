"""Whether an open store is still the file that its connection was made to.

SQLite does not ask. It goes on writing into a file that was removed, where nobody will find it, and, where a program
closed descriptors that are not its own (as daemons do), into whatever file got the same number next. So this is asked
before each transaction, for a hundredth of what it costs. How the open files begin, and when a name in their folder was
last changed, tells at once that nothing has happened; only where one of these differs everything is looked at. The log
itself is not asked for its times: Linux would then write down the exact time of each commit, which costs more than the
question.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.store.file.heads import MAGIC

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Openings", "Place", "Trouble", "keep_forever"]

Trouble: TypeAlias = Literal["removed", "closed", "overwritten", "log removed", "log replaced"]
"""What happened to an open file: its name leads elsewhere, its descriptors were closed, it is not a database any more,
or its `-wal` file is gone or another one."""

_Identity: TypeAlias = "tuple[int, int]"
_DESCRIPTORS: Final = ("/proc/self/fd", "/dev/fd")
_BEGINNINGS: Final = (72, 24, 8)
"""How many bytes of each file stay as they are between two looks at everything. Of the store those that end with its
application id: its size and its change counter are among them. Of its log those that end with two random numbers, new
whenever the log starts over. Of the index of the log those before what each commit changes.

<https://www.sqlite.org/fileformat2.html>, <https://www.sqlite.org/walformat.html>."""
_CHANGES_AT, _CHANGES_SIZE = 8, 4
"""Where the index of the log counts commits, in the order of bytes of the machine; see the second of these pages."""
_SHARED_LOCK, _INDEX_LOCK, _INDEX_SIZE = (510, 0x4000_0002), (1, 128), 1 << 15
"""What whoever has the file open holds: length and offset of these locks, in the store and in the index of its log, and
how large that is at least. <https://www.sqlite.org/src/file/src/os_unix.c>, `SHARED_FIRST` and `UNIX_SHM_DMS`."""
_TICK_NS, _COARSE_TICK_NS, _SECOND_NS = 20_000_000, 2_000_000_000, 1_000_000_000
"""How coarse the times of files may be: a tick of the kernel, but two seconds where they are whole seconds."""


class Openings:
    """Counts the connections that this process opens at a time: of one opened alone the descriptors are known."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = self._running = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """While a connection is being opened."""
        with self._lock:
            self._begun += 1
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def before(self) -> int | None:
        """What `was_alone` compares with; None where one is being opened already."""
        with self._lock:
            return None if self._running else self._begun

    def was_alone(self, before: int | None) -> bool:
        """Whether exactly one was opened since, and none besides."""
        with self._lock:
            return before is not None and self._begun == before + 1


@dataclass(slots=True)
class Place:
    """Where one connection writes.

    Attributes:
        name: the path of the file, as a text: `os.stat` takes half the time of `Path.stat`.
        identities: what tells the file, its log and the log's index from others of the same name; None where there was
            none.
        numbers: the descriptors under which this process has them open; None where that cannot be told.
        folder: the folder that holds their names, "" where the file's own name is a link to elsewhere.
    """

    name: str
    identities: tuple[_Identity | None, ...]
    numbers: tuple[int | None, ...]
    folder: str
    _begin: list[tuple[int, int, bytes]] = field(default_factory=list)
    _folder_facts: tuple[int, int, int] | None = None

    @classmethod
    def of(cls, path: Path, before: frozenset[int] | None) -> Place:
        """Remember which files a new connection to `path` has opened.

        Args:
            path: the file.
            before: the descriptors that were open before, as `open_descriptors` gave them; None where others may have
                been opened since, too.
        """
        name = os.path.abspath(path)  # noqa: PTH100  a text; the working directory may change
        identities = tuple(_identity(name + ending) for ending in ("", "-wal", "-shm"))
        opened = {number: _leads_to(number) for number in open_descriptors()}
        numbers = tuple(None if identity is None else _number_of(identity, opened, before) for identity in identities)
        return cls(name, identities, numbers, "" if os.path.islink(name) else os.path.dirname(name))  # noqa: PTH114, PTH120

    def trouble(self) -> Trouble | None:
        """Say what has happened to the open file; None if nothing has."""
        if self._begin and self._is_as_before():
            return None
        self._begin.clear()
        facts = self._facts_of_folder()
        trouble = self._look()
        if trouble is None and facts is not None and _is_settled(facts[2]):
            self._folder_facts = facts
            self._remember_beginnings()
        return trouble

    def hold_again(self) -> bool:
        """In a forked child: take the locks that SQLite believes it still has; whether the files may be gone on with.

        Locks of files are not inherited. Who opens the store when nobody holds them cuts the index of the log, which
        the child has in its memory: it would die of a bus error.
        """
        file, _, index = self.numbers
        if file is None or index is None:
            return True
        import fcntl  # there is no fork where there is none

        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, *_SHARED_LOCK)
            fcntl.lockf(index, fcntl.LOCK_SH | fcntl.LOCK_NB, *_INDEX_LOCK)
            if os.fstat(index).st_size < _INDEX_SIZE:
                return False
        except OSError:
            return False
        return self.trouble() is None

    def changes(self) -> int | None:
        """How many commits the index of the log has counted (as 32 bits); None where that cannot be told.

        Exact while the caller holds the file's write lock, for a fifth of what asking SQLite costs.
        """
        number = self.numbers[2]
        if number is None:
            return None
        try:
            found = os.pread(number, _CHANGES_SIZE, _CHANGES_AT)
        except OSError:
            return None
        return int.from_bytes(found, sys.byteorder) if len(found) == _CHANGES_SIZE else None

    def _is_as_before(self) -> bool:
        """Whether no name in the folder was changed, and every descriptor leads to a file that begins as ours did."""
        try:
            for number, size, begins in self._begin:
                if os.pread(number, size, 0) != begins:
                    return False
            found = os.stat(self.folder)  # noqa: PTH116  for speed
        except OSError:
            return False
        return (found.st_dev, found.st_ino, found.st_mtime_ns) == self._folder_facts

    def _facts_of_folder(self) -> tuple[int, int, int] | None:
        """What changes when a file in the folder gets or loses a name; None where that cannot be told."""
        if not self.folder:
            return None
        try:
            found = os.stat(self.folder)  # noqa: PTH116  for speed
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns

    def _remember_beginnings(self) -> None:
        found = []
        for number, size in zip(self.numbers, _BEGINNINGS, strict=True):
            if number is not None:
                with suppress(OSError):
                    found.append((number, size, os.pread(number, size, 0)))
        if all(len(begins) == size for _, size, begins in found):  # any new file begins as an empty one
            self._begin = found

    def _look(self) -> Trouble | None:
        """Look at all files: where the descriptors lead to, and the names."""
        for number, identity in zip(self.numbers, self.identities, strict=True):
            if number is not None and _leads_to(number) != identity:
                return "closed"
        file, log, _ = self.identities
        if _identity(self.name) != file:
            return "removed"
        if self.numbers[0] is not None and not _is_database(self.numbers[0]):
            return "overwritten"
        if log is not None and (found := _identity(self.name + "-wal")) != log:
            return "log removed" if found is None else "log replaced"
        return None


def _number_of(identity: _Identity, opened: dict[int, _Identity | None], before: frozenset[int] | None) -> int | None:
    """The descriptor under which a new connection has a file open; None where that cannot be told.

    SQLite may take over one that another connection of the process has left.
    """
    leading = [number for number, found in opened.items() if found == identity]
    new = [] if before is None else [number for number in leading if number not in before]
    return new[0] if len(new) == 1 else leading[0] if len(leading) == 1 else None


def _is_settled(changed_ns: int) -> bool:
    """Whether what is changed from now on gets another time than this one."""
    tick = _TICK_NS if changed_ns % _SECOND_NS else _COARSE_TICK_NS
    return changed_ns < time.time_ns() - tick


def open_descriptors() -> frozenset[int]:
    """The numbers of the descriptors that this process has open; none where that cannot be told."""
    for folder in _DESCRIPTORS:
        try:
            return frozenset(int(name) for name in os.listdir(folder))  # noqa: PTH208  names alone, for speed
        except (OSError, ValueError):
            continue
    return frozenset()


def keep_forever(connection: object) -> None:
    """Keep a connection from ever being closed, at the end of the process too.

    Closing it would close descriptors that belong to somebody else by now, or write into them.
    """
    _KEPT.append(connection)
    try:
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    except (ImportError, AttributeError):  # then at least as long as this module lives
        return


_KEPT: Final[list[object]] = []


def _identity(name: str) -> _Identity | None:
    try:
        found = os.stat(name)  # noqa: PTH116  for speed
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _leads_to(number: int) -> _Identity | None:
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_database(number: int) -> bool:
    """Whether the file begins as a database does; one that is being made is still empty."""
    try:
        head = os.pread(number, len(MAGIC), 0)
    except OSError:
        return False
    return head in (MAGIC, b"")
