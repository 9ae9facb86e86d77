"""Writing texts into an index, and taking the texts of runs out of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson
import zstandard

from agent_tt.codec.folding import fold
from agent_tt.querying.expressions.machine import END
from agent_tt.querying.search.cache import first_id, last_id
from agent_tt.querying.search.recorded import KINDS
from agent_tt.querying.search.requests import Request

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from agent_tt.querying.search.cache import Cache
    from agent_tt.querying.search.recorded import Text

__all__ = ["Brought", "digest_of", "forget", "read_requests", "unpacked", "write_requests", "write_texts"]

_MOST_ASKED: Final = 500
"""Hashes that are looked up at once."""

_PART_BITS: Final = 20
_MOST_PLACES: Final = 500
"""Places that are kept in one part, and read together."""

_PACKED_FROM: Final = 256
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


def forget(cache: Cache, run_ids: Iterable[str]) -> None:
    """Delete all that is indexed of some runs, so that nothing of it is left in the file.

    Raises:
        CacheLost: the file cannot be used.
    """
    known = cache.runs()
    gone = [known[run_id].number for run_id in set(run_ids) if run_id in known]
    if not gone:
        return
    with cache.using() as connection:
        ((all_texts,),) = connection.execute("SELECT count(*) FROM texts")
        theirs = sum(_count(connection, number) for number in gone)
    if 2 * theirs >= all_texts:  # what is left is indexed anew sooner than this is taken out
        cache.start_over()
        return
    with cache.writing() as connection:
        for number in gone:
            for kind in range(len(KINDS)):
                bounds = (first_id(kind, number), last_id(kind, number))
                _forget_words(connection, bounds)
                connection.execute("DELETE FROM more WHERE text BETWEEN ? AND ?", bounds)
                connection.execute("DELETE FROM texts WHERE id BETWEEN ? AND ?", bounds)
            connection.execute("DELETE FROM requests WHERE run = ?", (number,))
            connection.execute("DELETE FROM runs WHERE no = ?", (number,))
        for table in ("grams", "words"):  # deleted rows stay in older parts of the tree until those are joined
            connection.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")  # words of ours
    cache.settle()


def write_requests(connection: sqlite3.Connection, run: int, part: int, requests: Sequence[Request]) -> None:
    """Write what models were asked in some steps of a run."""
    if requests:
        data = zstandard.compress(orjson.dumps([tuple(each) for each in requests]), 3)
        connection.execute("INSERT INTO requests VALUES(?, ?, ?)", (run, part, data))


def read_requests(connection: sqlite3.Connection, run: int) -> list[Request]:
    """What models were asked in a run, as far as it is indexed."""
    rows = connection.execute("SELECT data FROM requests WHERE run = ? ORDER BY part", (run,)).fetchall()
    found = [each for (data,) in rows for each in orjson.loads(zstandard.decompress(data))]
    return [
        Request(step, call, order, None if before is None else (before[0], before[1]), kept, sizes)
        for step, call, order, before, kept, sizes in found
    ]


def _count(connection: sqlite3.Connection, run: int) -> int:
    """How many texts a run has."""
    found = 0
    for kind in range(len(KINDS)):
        bounds = (first_id(kind, run), last_id(kind, run))
        found += connection.execute("SELECT count(*) FROM texts WHERE id BETWEEN ? AND ?", bounds).fetchone()[0]
    return found


def _forget_words(connection: sqlite3.Connection, bounds: tuple[int, int]) -> None:
    rows = connection.execute("SELECT id, text FROM texts WHERE id BETWEEN ? AND ? ORDER BY id", bounds)
    while page := rows.fetchmany(1_000):
        folded = [(number, fold(text)) for number, text in page]
        connection.executemany(
            "INSERT INTO grams(grams, rowid, folded) VALUES('delete', ?, ?)",
            [(number, text + END) for number, text in folded],
        )
        connection.executemany("INSERT INTO words(words, rowid, folded) VALUES('delete', ?, ?)", folded)


class Brought(NamedTuple):
    """Texts that a run brought.

    Attributes:
        run: the number of the run.
        part: how often something was written about it before.
        texts: each with its step, and its position there.
    """

    run: int
    part: int
    texts: Sequence[tuple[int, int, Text]]


def write_texts(connection: sqlite3.Connection, brought: Iterable[Brought]) -> None:
    """Write texts of runs, each run once: new ones, and further places of those that are known."""
    grouped: dict[tuple[int, int, str], list[tuple[int, int, int | None, str]]] = {}
    parts: dict[int, int] = {}
    counts: dict[tuple[int, int], int] = {}
    for run, part, texts in brought:
        parts[run] = part
        if not part:
            counts.update(((kind, run), first_id(kind, run)) for kind in range(len(KINDS)))
        for step, order, each in texts:
            grouped.setdefault((each.kind, run, each.text), []).append((step, order, each.call, each.path))
    new: list[tuple[int, bytes, str, int, int, int, bytes]] = []
    again: list[tuple[int, int, int, int]] = []
    further: list[tuple[int, int, int, int, int, bytes]] = []
    names = {digest_of(f"{kind} {run} {text}".encode()): (kind, run, text) for kind, run, text in grouped}
    known = _known(connection, [name for name, (_, run, _) in names.items() if parts[run]])
    for name, (kind, run, text) in names.items():
        places = grouped[kind, run, text]
        steps = [place[0] for place in places]
        number = known.get(name, 0)
        if not number:
            number = counts.get((kind, run)) or _next_number(connection, kind, run)
            counts[kind, run] = number + 1
            new.append((number, name, text, len(places), min(steps), max(steps), _packed(places[:_MOST_PLACES])))
            places = places[_MOST_PLACES:]
        else:
            again.append((len(places), min(steps), max(steps), number))
        further += ((number, parts[run] << _PART_BITS | at, *row) for at, row in enumerate(_parts(places)))
    new.sort(key=lambda row: row[0])  # FTS5 starts a new part of its tree for a number below the last one
    connection.executemany("INSERT INTO texts VALUES(?, ?, ?, ?, ?, ?, ?)", new)
    connection.executemany(
        "UPDATE texts SET uses = uses + ?, first = min(first, ?), last = max(last, ?) WHERE id = ?", again
    )
    connection.executemany("INSERT INTO more VALUES(?, ?, ?, ?, ?, ?)", further)
    folded = [(row[0], fold(row[2])) for row in new]
    connection.executemany("INSERT INTO words(rowid, folded) VALUES(?, ?)", folded)
    connection.executemany(
        "INSERT INTO grams(rowid, folded) VALUES(?, ?)", [(number, text + END) for number, text in folded]
    )


def _known(connection: sqlite3.Connection, names: Sequence[bytes]) -> dict[bytes, int]:
    """The numbers of the texts that are known, by their hashes."""
    found: dict[bytes, int] = {}
    for at in range(0, len(names), _MOST_ASKED):
        some = names[at : at + _MOST_ASKED]
        marks = ", ".join("?" * len(some))
        found.update(connection.execute(f"SELECT hash, id FROM texts WHERE hash IN ({marks})", some))  # noqa: S608
    return found


def _next_number(connection: sqlite3.Connection, kind: int, run: int) -> int:
    bounds = (first_id(kind, run), last_id(kind, run))
    ((last,),) = connection.execute("SELECT max(id) FROM texts WHERE id BETWEEN ? AND ?", bounds)
    return bounds[0] if last is None else int(last) + 1


def _parts(places: Sequence[tuple[int, int, int | None, str]]) -> Iterator[tuple[int, int, int, bytes]]:
    """Places in parts, each with its first and last step and how many they are: not all may have to be read."""
    for at in range(0, len(places), _MOST_PLACES):
        part = places[at : at + _MOST_PLACES]
        yield min(place[0] for place in part), max(place[0] for place in part), len(part), _packed(part)


def _packed(places: Sequence[tuple[int, int, int | None, str]]) -> bytes:
    data = orjson.dumps(places)
    return data if len(data) < _PACKED_FROM else zstandard.compress(data, 3)


def unpacked(data: bytes) -> list[tuple[int, int, int | None, str]]:
    """The places that a column holds."""
    found: list[tuple[int, int, int | None, str]] = orjson.loads(
        zstandard.decompress(data) if data.startswith(_ZSTD) else data
    )
    return found


def digest_of(data: bytes) -> bytes:
    """A short name for some bytes."""
    return hashlib.blake2b(data, digest_size=12).digest()
