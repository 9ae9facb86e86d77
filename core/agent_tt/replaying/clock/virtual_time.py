"""While a recording is replayed, nobody waits: the clock jumps to the next moment at which something happens.

Put in place here, for all of the process, is what makes the agent's threads and event loops wait on the clock of
`agent_tt.replaying.clock.timeline`: `time.sleep` under all its names, `time.monotonic`, `threading.Condition.wait` with
a timeout (on which events, queues, semaphores and futures are built), `Thread.join` with a timeout, and the moment at
which asyncio's or trio's event loop looks for what to do next. (A sleep that simply returned would not keep the order.)

Threads that were there before are none of the agent's and keep the real time. A lock or a `SimpleQueue` that is waited
for with a timeout waits for real. uvloop's clock cannot be moved, so its loops are made asyncio's own.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import AgentTTError
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.links import Link, Place
from agent_tt.recording.modules.import_watch import ImportWatch
from agent_tt.recording.modules.rebinding import Rebinding
from agent_tt.recording.session import SESSION
from agent_tt.replaying.clock.loop_inside import LoopInside
from agent_tt.replaying.clock.sleepers import Gate, Joining, RestingLoop
from agent_tt.replaying.clock.standard_loops import StandardLoops
from agent_tt.replaying.clock.timeline import Timeline
from agent_tt.replaying.clock.trio_time import TrioTime

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from agent_tt.replaying.clock.sleepers import Inside
    from agent_tt.replaying.clock.timeline import Waiting

__all__ = ["VirtualTime", "check_event_loop", "virtual_time"]

_BUSY_PASSES: Final = 50
"""Passes of an event loop that never comes to rest (somebody polls in it) before an answer comes all the same."""

_CONDITION_INSIDE: Final = ("_waiters", "_is_owned", "_release_save", "_acquire_restore")

_MONOTONIC: Final = ((time, "monotonic"), (threading, "_time"), (queue, "time"))

_real_sleep: Final = time.sleep
_real_monotonic: Final = time.monotonic
_ASYNCIO: Final = "asyncio"


class VirtualTime:
    """The clock of this process while a replay runs; made by `virtual_time`.

    Attributes:
        line: on what everybody waits.
        loops: in place of uvloop's.
        trio: what lets trio wait on it.
    """

    def __init__(self, waiting: Waiting | None) -> None:
        self.line = Timeline(waiting)
        self._waiting = waiting
        self._passes: weakref.WeakKeyDictionary[object, int] = weakref.WeakKeyDictionary()
        self.loops = StandardLoops()
        self.trio = TrioTime(self)

    @property
    def offset(self) -> float:
        """Seconds that the clock of this code has moved on beyond the real time."""
        return 0.0 if self._is_foreign() else self.line.offset

    @property
    def limits(self) -> tuple[str, ...]:
        """What of this program is otherwise than it was, as sentences."""
        standard = ("uvloop's loops ran as asyncio's own: its clock cannot be moved",) if self.loops.made else ()
        return (*standard, *self.trio.limits)

    def stop(self) -> None:
        """From now on everybody waits for real; who sleeps has slept.

        Clocks keep what they are ahead, for the sake of timers.
        """
        self.line.stop()
        if self._waiting is not None:
            self._waiting.follow(None)

    def go_on_forked(self, line: Timeline, waiting: Waiting) -> None:
        """In a process that was forked: whoever waits there waits on `line`, which shows what this one shows now."""
        line.offset = self.line.offset
        self.line, self._waiting = line, waiting
        self._passes.clear()

    # ------------------------------------------------------------ what stands for Python's own

    def monotonic(self) -> float:
        """In place of `time.monotonic`; and itself for who still holds it when virtual time is over."""
        return _real_monotonic() + self.offset if _PROCESS.virtual is self else _real_monotonic()

    def sleep(self, seconds: float, /) -> None:
        """In place of `time.sleep`; and itself for who still holds it when virtual time is over."""
        if not self.keeps_time():
            _real_sleep(seconds)
            return
        _real_sleep(min(seconds, 0))  # refuses what is not a number, and lets other threads run
        if seconds > 0:
            self.line.block(Gate(self.line.now() + seconds))

    def wait(self, condition: Any, seconds: float) -> bool:
        """In place of `threading.Condition.wait` with a timeout: the same, but for the waiting itself."""
        if not condition._is_owned():  # noqa: SLF001  as the original asks
            raise RuntimeError("cannot wait on un-acquired lock")
        lock = threading.Lock()
        lock.acquire()
        condition._waiters.append(lock)  # noqa: SLF001  where `notify` finds it
        saved = condition._release_save()  # noqa: SLF001
        is_notified, until = False, self.line.now() + seconds
        gate = Gate(until, lock)
        try:
            is_notified = self.line.block(gate) or (not gate.is_fired and gate.poll(until - self.line.now()))
        finally:
            condition._acquire_restore(saved)  # noqa: SLF001
            if not is_notified and lock in condition._waiters:  # noqa: SLF001
                condition._waiters.remove(lock)  # noqa: SLF001
        return is_notified

    def before_pass(self, loop: object, inside: Inside, *, is_busy: bool) -> None:
        """Called before each pass of a loop, in its thread: wait until something happens that it has to do with.

        Args:
            loop: asyncio's, or a run of trio.
            inside: what it is about to do.
            is_busy: whether that is something that it need not wait for.
        """
        if is_busy:
            passes = self._passes[loop] = self._passes.get(loop, 0) + 1
            if passes % _BUSY_PASSES == 0:
                self.line.restless()
            return
        self._passes[loop] = 0
        self.line.block(RestingLoop(inside))

    def keeps_time(self) -> bool:
        """Whether this thread waits on our clock."""
        return _PROCESS.virtual is self and not self.line.is_over and not self._is_foreign()

    def _is_foreign(self) -> bool:
        return self.line.busy.is_foreign(threading.current_thread())


class MovedClock(Link):
    """Shows the agent's code a clock that `offset` has moved on, by so many seconds for the thread that asks."""

    place = Place.RECORDED

    def __init__(self, offset: Callable[[], float]) -> None:
        self._offset = offset

    def clock_offset(self) -> float:
        """How far it has been moved on."""
        return self._offset()


class _Process:
    """What stands in this process: the patches are the process's own."""

    virtual: VirtualTime | None = None


_PROCESS = _Process()


@contextmanager
def virtual_time(waiting: Waiting | None = None) -> Iterator[VirtualTime]:
    """Let nobody of this process wait while the block lasts. Everything is undone afterwards, whatever happens in it.

    Args:
        waiting: those who wait for recorded answers.

    Raises:
        AgentTTError: this Python's event loop has another shape than the ones we know, or virtual time stands already.
    """
    if _PROCESS.virtual is not None:
        raise AgentTTError("another replay moves the clock of this process already", hint="run one replay at a time")
    virtual = VirtualTime(waiting)
    loops = _AsyncioLoops(virtual)
    clock = MovedClock(lambda: virtual.offset)
    patches = [
        Patch(ThreadPoolExecutor, "submit", _counting(virtual)),
        Patch(threading.Condition, "wait", _timing_out(virtual)),
        Patch(threading.Thread, "join", _joining(virtual)),
        # Under the names by which the standard library measures its own waits; the agent's own names are patched
        # where its other clocks are, and whoever else has one of their own keeps the real time.
        *(Patch(module, name, _telling(virtual)) for module, name in _MONOTONIC),
    ]
    sleeps = Rebinding(time.sleep, virtual.sleep)
    loops.apply()
    try:
        _PROCESS.virtual = virtual
        SESSION.join(clock)
        for patch in patches:
            patch.apply()
        sleeps.apply()
        virtual.loops.apply()
        virtual.trio.apply()
        if waiting is not None:
            waiting.follow(virtual.line)
        yield virtual
    finally:
        virtual.stop()
        virtual.trio.undo()
        virtual.loops.undo()
        sleeps.undo()
        for patch in reversed(patches):
            patch.undo()
        loops.undo()
        SESSION.leave(clock)
        _PROCESS.virtual = None


# ---------------------------------------------------------------- patches


class _AsyncioLoops:
    """Lets asyncio's loops wait on the clock, once the program has imported asyncio: many agents never do."""

    def __init__(self, virtual: VirtualTime) -> None:
        self._imports = ImportWatch(self._patch_loops)
        self._virtual = virtual
        self._patch: Patch | None = None

    def apply(self) -> None:
        """Patch what is loaded; else as soon as it is.

        Raises:
            AgentTTError: this Python's event loop has another shape than the ones we know.
        """
        module = sys.modules.get(_ASYNCIO)
        if module is None:
            self._imports.watch(_ASYNCIO)
        else:
            self._patch_loops(_ASYNCIO, module)

    def undo(self) -> None:
        """Let them wait for real again."""
        self._imports.stop()
        if self._patch is not None:
            self._patch.undo()

    def _patch_loops(self, _: str, module: ModuleType) -> None:
        check_event_loop()
        self._patch = Patch(module.BaseEventLoop, "_run_once", _jumping(self._virtual))
        self._patch.apply()


def _jumping(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def run_once(loop: asyncio.BaseEventLoop) -> None:
            if virtual.keeps_time():
                inside = LoopInside(loop)
                virtual.before_pass(loop, inside, is_busy=inside.has_work)
            original(loop)

        return run_once

    return make


def _telling(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(_: Callable[..., float]) -> Callable[..., float]:
        def monotonic() -> float:
            return virtual.monotonic()

        return monotonic

    return make


def _timing_out(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def wait(condition: threading.Condition, timeout: float | None = None) -> bool:
            if timeout is not None and timeout > 0 and virtual.keeps_time():
                return virtual.wait(condition, timeout)
            return original(condition, timeout)

        return wait

    return make


def _joining(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def join(thread: threading.Thread, timeout: float | None = None) -> None:
            can_wait = thread.is_alive() and thread is not threading.current_thread()
            if timeout is None or not timeout > 0 or not can_wait or not virtual.keeps_time():
                original(thread, timeout)
                return
            line, until = virtual.line, virtual.line.now() + timeout
            joining = Joining(thread, lambda seconds: original(thread, seconds), until)
            if not line.block(joining) and not joining.is_fired:
                original(thread, max(until - line.now(), 0))

        return join

    return make


def _counting(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Count what executors have to do: a job may be queued before a worker has woken."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def submit(executor: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            job = virtual.line.busy.queued(executor)

            def work(*args: Any, **kwargs: Any) -> Any:
                job.begin()
                try:
                    return function(*args, **kwargs)
                finally:
                    job.end()

            try:
                future = original(executor, work, *args, **kwargs)
            except BaseException:  # the executor is shut down
                job.end()
                raise
            future.add_done_callback(job.settle)
            return future

        return submit

    return make


def check_event_loop() -> None:
    """Try on a loop that never runs whether its inside is as we know it (CPython 3.11 to 3.13).

    Raises:
        AgentTTError: it is not.
    """
    import asyncio

    loop = asyncio.SelectorEventLoop()
    try:
        loop.call_later(1, print).cancel()
        loop.call_later(3600, print)
        inside = LoopInside(loop)
        timer = inside.next_timer()
        is_idle = not inside.has_work and not inside.hears(0)
        inside.wake()
        is_late = timer is not None and timer - loop.time() > 3500
        knows = is_idle and is_late and inside.hears(0) and callable(vars(asyncio.BaseEventLoop)["_run_once"])
        knows = knows and all(hasattr(threading.Condition(), name) for name in _CONDITION_INSIDE)
    except Exception:  # noqa: BLE001  whatever a strange inside says
        knows = False
    finally:
        loop.close()
    if not knows:
        raise AgentTTError(
            f"replaying does not know the event loop of Python {sys.version.split()[0]}: its clock cannot be moved",
            hint="replay with CPython 3.11, 3.12 or 3.13",
        )
