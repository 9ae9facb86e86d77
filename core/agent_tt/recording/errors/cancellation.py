"""Why the agent's own side stops: it waits for a call no more, or cleans up on the way out of what Ctrl-C has ended.

Exceptions by which an agent stops waiting are no answers of the world. A replay does not raise them. The call waits
instead, until the agent's own scope cancels it again, in its library's way: trio's `Cancelled`, for one, cannot be made
by anybody else.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any, Final

from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["cancellation_facts", "is_cancellation", "is_cleaning_up", "parts_of_group"]

_NAMES: Final = frozenset({"Cancelled", "CancelledError", "GeneratorExit", "GreenletExit"})
"""Names of the classes that libraries raise into what they cancel: trio, asyncio, Python, gevent."""

_NAME: Final[Any] = vars(type)["__name__"]
_PARTS: Final[Any] = vars(BaseExceptionGroup)["exceptions"]


def is_cancellation(error: BaseException) -> bool:
    """Whether an exception, or everything in a group of them, says that the agent stopped waiting.

    Such a class is not an `Exception`, so that no agent takes it for a failure. `concurrent.futures.CancelledError` is
    one, and says that somebody else's job was cancelled, which is an answer.
    """
    group = parts_of_group(error)
    if group is not None:
        return all(is_cancellation(part) for part in group)
    kind = type(error)  # its `__class__` may be a property
    return not issubclass(kind, Exception) and any(_NAME.__get__(one) in _NAMES for one in kind.__mro__)


def parts_of_group(error: BaseException) -> tuple[BaseException, ...] | None:
    """What is in a group of exceptions; None for one that is not a group. Nothing of its class's own is called."""
    return _PARTS.__get__(error) if issubclass(type(error), BaseExceptionGroup) else None


def cancellation_facts(error: BaseException) -> Mapping[str, Wire]:
    """What is kept among the facts of a call that `error` ended."""
    return CallFacts.cancelled.true() if is_cancellation(error) else {}


_LONGEST_CHAIN: Final = 20


def is_cleaning_up() -> bool:
    """Whether this code runs in a `finally` or `except` that an interruption has led to. Cheap where none has.

    Ctrl-C raises KeyboardInterrupt; in `asyncio.run` it cancels the main task instead, and that alone says nothing:
    tasks are cancelled for many reasons. So the runner is asked whether it was told (CPython 3.11 and later).
    """
    error = sys.exception()
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return False
        if isinstance(error, KeyboardInterrupt):
            return True
        if isinstance(error, _of_asyncio("CancelledError")):
            return _was_runner_told()
        error = error.__context__
    return False


def _was_runner_told() -> bool:
    """Whether the runner of the main thread's event loop, which stands in for Ctrl-C's handler, has been told."""
    handler = signal.getsignal(signal.SIGINT)
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    return isinstance(runner, _of_asyncio("Runner")) and getattr(runner, "_interrupt_count", 0) > 0


def _of_asyncio(name: str) -> type | tuple[()]:
    """A class of asyncio; no class where the program has not imported it."""
    found: type | tuple[()] = getattr(sys.modules.get("asyncio"), name, ())
    return found
