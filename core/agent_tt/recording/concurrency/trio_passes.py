"""What trio's run loop did: its passes, whether it came to rest, and which of its deadlines have expired.

As `pace` and `timers` count for asyncio. A pass takes what has come from outside, then lets deadlines expire, then
runs every task that is ready; trio asks for its next deadline only where none is.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Final

from agent_tt.recording.lanes.timers import count_fired

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OWN", "TrioStretch", "count_expired", "count_removed", "count_rests"]


class _Counts(threading.local):
    """Of the loop that runs in this thread.

    Attributes:
        passes: how many it has made.
        rests: how often nothing was ready in it.
        expired: how many of the agent's own deadlines expired in the pass that it is in.
        is_expiring: whether some are just now.
    """

    passes = 0
    rests = 0
    expired = 0
    is_expiring = False


_COUNTS: Final = _Counts()
OWN: Final[weakref.WeakSet[object]] = weakref.WeakSet()
"""Cancel scopes whose deadlines the agent set itself, and not a call that it makes."""


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
    """Wrap the method `expire` of trio's deadlines, which trio calls once in each pass of its loop, to count passes.

    Args:
        original: the method.
    """

    def expire(deadlines: object, now: float) -> bool:
        _end_pass()
        _COUNTS.passes += 1
        _COUNTS.is_expiring = True
        try:
            return original(deadlines, now)
        finally:
            _COUNTS.is_expiring = False

    return expire


def count_removed(original: Callable[..., None]) -> Callable[..., None]:
    """In place of `remove`: where deadlines are expiring, this one has."""

    def remove(deadlines: object, deadline: float, cancel_scope: object) -> None:
        if _COUNTS.is_expiring and cancel_scope in OWN:
            _COUNTS.expired += 1
        original(deadlines, deadline, cancel_scope)

    return remove


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
