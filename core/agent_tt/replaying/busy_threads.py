"""Whether any other thread works on something, so that an event loop has to wait for it before its clock jumps.

Threads are looked at from outside. One that waits for a lock, an event, a queue or another thread does nothing by
itself; one that was just notified is about to. Jobs of executors are counted, since a job may be queued before a
worker has woken. What any other thread does is not known: it is waited for as long as the system sees it run.
"""

from __future__ import annotations

import concurrent.futures.thread
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from types import CodeType, FrameType

__all__ = ["BusyThreads", "is_waiting"]

_MOMENT: Final = 0.001
_GRACE: Final = 0.02
"""Real seconds that a thread gets of which nothing is known, where the system does not tell either."""

_RESTS: Final = 20_000
"""Processor time, in nanoseconds, that a thread uses to see that it has to wait on."""

_WORKER: Final = getattr(concurrent.futures.thread, "_worker", None)
_CONDITION_WAIT: Final = threading.Condition.wait.__code__


def _codes(*functions: object) -> frozenset[CodeType]:
    return frozenset(code for function in functions if (code := getattr(function, "__code__", None)) is not None)


_JOINS: Final = _codes(threading.Thread.join, getattr(threading.Thread, "_wait_for_tstate_lock", None))
_IDLE_WORKER: Final = _codes(_WORKER)


def is_waiting(frame: FrameType) -> bool:
    """Whether the thread that is in `frame` waits for another thread, and was not notified yet."""
    return _goes_on(frame) is False


def _goes_on(frame: FrameType) -> bool | None:
    """Whether a thread goes on by itself: False where it waits for others, True where its wait is over.

    None where the frame does not tell.
    """
    names = frame.f_locals
    if frame.f_code is _CONDITION_WAIT:
        waiter: Any = names.get("waiter")
        return waiter is None or not waiter.locked()
    if frame.f_code in _JOINS:
        joined = names.get("self")
        # A thread that ends is no longer listed for a while before it is no longer alive.
        return not isinstance(joined, threading.Thread) or joined not in threading.enumerate()
    if frame.f_code in _IDLE_WORKER:
        reference, jobs = names.get("executor_reference"), names.get("work_queue")
        executor = None if reference is None else reference()
        is_idle = executor is not None and not executor._shutdown and jobs is not None and not jobs.qsize()  # noqa: SLF001
        return not is_idle  # one that is told to end is about to
    return None


class _Activity(NamedTuple):
    """What the system says of a thread.

    Attributes:
        runs: it is on a processor, could be, or waits for a disk.
        nanoseconds: how long it has used a processor.
    """

    runs: bool
    nanoseconds: int


def _activity(thread: threading.Thread) -> _Activity | None:
    """What Linux says of a thread; None elsewhere, and where it has ended."""
    folder = Path(f"/proc/self/task/{thread.native_id}")
    try:
        used = int((folder / "schedstat").read_bytes().split()[0])
        state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, ValueError, IndexError):
        return None
    return _Activity(state in (b"R", b"D"), used)


class Job:
    """One job of an executor."""

    __slots__ = ("_pool", "_state")

    def __init__(self, pool: _Pool) -> None:
        self._pool = pool
        self._state = "queued"
        pool.queued += 1

    def begin(self) -> None:
        """A worker has taken it."""
        with self._pool.lock:
            if self._state == "queued":
                self._state = "running"
                self._pool.queued -= 1
                self._pool.running += 1

    def end(self) -> None:
        """It is done, or will never begin."""
        with self._pool.lock:
            if self._state == "queued":
                self._pool.queued -= 1
            elif self._state == "running":
                self._pool.running -= 1
            self._state = "done"

    def settle(self, _: Future[object]) -> None:
        """Its future is done: cancelled before it began, perhaps."""
        self.end()


class _Pool:
    """What one executor has to do."""

    __slots__ = ("lock", "queued", "running")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.queued = 0
        self.running = 0


class BusyThreads:
    """The other threads of this process, from now on: those that live already are not the agent's."""

    def __init__(self) -> None:
        self._pools: weakref.WeakKeyDictionary[ThreadPoolExecutor, _Pool] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._first = threading.current_thread()
        self._before = weakref.WeakSet(thread for thread in threading.enumerate() if thread is not self._first)
        self._used: dict[threading.Thread, _Activity | None] = {}

    @staticmethod
    def serves_jobs(thread: threading.Thread) -> bool:
        """Whether a thread is an executor's own."""
        return _WORKER is not None and getattr(thread, "_target", None) is _WORKER

    def queued(self, executor: ThreadPoolExecutor) -> Job:
        """A job that is about to be given to `executor`."""
        with self._lock:
            pool = self._pools.get(executor)
            if pool is None:
                pool = self._pools[executor] = _Pool()
        with pool.lock:
            return Job(pool)

    def pause(self, *, is_first: bool) -> float:
        """Real seconds to wait before asking again, because a thread works; 0 when none does.

        What an executor's thread or the agent's first thread does is waited for as long as it takes. Any other thread
        is waited for as long as it runs, as the system sees it.

        Args:
            is_first: nobody has waited yet since the loop came to rest.
        """
        if self._is_any_queued():
            return _MOMENT
        others = self._others()
        if not others:
            return 0.0
        time.sleep(0)  # whoever was notified just now goes on
        frames = sys._current_frames()  # noqa: SLF001  documented, for debuggers
        unknown = []
        for thread in others:
            frame = None if thread.ident is None else frames.get(thread.ident)
            goes_on = False if frame is None else _goes_on(frame)
            if goes_on or (goes_on is None and (thread is self._first or self.serves_jobs(thread))):
                return _MOMENT
            if goes_on is None:
                unknown.append(thread)
        return _MOMENT if self._is_any_queued() else self._watch(unknown, is_first=is_first)

    def _others(self) -> list[threading.Thread]:
        me = threading.current_thread()
        return [
            thread
            for thread in threading.enumerate()
            if thread is not me and (thread not in self._before or self.serves_jobs(thread))
        ]

    def _watch(self, threads: list[threading.Thread], *, is_first: bool) -> float:
        """How long to wait for threads of which is not known what they do: a moment, and as long as one of them runs.

        A thread that only waits for the interpreter seems to rest; but then it has used the processor meanwhile.
        """
        before, self._used = self._used, {thread: _activity(thread) for thread in threads}
        if not self._used:
            return 0.0
        if is_first:
            return _GRACE if None in self._used.values() else _MOMENT
        for thread, activity in self._used.items():
            earlier = before.get(thread)
            if activity is not None and (
                activity.runs or earlier is None or activity.nanoseconds > earlier.nanoseconds + _RESTS
            ):
                return _MOMENT
        return 0.0

    def _is_any_queued(self) -> bool:
        """Whether a job waits for a worker that is free, or about to be made."""
        with self._lock:
            pools = list(self._pools.items())
        return any(pool.queued and pool.running < executor._max_workers for executor, pool in pools)  # noqa: SLF001
