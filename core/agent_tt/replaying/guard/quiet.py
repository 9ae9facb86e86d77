"""Silencing Python's "exception was never retrieved" for a divergence, which its replay reports anyway."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from typing import TYPE_CHECKING

from agent_tt.replaying.divergence import divergence_in

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["quiet"]


class _Filter(logging.Filter):
    """Drops what asyncio logs about a divergence in a task that nobody awaited."""

    def filter(self, record: logging.LogRecord) -> bool:
        info = record.exc_info
        return not (isinstance(info, tuple) and divergence_in(info[1]) is not None)


_FILTER = _Filter()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let threads, finalizers and tasks end with a divergence without a word.

    asyncio's logger stays so afterwards: it complains when a task is collected as garbage, which may be much later.
    """
    logging.getLogger("asyncio").addFilter(_FILTER)
    thread_hook, unraisable_hook = threading.excepthook, sys.unraisablehook

    def on_thread(args: threading.ExceptHookArgs) -> None:
        if divergence_in(args.exc_value) is None:
            thread_hook(args)

    def on_unraisable(args: sys.UnraisableHookArgs) -> None:
        if divergence_in(args.exc_value) is None:
            unraisable_hook(args)

    threading.excepthook, sys.unraisablehook = on_thread, on_unraisable
    try:
        yield
    finally:
        if threading.excepthook is on_thread:
            threading.excepthook = thread_hook
        if sys.unraisablehook is on_unraisable:
            sys.unraisablehook = unraisable_hook
