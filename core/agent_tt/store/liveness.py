"""Whether the process that records a run is still there.

A run names its owner: host, boot, process id and the process's start time, because process ids are used again. On the
owner's own host the process itself is looked for; elsewhere its heartbeat must be younger than `STALE_US`.
"""

from __future__ import annotations

import os
import platform
import signal
import threading
import time
import weakref
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from agent_tt.errors import AgentTTError
from agent_tt.model import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BEAT_S", "STALE_US", "Clock", "Heart", "Owner", "as_if", "current_owner", "is_alive", "now_us", "start_in"]

BEAT_S: Final = 5.0
STALE_US: Final = 30_000_000

# Of `/proc/PID/stat`, counted from after the name: see proc_pid_stat(5).
_STATE_FIELD: Final = 0
_FLAGS_FIELD: Final = 6
_START_FIELD: Final = 19
_PENDING_FIELD: Final = 28
_DEAD_STATES: Final = frozenset("ZXx")
_EXITING: Final = 0x4
"""The flag `PF_EXITING` of Linux's `include/linux/sched.h`: the process runs no code of its own any more.

A killed process has it before its pipes are closed, and for as long as the kernel takes its memory apart.
"""
_KILLED: Final = 1 << (signal.SIGKILL - 1)
"""A SIGKILL that was sent and cannot be refused: the kernel ends the process as soon as it is its turn to run."""


class _Moment(threading.local):
    """What tells this thread the time, in microseconds since the epoch, and for whom it writes; None for what is so."""

    clock: Callable[[], int] | None = None
    owner: Owner | None = None


_MOMENT: Final = _Moment()


def now_us() -> int:
    """The wall clock in microseconds since the epoch, UTC; inside `as_if` the time that it was given."""
    return time.time_ns() // 1000 if _MOMENT.clock is None else _MOMENT.clock()


@contextmanager
def as_if(at_us: int | Callable[[], int], owner: Owner | None) -> Iterator[None]:
    """Let this thread write down that what it writes meanwhile was done then, and by that process.

    Args:
        at_us: when, in microseconds since the epoch, UTC; or what tells that each time anew.
        owner: who; None: this process.
    """
    before = _MOMENT.clock, _MOMENT.owner
    _MOMENT.clock, _MOMENT.owner = at_us if callable(at_us) else lambda: at_us, owner
    try:
        yield
    finally:
        _MOMENT.clock, _MOMENT.owner = before


_monotonic_ns: Final = time.monotonic_ns
"""As it was before an agent's clock is replaced."""


class Clock:
    """The time of one run: it begins with the wall clock and goes on steadily, however that is set meanwhile."""

    def __init__(self) -> None:
        self._ahead_us = now_us() - _monotonic_ns() // 1000

    def now_us(self) -> int:
        """Microseconds since the epoch, UTC, had nobody set the wall clock since; inside `as_if` as `now_us`."""
        return self._ahead_us + _monotonic_ns() // 1000 if _MOMENT.clock is None else _MOMENT.clock()


def current_owner() -> Owner:
    """This process; inside `as_if` the one that it was given."""
    if _MOMENT.owner is not None:
        return _MOMENT.owner
    pid = os.getpid()
    return Owner(_host(), _boot(), pid, _own_start(pid) or 0)


def is_alive(owner: Owner | None, beat_us: int | None) -> bool:
    """Whether a process that says it records is still there.

    Args:
        owner: who it said it is.
        beat_us: its last heartbeat.
    """
    fresh = beat_us is not None and now_us() - beat_us < STALE_US
    if owner is None or owner.host != _host():
        return fresh
    if owner.boot != _boot():
        return False
    if owner.start:
        return _start_of(owner.pid) == owner.start
    return _exists(owner.pid) and fresh


def _host() -> str:
    try:
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return platform.node()
    return f"{platform.node()}/{namespace}"


@lru_cache(maxsize=1)
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


@lru_cache(maxsize=1)
def _own_start(pid: int) -> int | None:
    """What `_start_of` says of this process itself, which is the same for as long as it runs."""
    return _start_of(pid)


def _start_of(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it is gone or not for us to see."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return start_in(text)


def start_in(stat: str) -> int | None:
    """When the process of a `/proc/PID/stat` started, in clock ticks since boot; None if it is dead or being killed."""
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything, spaces and brackets too
    if fields[_STATE_FIELD] in _DEAD_STATES or int(fields[_FLAGS_FIELD]) & _EXITING:
        return None
    if int(fields[_PENDING_FIELD]) & _KILLED:
        return None
    return int(fields[_START_FIELD])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


H = TypeVar("H")
K = TypeVar("K", int, str)


class Heart(Generic[H, K]):
    """Beats for all runs that this process records into one store, from a daemon thread that never delays its exit.

    Args:
        holder: what is written into. Once nobody else holds it, nothing beats any more.
        beat: writes into the holder that the process of these runs is still there.
        interval_s: seconds from one beat to the next.
    """

    def __init__(self, holder: H, beat: Callable[[H, Sequence[K]], None], interval_s: float = BEAT_S) -> None:
        self._holder = weakref.ref(holder)
        self._beat: Callable[[H, Sequence[K]], None] = beat
        self._interval_s = interval_s
        self._runs: set[K] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, run: K) -> None:
        """Begin to beat for a run."""
        self._runs.add(run)
        if self._thread is None or not self._thread.is_alive():
            self._stop = threading.Event()  # an earlier thread may still be on its way out with the old one
            self._thread = threading.Thread(
                target=self._beat_on, args=(self._stop,), name="agent-tt heartbeat", daemon=True
            )
            self._thread.start()

    def remove(self, run: K) -> None:
        """A run is over; the thread ends with the last one."""
        self._runs.discard(run)
        if not self._runs:
            self._stop.set()
            self._thread = None

    def _beat_on(self, stop: threading.Event) -> None:
        while not stop.wait(self._interval_s):
            holder = self._holder()
            if holder is None:
                return
            try:
                self._beat(holder, sorted(self._runs))
            except AgentTTError:  # busy, closed, removed, read-only: whoever records will be told
                continue
            finally:
                del holder
