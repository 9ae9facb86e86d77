"""`asyncio.as_completed` without a set: the order of what is in there is that of memory addresses.

Python puts coroutines into a set before it makes tasks of them, so that lanes, which are named by the order of
creation, would have other names in each process. Recording and replay therefore begin them in the order of the list.
What is done already comes in that order too.

Imported only where the program has imported asyncio.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.modules.rebinding import Rebinding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

__all__ = ["TASKS_IN_LIST_ORDER"]

_OF_TASKS: Final[Callable[..., Any]] = asyncio.as_completed


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


TASKS_IN_LIST_ORDER: Final = Rebinding(_OF_TASKS, _tasks_as_completed)
"""What is left of it, once it is undone, does no harm."""
