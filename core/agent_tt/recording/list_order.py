"""`as_completed` without sets: of what is done already, or not begun, the order is that of memory addresses in there.

Python puts coroutines into a set before it makes tasks of them, so that lanes, which are named by the order of
creation, would have other names in each process. And futures that are done when it is called come in the order of
a set. Recording and replay therefore replace it: coroutines are begun in the order of the list, and what is done comes
in the order in which it was done, as far as that is known, else in that of the list.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import queue
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt.recording.job_ends import when_ended
from agent_tt.recording.rebinding import Rebinding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    Job: TypeAlias = concurrent.futures.Future[Any]

__all__ = ["ListOrder"]

_OF_TASKS: Final[Callable[..., Any]] = asyncio.as_completed
_OF_JOBS: Final[Callable[..., Any]] = concurrent.futures.as_completed


class _InListOrder:
    """What is awaited, as tasks, made in order by whoever looks through it.

    Args:
        awaitables: futures and coroutines; one that stands there twice counts once.
    """

    def __init__(self, awaitables: Iterable[Any]) -> None:
        self._awaitables = awaitables

    def __iter__(self) -> Iterator[asyncio.Future[Any]]:
        return iter([asyncio.ensure_future(awaitable) for awaitable in dict.fromkeys(self._awaitables)])


@functools.wraps(_OF_TASKS)
def _tasks_as_completed(fs: Any, *, timeout: float | None = None) -> Any:
    if asyncio.isfuture(fs) or asyncio.iscoroutine(fs):
        return _OF_TASKS(fs, timeout=timeout)  # it refuses them
    if inspect.isgeneratorfunction(_OF_TASKS):
        return _one_by_one(fs, timeout)
    return _OF_TASKS(_InListOrder(fs), timeout=timeout)  # since Python 3.13 something else than a generator


def _one_by_one(awaitables: Iterable[Any], timeout: float | None) -> Iterator[Any]:
    """As the generator of Python 3.11 and 3.12."""
    signals = []
    for future in _InListOrder(awaitables):
        signal: asyncio.Future[asyncio.Future[Any]] = future.get_loop().create_future()
        future.add_done_callback(signal.set_result)  # told in this order, and not before this code waits
        signals.append(signal)
    for waiting in _OF_TASKS(signals, timeout=timeout):
        yield _result(waiting)


async def _result(waiting: Awaitable[asyncio.Future[Any]]) -> object:
    return (await waiting).result()


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
    """Comes and goes with the hooks; see `agent_tt.recording.hooks.Companion`. What is left of it does no harm."""

    def __init__(self) -> None:
        self._rebindings = (Rebinding(_OF_TASKS, _tasks_as_completed), Rebinding(_OF_JOBS, _jobs_as_completed))

    def acquire(self) -> None:
        """Replace them under every name."""
        for rebinding in self._rebindings:
            rebinding.apply()

    def release(self) -> None:
        """Put the originals back."""
        for rebinding in self._rebindings:
            rebinding.undo()
