"""A line that counts while something long is done."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BAR_COLUMNS = 30


@contextmanager
def counter(label: str, *, show: bool) -> Iterator[Callable[[int, int], None]]:
    """Show progress on standard error, if that is a terminal; the line is gone afterwards.

    Args:
        label: What is being done.
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
