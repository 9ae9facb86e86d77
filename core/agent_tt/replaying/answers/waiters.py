"""Who waits for an answer of a replay: a thread, or a coroutine of some event loop, asyncio's or trio's."""

from __future__ import annotations

import contextlib
import contextvars
import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt.recording.concurrency import tasks
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.replaying.clock.sleepers import Gate
from agent_tt.replaying.clock.trio_loop import TrioLoop

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from collections.abc import Awaitable, Callable

    Loop: TypeAlias = AbstractEventLoop | TrioLoop

__all__ = [
    "SLICE_SECONDS",
    "TaskWaiter",
    "ThreadWaiter",
    "TrioLoop",
    "Waiter",
    "hang_in_trio",
    "no_context",
    "running_loop",
]

SLICE_SECONDS: Final = 0.025
"""Real seconds for which a thread waits at a time."""


def no_context() -> contextvars.Context:
    """For callbacks of ours, which run in no scope of the agent's: each its own, as two threads cannot be in one."""
    return contextvars.Context()


class ThreadWaiter(Gate):
    """A thread that waits for its turn."""

    __slots__ = ()

    def release(self) -> None:
        """Its turn has come."""
        self.open()

    def pause(self) -> bool:
        """Wait for a moment; whether the turn has come."""
        return self.poll(SLICE_SECONDS)


class TaskWaiter:
    """A coroutine that waits for its turn; made in its thread.

    Attributes:
        loop: its event loop.
        at_once: whether it is released as soon as it is its turn, however busy the loop is.
    """

    __slots__ = ("_event", "_future", "at_once", "loop")

    def __init__(self, loop: Loop, *, at_once: bool) -> None:
        self.loop = loop
        self.at_once = at_once
        self._future: Future[None] | None = None
        self._event: Any = None
        if isinstance(loop, TrioLoop):
            self._event = sys.modules["trio"].Event()
        else:
            self._future = loop.create_future()

    async def wait(self) -> None:
        """Wait until it is released. Who is cancelled meanwhile leaves in the way of its own library."""
        if self._future is None:
            await self._event.wait()
        else:
            await self._future

    async def wait_for(self, seconds: float) -> bool:
        """Wait for so many real seconds at most; whether it is released. Not for trio."""
        assert self._future is not None  # noqa: S101  nobody asks it of trio, whose clock is known
        from asyncio import wait

        return bool((await wait({self._future}, timeout=seconds))[0])

    def release(self) -> None:
        """Its turn has come; from any thread."""
        if running_loop() is self.loop:
            self._set()
        else:
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._set, context=no_context())

    def _set(self) -> None:
        if self._future is None:
            self._event.set()
        elif not self._future.done():
            self._future.set_result(None)


Waiter: TypeAlias = "ThreadWaiter | TaskWaiter"


def running_loop() -> Loop | None:
    """The event loop that runs in this thread, where it is one that we know how to wait in."""
    loop = tasks.running_loop()
    if loop is not None and tasks.trio_task() is None:  # where trio is a guest of asyncio, its tasks run in both
        return loop
    runner = tasks.trio_runner()
    return None if runner is None or "trio" in HOOKS.unfit else TrioLoop.of(runner)


def hang_in_trio(hang: Callable[[], Awaitable[None]]) -> None:
    """In a worker thread of trio: wait as `hang` does, until the task that waits for the thread is cancelled.

    Returns at once in any other thread.

    Raises:
        BaseException: trio's `Cancelled`.
    """
    trio = sys.modules.get("trio")
    if trio is not None:
        with contextlib.suppress(RuntimeError):  # no thread of trio's
            trio.from_thread.run(hang)
