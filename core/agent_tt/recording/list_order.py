"""`asyncio.as_completed` with its coroutines begun in the order of the list.

Python puts them into a set first, so tasks are made in the order of memory addresses: another one in each process. A
lane is named by the order of creation, and so would not be the same twice. Recording and replay therefore replace it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.rebinding import Rebinding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["ListOrder"]

_ORIGINAL: Final[Callable[..., Any]] = asyncio.as_completed


class _InListOrder:
    """What is awaited, as tasks, made in order by whoever looks through it.

    Args:
        awaitables: futures and coroutines; one that stands there twice counts once.
    """

    def __init__(self, awaitables: Iterable[Any]) -> None:
        self._awaitables = awaitables

    def __iter__(self) -> Iterator[asyncio.Future[Any]]:
        return iter([asyncio.ensure_future(awaitable) for awaitable in dict.fromkeys(self._awaitables)])


@functools.wraps(_ORIGINAL)
def _as_completed(fs: Any, *, timeout: float | None = None) -> Any:
    if asyncio.isfuture(fs) or asyncio.iscoroutine(fs):
        return _ORIGINAL(fs, timeout=timeout)  # it refuses them
    if inspect.isgeneratorfunction(_ORIGINAL):
        return _one_by_one(fs, timeout)
    return _ORIGINAL(_InListOrder(fs), timeout=timeout)  # since Python 3.13 something else than a generator


def _one_by_one(awaitables: Iterable[Any], timeout: float | None) -> Iterator[Any]:
    """As the generator of Python 3.11 and 3.12. What is done already comes first there too, but in any order."""
    futures = list(_InListOrder(awaitables))
    are_done = [future.done() for future in futures]
    for future, is_done in zip(futures, are_done, strict=True):
        if is_done:
            yield from _ORIGINAL([future])
    left = [future for future, is_done in zip(futures, are_done, strict=True) if not is_done]
    yield from _ORIGINAL(left, timeout=timeout)


class ListOrder:
    """Comes and goes with the hooks; see `agent_tt.recording.hooks.Companion`. What is left of it does no harm."""

    def __init__(self) -> None:
        self._rebinding = Rebinding(_ORIGINAL, _as_completed)

    def acquire(self) -> None:
        """Replace it under every name."""
        self._rebinding.apply()

    def release(self) -> None:
        """Put the original back."""
        self._rebinding.undo()
