"""What a search gives: hits, in the order that was asked for.

By rank, equal texts of a run are one hit, and the best come first. A hit's score is the sum of

| for | points |
|---|---|
| whole words | 50, by the share of the words that stand as whole ones, not as parts of longer ones; of patterns none |
| words that stand beside each other as they were written | 5 |
| a rare text | 20 ÷ (1 + log₂ of how often the run has it) |
| its field | error 20, decision 18, name 16, agent, call 14, arguments 12, result 10, message of a state 4, state 2 |

so that whole words come before parts whatever else is so. Equal scores go by step, and in a step as it recorded them.

By step, each place of a text is a hit of its own.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import field
from math import log2
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.querying.search.recorded import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.querying.search.fields import Where
    from agent_tt.querying.search.query import Found, Query
    from agent_tt.querying.search.requests import Request

__all__ = ["By", "Gathered", "Hit", "Hits", "Later", "Place", "score"]

By: TypeAlias = Literal["rank", "step"]

_FIELD_POINTS: Final = (20, 18, 16, 14, 14, 12, 12, 10, 4, 2)
"""As `KINDS`."""

_BEFORE, _AFTER = 24, 56
"""Characters of an excerpt before and after the beginning of what was found."""

_MOST_MATCHED: Final = 50_000
_MOST_CHARACTERS: Final = 50_000_000
"""Texts that are gathered, and characters of them, before a search by reading stops."""

_SHORT: Final = 64
_MOST_WITHOUT: Final = 50_000
"""Characters of short texts, and how many are known to hold nothing: runs say the same names again and again."""

_MOST_STEPS: Final = 5_000
"""Places whose steps are noted beside the hits."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One text in which something was found.

    Attributes:
        step: number of the step that brought the text; 0 is the initial input.
        where: what kind of text it is.
        path: where in the state, arguments or result, as people write it; empty for other texts.
        excerpt: the text around the first place where it was found; raw, so it must be made safe before it is drawn.
        start: index into `excerpt` at which the found words begin.
        length: number of characters found.
        call: number of the call, for `call`, `arguments`, `result` and an `error` of a call.
        run: id of the run.
        score: how good it is; see the module.
        times: how often the run has this text in this kind of place; 1 where each place is a hit of its own.
        last: the last step that has it.
    """

    step: int
    where: Where
    path: str
    excerpt: str
    start: int
    length: int
    call: int | None = None
    run: str = ""
    score: float = 0.0
    times: int = 1
    last: int = 0


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found.

    Attributes:
        hits: the first ones, in the order that was asked for.
        total: how many places of texts were found.
        is_complete: whether that is all there is; of words that stand in thousands of texts not all are counted.
        steps: steps with hits of the first run with any, in order; not all of them where `total` is large.
        searched: the share of what was recorded that could be searched yet, 0 to 1.
        newest: where only so many runs were looked at, the newest of those that may hold it: `total` is of these, and
            others may have better hits; None where all were.
        of: where `newest` is said, how many runs may hold it.
        seconds: after how many seconds the search ended by itself, before it was at its end; None where it did not.
    """

    hits: tuple[Hit, ...] = ()
    total: int = 0
    is_complete: bool = True
    steps: tuple[int, ...] = ()
    searched: float = 1.0
    newest: int | None = None
    of: int | None = None
    seconds: float | None = None


class Place(NamedTuple):
    """Where a text stands.

    Attributes:
        step: number of the step that brought it.
        order: its position among the texts of the step; what was edited for a fork comes after all of them.
        call: number of the call; None for what belongs to the step.
        path: as people write it.
        brought: of a text that a request repeats, the step and the order at which one first had it there.
    """

    step: int
    order: int
    call: int | None
    path: str
    brought: tuple[int, int] = (-1, 0)

    def again(self, request: Request) -> Place:
        """The same place in a later request."""
        return Place(request.step, request.order, request.call, self.path, (self.step, self.order))


class Later(NamedTuple):
    """Further places of a text, not read yet.

    Attributes:
        first: the first step of them.
        last: the last one.
        uses: how many they are.
        read: reads them.
    """

    first: int
    last: int
    uses: int
    read: Callable[[], Iterable[Place]]


@dataclass(slots=True)
class _Matched:
    """A text of a run that holds what is searched for, once for each kind of place."""

    run: str
    rank: int
    kind: int
    text: str
    found: Found
    places: list[Place] = field(default_factory=list)
    uses: int = 0
    last: int = 0
    later: list[Later] = field(default_factory=list)

    @property
    def points(self) -> float:
        return score(self.kind, self.found, self.uses)

    def all_places(self) -> Iterator[Place]:
        """All places in order; parts that come later are read when they are reached."""
        heap = list(self.places)  # which is in order
        parts = sorted(self.later, key=lambda part: part.first)
        while heap or parts:
            while parts and (not heap or parts[0].first <= heap[0].step):
                for place in parts.pop(0).read():
                    heapq.heappush(heap, place)
            if heap:
                yield heapq.heappop(heap)

    def hit(self, query: Query, place: Place, *, times: int = 1, last: int | None = None) -> Hit:
        start, end = query.place(self.text, self.found)
        begin = max(0, start - _BEFORE)
        return Hit(
            step=place.step,
            where=KINDS[self.kind].where,
            path=place.path,
            excerpt=self.text[begin : max(start + _AFTER, end)],
            start=start - begin,
            length=end - start,
            call=place.call,
            run=self.run,
            score=self.points,
            times=times,
            last=place.step if last is None else last,
        )


class Gathered:
    """Gathers the texts that hold what is searched for, and puts them in order."""

    def __init__(self, query: Query, by: By) -> None:
        self._query = query
        self._by = by
        self._matched: dict[tuple[int, int, str], _Matched] = {}
        self._without: set[str] = set()
        self._stop = 0
        self._characters = 0
        self.is_complete = True

    def stop_at(self, step: int) -> None:
        """Say that there are more texts, which came up at this step or later."""
        self.is_complete = False
        self._stop = min(self._stop, step) if self._stop else step

    @property
    def is_full(self) -> bool:
        """Whether that is as much as is to be kept in memory."""
        return len(self._matched) >= _MOST_MATCHED or self._characters >= _MOST_CHARACTERS

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._matched)

    def add(self, run: str, rank: int, kind: int, text: str, place: Place) -> None:
        """Take a text at one place if it holds what is searched for.

        Args:
            run: id of the run whose text it is.
            rank: place of the run among those that are searched.
            kind: position in `KINDS`.
            text: the text.
            place: where it stands.

        Raises:
            InvalidExpression: a pattern takes too much work.
        """
        if text in self._without:
            return
        known = self._matched.get((rank, kind, text))
        found = self._query.find(text) if known is None else known.found
        if found is not None:
            self.take(run, rank, kind, text, found, (place,))
        elif len(text) <= _SHORT and len(self._without) < _MOST_WITHOUT:
            self._without.add(text)

    def take(
        self,
        run: str,
        rank: int,
        kind: int,
        text: str,
        found: Found,
        places: Sequence[Place],
        later: Sequence[Later] = (),
    ) -> None:
        """Take a text that holds what is searched for.

        Args:
            run: id of the run whose text it is.
            rank: place of the run among those that are searched.
            kind: position in `KINDS`.
            text: the text.
            found: where it holds that.
            places: where it stands, in order; the first ones where there are `later` ones.
            later: the other places.
        """
        known = self._matched.get((rank, kind, text))
        if known is None:
            known = self._matched[rank, kind, text] = _Matched(run, rank, kind, text, found)
            self._characters += len(text)
        known.places += places
        known.uses += len(places) + sum(part.uses for part in later)
        known.last = max(known.last, places[-1].step, *(part.last for part in later))
        known.later += later

    def hits(self, limit: int, *, searched: float = 1.0) -> Hits:
        """The first hits in order.

        Args:
            limit: at most so many.
            searched: the share of what was recorded that could be searched yet.
        """
        matched = list(self._matched.values())
        for each in matched:
            each.places.sort(key=_in_order)  # which they nearly are
        shown = self._by_rank(matched, limit) if self._by == "rank" else self._by_step(matched, limit)
        return Hits(
            tuple(shown),
            sum(each.uses for each in matched),
            self.is_complete,
            tuple(_steps(matched)),
            searched,
        )

    def _by_rank(self, matched: Iterable[_Matched], limit: int) -> Iterator[Hit]:
        def order(each: _Matched) -> tuple[float, int, tuple[int, int]]:
            return (-each.points, each.rank, _in_order(each.places[0]))

        for each in heapq.nsmallest(limit, matched, key=order):
            yield each.hit(self._query, each.places[0], times=each.uses, last=each.last)

    def _by_step(self, matched: Sequence[_Matched], limit: int) -> Iterator[Hit]:
        def rows(each: _Matched) -> Iterator[tuple[int, int, int, tuple[int, int], str, int, str, Place, _Matched]]:
            for place in each.all_places():
                of_text = (place.brought, place.path, each.kind, each.text)
                yield each.rank, place.step, place.order, *of_text, place, each

        def begins(each: _Matched) -> tuple[int, int, int]:
            first = each.places[0]
            return each.rank, first.step, first.order if not each.later else -1  # a later part may begin in that step

        is_one = len({each.rank for each in matched}) == 1
        if len(matched) > limit:  # then those that begin last have no place in the list
            last = heapq.nsmallest(limit, map(begins, matched))[-1]
            matched = [each for each in matched if begins(each) <= last]
        merged = heapq.merge(*map(rows, matched), key=lambda row: row[:7])
        for row in itertools.islice(merged, limit):
            if self._stop and is_one and row[1] > self._stop:  # what came up since may belong before it
                return
            yield row[8].hit(self._query, row[7])


def score(kind: int, found: Found, uses: int) -> float:
    """How good a hit is.

    Args:
        kind: position in `KINDS`.
        found: where the text holds what is searched for.
        uses: how often the run has the text.
    """
    points = 50 * found.whole + 5 * found.together + 20 / (1 + log2(max(uses, 1))) + _FIELD_POINTS[kind]
    return round(points, 3)


def _in_order(place: Place) -> tuple[int, int]:
    return place[:2]


def _steps(matched: Iterable[_Matched]) -> list[int]:
    """The steps of the first run with any."""
    found: set[int] = set()
    noted = 0
    first = min((each.rank for each in matched), default=0)
    for each in matched:
        if each.rank == first:
            for places in itertools.chain([each.places], (part.read() for part in each.later)):
                steps = [place.step for place in places]
                found.update(steps)
                noted += len(steps)
                if noted >= _MOST_STEPS:
                    return sorted(found)
    return sorted(found)
