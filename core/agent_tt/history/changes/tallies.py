"""The tokens of what a container holds, of which its own is made: the digest of a changed state costs what changed.

A container that is hashed in one piece has no tally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from agent_tt.codec.carried import leading
from agent_tt.codec.tlv import tlv
from agent_tt.history.changes.diff import same
from agent_tt.history.digest import (
    entry_token,
    is_hashed_whole,
    list_token,
    polynomial,
    replaced,
    sum_token,
    token,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["DictTally", "ListTally", "Tally", "retallied", "token_of"]

_SMALL: Final = 1024
"""Bytes up to which a container is hashed anew: keeping account of it takes longer."""
_MISSING: Final = object()


class DictTally:
    """The tokens of a dict's entries.

    Attributes:
        below: tallies of containers in it, by key.
    """

    __slots__ = ("_entries", "_total", "below")

    def __init__(self, wire: dict[str, Wire]) -> None:
        self.below: dict[str | int, Tally] = {}
        self._entries: dict[str, int] = {}
        self._total = 0
        for key, value in wire.items():
            self.set(key, value, None)

    def token(self) -> int:
        """The dict's token."""
        return sum_token(len(self._entries), self._total)

    def set(self, step: str | int, value: Wire, tally: Tally | None) -> None:
        """Set an entry, and the tally of it."""
        key = cast("str", step)
        self.remove(key)
        if tally is not None:
            self.below[key] = tally
        self._entries[key] = entry_token(key, token_of(value, tally))
        self._total += self._entries[key]

    def remove(self, key: str) -> None:
        """Take an entry out, where there is one."""
        self._total -= self._entries.pop(key, 0)
        self.below.pop(key, None)


class ListTally:
    """The tokens of a list's elements.

    Attributes:
        below: tallies of containers in it, by position.
    """

    __slots__ = ("_polynomial", "_tokens", "below")

    def __init__(self, wire: list[Wire]) -> None:
        self.below: dict[str | int, Tally] = {}
        self._tokens = [token(item) for item in wire]
        self._polynomial = polynomial(0, self._tokens)

    def token(self) -> int:
        """The list's token."""
        return list_token(len(self._tokens), self._polynomial)

    def set(self, step: str | int, value: Wire, tally: Tally | None) -> None:
        """Set an element, and the tally of it."""
        position = cast("int", step)
        self._replace(position, 1, [token_of(value, tally)])
        self.below.pop(position, None)
        if tally is not None:
            self.below[position] = tally

    def splice(self, start: int, removed: int, items: Sequence[Wire]) -> None:
        """Put elements in the place of others."""
        self._replace(start, removed, [token(item) for item in items])
        end, shift = start + removed, len(items) - removed
        self.below = {
            position if position < start else position + shift: tally
            for position, tally in cast("dict[int, Tally]", self.below).items()
            if not start <= position < end
        }

    def _replace(self, start: int, removed: int, added: list[int]) -> None:
        before, end = self._tokens, start + removed
        if start == len(before):
            self._polynomial = polynomial(self._polynomial, added)
        elif start == 0 or removed == len(added):
            self._polynomial = replaced(self._polynomial, before[start:end], added, len(before) - end)
        else:
            self._polynomial = polynomial(polynomial(polynomial(0, before[:start]), added), before[end:])
        before[start:end] = added


Tally: TypeAlias = DictTally | ListTally


def token_of(value: Wire, tally: Tally | None) -> int:
    """The token of a value that has that tally, or none."""
    return token(value) if tally is None else tally.token()


def retallied(tally: Tally | None, old: Wire | object, new: Wire) -> Tally | None:
    """The tally of a value in the place of another one. Parts that are the very same objects cost nothing.

    Args:
        tally: that of `old`, which becomes the new one; None where there is none.
        old: the value before; nothing in it was changed since it was tallied.
        new: the value now.
    """
    if not isinstance(new, dict | list) or is_hashed_whole(new) or (tally is None and len(tlv(new)) <= _SMALL):
        return None
    if isinstance(new, dict):
        if not isinstance(tally, DictTally) or not isinstance(old, dict):
            return DictTally(new)
        for key in old.keys() - new.keys():
            tally.remove(key)
        for key, value in new.items():
            before = old.get(key, _MISSING)
            if before is not value and not same(before, value):
                tally.set(key, value, retallied(tally.below.get(key), before, value))
        return tally
    if not isinstance(tally, ListTally) or not isinstance(old, list):
        return ListTally(new)
    start = leading(old, new)
    removed, added = old[start:], new[start:]
    if removed or added:
        end = leading(removed[::-1], added[::-1])
        tally.splice(start, len(removed) - end, added[: len(added) - end])
    return tally
