"""Recorded threads take their answers one after another, so that they act in the recorded order.

An answer is numbered when it is committed, and only then does its thread act on it: put it into a queue, end its job.
Two answers that come close together would often be acted on the other way round than they are numbered, and a replay
goes by the numbers. So the next answer to a thread is committed when the thread that got the one before asks again,
reads on, or ends; or where it is seen to wait for something outside; or after a moment, because it may do something
else for long. Nearly always this costs nothing: only one of them can run Python at a time anyway.
"""

from __future__ import annotations

import platform
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.recording.concurrency.tasks import runs_a_loop

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Handover"]

_FUTEX: Final = {"x86_64": "202", "aarch64": "98"}.get(platform.machine(), "") if sys.platform == "linux" else ""
"""Number of the system call in which threads wait for each other."""

_MOMENT: Final = 0.01
"""Seconds that an answer waits at most for what a thread does with the one before it."""

_LOOK: Final = 0.001
"""Seconds between two looks at what that thread does."""

_COMMIT: Final = 0.25
"""Seconds that it waits at most while that one is still being committed."""


class Handover:
    """Who got the last answer, among the threads of one run. Event loops give their answers out by themselves."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # reentrant: a finalizer may end a stream in here
        self._holder: int | None = None
        self._native: int | None = None
        self._until = 0.0

    @contextmanager
    def answering(self, patience: float = 0.0) -> Iterator[None]:
        """Around the commit of an answer for this thread.

        Args:
            patience: seconds that it waits at least for what another thread does with the answer before it.
        """
        if runs_a_loop():
            yield
            return
        me = threading.get_ident()
        with self._changed:
            seen, least = "", time.monotonic() + patience
            while self._holder not in (None, me) and (left := max(self._until, least) - time.monotonic()) > 0:
                before, seen = seen, _waits_in(self._native)
                if seen and seen == before:
                    break
                self._changed.wait(min(left, _LOOK))
            self._holder, self._native = me, None  # while it commits it is not looked at
            self._until = time.monotonic() + _COMMIT
        try:
            yield
        finally:
            with self._changed:
                if self._holder == me:
                    self._native, self._until = threading.get_native_id(), time.monotonic() + _MOMENT
                    self._changed.notify_all()

    def goes_on(self) -> None:
        """This thread has done what it does with its last answer."""
        if self._holder == threading.get_ident():
            with self._changed:
                self._holder = None
                self._changed.notify_all()


def _waits_in(native: int | None) -> str:
    """The system call in which a thread waits for something outside, with its arguments, as Linux tells; "" for none.

    Waiting for another thread does not count: who only waits to run Python does that too.
    """
    if native is None or not _FUTEX:
        return ""
    try:
        call = Path(f"/proc/self/task/{native}/syscall").read_text()
    except OSError:
        return ""
    number = call.split(" ", 1)[0]
    return "" if number in (_FUTEX, "-1") or not number.isdecimal() else call
