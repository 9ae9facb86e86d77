"""`as_completed` of jobs without a set: of those that are done already, the order is that of memory addresses in there.

Recording and replay therefore replace it: what is done comes in the order in which it was done, as far as that is
known, else in that of the list. See `agent_tt.recording.concurrency.task_order` for asyncio's.
"""

from __future__ import annotations

import concurrent.futures
import functools
import queue
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt.recording.lanes.job_ends import when_ended
from agent_tt.recording.modules.rebinding import Rebinding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Job: TypeAlias = concurrent.futures.Future[Any]

__all__ = ["ListOrder"]

_OF_JOBS: Final[Callable[..., Any]] = concurrent.futures.as_completed


@functools.wraps(_OF_JOBS)
def _jobs_as_completed(fs: Iterable[Job], timeout: float | None = None) -> Iterator[Job]:
    until = None if timeout is None else time.monotonic() + timeout
    left = dict.fromkeys(fs)
    count = len(left)
    ended: queue.Queue[Job] = queue.Queue()
    for job in left:
        job.add_done_callback(ended.put)
    # Some were done before, and some while this looked at one after the other.
    done = sorted((ended.get() for _ in range(ended.qsize())), key=when_ended)
    while left:
        try:
            seconds = None if until is None else max(until - time.monotonic(), 0)
            job = done.pop(0) if done else ended.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"{len(left)} (of {count}) futures unfinished") from None
        del left[job]
        yield job


class ListOrder:
    """Comes and goes with the hooks; see `hooks.Companion`. What is left of it does no harm."""

    def __init__(self) -> None:
        self._rebinding = Rebinding(_OF_JOBS, _jobs_as_completed)

    def acquire(self) -> None:
        """Replace it under every name."""
        self._rebinding.apply()

    def release(self) -> None:
        """Put the original back."""
        self._rebinding.undo()
