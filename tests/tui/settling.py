"""What a test of a screen waits for after a key: that the app has nothing left to do.

Textual's pilot cannot know, so after every key it sleeps twice for 20 ms, and on until the process has used next to no
processor time meanwhile; on a machine that has other work, it has that without being done. Seen from inside the event
loop it is known: no callback is ready, no timer ends within those 20 ms, and no thread works for the app. Threads that
are there may only wait, as one that follows a run does: where the system tells what each of them does, that is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import textual.app
import textual.pilot
import textual.screen
from textual._context import active_message_pump

if TYPE_CHECKING:
    import pytest

_SLICE, _IDLE = 0.02, 0.001
"""Textual's: seconds between two looks, and processor time between them of what has come to rest."""

_REDRAW = 0.001
"""Seconds between a change and the redraw of it, in place of the 1/60 that a reader's eye gets."""

_LOOKS = 3
"""How often in a row nothing must be left to do: what a thread has just ended may not have reached the loop yet."""

_LOOKS_AT_THREADS = 5
"""How often, and during a slice, threads that are there must be found waiting. Each gets its turn between two looks."""

_MOST_SECONDS = 10.0
"""How long an app may take to come to rest, on the slowest of machines; one that never does is left after that."""

_TASKS = Path("/proc/self/task")


async def settled(min_sleep: float = _SLICE, max_sleep: float = _MOST_SECONDS) -> None:
    """Wait until the app of this test has come to rest; in place of `textual._wait.wait_for_idle`."""
    loop = asyncio.get_running_loop()
    began = since = time.monotonic()
    used, quiet = 0.0, 0
    while (now := time.monotonic()) < began + max_sleep:
        if _has_work(loop, began + _SLICE):
            quiet = 0
        elif not _has_threads():
            quiet += 1
            if quiet >= _LOOKS:
                return
        else:
            spent, are_waiting = _threads()
            if abs(spent - used) >= _IDLE:
                used, since, quiet = spent, now, 0
            elif are_waiting:
                quiet += 1
                if quiet >= _LOOKS_AT_THREADS and now - since >= _SLICE:
                    return
        await asyncio.sleep(0 if loop._ready else _REDRAW)


def _has_work(loop: asyncio.AbstractEventLoop, until: float) -> bool:
    """Whether anything is ready in the loop, or will be before a moment of its clock."""
    return bool(loop._ready) or any(not timer.cancelled() and timer.when() < until for timer in loop._scheduled)


def _has_threads() -> bool:
    """Whether a thread works for the app."""
    return any(worker.is_running for worker in active_message_pump.get().app.workers)


def _threads() -> tuple[float, bool]:
    """Processor time that the other threads have used, in seconds; and whether each of them waits for something.

    One that waits for a processor works. Where the system does not tell, the time of the whole process stands for it.
    """
    if not _TASKS.exists():
        return time.process_time(), True
    own, spent, are_waiting = threading.get_native_id(), 0, True
    for task in _TASKS.iterdir():
        if int(task.name) == own:
            continue
        with contextlib.suppress(OSError):  # it has just ended
            are_waiting = are_waiting and (task / "stat").read_text().rpartition(") ")[2][0] not in "RD"
            spent += int((task / "schedstat").read_text().split()[0])
    return spent / 1e9, are_waiting


def settle_fast(patch: pytest.MonkeyPatch) -> None:
    """Let pilots wait as above."""
    patch.setattr(textual.screen, "UPDATE_PERIOD", _REDRAW)
    patch.setattr(textual.app, "wait_for_idle", settled)
    patch.setattr(textual.pilot, "wait_for_idle", settled)
