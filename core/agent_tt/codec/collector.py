"""Letting Python's collector of cycles rest for a moment."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collector_paused"]

_lock = Lock()
_pausing = 0
_was_on = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collect no cycles in the block, in any thread; several threads may be in one.

    For what makes very many objects that are kept, none of them in a cycle: the collector, which runs after every so
    many new objects, would go through all of them again and again, for a third of the whole time.
    """
    global _pausing, _was_on  # noqa: PLW0603  # the collector is one for the process, and so is who lets it rest
    with _lock:
        if not _pausing:
            _was_on = gc.isenabled()
            gc.disable()
        _pausing += 1
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if not _pausing and _was_on:
                gc.enable()
