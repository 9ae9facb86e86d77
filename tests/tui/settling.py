"""What a test of a screen waits for after a key: that the app has nothing left to do.

Textual's pilot cannot know, so after every key it sleeps twice for 20 ms, and on until the process has used next to no
processor time meanwhile; on a machine that has other work, it has that without being done. Seen from inside the event
loop it is known: no callback is ready, no timer ends within the next 20 ms, and no thread works for the app. A thread
may only wait for another one, or for a process, as one that follows a run does: the function that it stands in tells.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import selectors
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

import textual.app
import textual.pilot
import textual.screen
import watchfiles.main
from textual._context import active_message_pump

from agent_tt.supervising import forked
from agent_tt_tui.footer import MESSAGE_SECONDS, FooterRow

if TYPE_CHECKING:
    from types import FrameType

    import pytest

_SLICE: Final = 0.02
"""Textual's: seconds between two looks."""

_REDRAW: Final = 0.001
"""Seconds between a change and the redraw of it, in place of the 1/60 that a reader's eye gets."""

_LOOKS: Final = 3
"""How often in a row nothing must be left to do: what a thread has just ended may not have reached the loop yet."""

_MOST_SECONDS: Final = 10.0
_MOST_LOOKS: Final = 5_000
"""How long an app may take to come to rest, and how often it is looked: one that never does is left after both.

Seconds alone would leave an app on a busy machine before it had its turns.
"""

_LONGER: Final = 20.0
"""How many times as long as for a person a message stays for a test."""

_NEXT_TASK: Final = (concurrent.futures.thread.__file__, "_worker")
"""Where a thread of the loop's pool stands that has no work."""

_WAITS: Final = {
    _NEXT_TASK,
    (threading.__file__, "wait"),
    (subprocess.__file__, "_wait"),
    (selectors.__file__, "select"),
    (watchfiles.main.__file__, "watch"),
    (forked.__file__, "await_end"),
}
"""Functions in which a thread waits for something else: by file and name, as its innermost call tells them."""


async def settled(min_sleep: float = _SLICE, max_sleep: float = _MOST_SECONDS) -> None:
    """Wait until the app of this test has come to rest; in place of `textual._wait.wait_for_idle`."""
    loop = asyncio.get_running_loop()
    began, quiet, looks = time.monotonic(), 0, 0
    while (now := time.monotonic()) < began + max_sleep or looks < _MOST_LOOKS:
        looks += 1
        quiet = 0 if _has_work(loop, now + _SLICE) or _threads_work(loop) else quiet + 1
        if quiet >= _LOOKS:
            return
        await asyncio.sleep(0 if loop._ready else _REDRAW)


def _has_work(loop: asyncio.AbstractEventLoop, until: float) -> bool:
    """Whether anything is ready in the loop, or will be before a moment of its clock."""
    return bool(loop._ready) or any(not timer.cancelled() and timer.when() < until for timer in loop._scheduled)


def _threads_work(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a thread of the loop's pool works, or has yet to begin.

    A thread that has taken its work and waits for the interpreter looks as one that has none. So each worker of the app
    must be found in a thread that waits within its work; where one is not, it has not begun or its end is on its way.
    """
    pool = loop._default_executor
    if pool is None:
        return False
    frames = sys._current_frames()
    places = [_place(frames[thread.ident]) for thread in pool._threads if thread.ident in frames]
    waiting = sum(place != _NEXT_TASK for place in places)
    running = sum(worker.is_running and worker._thread_worker for worker in active_message_pump.get().app.workers)
    return any(place not in _WAITS for place in places) or running > waiting


def _place(frame: FrameType) -> tuple[str, str]:
    """The file and the name of the function that a thread is in."""
    return frame.f_code.co_filename, frame.f_code.co_name


def let_messages_stay(patch: pytest.MonkeyPatch) -> None:
    """Let what the footer says stay for long: on a busy machine it is gone before a test looks for it."""
    say, explain = FooterRow.say, FooterRow.explain

    def say_longer(self: FooterRow, message: str, seconds: float | None = MESSAGE_SECONDS) -> None:
        say(self, message, None if seconds is None else seconds * _LONGER)

    def explain_longer(self: FooterRow, words: str, seconds: float) -> None:
        explain(self, words, seconds * _LONGER)

    patch.setattr(FooterRow, "say", say_longer)
    patch.setattr(FooterRow, "explain", explain_longer)


def settle_fast(patch: pytest.MonkeyPatch) -> None:
    """Let pilots wait as above."""
    patch.setattr(textual.screen, "UPDATE_PERIOD", _REDRAW)
    patch.setattr(textual.app, "wait_for_idle", settled)
    patch.setattr(textual.pilot, "wait_for_idle", settled)
