"""Handing work to one thread so that only the newest of what was asked for is done next."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Newest(Generic[Item]):
    """A slot for the next piece of work: what is put in replaces what was not begun yet."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: Item | None = None
        self._busy = False

    def put(self, item: Item) -> bool:
        """Ask for a piece of work.

        Returns:
            Whether the caller must start the worker: none is running.
        """
        with self._lock:
            self._waiting = item
            start, self._busy = not self._busy, True
            return start

    @property
    def is_busy(self) -> bool:
        """Whether an item is worked on now; another one may wait."""
        with self._lock:
            return self._busy

    def take(self) -> Item | None:
        """What the worker does next; None ends it."""
        with self._lock:
            item, self._waiting = self._waiting, None
            self._busy = item is not None
            return item
