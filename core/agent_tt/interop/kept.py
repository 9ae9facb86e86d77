"""Results that are kept while they are likely to be asked for again."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Kept"]

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The results of a function for the arguments that were used last. The owner's lock guards it.

    Args:
        size: how much is kept.
        weigh: how much of that a result takes; each takes one where nothing is given.
    """

    def __init__(self, size: int, weigh: Callable[[Value], int] = lambda _: 1) -> None:
        self._left = size
        self._weigh = weigh
        self._values: OrderedDict[Hashable, Value] = OrderedDict()

    def peek(self, key: Hashable) -> Value | None:
        """The value for `key` if it is still known."""
        return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value for `key`, made now unless it is still known."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = make()
        self.put(key, value)
        return value

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a value for `key`, in the place of another one."""
        if key in self._values:
            self._left += self._weigh(self._values.pop(key))
        self._values[key] = value
        self._left -= self._weigh(value)
        while self._left < 0 and self._values:
            self._left += self._weigh(self._values.popitem(last=False)[1])
