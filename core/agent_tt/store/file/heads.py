"""Looking at the first bytes of a file that SQLite may have open in this very process.

On POSIX systems closing any descriptor of a file gives up every lock that the process holds on it, those of SQLite too
(<https://www.sqlite.org/howtocorrupt.html>, 2.2). Another process then takes itself for the last one, moves the log
into the file and removes it under our connections: what they read next is "malformed". So what was opened to look at a
database is never closed again; it is kept, one descriptor a file, and used the next time.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MAGIC", "read_head"]

MAGIC: Final = b"SQLite format 3\0"

_LOCK: Final = threading.Lock()
_KEPT: Final[dict[tuple[int, int], int]] = {}
"""Descriptors by device and inode; neither is used again for another file while one is open."""


def read_head(path: Path, size: int) -> bytes:
    """The first `size` bytes of a file.

    Raises:
        OSError: it cannot be read.
    """
    with _LOCK:
        known = os.stat(path)  # noqa: PTH116  beside its likes
        descriptor = _KEPT.get((known.st_dev, known.st_ino))
        if descriptor is not None and _leads_to(descriptor, known):
            return os.pread(descriptor, size, 0)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            head = os.pread(descriptor, size, 0)
        except OSError:
            os.close(descriptor)
            raise
        if head.startswith(MAGIC) or not head:
            opened = os.fstat(descriptor)
            _KEPT[opened.st_dev, opened.st_ino] = descriptor
        else:
            os.close(descriptor)
        return head


def _leads_to(descriptor: int, known: os.stat_result) -> bool:
    """Whether a descriptor that was kept is still that of the file: a program may have closed all that it has."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (known.st_dev, known.st_ino)
