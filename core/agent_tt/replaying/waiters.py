"""Who waits for an answer of a replay: a thread, or a coroutine of some event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent_tt.replaying.sleepers import Gate

__all__ = ["SLICE_SECONDS", "TaskWaiter", "ThreadWaiter", "Waiter", "no_context", "running_loop"]

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


@dataclass(slots=True)
class TaskWaiter:
    """A coroutine that waits for its turn.

    Attributes:
        loop: its event loop.
        future: what it awaits.
        at_once: whether it is released as soon as it is its turn, however busy the loop is.
    """

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    at_once: bool

    def release(self) -> None:
        """Its turn has come; from any thread."""
        if running_loop() is self.loop:
            self._set()
        else:
            with contextlib.suppress(RuntimeError):  # its loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._set, context=no_context())

    def _set(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


Waiter: TypeAlias = "ThreadWaiter | TaskWaiter"


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
