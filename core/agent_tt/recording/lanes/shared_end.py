"""The end of something, seen by the processes that were forked while it lasted.

A worker that a tool has forked, and left, goes on with the memory of that moment, in which the tool runs for ever. One
byte of memory is shared with it, so that it is known there, too, when the tool has returned.
"""

from __future__ import annotations

import mmap

__all__ = ["SharedEnd"]


class SharedEnd:
    """Whether something has ended; costs nothing until a process is forked inside it."""

    __slots__ = ("_byte",)

    def __init__(self) -> None:
        self._byte: mmap.mmap | None = None

    def share(self) -> None:
        """A process is about to be forked: let it see the end."""
        if self._byte is None:
            self._byte = mmap.mmap(-1, 1)

    def come(self) -> None:
        """It has ended."""
        if self._byte is not None:
            self._byte[0] = 1

    @property
    def has_come(self) -> bool:
        """Whether it has ended, as far as a forked process is concerned; in its own process others know."""
        return self._byte is not None and self._byte[0] == 1
