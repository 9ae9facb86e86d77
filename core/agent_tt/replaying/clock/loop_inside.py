"""The inside of asyncio's event loop: the private names that moving its clock takes, all in one place.

They have been the same from CPython 3.10 to 3.13. `virtual_time` tries them before it relies on them.
"""

# ruff: noqa: SLF001  that is what this module is for

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

__all__ = ["LoopInside"]


class LoopInside:
    """What a loop is about to do; asked in its own thread, between two passes."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.BaseEventLoop) -> None:
        self._loop: Any = loop

    @property
    def has_work(self) -> bool:
        """Whether callbacks are ready, or the loop is about to stop."""
        return bool(self._loop._ready or self._loop._stopping)

    def hears(self, seconds: float) -> bool:
        """Whether a file descriptor becomes ready within `seconds` of real time. The loop's own pass sees it again."""
        return bool(self._loop._selector.select(seconds))

    def next_timer(self) -> float | None:
        """Time on the loop's clock of its first timer, None without any."""
        loop = self._loop
        while loop._scheduled and loop._scheduled[0]._cancelled:  # as the loop's own pass does
            loop._timer_cancelled_count -= 1
            heapq.heappop(loop._scheduled)._scheduled = False
        return float(loop._scheduled[0]._when) if loop._scheduled else None

    def wake(self) -> None:
        """Let it look again, from any thread; as the loop does where callbacks come from other threads."""
        self._loop._write_to_self()
