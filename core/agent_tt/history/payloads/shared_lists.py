"""Lists that one value after another goes on with, as the conversations that models are shown: kept in shared blobs.

A list is cut into stretches of 64 items, what is left into stretches of 8, and that into single ones. A longer list
begins with the same stretches, so that a conversation takes about three times its size, however often it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.large_parts import PutBlob, Reference

__all__ = ["SharedLists"]

_STRETCHES: Final = (64, 8, 1)
_FEWEST: Final = 8
"""Shorter lists are kept with their value."""


class SharedLists:
    """Puts lists into blobs, each stretch once; a stretch is known again by the objects in it, which must not change.

    Attributes:
        named: the hashes that the last value names.
    """

    def __init__(self) -> None:
        self.named: list[bytes] = []
        self._known: dict[tuple[int, ...], tuple[list[Wire], str]] = {}

    def move_out(self, value: Wire, refs: list[Reference], put: PutBlob) -> Wire:
        """A copy of an object without its long lists, which are named in `refs` as `[[name], "l", hashes]`.

        Raises:
            orjson.JSONEncodeError: an item is nested too deeply.
        """
        self.named = []
        if type(value) is not dict:
            return value
        kept = dict(value)
        for name, items in value.items():
            if type(items) is list and len(items) >= _FEWEST:
                refs.append([[name], "l", [self._put(each, put) for each in _stretches(items)]])
                kept[name] = None
        return kept

    def _put(self, stretch: list[Wire], put: PutBlob) -> str:
        key = tuple(map(id, stretch))
        known = self._known.get(key)
        if known is None:
            self._known[key] = known = stretch, put(orjson.dumps(stretch))
        self.named.append(bytes.fromhex(known[1]))
        return known[1]


def _stretches(items: list[Wire]) -> Iterator[list[Wire]]:
    start = 0
    for size in _STRETCHES:
        while len(items) - start >= size:
            yield items[start : start + size]
            start += size
