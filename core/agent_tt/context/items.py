"""The items of a request. Those that it shares with the request before are made only when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final, overload

from agent_tt.context.weighing import NOTHING, plus

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterator

    from agent_tt.context.shown import Item
    from agent_tt.context.weighing import Scale

__all__ = ["Items"]

_MOST_READ: Final = 16
"""Requests of a run that are kept as a whole: those that are looked at."""


class Items(Sequence["Item"]):
    """Items from top to bottom: the first ones are those of an earlier request, the rest its own.

    A chat that grows has all that was said in each of its requests: all items of all of them would be the square of it.

    Attributes:
        before: those of the earlier request.
        shared: how many of these come first here.
        own: those that follow.
    """

    __slots__ = ("_read_last", "_scale", "before", "own", "shared", "whole")

    def __init__(
        self, before: Items | None, shared: int, own: tuple[Item, ...], scale: Scale | None, read_last: deque[Items]
    ) -> None:
        """Initialise the items.

        Args:
            before: those of the earlier request.
            shared: how many of these come first here.
            own: those that follow.
            scale: how many tokens those have here; None: as many as they weigh.
            read_last: the requests of the run that were read as a whole, the last one last.
        """
        self.before = before
        self.shared = shared
        self.own = own
        self.whole: tuple[Item, ...] | None = None
        self._scale = scale
        self._read_last = read_last

    def __len__(self) -> int:
        """Give how many there are."""
        return self.shared + len(self.own)

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Item]: ...

    def __getitem__(self, at: int | slice) -> Item | Sequence[Item]:
        """Give some of them; those at the end take no longer where there are many before."""
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            if start >= self.shared and step > 0:
                return self.own[start - self.shared : stop - self.shared : step]
            return self._all()[at]
        number = at + len(self) if at < 0 else at
        if self.shared <= number < len(self):
            return self.own[number - self.shared]
        return self._all()[at]

    def __iter__(self) -> Iterator[Item]:
        """Go through all of them."""
        return iter(self._all())

    def _all(self) -> tuple[Item, ...]:
        whole = self.whole
        if whole is None:
            whole = self.whole = (*self._rescaled(), *self.own)
            self._read_last.append(self)
            while len(self._read_last) > _MOST_READ:
                self._read_last.popleft().whole = None
        return whole

    def _rescaled(self) -> Iterator[Item]:
        """The shared items as they stand here."""
        sums = NOTHING
        for item in self._stood():
            tokens = item.weight
            if self._scale is not None:
                before, sums = sums, plus(sums, item)
                tokens = self._scale.between(before, sums)
            if (item.tokens, item.mark, item.tokens_before) == (tokens, "same", None):
                yield item
            else:
                yield replace(item, tokens=tokens, mark="same", tokens_before=None)

    def _stood(self) -> Iterator[Item]:
        """The shared items as each stood in the request that had it first."""
        parts: list[tuple[Item, ...]] = []
        left, each = self.shared, self.before
        while left and each is not None:
            if left > each.shared:
                parts.append(each.own[: left - each.shared])
                left = each.shared
            each = each.before
        return chain.from_iterable(reversed(parts))
