"""What trio's run loop did: its passes, whether it came to rest, and which of its deadlines have expired.

As `pace` and `timers` count for asyncio. A pass takes what has come from outside, then lets deadlines expire, then
runs every task that is ready; trio asks for its next deadline only where none is.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.timers import count_fired

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TrioStretch", "count_expired", "count_rests"]


class _Counts(threading.local):
    """Of the loop that runs in this thread.

    Attributes:
        passes: how many it has made.
        rests: how often nothing was ready in it.
        expired: how many deadlines expired in the pass that it is in.
    """

    passes = 0
    rests = 0
    expired = 0


_COUNTS: Final = _Counts()


class TrioStretch:
    """What a run of trio does from one moment on, until it comes to rest; asked in its thread.

    Attributes:
        loop: the run.
    """

    __slots__ = ("_is_over", "_most", "_passes", "_rests", "loop")

    def __init__(self, runner: object, most: int) -> None:
        self.loop = runner
        self._most = most
        self._passes, self._rests = _COUNTS.passes, _COUNTS.rests
        self._is_over = False

    @property
    def passes(self) -> int:
        """How many passes it has made since."""
        return min(_COUNTS.passes - self._passes, self._most)

    @property
    def is_over(self) -> bool:
        """Whether it has come to rest, or is not looked at any more."""
        return self._is_over or self._rests != _COUNTS.rests or self.passes >= self._most

    @is_over.setter
    def is_over(self, is_over: bool) -> None:
        self._is_over = is_over


def count_expired(original: Callable[..., bool]) -> Callable[..., bool]:
    """In place of `expire` of trio's deadlines, which each pass calls."""

    def expire(deadlines: Any, now: float) -> bool:
        _end_pass()
        _COUNTS.passes += 1
        before = deadlines._active  # noqa: SLF001  looked for when trio is patched
        try:
            return original(deadlines, now)
        finally:
            _COUNTS.expired = max(before - deadlines._active, 0)  # noqa: SLF001

    return expire


def count_rests(original: Callable[..., float]) -> Callable[..., float]:
    """In place of `next_deadline`, which a pass calls before it waits because nothing is ready."""

    def next_deadline(deadlines: object) -> float:
        _end_pass()
        _COUNTS.rests += 1
        return original(deadlines)

    return next_deadline


def _end_pass() -> None:
    """Count what expired in the pass before: its tasks have run only now, behind those that got an answer in it."""
    count_fired(_COUNTS.expired)
    _COUNTS.expired = 0
