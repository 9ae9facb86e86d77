"""Results that are kept while they are likely to be asked for again."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Kept"]

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The results of a function for the arguments that were used last. The owner's lock guards it."""

    def __init__(self, size: int) -> None:
        self._size = size
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
        self._values[key] = value
        while len(self._values) > self._size:
            self._values.popitem(last=False)
        return value
