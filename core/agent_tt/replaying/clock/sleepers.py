"""Who waits in a replay, and how each is woken: threads that sleep, time out or want an answer, and resting loops."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["Gate", "Inside", "Joining", "RestingLoop", "Sleeper"]


class Inside(Protocol):
    """What an event loop is about to do, of asyncio (`loop_inside`) or trio (`trio_loop`)."""

    @property
    def has_work(self) -> bool:
        """Whether it goes on by itself now; asked by any thread."""

    def hears(self, seconds: float) -> bool:
        """Whether a file descriptor becomes ready within `seconds` of real time. The loop's own pass sees it again."""

    def next_timer(self) -> float | None:
        """Time of the next timer, in seconds of the replay's clock; None if there is no timer."""

    def wake(self) -> None:
        """Let it look again, from any thread."""


class Sleeper(Protocol):
    """Somebody who waits for something to happen, or for a moment to come.

    Attributes:
        when: the moment, on the clock of the replay; None where only something that happens ends the wait.
    """

    when: float | None

    @property
    def is_fired(self) -> bool:
        """Whether its moment has come before anything happened."""

    @property
    def has_happened(self) -> bool:
        """Whether it goes on by itself now; asked by any thread."""

    def poll(self, seconds: float) -> bool:
        """Wait for so many real seconds at most; whether it goes on. Only the one who waits asks this."""

    def fire(self) -> None:
        """Its moment has come; told by any thread."""


class Gate:
    """A thread that waits for a lock to be released: for its turn, for the end of its sleep, or to be notified.

    Args:
        when: see `Sleeper`.
        lock: the lock, held by nobody else than who waits; else one of its own.
    """

    __slots__ = ("_firing", "_is_fired", "_lock", "when")

    def __init__(self, when: float | None = None, lock: Any = None) -> None:
        self.when = when
        self._is_fired = False
        self._firing = threading.RLock()  # who is let go may ask before the thread that did it has said why
        if lock is None:
            lock = threading.Lock()
            lock.acquire()
        self._lock = lock

    @property
    def is_fired(self) -> bool:
        """See `Sleeper`."""
        with self._firing:
            return self._is_fired

    @property
    def has_happened(self) -> bool:
        """See `Sleeper`."""
        return not self._lock.locked()

    def poll(self, seconds: float) -> bool:
        """See `Sleeper`. True once, unless it is opened again."""
        return bool(self._lock.acquire(timeout=seconds) if seconds > 0 else self._lock.acquire(blocking=False))

    def open(self) -> None:
        """Let the thread go on. Nothing happens where it may already."""
        with contextlib.suppress(RuntimeError):
            self._lock.release()

    def fire(self) -> None:
        """See `Sleeper`. One that was notified just before is not late."""
        with self._firing, contextlib.suppress(RuntimeError):
            self._lock.release()
            self._is_fired = True


class Joining:
    """A thread that waits for another one to end.

    Args:
        thread: the other.
        join: what waits for it, for so many real seconds.
        when: see `Sleeper`.
    """

    __slots__ = ("_join", "_thread", "is_fired", "when")

    def __init__(self, thread: threading.Thread, join: Callable[[float], object], when: float) -> None:
        self.when: float | None = when
        self.is_fired = False
        self._thread = thread
        self._join = join

    @property
    def has_happened(self) -> bool:
        """See `Sleeper`. A thread that ends is no longer listed for a while before it is no longer alive."""
        return self._thread not in threading.enumerate()

    def poll(self, seconds: float) -> bool:
        """See `Sleeper`."""
        self._join(seconds)
        return not self._thread.is_alive()

    def fire(self) -> None:
        """See `Sleeper`."""
        self.is_fired = True


class RestingLoop:
    """An event loop that has nothing to do before its next timer."""

    __slots__ = ("_inside", "is_fired", "when")

    def __init__(self, inside: Inside) -> None:
        self.when = inside.next_timer()
        self.is_fired = False
        self._inside = inside

    @property
    def has_happened(self) -> bool:
        """See `Sleeper`."""
        return self._inside.has_work

    def poll(self, seconds: float) -> bool:
        """See `Sleeper`."""
        return self._inside.has_work or self._inside.hears(seconds)

    def fire(self) -> None:
        """See `Sleeper`."""
        self.is_fired = True
        self._inside.wake()
