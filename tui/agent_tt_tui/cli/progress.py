"""A line that counts while something long is done, and Ctrl-C as a wish to end it with what there is."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_BAR_COLUMNS = 30


@contextmanager
def counter(label: str, *, show: bool) -> Iterator[Callable[[int, int], None]]:
    """Show progress on standard error, if that is a terminal; the line is gone afterwards.

    Args:
        label: what is being done.
        show: False to show nothing.

    Yields:
        A function to be told (done, in all).
    """
    shown = show and sys.stderr.isatty()

    def report(done: int, total: int) -> None:
        if shown:
            filled = _BAR_COLUMNS * min(done, total) // max(total, 1)
            bar = "=" * filled + "-" * (_BAR_COLUMNS - filled)
            sys.stderr.write(f"\r{label} [{bar}] {done:,} of {total:,}\x1b[K")
            sys.stderr.flush()

    try:
        yield report
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Take the first Ctrl-C for a wish to end with what there is; the second ends the command as ever.

    Yields:
        Whether that is wished for.
    """
    wished = threading.Event()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield wished.is_set  # somebody else takes care, or nobody wants it
        return

    def wish(_number: int, _frame: FrameType | None) -> None:
        wished.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, wish)
    try:
        yield wished.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
