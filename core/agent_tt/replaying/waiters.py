"""Who waits for an answer of a replay: a thread, or a coroutine of some event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["NO_CONTEXT", "SLICE_SECONDS", "TaskWaiter", "ThreadWaiter", "Waiter", "running_loop"]

SLICE_SECONDS: Final = 0.025
"""Real seconds for which a thread waits at a time."""

NO_CONTEXT: Final = contextvars.Context()
"""Callbacks of ours run in no scope of the agent's."""


class ThreadWaiter:
    """A thread that waits for its turn."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def release(self) -> None:
        """Its turn has come."""
        self._event.set()

    def pause(self) -> bool:
        """Wait for a moment; whether the turn has come."""
        return self._event.wait(SLICE_SECONDS)


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
                self.loop.call_soon_threadsafe(self._set, context=NO_CONTEXT)

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
