"""What the requests of a run to models have in common with those before them, so that each text is kept once.

A conversation is sent again with every request, longer each time. Of a request only what is new is taken as texts; how
much of it stood in the request before is kept here, and says in which later requests a text stands as well.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agent_tt.codec.paths import parse_path
from agent_tt.errors import InvalidPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["Request", "Requests", "in_common", "sizes_of"]

_WHOLE: Final = -1

Kept: TypeAlias = "Mapping[str, int]"
"""By the names of a request's entries: how many leading items of a list are those of the request before, or -1 for all
of an entry that is not a list. A name of which nothing was kept is missing."""


class Request(NamedTuple):
    """A request to a model.

    Attributes:
        step: number of its step.
        call: number of its call in that.
        order: position of the call among the texts of the step.
        before: step and call of the request before it, by the same lane to the same model; None for the first.
        kept: what it has in common with that.
        sizes: its own entries: how many items a list has, -1 for what is not a list.
    """

    step: int
    call: int
    order: int
    before: tuple[int, int] | None
    kept: Kept
    sizes: Kept


def sizes_of(request: Wire) -> dict[str, int]:
    """The entries of a request, as `Request.sizes` says; none of one that has no names."""
    if not isinstance(request, dict):
        return {}
    return {name: len(value) if isinstance(value, list) else _WHOLE for name, value in request.items()}


def in_common(before: Wire, now: Wire) -> dict[str, int]:
    """What a request has in common with the one before it, as `Request.kept` says."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return {}
    found: dict[str, int] = {}
    for name, value in now.items():
        old = before.get(name)
        if isinstance(value, list) and isinstance(old, list):
            known = 0
            while known < min(len(old), len(value)) and old[known] == value[known]:
                known += 1
            if known:
                found[name] = known
        elif name in before and old == value:
            found[name] = _WHOLE
    return found


class _Chain:
    """Requests that follow each other, each keeping something of the one before it."""

    __slots__ = ("after", "drops", "requests", "steps")

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.steps: list[int] = []
        self.after: dict[int, list[_Chain]] = {}
        """Chains that begin behind a request that has another one after it already, by its position."""
        self.drops: dict[str, list[int]] = {}
        """By name, the positions of the requests that did not keep all that the one before had there."""

    def append(self, request: Request) -> None:
        at = len(self.requests)
        for name, size in self.requests[-1].sizes.items() if at else ():
            kept = request.kept.get(name, 0)
            if kept != _WHOLE and (size == _WHOLE or kept < size):
                self.drops.setdefault(name, []).append(at)
        self.requests.append(request)
        self.steps.append(request.step)

    def end(self, at: int, name: str, index: int | None) -> int:
        """The position of the first request behind `at` that has not kept an entry, or an item of it, any more."""
        drops = self.drops.get(name, ())
        for place in range(bisect_right(drops, at), len(drops)):
            kept = self.requests[drops[place]].kept.get(name, 0)
            if kept != _WHOLE and (index is None or index >= kept):
                return drops[place]
        return len(self.requests)


class Requests:
    """All requests of one run.

    Args:
        requests: them, in any order; of two of one call the last counts.
    """

    def __init__(self, requests: Iterable[Request]) -> None:
        self._at: dict[tuple[int, int], tuple[_Chain, int]] = {}
        by_call = {(each.step, each.call): each for each in requests}
        for key, each in sorted(by_call.items()):
            parent = None if each.before is None else self._at.get(each.before)
            if parent is None:
                chain = _Chain()
            elif parent[1] == len(parent[0].requests) - 1:
                chain = parent[0]
            else:
                chain = _Chain()
                parent[0].after.setdefault(parent[1], []).append(chain)
            self._at[key] = chain, len(chain.requests)
            chain.append(each)

    def again(self, step: int, call: int | None, path: str, first: int, last: int) -> list[Request]:
        """The later requests between two steps that have, at the same place, what a request newly brought there.

        Args:
            step: the step of the request that brought it.
            call: its call.
            path: where in it, as people write it.
            first: the first step that counts.
            last: the last one.
        """
        found = self._at.get((step, call or 0))
        name, index = _entry(path)
        if found is None or name is None:
            return []
        return list(self._behind(*found, name, index, first, last))

    def _behind(self, chain: _Chain, at: int, name: str, index: int | None, first: int, last: int) -> Iterator[Request]:
        end = chain.end(at, name, index)
        start = max(at + 1, bisect_left(chain.steps, first))
        yield from chain.requests[start : min(end, bisect_right(chain.steps, last))]
        for place, others in chain.after.items():
            for other in others if at <= place < end else ():
                kept = other.requests[0].kept.get(name, 0)
                if kept == _WHOLE or (index is not None and index < kept):
                    yield from other.requests[:1] if first <= other.steps[0] <= last else ()
                    yield from self._behind(other, 0, name, index, first, last)


@lru_cache(maxsize=20_000)
def _entry(path: str) -> tuple[str | None, int | None]:
    """The name of a request's entry that a path is in, and the position in its list."""
    try:
        steps = parse_path(path)
    except InvalidPath:
        return None, None
    if not steps or not isinstance(steps[0], str):
        return None, None
    index = steps[1] if len(steps) > 1 else None
    return steps[0], index if isinstance(index, int) else None
