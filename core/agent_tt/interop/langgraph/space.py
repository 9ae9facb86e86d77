"""What fills a LangGraph database: threads, and channels in them.

Sizes come from SQLite, which knows the length of a value without reading it. Which channel fills a checkpoint is in the
checkpoint alone: of the largest threads some are looked into, and their proportions hold for all of that thread.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged, NotAStore
from agent_tt.interop.langgraph.decode import Extension
from agent_tt.interop.langgraph.detect import Family, tables_of
from agent_tt.model.space import Share, Space, SpaceOwner

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from agent_tt.interop.langgraph.connection import DatabaseFile
    from agent_tt.interop.langgraph.detect import Tables

__all__ = ["read_space"]

_LOOKED_INTO: Final = 20
"""Threads whose channels are told apart."""

_SAMPLES: Final = 5
"""Checkpoints of each that are looked into, and how large they may be."""

_LARGEST_SAMPLE: Final = 32 * 1024 * 1024
_AT_ONCE: Final = 5_000
_BEGINNING: Final = 200


def read_space(file: DatabaseFile, report: Callable[[int, int], None]) -> Space:
    """What fills a database.

    Args:
        file: the database.
        report: told (rows looked at, in all).

    Raises:
        NotAStore: it is not a LangGraph database.
    """
    return file.read(lambda connection: _space(connection, file, report), refresh=True)


def _space(connection: sqlite3.Connection, file: DatabaseFile, report: Callable[[int, int], None]) -> Space:
    tables = tables_of(connection)
    if tables is None:
        raise NotAStore(f"{file.path} is not a LangGraph database", hint="It has no tables of LangGraph.")
    names = ("checkpoints", "writes") if tables.has_writes else ("checkpoints",)
    total = sum(_one(connection, f"SELECT count(*) FROM {name}") for name in names)  # noqa: S608  # one of two
    sizes: dict[str, Counter[str]] = defaultdict(Counter)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    done = 0
    for read, values in _chunks(connection, tables):
        for thread, what, size in values:
            sizes[thread][what] += size
            counts[thread][what] += 1
        done += read
        report(min(done, total), total)
    owners: list[SpaceOwner] = []
    by_size = sorted(sizes, key=lambda thread: sizes[thread].total(), reverse=True)
    for number, thread in enumerate(by_size):
        shares = [Share(what, size, counts[thread][what]) for what, size in sizes[thread].items() if what and size]
        whole = sizes[thread][""]
        shares += (
            _channels(connection, tables, thread, whole, counts[thread][""])
            if number < _LOOKED_INTO
            else [Share("checkpoints", whole, counts[thread][""])]
        )
        owners.append(SpaceOwner(thread, sorted(shares, key=lambda share: share.bytes, reverse=True)))
    page, pages, free = (_one(connection, f"PRAGMA {name}") for name in ("page_size", "page_count", "freelist_count"))
    return Space(page * pages, page * free, owners)


def _chunks(connection: sqlite3.Connection, tables: Tables) -> Iterator[tuple[int, list[tuple[str, str, int]]]]:
    """How many rows, and thread, what and bytes of each value in them; "" for a checkpoint."""
    metadata = _length("metadata") if tables.has_metadata else "0"
    rows = connection.execute(f"SELECT thread_id, {_length('checkpoint')}, {metadata} FROM checkpoints")  # noqa: S608
    while some := rows.fetchmany(_AT_ONCE):
        yield (
            len(some),
            [
                (str(thread), what, size or 0)
                for thread, checkpoint, about in some
                for what, size in (("", checkpoint), ("metadata", about))
            ],
        )
    if tables.has_writes:
        rows = connection.execute(f"SELECT thread_id, channel, {_length('value')} FROM writes")  # noqa: S608
        while some := rows.fetchmany(_AT_ONCE):
            yield len(some), [(str(thread), f"{channel} (written)", size or 0) for thread, channel, size in some]


def _length(column: str) -> str:
    """SQL for the bytes of a column; those of a blob are known without reading it."""
    return f"CASE typeof({column}) WHEN 'text' THEN length(CAST({column} AS BLOB)) ELSE length({column}) END"


def _channels(connection: sqlite3.Connection, tables: Tables, thread: str, whole: int, count: int) -> list[Share]:
    """What of a thread's checkpoints each channel fills."""
    column = tables.checkpoint_id
    step = max(count // _SAMPLES, 1)
    kind = "type" if tables.family is Family.CURRENT else "''"
    ids = connection.execute(
        f"SELECT rowid FROM checkpoints WHERE thread_id = ? AND {_length('checkpoint')} <= ? ORDER BY {column} DESC",  # noqa: S608
        (thread, _LARGEST_SAMPLE),
    )
    chosen = [row for (row,) in islice(ids, 0, None, step)][:_SAMPLES]
    parts: Counter[str] = Counter()
    seen = 0
    for row in chosen:
        encoding, blob = connection.execute(
            f"SELECT {kind}, checkpoint FROM checkpoints WHERE rowid = ?",  # noqa: S608
            (row,),
        ).fetchone()
        raw = blob.encode() if isinstance(blob, str) else blob
        try:
            parts += _sizes(encoding or "", raw)
        except Damaged:
            continue
        seen += len(raw)
    if not seen:
        return [Share("checkpoints", whole, count)]
    estimated = len(chosen) < count
    shares = [Share(channel, whole * size // seen, None, estimated) for channel, size in parts.items()]
    rest = max(whole - sum(share.bytes for share in shares), 0)
    return [*shares, Share("versions and names", rest, count, estimated)]


def _sizes(encoding: str, raw: object) -> Counter[str]:
    """The bytes of each channel in a stored checkpoint.

    Raises:
        Damaged: it cannot be looked into.
    """
    import ormsgpack

    options = ormsgpack.OPT_NON_STR_KEYS
    if not isinstance(raw, bytes) or "+" in encoding:
        raise Damaged("it is sealed")
    try:
        if encoding == "msgpack" and raw[:1] != b"{":
            found = ormsgpack.unpackb(raw, ext_hook=Extension, option=options)
            values = found["channel_values"]
            options |= ormsgpack.OPT_PASSTHROUGH_DATACLASS
            return Counter({str(name): len(ormsgpack.packb(value, _packed, options)) for name, value in values.items()})
        separators = (", ", ": ") if b'": ' in raw[:_BEGINNING] else (",", ":")
        values = json.loads(raw)["channel_values"]
        return Counter(
            {
                str(name): len(json.dumps(value, ensure_ascii=False, separators=separators).encode("utf-8", "replace"))
                for name, value in values.items()
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Damaged("it cannot be looked into") from error


def _packed(value: object) -> object:
    import ormsgpack

    if isinstance(value, Extension):
        return ormsgpack.Ext(value.code, value.data)
    raise TypeError


def _one(connection: sqlite3.Connection, query: str) -> int:
    (found,) = connection.execute(query).fetchone()
    return int(found)
