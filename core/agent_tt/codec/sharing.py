"""Limits on copying what a value holds more than once: as a tree, a thousand objects that hold each other have no end.

Shared references are stored as copies, so a state of a few objects may spell out to more than a machine can hold. What
is met for the first time is always encoded; only being met *again* is paid for, and when that is used up, what was seen
before is shown instead of copied.
"""

from __future__ import annotations

import reprlib
from typing import Final

__all__ = ["Copies", "short_repr"]

_UNWATCHED: Final = 50_000
"""Elements that are encoded before anything is watched: small values, almost all there are, pay for a count alone."""

_COPIED: Final = 100_000
"""Elements of containers met before that are encoded again."""

_SHOWN: Final = 5_000
"""Containers that are shown instead. After that nothing is looked into any more: such a value has no other end."""

_SIZED: Final = frozenset(map(id, (dict, list, tuple, set, frozenset)))  # a class may refuse to be looked up in a set


class Copies:
    """Counts what one value holds more than once. What is watched is kept alive, so that ids stay what they are."""

    __slots__ = ("_left", "_seen", "_unwatched")

    def __init__(self) -> None:
        self._unwatched = _UNWATCHED
        self._left = _COPIED
        self._seen: dict[int, object] = {}

    @property
    def is_hopeless(self) -> bool:
        """Whether so much is shown instead of copied that nothing more should be looked into."""
        return self._left < -_SHOWN

    def is_one_too_many(self, value: object) -> bool:
        """Whether a container was met before and may not be copied any more."""
        weight = len(value) + 1 if id(type(value)) in _SIZED else 1  # type: ignore[arg-type]  # those have a length
        if self._unwatched > 0:
            self._unwatched -= weight
            return False
        if id(value) not in self._seen:
            self._seen[id(value)] = value
            return self.is_hopeless
        self._left -= weight if self._left > 0 else 1
        return self._left <= 0


class _Short(reprlib.Repr):
    """A representation that looks at a few elements, and asks no object for its own."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 1

    repr_TrackedDict = reprlib.Repr.repr_dict  # noqa: N815  reprlib goes by the names of classes
    repr_TrackedList = reprlib.Repr.repr_list  # noqa: N815

    def repr_instance(self, x: object, level: int) -> str:  # noqa: ARG002  reprlib's signature
        return f"<{type(x).__qualname__}>"


_SHORT: Final = _Short()


def short_repr(value: object) -> str:
    """Describe a value in a short text, quickly even where its parts hold one another."""
    return _SHORT.repr(value)
