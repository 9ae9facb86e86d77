"""Clocks that can be moved on, and naps of threads on the clock of an event loop beside them."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Final

from agent_tt.replaying.busy_threads import is_waiting
from agent_tt.replaying.loop_inside import LoopInside

if TYPE_CHECKING:
    import asyncio

__all__ = ["Clock", "Nap"]

_DEAF_SECONDS: Final = 0.1
"""Real time after which a loop that does not answer a thread is taken to be blocked, perhaps by that very thread."""


class Clock:
    """How far one thread of control has moved on; shared by an event loop and the jobs that it gave away.

    Attributes:
        offset: seconds that were jumped over so far. Clocks show the real time and this.
    """

    __slots__ = ("__weakref__", "_loop", "offset")

    def __init__(self, offset: float = 0.0) -> None:
        self.offset = offset
        self._loop: weakref.ref[asyncio.BaseEventLoop] | None = None

    @property
    def loop(self) -> asyncio.BaseEventLoop | None:
        """The event loop that runs on this clock."""
        loop = None if self._loop is None else self._loop()
        return loop if loop is not None and loop.is_running() else None

    def drives(self, loop: asyncio.BaseEventLoop) -> None:
        """Say that `loop` goes by this clock."""
        if self._loop is None or self._loop() is not loop:
            self._loop = weakref.ref(loop)

    def reach(self, offset: float) -> None:
        """Move on to `offset`; never back."""
        self.offset = max(self.offset, offset)


class Nap:
    """A sleep of a thread that is a timer of the loop beside it."""

    def __init__(self, loop: asyncio.BaseEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._woken = threading.Event()
        self._is_set = threading.Event()
        self._given_up = False

    def take(self) -> bool:
        """Sleep; False if the loop does not run its timers, so that the thread has to go on by itself."""
        try:
            self._loop.call_soon_threadsafe(self._arrange)
        except RuntimeError:  # it is closed
            return False
        while not self._woken.wait(_DEAF_SECONDS):
            if not self._is_set.is_set() or not self._loop.is_running() or self._loop_waits():
                self._given_up = True
                return False
        return True

    def _arrange(self) -> None:
        if not self._given_up:
            self._loop.call_later(self._seconds, self._woken.set)
            self._is_set.set()

    def _loop_waits(self) -> bool:
        """Whether the loop's thread waits for another thread in the midst of a callback."""
        thread = LoopInside(self._loop).thread
        frame = None if thread is None else sys._current_frames().get(thread)  # noqa: SLF001  documented, for debuggers
        return frame is not None and is_waiting(frame)
