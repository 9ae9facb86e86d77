"""Searching an index.

Which texts may hold what is searched for is asked of the grams (or the words, for whole words first); those texts are
read and looked at, so that what the index says is never taken for more than it is. Of words that stand in very many
texts the first `_MOST_TEXTS` of each search are gathered, in the order of `KINDS`: the search says so.
"""

from __future__ import annotations

import re
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.querying.search.cache import first_id, last_id, run_of
from agent_tt.querying.search.folding import fold
from agent_tt.querying.search.hits import Place
from agent_tt.querying.search.read import AGENT, CALL, OF_CALLS
from agent_tt.querying.search.write import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.querying.search.cache import Cache
    from agent_tt.querying.search.hits import By, Gathered, Later
    from agent_tt.querying.search.query import Found, Needed, Query

__all__ = ["Stretch", "look_up"]

_GRAM: Final = 3
_MOST_GRAMS: Final = 24
"""Grams that are asked for; more would find hardly fewer texts."""

_MOST_TEXTS: Final = 1_000
_MOST_WHOLE: Final = 500
"""Texts with whole words that are gathered before those with parts."""

_MOST_CHARACTERS: Final = 20_000_000
"""Characters of texts that are gathered."""

_MOST_ALTERNATIVES: Final = 64
"""Grams that a term of one or two characters may begin; of one that begins more, texts are found by reading on."""

_NOWHERE: Final = "\3\3\3"
"""A gram that stands in no text, or in hardly any."""

_SURROGATES: Final = 0xD800
_AFTER_SURROGATES: Final = 0xE000
_LAST_CODE: Final = 0x10FFFF
"""Code points: the first of those that no text has, the first after them, and the last one."""

_FOREVER: Final = 1 << 60
_PAGE: Final = 256
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
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Gather what an index has of some runs.

    Raises:
        CacheLost: the file cannot be used.
        InvalidExpression: a pattern takes too much work.
    """
    with cache.using() as connection:
        _Search(cache, connection, query, stretches, into, by, cancelled).run()


class _Search:
    def __init__(
        self,
        cache: Cache,
        connection: sqlite3.Connection,
        query: Query,
        stretches: Sequence[Stretch],
        into: Gathered,
        by: By,
        cancelled: Callable[[], bool],
    ) -> None:
        self._cache = cache
        self._connection = connection
        self._query = query
        self._into = into
        self._by = by
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

    def run(self) -> None:
        if self._calls == {} or self._agents == {}:
            return
        query, into = self._query, self._into
        expression = self._grams(query.needed)
        if self._by == "rank" and query.terms:
            self._gather_whole()
        for kind in self._kinds:
            for low, high in self._ranges(kind):
                full = self._gather(kind, self._rows(low, high, expression), _MOST_TEXTS)
                if self._cancelled():
                    return
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

    def _rows(self, low: int, high: int, expression: str | None) -> Iterator[_Row]:
        bounds, values = "", list[int]()
        if self._query.last is not None:
            bounds, values = " AND t.first <= ?", [self._query.last]
        if self._query.first is not None:
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

    def _grams(self, needed: Needed) -> str | None:
        """What texts that may match have, in the language of FTS5; None where nothing is known of them."""
        if isinstance(needed, list):
            sign, *parts = needed
            built = [self._grams(part) for part in parts]
            known = [each for each in built if each is not None]
            if sign == "OR":
                return f"({' OR '.join(known)})" if known and len(known) == len(built) else None
            return " AND ".join(known) or None
        if not needed:
            return None
        if len(needed) < _GRAM:
            return self._grams_beginning_with(needed)
        grams = dict.fromkeys(needed[at : at + _GRAM] for at in range(len(needed) - _GRAM + 1))
        return " AND ".join(map(_quoted, list(grams)[:_MOST_GRAMS]))

    def _grams_beginning_with(self, term: str) -> str | None:
        """The grams that a short term begins, as alternatives; None where they are many: then it stands everywhere."""
        found: list[str] = []
        at, end = term, _after(term)
        while len(found) <= _MOST_ALTERNATIVES:
            row = self._connection.execute(
                "SELECT term FROM gram_rows WHERE term >= ? AND term < ? LIMIT 1", (at, end)
            ).fetchone()
            if row is None:
                return f"({' OR '.join(map(_quoted, found))})" if found else _quoted(_NOWHERE)
            found.append(row[0])
            at = row[0] + "\1"
        return None

    # -------------------------------------------------------------------- gathering

    def _gather_whole(self) -> None:
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
                    full = self._gather(kind, map(_Row._make, rows), _MOST_WHOLE)
                except sqlite3.OperationalError as error:
                    if "phrase" not in str(error):
                        raise
                    return  # what is one word here is several for SQLite: such a word has no entry
                if full or self._cancelled():
                    return

    def _gather(self, kind: int, rows: Iterator[_Row], most: int) -> bool:
        """Take what rows hold; whether that was as much as may be."""
        query, into = self._query, self._into
        before = 0 if self._by == "rank" else len(into)
        self._first = 0
        for count, row in enumerate(rows):
            if count % _PAGE == 0 and self._cancelled():
                return False
            if row.id in self._taken:
                continue
            found = query.find(row.text)
            if found is None:
                continue
            if len(into) - before >= most or self._characters > _MOST_CHARACTERS:
                return True
            self._taken.add(row.id)
            for stretch in self._stretches.get(run_of(row.id), ()):
                self._take(stretch, kind, row, found)
            self._first = row.first
        return False

    def _take(self, stretch: Stretch, kind: int, row: _Row, found: Found) -> None:
        first, last = self._query.first or 0, _lowest(self._query.last, stretch.last)
        places = [Place(*place) for place in unpacked(row.places)]
        self._characters += len(row.text)
        is_all = (
            first <= row.first and (last is None or row.last <= last) and self._calls is None and self._agents is None
        )
        if is_all:
            later = self._later(row.id) if row.uses > len(places) else []
            self._into.take(
                stretch.shown, stretch.rank, kind, row.text, found, places, uses=row.uses, last=row.last, later=later
            )
            return
        if row.uses > len(places):
            places += (place for _, more in self._later(row.id, first, last) for place in more())
        calls, agents = (None if each is None else each.get(stretch.run, set()) for each in (self._calls, self._agents))
        kept = [
            place
            for place in places
            if first <= place.step
            and (last is None or place.step <= last)
            and (calls is None or (place.step, place.call) in calls)
            and (agents is None or (place.step, None) in agents)
        ]
        if kept:
            self._into.take(stretch.shown, stretch.rank, kind, row.text, found, kept)

    def _later(self, text: int, first: int = 0, last: int | None = None) -> list[Later]:
        """The further places of a text between two steps, each part with its first step."""
        with self._cache.using() as connection:
            parts = connection.execute(
                "SELECT part, first FROM more WHERE text = ? AND last >= ? AND first <= ? ORDER BY first",
                (text, first, _FOREVER if last is None else last),
            ).fetchall()
        return [(first, partial(self._part, text, part)) for part, first in parts]

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
                    places += (place for _, more in self._later(row.id) for place in more())
                    found.setdefault(run_of(row.id), set()).update((place.step, place.call) for place in places)
        return found

    def _rows_between(self, low: int, high: int) -> Iterator[_Row]:
        sql = f"SELECT {_COLUMNS} FROM texts t WHERE t.id BETWEEN ? AND ?"  # noqa: S608  # words of ours
        return map(_Row._make, self._connection.execute(sql, (low, high)))


def _after(term: str) -> str:
    """What comes after all that begins with a term."""
    code = ord(term[-1]) + 1
    if code > _LAST_CODE:
        return term + chr(_LAST_CODE) * _GRAM
    return term[:-1] + chr(_AFTER_SURROGATES if code == _SURROGATES else code)


def _quoted(gram: str) -> str:
    return '"{}"'.format(gram.replace('"', '""'))


def _lowest(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)
