"""The inside of trio's run loop: what moving its clock and waking its tasks take, all in one place.

Whether trio is made so is tried by `agent_tt.recording.concurrency.trio_tasks` before any of it is relied on.
"""

from __future__ import annotations

import math
import select
import sys
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

__all__ = ["LONGEST_WAIT", "TrioInside", "TrioLoop"]

LONGEST_WAIT: Final = 24 * 60 * 60
"""Seconds that trio waits at most, and so what it waits without any deadline."""


class TrioLoop:
    """One run of trio, with what `turns` and `paces` ask of an event loop; the same object for the same run."""

    __slots__ = ("__weakref__", "_runner", "_token")

    def __init__(self, runner: Any, token: Any) -> None:
        self._runner = weakref.ref(runner)
        self._token = weakref.ref(token)

    @classmethod
    def of(cls, runner: Any) -> TrioLoop:
        """The loop of a run that goes on in this thread."""
        with _LOCK:
            known = _LOOPS.get(runner)
            if known is None:
                known = _LOOPS[runner] = cls(runner, sys.modules["trio"].lowlevel.current_trio_token())
            return known

    @property
    def is_ready(self) -> bool:
        """Whether any task is ready to run."""
        runner = self._runner()
        return runner is not None and bool(runner.runq)

    @property
    def has_timers(self) -> bool:
        """Whether it has something to do later."""
        runner = self._runner()
        return runner is not None and bool(runner.deadlines.next_deadline() < math.inf)

    def call_soon(self, callback: Callable[..., object], *args: object, context: Context) -> None:
        """Call something in the next pass, from any thread.

        Raises:
            RuntimeError: the run is over.
        """
        token = self._token()
        if token is None:
            raise RuntimeError("the run of trio is over")
        token.run_sync_soon(partial(context.run, callback, *args))

    def call_later(self, _delay: float, callback: Callable[..., object], *args: object, context: Context) -> None:
        """As `call_soon`: nobody asks for a delay but that of a pass."""
        self.call_soon(callback, *args, context=context)

    call_soon_threadsafe = call_soon


_LOCK: Final = threading.Lock()
_LOOPS: Final[weakref.WeakKeyDictionary[Any, TrioLoop]] = weakref.WeakKeyDictionary()


class TrioInside:
    """What a run of trio is about to do when it waits: as `LoopInside`, for trio.

    Args:
        runner: the run.
        until: when its next deadline is, on the clock of the replay; None without any.
    """

    __slots__ = ("_poll", "_runner", "_until")

    def __init__(self, runner: Any, until: float | None) -> None:
        self._runner = runner
        self._until = until
        manager = runner.io_manager
        # What is ready stays so: the set of descriptors is looked at as a whole, and nothing is taken from it.
        self._poll = select.poll()
        self._poll.register(manager._epoll if hasattr(manager, "_epoll") else manager._kqueue, select.POLLIN)  # noqa: SLF001

    @property
    def has_work(self) -> bool:
        """Whether a task is ready, or another thread has asked for something."""
        return bool(self._runner.runq or self._runner.entry_queue.size())

    def hears(self, seconds: float) -> bool:
        """Whether a file descriptor becomes ready within `seconds` of real time. The run's own pass sees it again."""
        return bool(self._poll.poll(seconds * 1000))

    def next_timer(self) -> float | None:
        """When its next deadline is, on the clock of the replay; None without any."""
        return self._until

    def wake(self) -> None:
        """Let it look again, from any thread."""
        self._runner.io_manager.force_wakeup()
