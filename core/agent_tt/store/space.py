"""What fills a store: runs, and kinds of rows of them, by lengths that SQLite knows."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.model.space import Share, Space, SpaceOwner
from agent_tt.store.file.connecting import connect
from agent_tt.store.file.sqlite_errors import SQLITE_ERRORS, our_error

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.store.postgres.moment import Moment

__all__ = ["read_space", "store_bytes"]

_HASH: Final = 20
_AT_ONCE: Final = 5_000

_ROWS: Final = {
    "states": (
        "SELECT t.run, length(d.ops) + coalesce(length(d.refs), 0), d.refs"
        " FROM deltas d JOIN tracks t ON t.track = d.id >> 32"
    ),
    "whole states (keyframes)": (
        "SELECT t.run, length(k.state) + coalesce(length(k.refs), 0), k.refs"
        " FROM keyframes k JOIN tracks t ON t.track = k.id >> 32"
    ),
    "calls": (
        "SELECT run, coalesce(length(args), 0) + coalesce(length(result), 0) + coalesce(length(meta), 0)"
        " + coalesce(length(error), 0) + coalesce(length(refs), 0), refs FROM calls"
    ),
    "answers in pieces": "SELECT id >> 32, coalesce(length(data), 0) + coalesce(length(refs), 0), refs FROM deliveries",
    "steps": ("SELECT run, length(name) + coalesce(length(meta), 0) + coalesce(length(error), 0), NULL FROM steps"),
}
"""Of each kind of row: run, bytes, and the hashes of the blobs that it names."""


def read_space(path: Path, report: Callable[[int, int], None]) -> Space:
    """What fills a store.

    Args:
        path: its file.
        report: told (rows looked at, in all).

    Raises:
        StoreNotFound, StoreUnreadable: there is none, or it cannot be read.
    """
    if isinstance(path, Address):
        from agent_tt.store.postgres.moment import one_moment

        with one_moment(path) as moment:
            return _space(moment, report)
    try:
        with closing(connect(path, mode="ro")) as connection:
            return _space(connection, report)
    except SQLITE_ERRORS as error:
        raise our_error(path, error) from error


def store_bytes(path: Path) -> int:
    """How large a store is.

    Args:
        path: its file, or its address.

    Raises:
        StoreUnreadable: the server cannot be asked.
    """
    if isinstance(path, Address):
        from agent_tt.store.postgres.moment import one_moment

        with one_moment(path) as moment:
            return _one(moment, "PRAGMA page_size") * _one(moment, "PRAGMA page_count")
    return path.stat().st_size


def _space(connection: sqlite3.Connection | Moment, report: Callable[[int, int], None]) -> Space:
    names = dict(connection.execute("SELECT run, id FROM runs"))
    total = sum(
        _one(connection, f"SELECT count(*) FROM {table}")  # noqa: S608  # one of these
        for table in ("deltas", "keyframes", "calls", "deliveries", "steps")
    )
    sizes: dict[int, Counter[str]] = defaultdict(Counter)
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    named_by: dict[bytes, int | None] = {}
    done = 0
    for what, query in _ROWS.items():
        rows = connection.execute(query)
        while some := rows.fetchmany(_AT_ONCE):
            for run, size, refs in some:
                sizes[run][what] += size
                counts[run][what] += 1
                for blob in _hashes(refs):
                    named_by[blob] = run if named_by.get(blob, run) == run else None
            done += len(some)
            report(done, total)
    shared: Counter[str] = Counter()
    shared_count: Counter[str] = Counter()
    for blob, size in connection.execute("SELECT hash, length(data) FROM blobs"):
        run = named_by.get(blob)
        what = "large values" if run is not None else "large values of several runs" if blob in named_by else "unused"
        into, count = (sizes[run], counts[run]) if run is not None else (shared, shared_count)
        into[what] += size
        count[what] += 1
    owners = [SpaceOwner(names.get(run, str(run)), _shares(sizes[run], counts[run])) for run in sizes]
    owners += [SpaceOwner(None, _shares(shared, shared_count))] if shared else []
    owners.sort(key=lambda owner: owner.bytes, reverse=True)
    page, pages, free = (_one(connection, f"PRAGMA {name}") for name in ("page_size", "page_count", "freelist_count"))
    return Space(page * pages, page * free, owners)


def _shares(sizes: Counter[str], counts: Counter[str]) -> list[Share]:
    return [Share(what, size, counts[what]) for what, size in sizes.most_common()]


def _hashes(refs: bytes | None) -> list[bytes]:
    return [refs[at : at + _HASH] for at in range(0, len(refs), _HASH)] if refs else []


def _one(connection: sqlite3.Connection | Moment, query: str) -> int:
    ((found,),) = connection.execute(query).fetchall()
    return int(found)
