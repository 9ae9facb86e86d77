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

from agent_tt.codec.folding import fold
from agent_tt.querying.search.cache import first_id, last_id, run_of
from agent_tt.querying.search.grams import grams_of
from agent_tt.querying.search.hits import Later, Place
from agent_tt.querying.search.read import AGENT, CALL, FOREVER, OF_CALLS, OF_REQUESTS
from agent_tt.querying.search.requests import Requests
from agent_tt.querying.search.write import read_requests, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agent_tt.querying.search.cache import Cache
    from agent_tt.querying.search.hits import By, Gathered
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
        self._is_any = self._calls is None and self._agents is None
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
            yield from self._select("texts t", f"t.id IN ({', '.join('?' * len(some))}) ORDER BY t.id", some)

    def _rows(self, low: int, high: int, expression: str | None, *, repeated: bool) -> Iterator[_Row]:
        """The texts in a range that may hold something, and may lie in the steps that are searched."""
        bounds, values = "", list[int]()
        if self._query.last is not None:
            bounds, values = " AND t.first <= ?", [self._query.last]
        if self._query.first is not None and not repeated:
            bounds, values = f"{bounds} AND t.last >= ?", [*values, self._query.first]
        if expression is not None:
            return self._holding("grams", expression, low, high, bounds, values)
        return self._select("texts t", f"t.id BETWEEN ? AND ?{bounds} ORDER BY t.id", [low, high, *values])

    def _holding(
        self, table: str, expression: str, low: int, high: int, bounds: str = "", values: Sequence[int] = ()
    ) -> Iterator[_Row]:
        """The texts in a range that have an entry in a table of FTS5."""
        return self._select(
            f"{table} JOIN texts t ON t.id = {table}.rowid",
            f"{table} MATCH ? AND {table}.rowid BETWEEN ? AND ?{bounds} ORDER BY {table}.rowid",
            [expression, low, high, *values],
        )

    def _select(self, tables: str, where: str, values: Sequence[int | str]) -> Iterator[_Row]:
        sql = f"SELECT {_COLUMNS} FROM {tables} WHERE {where}"  # noqa: S608  # words of ours
        return map(_Row._make, self._connection.execute(sql, values))

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
                    rows = self._holding("words", expression, low, high)
                    full = False
                    for last in self._gather(kind, rows, _MOST_WHOLE):
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
        """Take a text at its places in the steps that are searched; parts that all lie there are read when need be."""
        first = self._query.first or 0
        last = min(end for end in (self._query.last, stretch.last, FOREVER) if end is not None)
        self._characters += len(row.text)
        places = [Place(*place) for place in unpacked(row.places)]
        is_asked = kind in OF_REQUESTS
        parts = self._parts(row.id, 0 if is_asked else first, last) if row.uses > len(places) else []
        later: list[Later] = []
        if is_asked:
            places += (place for part in parts for place in part.read())
            kept, later = self._asked(stretch.run, places, first, last)
        else:
            kept = self._meant(stretch.run, places, first, last)
            for part in parts:
                is_whole = first <= part.first and part.last <= last
                if is_whole and self._is_any and kept and kept[0].step <= part.first:  # a step may be over late
                    later.append(part)
                else:
                    kept += self._meant(stretch.run, part.read(), first, last)
        if kept:
            kept.sort()
            self._into.take(stretch.shown, stretch.rank, kind, row.text, found, kept, later)

    def _asked(self, run: int, places: Sequence[Place], first: int, last: int) -> tuple[list[Place], list[Later]]:
        """The places of a text of arguments between two steps, those where later requests repeat it among them."""
        requests = self._requests_of(run)
        kept = self._meant(run, places, first, last)
        later: list[Later] = []
        for place in places:
            again = requests.again(place.step, place.call, place.path, first, last) if place.step <= last else []
            if not self._is_any:
                kept += self._meant(run, _repeated(place, again), first, last)
            elif again:
                later.append(Later(again[0].step, again[-1].step, len(again), partial(_repeated, place, again)))
        if not kept and later:  # there is always a first place
            later.sort(key=lambda part: part.first)
            kept += later.pop(0).read()
        return kept, later

    def _meant(self, run: int, places: Iterable[Place], first: int, last: int) -> list[Place]:
        """The places that lie between two steps, and are of a call and of an agent that the search is kept to."""
        kept = [place for place in places if first <= place.step <= last]
        if self._calls is not None:
            calls = self._calls.get(run, ())
            kept = [place for place in kept if (place.step, place.call) in calls]
        if self._agents is not None:
            agents = self._agents.get(run, ())
            kept = [place for place in kept if (place.step, None) in agents]
        return kept

    def _requests_of(self, run: int) -> Requests:
        known = self._requests.get(run)
        if known is None:
            with self._cache.using() as connection:
                recorded = read_requests(connection, run)
            known = self._requests[run] = Requests([*recorded, *self._open_requests.get(run, ())])
        return known

    def _parts(self, text: int, first: int, last: int) -> list[Later]:
        """The parts of the further places of a text that reach between two steps."""
        with self._cache.using() as connection:
            parts = connection.execute(
                "SELECT part, first, last, uses FROM more WHERE text = ? AND last >= ? AND first <= ? ORDER BY first",
                (text, first, last),
            ).fetchall()
        return [Later(start, end, uses, partial(self._part, text, part)) for part, start, end, uses in parts]

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
            for row in self._select("texts t", "t.id BETWEEN ? AND ?", (low, high)):
                if name in fold(row.text) and run_of(row.id) in self._stretches:
                    places = [Place(*place) for place in unpacked(row.places)]
                    places += (place for part in self._parts(row.id, 0, FOREVER) for place in part.read())
                    found.setdefault(run_of(row.id), set()).update((place.step, place.call) for place in places)
        return found


def _repeated(place: Place, requests: Sequence[Request]) -> list[Place]:
    """A place in each of some later requests."""
    return [place.again(each) for each in requests]
