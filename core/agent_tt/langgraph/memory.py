"""What is remembered as long as there is room."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

__all__ = ["Memory"]

_ROOM: Final = 32 * 1024 * 1024
"""Bytes, about."""

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """Values by key, as long as there is room; then it begins anew."""

    def __init__(self) -> None:
        self._values: dict[K, V] = {}
        self._room = _ROOM

    def get(self, key: K) -> V | None:
        """The value of a key; None where it is not remembered."""
        return self._values.get(key)

    def put(self, key: K, value: V, size: int) -> None:
        """Remember a value; `size` is about how many bytes it takes."""
        self._room -= size
        if self._room < 0:
            self.clear()
            self._room -= size
        self._values[key] = value

    def forget(self, key: K) -> None:
        """Forget the value of a key, where there is one."""
        self._values.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
        self._room = _ROOM
