"""Threads that are recorded take their answers one after another, so that the recorded order is what they acted in.

An answer is numbered when it is committed, and only then does its thread act on it: put it into a queue, end its job.
Two answers that come close together would often be acted on the other way round than they are numbered, and a replay
goes by the numbers. So the next answer to a thread is committed when the thread that got the one before asks again,
reads on, or ends; or after a moment, because that one may do something else for long. Nearly always this costs nothing:
only one of them can run Python at a time anyway.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Handover"]

_MOMENT: Final = 0.01
"""Seconds that an answer waits at most for what a thread does with the one before it."""

_COMMIT: Final = 0.25
"""Seconds that it waits at most while that one is still being committed."""


class Handover:
    """Who got the last answer, among the threads of one run. Event loops give their answers out by themselves."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # reentrant: a finalizer may end a stream in here
        self._holder: int | None = None
        self._until = 0.0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Around the commit of an answer for this thread."""
        if _runs_a_loop():
            yield
            return
        me = threading.get_ident()
        with self._changed:
            while self._holder not in (None, me):
                left = self._until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            self._holder, self._until = me, time.monotonic() + _COMMIT
        try:
            yield
        finally:
            with self._changed:
                if self._holder == me:
                    self._until = time.monotonic() + _MOMENT
                    self._changed.notify_all()

    def goes_on(self) -> None:
        """This thread has done what it does with its last answer."""
        if self._holder == threading.get_ident():
            with self._changed:
                self._holder = None
                self._changed.notify_all()


def _runs_a_loop() -> bool:
    """Whether this thread runs an event loop: others wait for it in there."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
