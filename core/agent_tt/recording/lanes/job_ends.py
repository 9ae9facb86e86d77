"""When the job of an executor ends: once those who wait for it were told, later than its function returns.

Between the two the thread may be kept from going on, and the job of another, with a later answer, would be over first.
So the thread hands the next answer over only behind what it tells, and jobs are numbered in the order of their ends.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from agent_tt.recording.lanes.thread_ordering import Handover

    Job: TypeAlias = Future[Any]

__all__ = ["job_returns", "job_told", "when_ended"]


class _Returned(threading.local):
    """Of one thread: the run whose job's function has returned, and is not yet told."""

    handover: Handover | None = None


_RETURNED: Final = _Returned()
_ENDED: Final[weakref.WeakKeyDictionary[Job, int]] = weakref.WeakKeyDictionary()
_NUMBERS: Final = itertools.count()


def job_returns(handover: Handover) -> None:
    """The function of this thread's job returns now, or raises; what became of it is told next."""
    _RETURNED.handover = handover


def job_told(original: Callable[..., object]) -> Callable[..., object]:
    """In place of `set_result` and `set_exception` of a future: the same, and this thread is done with its answer."""

    def tell(future: Job, /, *outcome: object, **named: object) -> object:
        handover, _RETURNED.handover = _RETURNED.handover, None
        _ENDED[future] = next(_NUMBERS)
        try:
            return original(future, *outcome, **named)
        finally:
            if handover is not None:
                handover.goes_on()

    return tell


def when_ended(job: Job) -> float:
    """A larger number for each job that ended later; infinite where that is not known, or not yet."""
    return _ENDED.get(job, float("inf"))
