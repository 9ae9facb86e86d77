"""Parts of states that were read lately, taken apart already: states that lie near each other hold the same ones.

What is kept here is shared by all who read, and nobody may change it. Whoever hands it out as their own copies it:
texts stay the same objects, so that a copy costs what the containers around them do.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.tlv import from_tlv, tlv
from agent_tt.errors import Damaged
from agent_tt.history.payloads.damage import placeholder
from agent_tt.history.payloads.frames import MOST_PLAIN
from agent_tt.history.payloads.payload import hash_of, too_much, unpack

if TYPE_CHECKING:
    from collections.abc import Hashable

    from agent_tt.codec.wire import Wire
    from agent_tt.history.payloads.blobs import Blobs

__all__ = ["BlobParts", "PartCache", "copied"]

_MOST_BYTES: Final = 32 << 20
_LEAST: Final = 256
"""Bytes that keeping something takes, however small it is."""
_CONTAINERS: Final = frozenset({dict, list})


class PartCache:
    """Values by their keys, the least recently used forgotten first. Safe to use from several threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """What is kept by that key; None if nothing is."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: object, size: int) -> None:
        """Keep a value that takes about `size` bytes, in place of one with its key."""
        size += _LEAST
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._bytes -= before[1]
            if size > self._most_bytes:
                return
            self._kept[key] = value, size
            self._bytes += size
            while self._bytes > self._most_bytes:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._bytes -= dropped


def copied(value: Wire) -> Wire:
    """The same value in containers of its own."""
    try:
        return _copied(value)
    except RecursionError:
        return from_tlv(tlv(value))  # goes deeper


def _copied(value: Wire) -> Wire:
    if type(value) is dict:
        if _CONTAINERS.isdisjoint(map(type, value.values())):
            return value.copy()
        return {key: _copied(item) for key, item in value.items()}
    if type(value) is list:
        if _CONTAINERS.isdisjoint(map(type, value)):
            return value[:]
        return [_copied(item) for item in value]
    return value


class BlobParts:
    """Blobs as the values that they hold, for the parts of one value.

    A blob can be named any number of times, and so be most of all memory: parts that are too much cannot be read, like
    damaged ones.

    Args:
        blobs: where they are read.
        kept: those that were read lately.
    """

    __slots__ = ("_blobs", "_kept", "_left")

    def __init__(self, blobs: Blobs, kept: PartCache) -> None:
        self._blobs = blobs
        self._kept = kept
        self._left = MOST_PLAIN

    def value(self, name: Wire) -> tuple[Wire, bool]:
        """The value that a reference names, the caller's own, and whether it could be read; else a placeholder."""
        try:
            digest = hash_of(name)
            if self._left <= 0:
                raise too_much()
            known = self._kept.get(digest)
            if known is not None:
                self._take(known[1])
                return copied(known[0]), True
            plain = self._blobs.get(digest)
            self._take(len(plain))
            value = unpack(plain, "a blob")
        except Damaged as error:
            return placeholder(error.message), False
        self._kept.put(digest, (copied(value), len(plain)), len(plain))
        return value, True

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise too_much()
