"""Whether any other thread works on something, so that an event loop has to wait for it before its clock jumps.

Threads are looked at from outside. One that waits for a lock, an event, a queue or another thread does nothing by
itself; one that was just notified is about to. Jobs of executors are counted, since a job may be queued before a
worker has woken. What any other thread does is not known: it is waited for as long as the system sees it run.
"""

from __future__ import annotations

import gc
import os
import platform
import select
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agent_tt.recording.concurrency.worker_threads import (
    EXECUTOR_WORKER,
    GIVES_ANSWERS,
    THREAD_POOLS,
    TRIO_THREADS,
    serves_jobs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future, ThreadPoolExecutor
    from types import CodeType, FrameType

    from agent_tt.replaying.clock.sleepers import Sleeper

__all__ = ["BusyThreads"]

_MOMENT, _LOCKED, _GRACE = 0.001, 0.1, 0.02
"""Real seconds for which a thread has to be seen at rest of which nothing is known: any other one; one of a pool,
or the first, that waits for another thread; and any other one where the system does not tell what it does."""

_RESTS: Final = 20_000
"""Processor time, in nanoseconds, that a thread uses to see that it has to wait on."""

_OWN: Final = "agent-tt "
"""How the names of this package's own threads begin."""

_sleep: Final = time.sleep
_monotonic: Final = time.monotonic
_CONDITION_WAIT: Final = threading.Condition.wait.__code__


def _codes(*functions: object) -> frozenset[CodeType]:
    return frozenset(code for function in functions if (code := getattr(function, "__code__", None)) is not None)


_JOINS: Final = _codes(threading.Thread.join, getattr(threading.Thread, "_wait_for_tstate_lock", None))
_TRIO_CALLS: Final = "trio._threads"
"""The module in which a thread waits for what it has trio do."""

_TRIO_WAITS: Final = "trio._core._io_"
"""How the names of the modules begin in which trio waits for sockets."""

_CONNECTIONS: Final = "multiprocessing.connection"
_OF_PROCESSES: Final = frozenset({_CONNECTIONS, "multiprocessing.popen_fork"})
"""The modules in which a thread waits for what another process writes, or for its end."""

_IDLE_WORKER: Final = _codes(EXECUTOR_WORKER)


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
    if frame.f_globals.get("__name__") == TRIO_THREADS and frame.f_code.co_name == "_work":
        lock: Any = getattr(names.get("self"), "_worker_lock", None)
        return lock is None or not lock.locked()  # who is given a job has its lock released
    if frame.f_globals.get("__name__") == THREAD_POOLS and frame.f_code.co_name == "worker":
        given: Any = names.get("inqueue")
        return names.get("task") is not None or given is None or not given.empty()
    if frame.f_globals.get("__name__") in _OF_PROCESSES:
        return _is_told(frame)
    around = frame.f_back if frame.f_globals.get("__name__") == "selectors" else None
    if around is not None and around.f_globals.get("__name__") == _CONNECTIONS:
        return _is_told(around)
    if frame.f_code.co_name == "get_events" and str(frame.f_globals.get("__name__")).startswith(_TRIO_WAITS):
        return False  # a run that is a guest in another loop waits in a thread, for what comes from outside
    if frame.f_globals.get("__name__") == _TRIO_CALLS and "message_to_trio" in names:
        replies: Any = getattr(names["message_to_trio"], "queue", None)
        return replies is None or not replies.empty()
    return None


def _is_told(frame: FrameType) -> bool | None:
    """Whether a thread goes on that waits for another process: it has written, or has ended. None: it does not wait."""
    names, waits = frame.f_locals, frame.f_code.co_name
    try:
        if waits == "_recv":
            return bool(select.select([names["handle"]], [], [], 0)[0]) if "handle" in names else None
        if waits == "wait" and "object_list" in names:
            return bool(select.select(names["object_list"], [], [], 0)[0])
        if waits == "poll" and not names.get("flag", os.WNOHANG):
            return os.waitid(os.P_PID, names["self"].pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except OSError:  # it was closed, or has ended, just now
        return True
    except (ValueError, TypeError, AttributeError):
        return None
    return None


def _frames() -> dict[int, FrameType]:
    """What each thread is doing.

    CPython 3.11 holds the list of its threads locked meanwhile, and may collect garbage in the midst of it, which waits
    for that lock while a thread starts: for ever (gh-106883). So there is no collection meanwhile.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()  # noqa: SLF001  documented, for debuggers
    finally:
        if was_on:
            gc.enable()


class _Activity(NamedTuple):
    """What the system says of a thread.

    Attributes:
        runs: it is on a processor, could be, or waits for a disk.
        nanoseconds: how long it has used a processor.
        is_locked: it waits for another thread, and not for anything outside.
    """

    runs: bool
    nanoseconds: int
    is_locked: bool


_FUTEX: Final = {"x86_64": b"202", "aarch64": b"98"}.get(platform.machine())
"""Number of the system call in which threads wait for each other, on Linux."""


def _activity(thread: threading.Thread) -> _Activity | None:
    """What Linux says of a thread; None elsewhere, and where it has ended."""
    folder = Path(f"/proc/self/task/{thread.native_id}")
    try:
        used = int((folder / "schedstat").read_bytes().split()[0])
        state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
        call = (folder / "syscall").read_bytes().split()[0] if _FUTEX else b""
    except (OSError, ValueError, IndexError):
        return None
    return _Activity(state in (b"R", b"D"), used, _FUTEX is not None and call == _FUTEX)


class _Seen(NamedTuple):
    """What was seen of a thread.

    Attributes:
        activity: the last time.
        since: when it was first seen at rest, of the times since it was last seen running.
    """

    activity: _Activity | None
    since: float

    @classmethod
    def after(cls, before: _Seen | None, activity: _Activity | None, now: float) -> _Seen:
        """What is seen of it now."""
        known = None if before is None else before.activity
        if before is None or (activity is None) != (known is None):
            return cls(activity, now)
        ran = activity is not None and known is not None and activity.nanoseconds > known.nanoseconds + _RESTS
        return cls(activity, now if ran or (activity is not None and activity.runs) else before.since)


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
        self._seen: dict[threading.Thread, _Seen] = {}

    def queued(self, executor: ThreadPoolExecutor) -> Job:
        """A job that is about to be given to `executor`."""
        with self._lock:
            pool = self._pools.get(executor)
            if pool is None:
                pool = self._pools[executor] = _Pool()
        with pool.lock:
            return Job(pool)

    def works(self, sleepers: Mapping[int, Sleeper], *, is_first: bool) -> bool:
        """Whether any other thread works, so that something may still happen by itself.

        What an executor's thread or the agent's first thread does is waited for as long as it takes, unless it waits
        for another thread. Any other thread is waited for as long as it runs, as the system sees it.

        Args:
            sleepers: those who wait on the replay's clock, by the ids of their threads.
            is_first: nobody has looked since the one who asks came to rest.
        """
        if self._is_any_queued():
            return True
        others = self._others(with_servers=True)
        if not others:
            return False
        if any(thread.ident not in sleepers for thread in others):
            _sleep(0)  # whoever was notified just now goes on
        frames = _frames()
        if self._others(with_servers=True) != others:  # who starts a thread waits for it, and it was not looked at
            return True
        unknown = []
        for thread in others:
            sleeper = sleepers.get(thread.ident or 0)
            if sleeper is not None:
                if sleeper.is_fired or sleeper.has_happened:
                    return True
                continue
            frame = None if thread.ident is None else frames.get(thread.ident)
            if frame is None:
                if not isinstance(thread, threading._DummyThread):  # noqa: SLF001  those of other languages
                    return True  # it is about to begin, or to end
                continue
            goes_on = _goes_on(frame)
            if goes_on:
                return True
            if goes_on is None:
                unknown.append(thread)
        return self._is_any_queued() or self._is_any_active(unknown, is_first=is_first)

    def has_others(self) -> bool:
        """Whether the agent has any other thread."""
        return bool(self._others())

    def is_foreign(self, thread: threading.Thread) -> bool:
        """Whether a thread was there before the agent, or is one of our own: what it does is none of the replay's."""
        return (thread in self._before and not serves_jobs(thread)) or thread.name.startswith(_OWN)

    def _others(self, *, with_servers: bool = False) -> list[threading.Thread]:
        """The agent's other threads; where that is wanted also ours that give it what was recorded."""
        me = threading.current_thread()
        return [
            thread
            for thread in threading.enumerate()
            if thread is not me and (not self.is_foreign(thread) or (with_servers and thread.name == GIVES_ANSWERS))
        ]

    def _is_any_active(self, threads: list[threading.Thread], *, is_first: bool) -> bool:
        """Whether any runs of those of which is not known what they do. It takes several looks to say that none does.

        A thread that only waits for the interpreter seems to rest; but then it has used the processor meanwhile.
        """
        before, now = {} if is_first else self._seen, _monotonic()
        self._seen = {thread: _Seen.after(before.get(thread), _activity(thread), now) for thread in threads}
        return any(now - seen.since < self._patience(thread, seen.activity) for thread, seen in self._seen.items())

    def _patience(self, thread: threading.Thread, activity: _Activity | None) -> float:
        """For how many real seconds a thread has to be seen at rest."""
        if thread is not self._first and not serves_jobs(thread):
            return _GRACE if activity is None else _MOMENT
        return _LOCKED if activity is not None and activity.is_locked else float("inf")

    def _is_any_queued(self) -> bool:
        """Whether a job waits for a worker that is free, or about to be made."""
        if not len(self._pools):
            return False
        with self._lock:
            pools = list(self._pools.items())
        return any(pool.queued and pool.running < executor._max_workers for executor, pool in pools)  # noqa: SLF001
