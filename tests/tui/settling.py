"""What a test of a screen waits for after a key: that the app has nothing left to do.

Textual's pilot cannot know, so after every key it sleeps twice for 20 ms, and on until the process has used next to no
processor time meanwhile. Seen from inside the event loop it is known: no callback is ready, no timer ends within those
20 ms, and no thread works for the app. While one does, this is Textual's own rule.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import textual.app
import textual.pilot
import textual.screen
from textual._context import active_message_pump

if TYPE_CHECKING:
    import pytest

_SLICE, _IDLE = 0.02, 0.001
"""Textual's: seconds between two looks, and processor time between them of a process that has come to rest."""

_REDRAW = 0.001
"""Seconds between a change and the redraw of it, in place of the 1/60 that a reader's eye gets."""

_LOOKS = 3
"""How often in a row nothing must be left to do: what a thread has just ended may not have reached the loop yet."""


async def settled(min_sleep: float = _SLICE, max_sleep: float = 1) -> None:
    """Wait until the app of this test has come to rest; in place of `textual._wait.wait_for_idle`."""
    loop = asyncio.get_running_loop()
    began = looked = time.monotonic()
    used = time.process_time()
    quiet = 0
    while (now := time.monotonic()) < began + max_sleep:
        if _has_work(loop, began + _SLICE):
            quiet = 0
        elif not _has_threads():
            quiet += 1
            if quiet == _LOOKS:
                return
        elif now - looked >= _SLICE and time.process_time() - used < _IDLE:
            return
        if now - looked >= _SLICE:
            looked, used = now, time.process_time()
        await asyncio.sleep(0 if loop._ready else _REDRAW)


def _has_work(loop: asyncio.AbstractEventLoop, until: float) -> bool:
    """Whether anything is ready in the loop, or will be before a moment of its clock."""
    return bool(loop._ready) or any(not timer.cancelled() and timer.when() < until for timer in loop._scheduled)


def _has_threads() -> bool:
    """Whether a thread works for the app."""
    return any(worker.is_running for worker in active_message_pump.get().app.workers)


def settle_fast(patch: pytest.MonkeyPatch) -> None:
    """Let pilots wait as above."""
    patch.setattr(textual.screen, "UPDATE_PERIOD", _REDRAW)
    patch.setattr(textual.app, "wait_for_idle", settled)
    patch.setattr(textual.pilot, "wait_for_idle", settled)
