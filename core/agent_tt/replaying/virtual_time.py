"""While a recording is replayed, nobody waits: clocks jump to the next moment at which something happens.

An event loop's clock jumps to its next timer when nothing else can happen: no callback is ready, no file descriptor is
readable, and no thread works on something that it might hand over. So sleeps, timeouts and back-offs cost nothing and
keep their order among each other. (A sleep that simply returned would not keep it.) `time.sleep` in a thread beside a
running loop is a timer of that loop; elsewhere it returns at once and moves the thread's own clock.

Only waiting is virtual. A thread that waits for a lock, an event or a queue with a timeout waits for real, and an event
loop that is not asyncio's own (uvloop) keeps its clock: `VirtualTime.limits` says so.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from agent_tt.errors import AgentTTError
from agent_tt.recording.hooks import Patch
from agent_tt.recording.moved_time import move_by
from agent_tt.recording.rebinding import Rebinding
from agent_tt.replaying.busy_threads import BusyThreads
from agent_tt.replaying.clocks import Clock, Nap
from agent_tt.replaying.loop_inside import LoopInside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["VirtualTime", "Waiting", "check_event_loop", "virtual_time"]

_PATIENT_JUMPS, _PATIENT_SECONDS, _MOST_JUMPS = 1_000, 3_600.0, 100_000
"""How often, and for how much virtual time, timers are run while somebody waits for an answer and none is given out.

A recorded pause may be long, so it takes both; then a heartbeat beats in vain, and the one that waits is released.
"""

_real_sleep: Final = time.sleep
_LOOP: Final = asyncio.BaseEventLoop


class Waiting(Protocol):
    """Those who wait for recorded answers, as `agent_tt.replaying.turns` keeps them."""

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for its turn."""
        ...

    @property
    def progress(self) -> int:
        """Another number whenever an answer was given out."""
        ...

    def relax(self) -> bool:
        """Release the earliest, because nothing else can happen; whether there was one."""
        ...


class _Here(threading.local):
    clock: Clock | None = None


class VirtualTime:
    """The clocks of this process while a replay runs; made by `virtual_time`."""

    def __init__(self, waiting: Waiting | None) -> None:
        self._waiting = waiting
        self._is_over = False
        self._here = _Here()
        self._clocks: weakref.WeakKeyDictionary[asyncio.BaseEventLoop, Clock] = weakref.WeakKeyDictionary()
        self._busy = BusyThreads()
        self._progress = 0
        self._jumps = 0
        self._jumped = 0.0

    @property
    def offset(self) -> float:
        """Seconds that the clock of this code has moved on beyond the real time."""
        return self.clock.offset

    @property
    def limits(self) -> tuple[str, ...]:
        """What of this program waits for real, as sentences."""
        if "uvloop" in sys.modules:
            return ("uvloop's clock cannot be moved: sleeps in its loops wait for real; replay on asyncio's own loop",)
        return ()

    @property
    def clock(self) -> Clock:
        """The clock of this thread."""
        clock = self._here.clock
        if clock is None:
            clock = self._here.clock = Clock()
        return clock

    def stop(self) -> None:
        """From now on everybody waits for real. Event loops keep what they are ahead, for the sake of their timers."""
        self._is_over = True
        move_by(None)

    # ------------------------------------------------------------ event loops

    def clock_of(self, loop: asyncio.BaseEventLoop) -> Clock:
        """The clock that a loop goes by: that of the thread it runs in, also when others ask."""
        clock = self._clocks.get(loop)
        return self.clock if clock is None else clock

    def before_pass(self, loop: asyncio.BaseEventLoop) -> None:
        """Called before each pass of a loop, in its thread: jump, if nothing else can happen."""
        if self._is_over:
            return
        clock = self.clock
        if self._clocks.get(loop) is not clock:
            self._clocks[loop] = clock
        clock.drives(loop)
        inside = LoopInside(loop)
        if not inside.has_work and not self._others_work(loop, inside):
            self.jump(loop)

    def jump(self, loop: asyncio.BaseEventLoop) -> None:
        """Nothing happens by itself any more: move on to the next timer, or release who waits for an answer."""
        timer = LoopInside(loop).next_timer()
        waiting = self._waiting if self._waiting is not None and self._waiting.is_waited_for else None
        if waiting is not None and (timer is None or self._is_in_vain(waiting)) and waiting.relax():
            self._jumps, self._jumped = 0, 0.0
            return
        distance = 0.0 if timer is None else timer - loop.time()
        if distance > 0:
            self.clock.offset += distance
            self._jumps, self._jumped = self._jumps + 1, self._jumped + distance

    def _others_work(self, loop: asyncio.BaseEventLoop, inside: LoopInside) -> bool:
        """Let other threads finish what they do; whether the loop then has something to do, or nothing to jump to.

        Threads are looked at before the loop is: one that hands something over works until the loop has it.
        """
        is_first = True
        while not inside.hears(0):
            timer = inside.next_timer()
            if timer is None and (self._waiting is None or not self._waiting.is_waited_for):
                return True
            pause, is_first = self._busy.pause(is_first=is_first), False
            if inside.has_work:
                return True
            if not pause:
                return inside.hears(0)
            if inside.hears(pause) or (timer is not None and timer <= loop.time()):
                return True
        return True

    def _is_in_vain(self, waiting: Waiting) -> bool:
        if waiting.progress != self._progress:
            self._progress, self._jumps, self._jumped = waiting.progress, 0, 0.0
        return self._jumps >= _MOST_JUMPS or (self._jumps >= _PATIENT_JUMPS and self._jumped >= _PATIENT_SECONDS)

    # ------------------------------------------------------------ threads

    def sleep(self, seconds: float, /) -> None:
        """In place of `time.sleep`; and `time.sleep` itself for who still holds it when virtual time is over."""
        if _PROCESS.virtual is not self or self._is_over:
            _real_sleep(seconds)
            return
        clock = self.clock
        loop = clock.loop
        if not seconds > 0 or loop is None or loop is _running_loop():
            _real_sleep(min(seconds, 0))  # refuses what is no number, and lets other threads run
            if seconds > 0:
                clock.offset += seconds
            return
        if not Nap(loop, seconds).take():
            clock.offset += seconds

    def follow(self, clock: Clock | None) -> None:
        """Let this thread go by `clock`, or by one of its own."""
        self._here.clock = clock

    def child_clock(self) -> Clock:
        """The clock for work that this thread gives away: the same where a loop keeps it, else one that starts here."""
        clock = self.clock
        return Clock(clock.offset) if clock.loop is None else clock

    @property
    def busy(self) -> BusyThreads:
        """What the executors' threads have to do."""
        return self._busy


class _Process:
    """What stands in this process: the patches are the process's own."""

    virtual: VirtualTime | None = None


_PROCESS = _Process()


@contextmanager
def virtual_time(waiting: Waiting | None = None) -> Iterator[VirtualTime]:
    """Let nobody of this process wait while the block lasts. Everything is undone afterwards, whatever happens in it.

    Args:
        waiting: those who wait for recorded answers; the earliest is released when nothing else can happen.

    Raises:
        AgentTTError: this Python's event loop has another shape than the ones we know, or virtual time stands already.
    """
    if _PROCESS.virtual is not None:
        raise AgentTTError("virtual time stands already in this process", hint="run one replay at a time")
    check_event_loop()
    virtual = VirtualTime(waiting)
    patches = [
        Patch(_LOOP, "time", _shifted(virtual)),
        Patch(_LOOP, "_run_once", _jumping(virtual)),
        Patch(ThreadPoolExecutor, "submit", _counting(virtual)),
        Patch(threading.Thread, "start", _inheriting(virtual)),
    ]
    sleeps = Rebinding(time.sleep, virtual.sleep)
    try:
        _PROCESS.virtual = virtual
        move_by(lambda: virtual.offset)
        for patch in patches:
            patch.apply()
        sleeps.apply()
        yield virtual
    finally:
        sleeps.undo()
        for patch in reversed(patches):
            patch.undo()
        move_by(None)
        _PROCESS.virtual = None


# ---------------------------------------------------------------- patches


def _shifted(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., float]) -> Callable[..., float]:
        def loop_time(loop: asyncio.BaseEventLoop) -> float:
            return original(loop) + virtual.clock_of(loop).offset

        return loop_time

    return make


def _jumping(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def run_once(loop: asyncio.BaseEventLoop) -> None:
            virtual.before_pass(loop)
            original(loop)

        return run_once

    return make


def _counting(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Count what executors have to do, and let each job go by its submitter's clock."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def submit(executor: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            parent, clock = virtual.clock, virtual.child_clock()
            job = virtual.busy.queued(executor)

            def work(*args: Any, **kwargs: Any) -> Any:
                job.begin()
                virtual.follow(clock)
                try:
                    return function(*args, **kwargs)
                finally:
                    virtual.follow(None)
                    parent.reach(clock.offset)
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


def _inheriting(virtual: VirtualTime) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let each thread begin with its creator's clock."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def start(thread: threading.Thread) -> None:
            if BusyThreads.serves_jobs(thread):
                original(thread)
                return
            parent, clock, run = virtual.clock, virtual.child_clock(), thread.run
            own = vars(thread).get("run")

            def put_back() -> None:
                if own is None:
                    vars(thread).pop("run", None)
                else:
                    vars(thread)["run"] = own

            def run_on_clock() -> None:
                put_back()
                virtual.follow(clock)
                try:
                    run()
                finally:
                    parent.reach(clock.offset)

            thread.run = run_on_clock  # type: ignore[method-assign]
            try:
                original(thread)
            except RuntimeError:  # it cannot be started (again); leave no trace in it
                put_back()
                raise

        return start

    return make


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def check_event_loop() -> None:
    """Try on a loop that never runs whether its inside is as we know it (CPython 3.11 to 3.13).

    Raises:
        AgentTTError: it is not.
    """
    virtual = VirtualTime(None)
    loop = asyncio.SelectorEventLoop()
    before = virtual.clock.offset
    try:
        loop.call_later(1, print).cancel()
        loop.call_later(3600, print)
        virtual.jump(loop)
        inside = LoopInside(loop)
        is_idle = not inside.has_work and not inside.hears(0) and inside.thread is None
        knows = is_idle and virtual.clock.offset - before > 3500 and callable(vars(_LOOP)["_run_once"])
    except Exception:  # noqa: BLE001  whatever a strange inside says
        knows = False
    finally:
        loop.close()
    if not knows:
        raise AgentTTError(
            f"replaying does not know the event loop of Python {sys.version.split()[0]}: its clock cannot be moved",
            hint="replay with CPython 3.11, 3.12 or 3.13",
        )
