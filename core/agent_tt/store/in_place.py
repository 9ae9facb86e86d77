"""Whether an open store is still the file that its connection was made to.

SQLite does not ask. It goes on writing into a file that was removed, where nobody will find it, and, where a program
closed descriptors that are not its own (as daemons do), into whatever file got the same number next. So this is looked
at before each transaction, of which it would take a tenth if every file were asked for all that is known of it: what
the descriptors lead to is told by how the files begin, and only where that has changed by more.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt.store.heads import MAGIC

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Place", "Trouble", "keep_forever"]

Trouble: TypeAlias = Literal["removed", "closed", "overwritten", "log removed", "log replaced"]
"""What happened to an open file: its name leads elsewhere, its descriptors were closed, it is no database any more,
or its `-wal` file is gone or another one."""

_Identity: TypeAlias = "tuple[int, int]"
_DESCRIPTORS: Final = ("/proc/self/fd", "/dev/fd")
_STORE_BEGINS: Final = 72
"""Bytes of a store that end with its application id; its size and its change counter are among them."""
_LOG_BEGINS: Final = 24
"""Bytes at the beginning of its log; the last of them are two random numbers, new whenever the log starts over."""
_INDEX_BEGINS: Final = 8
"""Bytes of the index of the log before those that each commit changes.

All three: <https://www.sqlite.org/fileformat2.html>, <https://www.sqlite.org/walformat.html>."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one connection writes.

    Attributes:
        name: the path of the file, as a text: `os.stat` takes half the time of `Path.stat`.
        identity: what tells the file from another one of the same name; None where there was none.
        log: the same of its `-wal` file.
        descriptors: the numbers under which this process has them open, and what each leads to; empty where that
            cannot be told.
        main: the number of the file itself, None where it is not known.
        _beginnings: of each descriptor how many bytes are compared, and what they were; empty until that is known.
    """

    name: str
    identity: _Identity | None
    log: _Identity | None
    descriptors: tuple[tuple[int, _Identity], ...]
    main: int | None
    _beginnings: list[tuple[int, int, bytes]] = field(default_factory=list, compare=False)

    @classmethod
    def of(cls, path: Path, before: frozenset[int]) -> Place:
        """Remember which files a new connection to `path` has opened.

        Args:
            path: the file.
            before: the descriptors that were open before, as `open_descriptors` gave them.
        """
        name = os.fspath(path)
        identity, log, shared = (_identity(name + ending) for ending in ("", "-wal", "-shm"))
        ours = {found for found in (identity, log, shared) if found is not None}
        opened = open_descriptors() - before
        descriptors = tuple((number, found) for number in sorted(opened) if (found := _leads_to(number)) in ours)
        main = next((number for number, found in descriptors if found == identity), None)
        return cls(name, identity, log, descriptors, main)

    def trouble(self, *, names: bool = True) -> Trouble | None:
        """Say what has happened to the open file; None if nothing has.

        Args:
            names: whether to look where the names of the files lead, too.
        """
        inside = None if self._begin_as_before() else self._trouble_inside()
        if inside == "closed" or not names:
            return inside
        if _identity(self.name) != self.identity:
            return "removed"
        if inside is not None:
            return inside
        if self.log is not None and (log := _identity(self.name + "-wal")) != self.log:
            return "log removed" if log is None else "log replaced"
        return None

    def _begin_as_before(self) -> bool:
        """Whether every descriptor leads to a file that begins as ours did when it was last looked at in full."""
        try:
            for number, size, begins in self._beginnings:
                if os.pread(number, size, 0) != begins:
                    return False
        except OSError:
            return False
        return bool(self._beginnings)

    def _trouble_inside(self) -> Trouble | None:
        """What is wrong with the files that the descriptors lead to."""
        self._beginnings.clear()
        for number, identity in self.descriptors:
            if _leads_to(number) != identity:
                return "closed"
        if self.main is not None and not _is_database(self.main):
            return "overwritten"
        sizes = {self.identity: _STORE_BEGINS, self.log: _LOG_BEGINS}
        for number, identity in self.descriptors:
            size = sizes.get(identity, _INDEX_BEGINS)
            with suppress(OSError):
                self._beginnings.append((number, size, os.pread(number, size, 0)))
        if any(len(begins) < size for _, size, begins in self._beginnings):  # any new file begins so
            self._beginnings.clear()
        return None


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
