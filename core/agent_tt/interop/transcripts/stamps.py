"""What files look like from outside, by which it is seen that they changed."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.errors import StoreNotFound

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TICK_NS", "UNKNOWN", "Stamp", "stamp_beside", "stamp_of"]

Stamp: TypeAlias = "tuple[tuple[int, int, int], ...]"
UNKNOWN: Final = -1, -1, -1
TICK_NS: Final = 20_000_000
"""So coarse times of files are at most."""

_MOST_WATCHED: Final = 5_000
"""So many files of a folder are looked at to see whether it changed."""


def stamp_beside(path: Path) -> tuple[int, int, int]:
    """What a file, or all files of a folder, look like from outside; zeros where there are none."""
    try:
        with os.scandir(path) as entries:
            found = [each.stat(follow_symlinks=False) for each in islice(entries, _MOST_WATCHED)]
        times = [path.stat().st_mtime_ns, *(each.st_mtime_ns for each in found)]
        return max(times), sum(each.st_size for each in found), len(found)
    except NotADirectoryError:
        try:
            return stamp_of(path)
        except StoreNotFound:
            return 0, 0, 0
    except OSError:
        return 0, 0, 0


def stamp_of(path: Path) -> tuple[int, int, int]:
    """What a file looks like from outside; zeros where there is none.

    Raises:
        StoreNotFound: it cannot be looked at.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    except OSError as error:
        raise StoreNotFound(f"{path} cannot be read: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino
