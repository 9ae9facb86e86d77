"""Searching an index.

Which texts may hold what is searched for is asked of the grams (or the words, for whole words first); those texts are
read and looked at, so that what the index says is never taken for more than it is. Of words that stand in very many
texts the first `_MOST_TEXTS` of each search are gathered, in the order of `KINDS`: the search says so. Of a pattern of
which nothing is known literally all texts are read: whoever asks can show what was found so far.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_left, bisect_right
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.querying.search.cache import first_id, last_id, run_of
from agent_tt.querying.search.folding import fold
from agent_tt.querying.search.grams import grams_of
from agent_tt.querying.search.hits import Place
from agent_tt.querying.search.read import AGENT, CALL, FOREVER, OF_CALLS, OF_REQUESTS
from agent_tt.querying.search.requests import Requests
from agent_tt.querying.search.write import read_requests, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.querying.search.cache import Cache
    from agent_tt.querying.search.hits import By, Gathered, Later
    from agent_tt.querying.search.query import Found, Query
    from agent_tt.querying.search.requests import Request

__all__ = ["Stretch", "look_up"]

_MOST_TEXTS: Final = 1_000
_MOST_WHOLE: Final = 500
"""Texts with whole words that are gathered before those with parts."""

_MOST_CHARACTERS: Final = 20_000_000
"""Characters of texts that are gathered."""

_MOST_NEAR: Final = 4_000
"""Texts of the steps that a search is kept to up to which these are read, whatever else is known of them."""

_MOST_ASKED: Final = 500
"""Texts that are asked for at once by their numbers."""

_PAGE: Final = 64
_PAGE_CHARACTERS: Final = 20_000
"""Rows, or characters of them, that are looked at before it is asked whether to go on."""

_MOST_RANGES: Final = 32
_COLUMNS: Final = "t.id, t.text, t.uses, t.first, t.last, t.places"
_TOKEN: Final = re.compile(r"[^\W_]+")


class Stretch(NamedTuple):
    """Steps of a run in the index, that belong to a run that is searched.

    Attributes:
        shown: id of the run that is searched.
        rank: its place among those that are.
        run: number of the run whose steps they are.
        last: the last step that counts; None for all.
    """

    shown: str
    rank: int
    run: int
    last: int | None


class _Row(NamedTuple):
    id: int
    text: str
    uses: int
    first: int
    last: int
    places: bytes


class _Part(NamedTuple):
    """Further places of a text, not read yet."""

    number: int
    first: int
    last: int
    uses: int


def look_up(
    cache: Cache,
    query: Query,
    stretches: Sequence[Stretch],
    into: Gathered,
    by: By,
    *,
    open_requests: Mapping[int, Sequence[Request]] = MappingProxyType({}),
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[float]:
    """Gather what an index has of some runs.

    Args:
        cache: the index.
        query: what is searched for.
        stretches: the steps that are searched.
        into: takes what is found.
        by: order of the hits.
        open_requests: by the numbers of runs, what models were asked in steps that are not over.
        cancelled: asked now and then; the search ends when it says yes.

    Yields:
        After some texts each, the share of the texts that was looked at: nearly, as they are not counted.

    Raises:
        CacheLost: the file cannot be used.
        InvalidExpression: a pattern takes too much work.
    """
    with cache.using() as connection:
        yield from _Search(cache, connection, query, stretches, into, by, open_requests, cancelled).run()


class _Search:
    def __init__(
        self,
        cache: Cache,
        connection: sqlite3.Connection,
        query: Query,
        stretches: Sequence[Stretch],
        into: Gathered,
        by: By,
        open_requests: Mapping[int, Sequence[Request]],
        cancelled: Callable[[], bool],
    ) -> None:
        self._cache = cache
        self._connection = connection
        self._query = query
        self._into = into
        self._by = by
        self._open_requests = open_requests
        self._requests: dict[int, Requests] = {}
        self._cancelled = cancelled
        self._stretches: dict[int, list[Stretch]] = {}
        for stretch in stretches:
            self._stretches.setdefault(stretch.run, []).append(stretch)
        self._kinds = [kind for kind in query.kinds if query.tool is None or kind in OF_CALLS]
        self._calls = self._places_of(CALL, query.tool)
        self._agents = self._places_of(AGENT, query.agent)
        self._characters = 0
        self._taken: set[int] = set()
        self._first = 0

    def run(self) -> Iterator[float]:
        if self._calls == {} or self._agents == {}:
            return
        query, into = self._query, self._into
        near = self._near()
        expression = None if near is not None else grams_of(self._connection, query.needed)
        if self._by == "rank" and query.terms and near is None:
            yield from self._gather_whole()
        if near is not None and OF_REQUESTS & {*self._kinds}:
            expression = grams_of(self._connection, query.needed)
        ranges = [(kind, low, self._last_of(low, high)) for kind in self._kinds for low, high in self._ranges(kind)]
        of, before = sum(high - low + 1 for _, low, high in ranges), 0
        for kind, low, high in ranges:
            if near is None or kind in OF_REQUESTS:  # which may be repeated in those steps, wherever they came up
                rows = self._rows(low, high, expression, repeated=kind in OF_REQUESTS)
            else:
                rows = self._rows_of(near, low, high)
            full = False
            for last in self._gather(kind, rows, _MOST_TEXTS):
                full = last is None
                yield (before + (low if last is None else last) - low) / of
            if self._cancelled():
                return
            before += high - low + 1
            if full:
                into.stop_at(self._first)
                if self._by == "rank":
                    return

    # -------------------------------------------------------------------- rows

    def _ranges(self, kind: int) -> Iterator[tuple[int, int]]:
        """The ranges of numbers in which texts of a kind lie: one for each run, or one for many."""
        runs = sorted(self._stretches)
        if len(runs) > _MOST_RANGES:
            yield first_id(kind, runs[0]), last_id(kind, runs[-1])
            return
        start = None
        for place, run in enumerate(runs):
            start = run if start is None else start
            if place + 1 == len(runs) or runs[place + 1] != run + 1:
                yield first_id(kind, start), last_id(kind, run)
                start = None

    def _last_of(self, low: int, high: int) -> int:
        """The last number that a text has in a range; the one before it where none has one."""
        ((last,),) = self._connection.execute("SELECT max(id) FROM texts WHERE id BETWEEN ? AND ?", (low, high))
        return low - 1 if last is None else int(last)

    def _near(self) -> list[int] | None:
        """The numbers of the texts of some steps, in order; None where these are many, or not all that is asked for."""
        first, last = self._query.first, self._query.last
        if first is None and last is None:
            return None
        found = self._connection.execute(
            "SELECT id FROM texts INDEXED BY text_steps WHERE first <= ? AND last >= ? LIMIT ?",
            (FOREVER if last is None else last, first or 0, _MOST_NEAR + 1),
        ).fetchall()
        return sorted(number for (number,) in found) if len(found) <= _MOST_NEAR else None

    def _rows_of(self, numbers: list[int], low: int, high: int) -> Iterator[_Row]:
        """The texts of some numbers, of those in a range."""
        chosen = numbers[bisect_left(numbers, low) : bisect_right(numbers, high)]
        for at in range(0, len(chosen), _MOST_ASKED):
            some = chosen[at : at + _MOST_ASKED]
            marks = ", ".join("?" * len(some))
            sql = f"SELECT {_COLUMNS} FROM texts t WHERE t.id IN ({marks}) ORDER BY t.id"  # noqa: S608  # words of ours
            yield from map(_Row._make, self._connection.execute(sql, some))

    def _rows(self, low: int, high: int, expression: str | None, *, repeated: bool) -> Iterator[_Row]:
        bounds, values = "", list[int]()
        if self._query.last is not None:
            bounds, values = " AND t.first <= ?", [self._query.last]
        if self._query.first is not None and not repeated:
            bounds, values = f"{bounds} AND t.last >= ?", [*values, self._query.first]
        if expression is not None:
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM grams JOIN texts t ON t.id = grams.rowid"  # noqa: S608  # words of ours
                f" WHERE grams MATCH ? AND grams.rowid BETWEEN ? AND ?{bounds} ORDER BY grams.rowid",
                (expression, low, high, *values),
            )
        else:
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM texts t WHERE t.id BETWEEN ? AND ?{bounds} ORDER BY t.id",  # noqa: S608
                (low, high, *values),
            )
        return map(_Row._make, rows)

    # -------------------------------------------------------------------- gathering

    def _gather_whole(self) -> Iterator[float]:
        """Gather texts that hold whole words: of many, they are to be found before parts of words are."""
        words = dict.fromkeys(token for term in self._query.terms for token in _TOKEN.findall(fold(term)))
        if not words:
            return
        expression = " AND ".join(f'"{word}"' for word in words)
        for kind in self._kinds:
            for low, high in self._ranges(kind):
                try:
                    rows = self._connection.execute(
                        f"SELECT {_COLUMNS} FROM words JOIN texts t ON t.id = words.rowid"  # noqa: S608
                        " WHERE words MATCH ? AND words.rowid BETWEEN ? AND ? ORDER BY words.rowid",
                        (expression, low, high),
                    )
                    full = False
                    for last in self._gather(kind, map(_Row._make, rows), _MOST_WHOLE):
                        full = last is None
                        yield 0.0
                except sqlite3.OperationalError as error:
                    if "phrase" not in str(error):
                        raise
                    return  # what is one word here is several for SQLite: such a word has no entry
                if full or self._cancelled():
                    return

    def _gather(self, kind: int, rows: Iterator[_Row], most: int) -> Iterator[int | None]:
        """Take what rows hold. Yields numbers of rows that were reached; None at the end if it is as much as may be."""
        query, into = self._query, self._into
        before = 0 if self._by == "rank" else len(into)
        self._first = looked = characters = 0
        for row in rows:
            looked, characters = looked + 1, characters + len(row.text)
            if looked >= _PAGE or characters >= _PAGE_CHARACTERS:
                looked = characters = 0
                yield row.id
                if self._cancelled():
                    return
            if row.id in self._taken:
                continue
            found = query.find(row.text)
            if found is None:
                continue
            if len(into) - before >= most or self._characters > _MOST_CHARACTERS:
                yield None
                return
            self._taken.add(row.id)
            for stretch in self._stretches.get(run_of(row.id), ()):
                self._take(stretch, kind, row, found)
            self._first = row.first

    def _take(self, stretch: Stretch, kind: int, row: _Row, found: Found) -> None:
        first, last = self._query.first or 0, _lowest(self._query.last, stretch.last)
        places = [Place(*place) for place in unpacked(row.places)]
        self._characters += len(row.text)
        end = FOREVER if last is None else last
        if kind in OF_REQUESTS:
            self._take_asked(stretch, kind, row, found, places, first, end)
            return
        parts = self._parts(row.id, first, end) if row.uses > len(places) else []
        if self._calls is None and self._agents is None:
            self._take_steps(stretch, kind, row, found, places, parts, first, end)
            return
        places += (place for part in parts for place in self._part(row.id, part.number))
        calls, agents = (None if each is None else each.get(stretch.run, set()) for each in (self._calls, self._agents))
        kept = [
            place
            for place in places
            if first <= place.step <= end
            and (calls is None or (place.step, place.call) in calls)
            and (agents is None or (place.step, None) in agents)
        ]
        if kept:
            self._into.take(stretch.shown, stretch.rank, kind, row.text, found, kept)

    def _take_asked(
        self, stretch: Stretch, kind: int, row: _Row, found: Found, places: list[Place], first: int, last: int
    ) -> None:
        """Take a text of arguments at its places between two steps, those where later requests repeat it among them."""
        if row.uses > len(places):
            places += (place for part in self._parts(row.id, 0, last) for place in self._part(row.id, part.number))
        requests = self._requests_of(stretch.run)
        calls, agents = (None if each is None else each.get(stretch.run, set()) for each in (self._calls, self._agents))
        kept: list[Place] = []
        later: list[Later] = []
        uses = latest = 0
        for place in places:
            again = requests.again(place.step, place.call, place.path, first, last) if place.step <= last else []
            if calls is None and agents is None:
                kept += (place,) if first <= place.step <= last else ()
                if again:
                    later.append((again[0].step, partial(_repeated, place, again)))
                    uses, latest = uses + len(again), max(latest, again[-1].step)
                continue
            kept += (
                each
                for each in (place, *_repeated(place, again))
                if first <= each.step <= last
                and (calls is None or (each.step, each.call) in calls)
                and (agents is None or (each.step, None) in agents)
            )
        if not kept and later:  # there is always a first place
            later.sort(key=lambda part: part[0])
            kept = later.pop(0)[1]()
            uses -= len(kept)
        if kept:
            kept.sort()
            uses, latest = uses + len(kept), max(latest, kept[-1].step)
            self._into.take(
                stretch.shown, stretch.rank, kind, row.text, found, kept, uses=uses, last=latest, later=later
            )

    def _requests_of(self, run: int) -> Requests:
        known = self._requests.get(run)
        if known is None:
            with self._cache.using() as connection:
                recorded = read_requests(connection, run)
            known = self._requests[run] = Requests([*recorded, *self._open_requests.get(run, ())])
        return known

    def _take_steps(
        self, stretch: Stretch, kind: int, row: _Row, found: Found, places: list[Place], parts: list[_Part], *steps: int
    ) -> None:
        """Take a text at its places between two steps; parts of places that all lie there are read when need be."""
        first, last = steps
        places = [place for place in places if first <= place.step <= last]
        later: list[Later] = []
        uses, latest = 0, max((place.step for place in places), default=0)
        for part in parts:
            if places and first <= part.first and part.last <= last:
                later.append((part.first, partial(self._part, row.id, part.number)))
                uses, latest = uses + part.uses, max(latest, part.last)
            else:
                places += (place for place in self._part(row.id, part.number) if first <= place.step <= last)
                latest = max(latest, max((place.step for place in places), default=0))
        if places:
            uses += len(places)
            self._into.take(
                stretch.shown, stretch.rank, kind, row.text, found, places, uses=uses, last=latest, later=later
            )

    def _parts(self, text: int, first: int, last: int) -> list[_Part]:
        """The parts of the further places of a text that reach between two steps."""
        with self._cache.using() as connection:
            parts = connection.execute(
                "SELECT part, first, last, uses FROM more WHERE text = ? AND last >= ? AND first <= ? ORDER BY first",
                (text, first, last),
            ).fetchall()
        return [_Part(*part) for part in parts]

    def _part(self, text: int, part: int) -> list[Place]:
        with self._cache.using() as connection:
            found = connection.execute("SELECT places FROM more WHERE text = ? AND part = ?", (text, part)).fetchall()
        return [Place(*place) for (data,) in found for place in unpacked(data)]

    def _places_of(self, kind: int, name: str | None) -> dict[int, set[tuple[int, int | None]]] | None:
        """Where texts of a kind stand that hold a name: by run, steps and calls. None where no name is given."""
        if name is None:
            return None
        found: dict[int, set[tuple[int, int | None]]] = {}
        for low, high in self._ranges(kind):
            for row in self._rows_between(low, high):
                if name in fold(row.text) and run_of(row.id) in self._stretches:
                    places = [Place(*place) for place in unpacked(row.places)]
                    parts = self._parts(row.id, 0, FOREVER)
                    places += (place for part in parts for place in self._part(row.id, part.number))
                    found.setdefault(run_of(row.id), set()).update((place.step, place.call) for place in places)
        return found

    def _rows_between(self, low: int, high: int) -> Iterator[_Row]:
        sql = f"SELECT {_COLUMNS} FROM texts t WHERE t.id BETWEEN ? AND ?"  # noqa: S608  # words of ours
        return map(_Row._make, self._connection.execute(sql, (low, high)))


def _repeated(place: Place, requests: Sequence[Request]) -> list[Place]:
    """A place in each of some later requests."""
    return [place.again(each) for each in requests]


def _lowest(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
