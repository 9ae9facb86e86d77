"""How far a replay is: a number in a file that the replay's process writes and whoever waits for it reads.

A counter of eight bytes that the writer maps into its memory: a replay may answer thousands of calls in a second, and
the agent's process is not to notice that it is watched.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Counter", "calls_answered"]

_COUNT: Final = struct.Struct("=Q")


class Counter:
    """The writer's side."""

    def __init__(self, path: Path) -> None:
        """Make the file, and begin at 0.

        Raises:
            OSError: it cannot be written.
        """
        path.write_bytes(_COUNT.pack(0))
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), _COUNT.size)

    def __call__(self, count: int) -> None:
        """Say how many calls were answered so far."""
        _COUNT.pack_into(self._bytes, 0, count)


def calls_answered(path: Path) -> int:
    """How many calls the replay that writes to `path` has answered; 0 while it has not begun."""
    try:
        return int(_COUNT.unpack(path.read_bytes())[0])
    except (OSError, struct.error):
        return 0
