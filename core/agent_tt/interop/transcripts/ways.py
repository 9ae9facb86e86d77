"""The ways through a conversation that parted: the oldest is the run, the others are forks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Way", "ways_from"]

_MOST_WAYS: Final = 200

Moment = TypeVar("Moment")


@dataclass(slots=True)
class Way(Generic[Moment]):
    """A way from the beginning of a session to an end of it.

    Attributes:
        parent: the number of the way that it left; None for the oldest.
        shared: how many of its moments it shares with that.
    """

    moments: list[Moment]
    parent: int | None = None
    shared: int = 0


def ways_from(root: Moment, after: Callable[[Moment], Sequence[Moment]]) -> list[Way[Moment]]:
    """Every way from a moment on, at most 200, each behind the one that it left.

    Args:
        root: where they begin.
        after: the moments that followed one, the older first.
    """
    found: list[Way[Moment]] = []
    waiting = [Way([root])]
    while waiting and len(found) < _MOST_WAYS:
        way = waiting.pop(0)
        number = len(found)
        while following := after(way.moments[-1]):
            first, *others = following
            shared = len(way.moments)
            waiting += [Way([*way.moments, other], number, shared) for other in others]
            way.moments.append(first)
        found.append(way)
    return found
