"""The tables of LangGraph's PostgresSaver, read through the interface `Database`.

| table | holds |
|---|---|
| `checkpoints` | a row for each checkpoint: its versions, and the values that are a text, a number or none, in JSONB |
| `checkpoint_blobs` | every other value, a row for each version of a channel |
| `checkpoint_writes` | what tasks wrote |
| `checkpoint_migrations` | how far the tables were brought |

ShallowPostgresSaver has tables of the same names, in which only the latest checkpoint of a namespace is: it has no
column for its id, which lies in the checkpoint, nor one for its parent, and a channel has one value.

What a column holds of the tables above was read off LangGraph's `checkpoint-postgres`, up to 3.2.
"""

from __future__ import annotations

import enum
import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import NewerFormat, NotAStore
from agent_tt.interop.langgraph.database import MOST_AHEAD, Database, Document, Stored
from agent_tt.interop.langgraph.postgres_connection import Server
from agent_tt.interop.langgraph.rows import newest_first, threads_of
from agent_tt.model.space import Share, Space, SpaceOwner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_tt.addresses import Address
    from agent_tt.interop.langgraph.database import Fetched
    from agent_tt.interop.langgraph.postgres_connection import Reader
    from agent_tt.interop.langgraph.rows import CheckpointKey, CheckpointRow, ThreadRows, WriteRow
    from agent_tt.interop.langgraph.sieve import Sieve

__all__ = ["PostgresDatabase"]

_Marks: TypeAlias = "dict[str, tuple[object, ...]]"
"""By thread, what differs after one of its rows came, went or changed."""

_CHECKPOINTS: Final = frozenset({"thread_id", "checkpoint_ns", "checkpoint", "metadata"})
_BLOBS: Final = frozenset({"thread_id", "checkpoint_ns", "channel", "type", "blob"})
_WRITES: Final = frozenset({"thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "blob"})

_EMPTY: Final = "empty"
"""The type of a value that a channel no longer has."""

_SHOWN: Final = """CASE jsonb_typeof(checkpoint) WHEN 'object' THEN jsonb_build_object(
  'versions_seen', checkpoint -> 'versions_seen', 'pending_sends', checkpoint -> 'pending_sends', 'channel_values',
  CASE jsonb_typeof(checkpoint -> 'channel_values') WHEN 'object' THEN checkpoint -> 'channel_values' ELSE '{}' END
) ELSE checkpoint END"""
"""SQL for what of a checkpoint a sieve looks at; values may all lie beside it."""

_WRITES_ASKED: Final = (
    " FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::int[])"
    " WITH ORDINALITY AS asked(thread, namespace, id, task, index, number)"
    " JOIN checkpoint_writes w ON w.thread_id = asked.thread AND w.checkpoint_ns = asked.namespace"
    " AND w.checkpoint_id = asked.id AND w.task_id = asked.task AND w.idx = asked.index"
)
"""SQL for the values that are asked for by the names of `_names_of_writes`."""

_AT_ONCE: Final = 5_000
_PATIENCE: Final = 20
"""How many times as long as a look at the database took it is left alone after that."""

_AGAIN_S: Final = 5.0
"""After how many seconds a database that could not be reached counts as changed, so that it is tried again."""


class _Kind(enum.Enum):
    """Which saver's tables they are, with the last migration that is known of it."""

    WHOLE = 9
    SHALLOW = 7


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of one database.

    Attributes:
        kind: whose they are.
        has_task_path: writes say which node made them.
    """

    kind: _Kind
    has_task_path: bool

    @property
    def id(self) -> str:
        """SQL for the id of a checkpoint."""
        return "checkpoint_id" if self.kind is _Kind.WHOLE else "checkpoint ->> 'id'"

    @property
    def parent(self) -> str:
        """SQL for the id of the checkpoint before it."""
        return "parent_checkpoint_id" if self.kind is _Kind.WHOLE else "NULL"


class PostgresDatabase(Database):
    """The tables that an address leads to, in the schema that its search path finds first.

    Args:
        address: the database.

    Raises:
        UsageError, StoreNotFound, StoreUnreadable: see `Server`.
        NotAStore: there are no tables of LangGraph.
        NewerFormat: they are of a LangGraph that is newer than what is known here.
    """

    def __init__(self, address: Address) -> None:
        self._server = Server(address)
        try:
            self._tables = self._server.read(lambda reader: _tables_of(reader, address))
        except BaseException:
            self._server.close()
            raise
        self._looking = threading.Lock()
        self._version = 1
        self._look_at = 0.0
        self._snapshot: str | None = None
        self._seen: _Marks | None = None
        self._reading = threading.Lock()
        self._marks: _Marks = {}
        self._threads: dict[str, ThreadRows] = {}

    @property
    def path(self) -> Address:
        """The address, which shows no password."""
        return self._server.address

    @property
    def is_current(self) -> bool:
        """Whether a graph can go on from what is in the tables: always."""
        return True

    def close(self) -> None:
        """End the connection."""
        self._server.close()

    # ---------------------------------------------------------------- what changed

    def version(self) -> int:
        """Give a number that differs after a row of the tables came, went or changed.

        The server tells in no time whether anybody wrote anything to any of its databases; only where somebody did are
        the tables looked at. The longer a look takes, the longer it is until the next one.
        """
        with self._looking:
            begun = time.monotonic()
            if self._seen is None and self._server.is_connected:  # no row was read yet
                return self._version
            if begun >= self._look_at:
                self._look()
                ended = time.monotonic()
                self._look_at = ended + (ended - begun) * _PATIENCE
            return self._version

    def _look(self) -> None:
        seen = self._server.glance(self._changed_since)
        if seen is None:
            if not self._server.is_connected:
                self._version += 1
                self._look_at = time.monotonic() + _AGAIN_S
            return
        self._snapshot, marks = seen
        if marks != self._seen:
            self._version += self._seen is not None
            self._seen = marks

    def _changed_since(self, reader: Reader) -> tuple[str, _Marks | None]:
        (snapshot,) = _row(reader, "SELECT txid_current_snapshot()::text")
        return snapshot, self._seen if snapshot == self._snapshot else _marks(reader)

    # ---------------------------------------------------------------- rows

    def threads(self, only: str | None = None) -> dict[str, ThreadRows]:
        """The rows of all threads or of one, the one with the newest checkpoint first.

        Of all threads those are read that changed since they were asked for the last time.
        """
        if only is not None:
            return self._server.read(lambda reader: self._read_rows(reader, [only]))
        with self._reading:
            marks, found = self._server.read(self._read_changed)
            with self._looking:
                self._seen = marks if self._seen is None else self._seen
            known = {thread: rows for thread, rows in self._threads.items() if thread in marks}
            self._marks, self._threads = marks, newest_first(known | found)
            return dict(self._threads)

    def _read_changed(self, reader: Reader) -> tuple[_Marks, dict[str, ThreadRows]]:
        marks = _marks(reader)
        changed = [thread for thread, mark in marks.items() if self._marks.get(thread) != mark]
        # Most of them: then it is quicker to read all than to look for each.
        return marks, self._read_rows(reader, None if 2 * len(changed) > len(marks) else changed)

    def _read_rows(self, reader: Reader, threads: Sequence[str] | None) -> dict[str, ThreadRows]:
        if threads is not None and not threads:
            return {}
        where, names = ("", ()) if threads is None else (" WHERE thread_id = ANY(%s)", (list(threads),))
        path = "task_path" if self._tables.has_task_path else "''"
        checkpoints = _rows(
            reader,
            f"SELECT thread_id, checkpoint_ns, {self._tables.id}, {self._tables.parent}, 'json', metadata::text"  # noqa: S608
            f' FROM checkpoints{where} ORDER BY ({self._tables.id}) COLLATE "C", checkpoint_ns COLLATE "C"',
            names,
        )
        writes = _rows(
            reader,
            f"SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, {path}, idx, channel, type"  # noqa: S608
            f' FROM checkpoint_writes{where} ORDER BY {path} COLLATE "C", task_id COLLATE "C", idx',
            names,
        )
        return threads_of(checkpoints, writes)

    # ---------------------------------------------------------------- values

    def documents(self, rows: Sequence[CheckpointRow]) -> list[Document]:
        """The checkpoints of some rows, with the values beside them; two questions to the server for any number."""
        found = self._server.read(lambda reader: self._read_documents(reader, rows, "true"))
        return [found.get(position) or Document(("json", None), {}) for position in range(len(rows))]

    def outlines(self, rows: Collection[CheckpointRow]) -> Mapping[tuple[str, CheckpointKey], Document]:
        """Checkpoints without the user's channels, of which those since format 4 need none to tell what comes next."""
        asked = list(rows)
        is_own = "b.channel ~ '^(branch:|join:|__start__$|__pregel_tasks$)'"
        is_needed = f"(c.checkpoint ->> 'v' IS DISTINCT FROM '4' OR {is_own})"
        found = self._server.read(lambda reader: self._read_documents(reader, asked, is_needed))
        return {(asked[position].thread, asked[position].key): document for position, document in found.items()}

    def _read_documents(self, reader: Reader, rows: Sequence[CheckpointRow], is_needed: str) -> dict[int, Document]:
        names = _names_of(rows)
        bodies = reader.execute(f"SELECT number, c.checkpoint::text FROM{self._asked}", names, binary=True)
        texts = {number - 1: body.encode() for number, body in bodies}
        query = f"SELECT number, b.channel, b.type, b.blob FROM{self._asked}{self._beside} AND {is_needed}"
        channels: defaultdict[int, dict[str, Stored]] = defaultdict(dict)
        for number, channel, encoding, blob in reader.execute(query, names, binary=True):
            channels[number - 1][channel] = (encoding, blob)
        return {position: Document(("json", body), channels[position]) for position, body in texts.items()}

    @property
    def _asked(self) -> str:
        """SQL for the checkpoints that are asked for by the names of `_names_of`."""
        return (
            " unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY AS asked(thread, namespace, id, number)"
            " JOIN checkpoints c ON c.thread_id = asked.thread AND c.checkpoint_ns = asked.namespace"
            f" AND c.{self._tables.id} = asked.id"
        )

    @property
    def _beside(self) -> str:
        """SQL that goes on from `_asked`, for the values that lie beside these checkpoints."""
        is_version = " AND b.version = v.value" if self._tables.kind is _Kind.WHOLE else ""
        return (
            " CROSS JOIN LATERAL jsonb_each_text(CASE jsonb_typeof(c.checkpoint -> 'channel_versions')"
            " WHEN 'object' THEN c.checkpoint -> 'channel_versions' END) AS v"
            " JOIN checkpoint_blobs b ON b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns"
            f" AND b.channel = v.key{is_version} WHERE b.type <> '{_EMPTY}'"
        )

    def values(self, rows: Sequence[WriteRow]) -> list[bytes | None]:
        """Give the stored bytes of values that tasks wrote, all fetched by one query."""
        if not rows:
            return []
        found = self._server.read(lambda reader: _read_values(reader, rows))
        return [found.get(row) for row in rows]

    def ahead(self, checkpoints: Sequence[CheckpointRow], writes: Sequence[WriteRow]) -> Fetched:
        """Some checkpoints and values by a few questions for any number; none of them where they are large."""
        of_bodies = f"SELECT sum(octet_length(c.checkpoint::text)) FROM{self._asked}"
        of_channels = f"SELECT sum(octet_length(b.blob)) FROM{self._asked}{self._beside}"
        of_values = f"SELECT sum(octet_length(w.blob)){_WRITES_ASKED}"

        def work(reader: Reader) -> Fetched:
            names, of_writes = _names_of(checkpoints), _names_of_writes(writes)
            asked = ((of_bodies, names), (of_channels, names), (of_values, of_writes))
            if sum(size or 0 for each in asked for (size,) in reader.execute(*each)) > MOST_AHEAD:
                return {}, {}
            found = self._read_documents(reader, checkpoints, "true")
            documents = {(checkpoints[at].thread, checkpoints[at].key): document for at, document in found.items()}
            values = _read_values(reader, writes)
            return documents, {row: values.get(row) for row in writes}

        return self._server.read(work)

    def sift(self, sieve: Sieve) -> None:
        """Have a sieve take in all values, as the server sends them; a value of several checkpoints comes once."""

        def work(reader: Reader) -> None:
            names = f"thread_id, checkpoint_ns, {self._tables.id}"
            sieve.take_checkpoints(_rows(reader, f"SELECT {names}, 'json', {_SHOWN}::text FROM checkpoints"))  # noqa: S608
            beside = "SELECT thread_id, checkpoint_ns, '', channel, type, blob FROM checkpoint_blobs"
            sieve.take_values(_rows(reader, f"{beside} WHERE type <> '{_EMPTY}'"))
            names = "thread_id, checkpoint_ns, checkpoint_id, channel"
            sieve.take_values(_rows(reader, f"SELECT {names}, type, blob FROM checkpoint_writes"))  # noqa: S608

        self._server.read(work)

    # ---------------------------------------------------------------- sizes

    def space(self, report: Callable[[int, int], None]) -> Space:
        """What fills the tables, as it is stored: the server says so without reading a value."""
        return self._server.read(lambda reader: _space(reader, report))


def _names_of(rows: Sequence[CheckpointRow]) -> tuple[list[str], list[str], list[str]]:
    return [row.thread for row in rows], [row.namespace for row in rows], [row.id for row in rows]


def _names_of_writes(rows: Sequence[WriteRow]) -> tuple[list[str], list[str], list[str], list[str], list[int]]:
    return (
        [row.thread for row in rows],
        [row.checkpoint[0] for row in rows],
        [row.checkpoint[1] for row in rows],
        [row.task_id for row in rows],
        [row.index for row in rows],
    )


def _read_values(reader: Reader, rows: Sequence[WriteRow]) -> dict[WriteRow, bytes | None]:
    """The stored bytes of values, by one question."""
    query = f"SELECT number, w.blob{_WRITES_ASKED}"
    return {rows[number - 1]: blob for number, blob in reader.execute(query, _names_of_writes(rows), binary=True)}


def _tables_of(reader: Reader, address: Path) -> _Tables:
    """What tables there are.

    Raises:
        NotAStore, NewerFormat: none that can be read.
    """
    checkpoints = _columns(reader, "checkpoints")
    writes = _columns(reader, "checkpoint_writes")
    if not (checkpoints >= _CHECKPOINTS and writes >= _WRITES and _columns(reader, "checkpoint_blobs") >= _BLOBS):
        schema, user = _row(reader, "SELECT coalesce(current_schema(), ''), current_user")
        where = f"schema {schema}" if schema else "no schema that this user may look into"
        raise NotAStore(
            f"{address} is not a LangGraph database: it has no tables of PostgresSaver in {where}",
            hint=f"Check its name, and that {user} may read it; ?options=-csearch_path%3DNAME looks in another schema.",
        )
    kind = _Kind.WHOLE if "checkpoint_id" in checkpoints else _Kind.SHALLOW
    if "v" in _columns(reader, "checkpoint_migrations"):
        (newest,) = _row(reader, "SELECT coalesce(max(v), 0) FROM checkpoint_migrations")
        if newest > kind.value:
            known = f"{kind.value} is the last one known here"
            raise NewerFormat(
                f"{address} was brought to migration {newest} by a newer LangGraph: {known}",
                found=newest,
                supported=kind.value,
                hint="Upgrade agent-tt.",
            )
    return _Tables(kind, "task_path" in writes)


def _columns(reader: Reader, table: str) -> set[str]:
    """The columns of a real table: a view of that name could make reading it as costly as it likes."""
    found = reader.execute(
        "SELECT a.attname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE c.oid = to_regclass(%s) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped",
        (table,),
    )
    return {name for (name,) in found}


def _marks(reader: Reader) -> _Marks:
    """What each thread is known by: a row that is written again has another `xmin`."""
    found: defaultdict[str, tuple[object, ...]] = defaultdict(tuple)
    for table in ("checkpoints", "checkpoint_writes"):
        query = f"SELECT thread_id, count(*), sum(xmin::text::bigint)::text FROM {table} GROUP BY thread_id"  # noqa: S608  # one of two
        for thread, *mark in _rows(reader, query):
            found[str(thread)] += (table, *mark)
    return dict(found)


def _row(reader: Reader, query: str) -> tuple[Any, ...]:
    """The one row that a question has."""
    (row,) = reader.execute(query).fetchall()
    return row


def _rows(reader: Reader, query: str, names: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
    """Rows as the server sends them, some at once: there may be more than fit into memory."""
    with reader.cursor(name="rows") as cursor:
        cursor.itersize = _AT_ONCE
        cursor.execute(query, names or None, binary=True)
        yield from cursor


def _space(reader: Reader, report: Callable[[int, int], None]) -> Space:
    names = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    shares: defaultdict[str, list[Share]] = defaultdict(list)
    questions = (
        ("'checkpoints'", "checkpoint", "checkpoints"),
        ("'metadata'", "metadata", "checkpoints"),
        ("channel", "blob", "checkpoint_blobs"),
        ("channel || ' (written)'", "blob", "checkpoint_writes"),
    )
    for number, (what, column, table) in enumerate(questions):
        report(number, len(questions))
        size = f"sum(pg_column_size({column}))::bigint"
        question = f"SELECT thread_id, {what}, {size}, count({column}) FROM {table} GROUP BY 1, 2"  # noqa: S608  # ours
        for thread, name, filled, rows in reader.execute(question):
            if filled:
                shares[thread].append(Share(name, filled, rows))
    total = sum(_row(reader, f"SELECT pg_total_relation_size('{name}')")[0] for name in names)  # of three
    owners = [SpaceOwner(thread, sorted(each, key=lambda share: -share.bytes)) for thread, each in shares.items()]
    return Space(total, None, sorted(owners, key=lambda owner: -owner.bytes))
