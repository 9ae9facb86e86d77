"""Rows of the log that were read lately, decompressed: looking around in a long run reads the same stretches again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

__all__ = ["BLOCK", "PAGE", "PageCache"]

BLOCK: Final = 64
"""Checkpoints in one row of the index of changes."""

PAGE: Final = 128
"""Rows of a page; pages begin at multiples of it."""

_MOST_BYTES: Final = 16 << 20


class PageCache:
    """Whole pages of rows, the least recently used forgotten first. Rows never change, so a page is never stale."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._pages: OrderedDict[tuple[int, int], list[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, track: int, page: int) -> list[bytes] | None:
        """The operations of each row of a page, as JSON; None if it is not here."""
        with self._lock:
            found = self._pages.get((track, page))
            if found is not None:
                self._pages.move_to_end((track, page))
            return found

    def put(self, track: int, page: int, rows: list[bytes]) -> None:
        """Keep a page of which every row was read."""
        size = sum(map(len, rows))
        if size > self._most_bytes:
            return
        with self._lock:
            if (track, page) in self._pages:
                return
            self._pages[track, page] = rows
            self._bytes += size
            while self._bytes > self._most_bytes:
                _, dropped = self._pages.popitem(last=False)
                self._bytes -= sum(map(len, dropped))
