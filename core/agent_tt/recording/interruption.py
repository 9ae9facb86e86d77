"""Whether code runs because the agent was interrupted: it cleans up, on the way out of what Ctrl-C has ended."""

from __future__ import annotations

import signal
import sys
from typing import Final

__all__ = ["is_cleaning_up"]

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
