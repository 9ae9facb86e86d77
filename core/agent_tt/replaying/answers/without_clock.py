"""Waiting for answers without virtual time: a resumed run waits in real time.

Coroutines get an answer when nothing else on their loop is ready to run. Whoever waits too long for others is released.
So are coroutines of event loops that are not asyncio's own, whose clock cannot be moved in a replay either.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.recording.concurrency.tasks import is_asyncio_loop
from agent_tt.replaying.answers.waiters import SLICE_SECONDS, TrioLoop, no_context, running_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.replaying.answers.waiters import Loop, TaskWaiter, ThreadWaiter

__all__ = ["MOST_PATIENT_SLICES", "Conductor", "pause", "released"]

_PATIENT_SLICES: Final = 20
"""Half a second; counted in slices in which we ran, so that a machine that is busy elsewhere does not use it up."""

MOST_PATIENT_SLICES: Final = 80
"""Two seconds, for who waits until all answers have been given out."""

_BUSY_PASSES: Final = 50
"""Passes of an event loop that never comes to rest (somebody polls in it) before an answer comes all the same."""


class _Turns(Protocol):
    """Who gives out the answers."""

    @property
    def progress(self) -> int: ...

    def drop(self) -> None: ...

    def relax(self) -> bool: ...


def pause(turns: _Turns, waiter: ThreadWaiter, patience: int = _PATIENT_SLICES) -> None:
    """Block this thread until `waiter` is released; at the end of its patience the earliest of all is."""
    seen, slices = turns.progress, 0
    while not waiter.pause():
        turns.drop()
        slices = slices + 1 if turns.progress == seen else 0
        seen = turns.progress
        if slices >= patience:
            slices = 0
            turns.relax()


async def released(turns: _Turns, waiter: TaskWaiter) -> None:
    """As `pause`, for a coroutine."""
    if isinstance(waiter.loop, TrioLoop) or is_asyncio_loop(waiter.loop):
        await waiter.wait()
        return
    seen = turns.progress  # a loop whose clock is its own: nobody sees when nothing else can happen in it
    while not await waiter.wait_for(SLICE_SECONDS * _PATIENT_SLICES):
        if turns.progress == seen:
            turns.relax()
        seen = turns.progress


class Conductor:
    """Lets event loops say when nothing else in them is ready.

    Args:
        rests: told of a loop that has come to rest, in its thread.
    """

    def __init__(self, rests: Callable[[Loop], None]) -> None:
        self._rests = rests
        self._conducted: weakref.WeakSet[Loop] = weakref.WeakSet()

    def conduct(self, loop: Loop) -> None:
        """Say when `loop` comes to rest the next time; from any thread."""
        if loop in self._conducted:
            return
        self._conducted.add(loop)
        passes = 0

        def look() -> None:
            nonlocal passes
            passes += 1
            is_ready = loop.is_ready if isinstance(loop, TrioLoop) else bool(getattr(loop, "_ready", None))
            if passes < _BUSY_PASSES and is_ready:
                loop.call_soon(look, context=no_context())
                return
            self._conducted.discard(loop)
            self._rests(loop)

        if running_loop() is loop:
            loop.call_soon(look, context=no_context())
            return
        try:
            loop.call_soon_threadsafe(look, context=no_context())
        except RuntimeError:  # closed: whoever waited there is gone
            self._conducted.discard(loop)
