"""What was found out about objects, for the next value that holds the very same ones: conversations only grow."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["Carried", "leading"]

_Found = TypeVar("_Found")

_LANES: Final = 16
"""Lanes whose latest step is remembered: agents that work side by side take turns."""


def leading(old: list[Wire], new: list[Wire]) -> int:
    """Count the items at the front of two lists that are the very same objects."""
    same = list(map(is_, old, new))
    return same.index(False) if False in same else len(same)


class Carried(Generic[_Found]):
    """Findings about objects and lists, by identity. What a step of a lane did not ask for is let go of after the next.

    What is asked about must not change while it is remembered; it is kept alive until then.
    """

    __slots__ = ("_before", "_lanes", "_now")

    def __init__(self) -> None:
        self._before: dict[tuple[int, str, bool], tuple[Wire, _Found]] = {}
        self._now: dict[tuple[int, str, bool], tuple[Wire, _Found]] = {}
        self._lanes: dict[str, dict[tuple[int, str, bool], tuple[Wire, _Found]]] = {}

    def begin(self, lane: str) -> None:
        """Go on to the next step of a lane."""
        self._before, self._now = self._lanes.pop(lane, {}), {}
        self._lanes[lane] = self._now
        if len(self._lanes) > _LANES:
            del self._lanes[next(iter(self._lanes))]

    def forget(self) -> None:
        """Forget everything."""
        for known in (self._before, self._now, *self._lanes.values()):
            known.clear()

    def get(self, held: dict[str, Wire], name: str = "") -> _Found | None:
        """What was found out about an object; None where that is not known.

        Args:
            held: the object.
            name: what else the finding depends on.
        """
        key = (id(held), name, False)
        if key not in self._now and key not in self._before:  # mostly, and at once
            return None
        known = self._known(key)
        return None if known is None else known[1]

    def keep(self, held: dict[str, Wire], found: _Found, name: str = "") -> None:
        """Remember what was found out about an object."""
        self._now[id(held), name, False] = held, found

    def begun(self, items: list[Wire], name: str = "") -> tuple[int, _Found | None]:
        """How many items at the front of a list are those of the latest one that began so, and what was found of that.

        Args:
            items: the list.
            name: what else the finding depends on.
        """
        known = self._known((id(items[0]), name, True)) if items else None
        if known is None or not isinstance(known[0], list):
            return 0, None
        return leading(known[0], items), known[1]

    def keep_list(self, items: list[Wire], found: _Found, name: str = "") -> None:
        """Remember what was found out about a list, for those that begin as it does."""
        if items:
            self._now[id(items[0]), name, True] = items, found

    def _known(self, key: tuple[int, str, bool]) -> tuple[Wire, _Found] | None:
        known = self._now.get(key)
        if known is None:
            known = self._before.get(key)
            if known is not None:
                self._now[key] = known
        return known
