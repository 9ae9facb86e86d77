"""Queries in SQL over a store that is only read: the views of `agent_tt.store.views`, on a connection of their own.

Three things keep a query from changing anything: the file is opened read-only, the connection is told to answer queries
only, and an authorizer refuses each statement that would write, attach a file, load an extension, begin a transaction
or set a pragma, before it runs.

Of a store on a server the views are over a copy of the tables that a query needs (`agent_tt.store.postgres.queried`).
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.addresses import Address
from agent_tt.codec.paths import parse_path, to_wire_path
from agent_tt.errors import (
    AgentTTError,
    Damaged,
    InvalidPath,
    NotFound,
    PathNotFound,
    ReadOnlySource,
    UsageError,
)
from agent_tt.history.payloads.payload import unpack_call_value
from agent_tt.model.facts.shapes import LIST
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store.file.connecting import connect
from agent_tt.store.file.sqlite_errors import our_error
from agent_tt.store.rows import columns
from agent_tt.store.rows.run_rows import shown_status
from agent_tt.store.store import open_store
from agent_tt.store.tables.asking import SqlValue
from agent_tt.store.tables.definitions import CALLS, RUNS, TABLES
from agent_tt.store.tables.proofs import PROOF_SIZE, part_digest
from agent_tt.store.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Row
    from agent_tt.store.store import SqliteStore
    from agent_tt.store.tables.table import Table

__all__ = ["Queries", "SqlValue", "query_store"]

_LOOK_EVERY: Final = 20_000
"""Steps of SQLite's machine after which an interruption is noticed: about a millisecond."""

_FILE_CODES: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""SQLite's codes that are about the file and not about the query."""

_SAVEPOINT: Final = "sqlite_utils_query"
"""The savepoint around every query that sqlite-utils makes, so that what it rejects leaves nothing behind."""

_ACTIONS: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_ATTACH: "attaches a file",
    sqlite3.SQLITE_DETACH: "detaches a file",
    sqlite3.SQLITE_PRAGMA: "reads or sets a pragma",
    sqlite3.SQLITE_TRANSACTION: "begins or ends a transaction",
    sqlite3.SQLITE_SAVEPOINT: "begins or ends a transaction",
}
_USED_ONCE: Final = "SELECT 1 FROM json_each('[]'), json_tree('[]')"
"""The first use of a table that a function gives looks like a write into the schema, which is refused later on."""

_OPENS: Final = frozenset({"OpenRead", "ReopenIdx"})
"""What of SQLite's machine opens a table or an index, by the page that it begins on."""

_HINT: Final = "Queries read: SELECT, WITH, VALUES, EXPLAIN. `agent-tt sql` lists what there is to read."
_NO_FUNCTIONS: Final = frozenset({"load_extension", "fts3_tokenizer", "writefile", "edit"})
_KEYS: Final = {
    "runs": "run = ?",
    "steps": "run = ? AND step = ?",
    "calls": "run = ? AND step = ? AND call = ?",
    "notes": "note = ?",
    "tags": "run = ? AND hex(tag) = ?",
}
"""What picks a row by the key that the views give."""
_VIEWS: Final = frozenset(view.name for view in VIEWS)
_TABLES: Final = frozenset({*TABLES, "changes", "paths", "seals"})


@contextmanager
def query_store(path: Path) -> Iterator[Queries]:
    """Open a store for queries.

    ```python
    with query_store(path) as queries:
        for row in queries.rows("select name, steps from runs where status = :status", {"status": "failed"}):
            print(row["name"], row["steps"])
    ```

    Raises:
        StoreNotFound: There is no such file.
        NotAStore: It is not a store of ours.
        StoreUnreadable: It cannot be read.
    """
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(path, read_only=True)))
        behind: Behind
        if isinstance(path, Address):
            from agent_tt.store.postgres.queried import queried_rows

            behind = stack.enter_context(queried_rows(path))
        else:
            behind = _OfFile(path, store)
        connection = stack.enter_context(closing(connect(behind.path, mode="ro")))
        yield Queries(path, store, connection, behind)


class Behind(Protocol):
    """Where the rows behind the views are."""

    @property
    def path(self) -> Path:
        """The file of SQLite's that queries are about."""

    def bring(self, roots: Callable[[], AbstractSet[int]]) -> None:
        """Have the rows of some tables in the file; `roots` finds the pages that these begin on, where it is asked."""

    def row(self, table: str, selected: str, where: str, key: Sequence[SqlValue]) -> Row | None:
        """Some columns of the row that a condition picks by its key; None where there is none."""


class _OfFile:
    """The rows of a store that is a file: they are there."""

    def __init__(self, path: Path, store: SqliteStore) -> None:
        self.path = path
        self._store = store

    def bring(self, roots: Callable[[], AbstractSet[int]]) -> None:
        """They are there."""

    def row(self, table: str, selected: str, where: str, key: Sequence[SqlValue]) -> Row | None:
        """Ask the store, which reads on a connection of its own."""
        return next(iter(self._store.database.query(f"SELECT {selected} FROM {table} WHERE {where}", key)), None)  # noqa: S608  # words of ours


class Queries:
    """Answer SQL queries over one store, read only.

    Attributes:
        damaged: What was left out of the answers so far because it is not what was recorded: rows and values, named.
    """

    def __init__(self, path: Path, store: SqliteStore, connection: sqlite3.Connection, behind: Behind) -> None:
        import sqlite_utils

        self.damaged: set[str] = set()
        self._path = path
        self._store = store
        self._behind = behind
        self._refused = ""
        self._failure: BaseException | None = None
        self._proven_runs: dict[SqlValue, bool] = {}
        self._connection = connection
        # What is not text in a file that is damaged must not end a query over the rest of it.
        connection.text_factory = _lenient_text
        self._database = sqlite_utils.Database(connection, recursive_triggers=False)
        self._prepare()

    def rows(self, sql: str, parameters: Mapping[str, SqlValue] | None = None) -> Iterator[dict[str, SqlValue]]:
        """Run one query; rows come as they are found, so that an answer may be larger than memory.

        Args:
            sql: One statement that reads.
            parameters: Values of its `:name` parameters.

        Raises:
            UsageError: It cannot be understood, or a parameter is missing.
            ReadOnlySource: It would change something.
            StoreUnreadable, Damaged: The file itself cannot be read on.
            KeyboardInterrupt: It was interrupted.
        """
        with self._told():
            self._behind.bring(lambda: self._roots(sql, parameters or {}))
            yield from self._database.query(sql, dict(parameters or {}))

    def _roots(self, sql: str, parameters: Mapping[str, SqlValue]) -> set[int]:
        """Find the root pages of the tables that a query reads; none if SQLite refuses it: running it then says why."""
        found: set[int] = set()
        with suppress(sqlite3.Error, ValueError, OverflowError):
            for _, code, _, root, *_ in self._connection.execute(f"EXPLAIN {sql}", dict(parameters)):
                if code in _OPENS:
                    found.add(root)
        self._refused = ""
        return found

    # ---------------------------------------------------------------- making it

    def _prepare(self) -> None:
        connection = self._connection
        for name, arguments, function in (
            ("is_proven", -1, self._is_proven),
            ("call_part", 4, self._call_part),
            ("error_part", -1, self._error_part),
            ("edit_part", 3, self._edit_part),
            ("run_status", 1, self._run_status),
            ("state", 2, self._state),
            ("state", 3, self._state),
        ):
            connection.create_function(name, arguments, self._kept(function))
        for view in VIEWS:
            connection.execute(view.statement)
        connection.execute(_USED_ONCE).fetchall()
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(self._allows)
        # SQLite runs without looking at Python's signals; here they are looked at.
        connection.set_progress_handler(lambda: 0, _LOOK_EVERY)

    def _allows(self, action: int, one: str | None, other: str | None, base: str | None, view: str | None) -> int:
        """Say whether a statement may do something, before it runs."""
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_FUNCTION if str(other).lower() not in _NO_FUNCTIONS:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_SAVEPOINT if other == _SAVEPOINT:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ if view in _VIEWS or base != "main" or one not in _TABLES or not other:
                return sqlite3.SQLITE_OK
            case sqlite3.SQLITE_READ:
                self._refused = f"reads the table {one} itself, whose rows nothing has proven"
            case sqlite3.SQLITE_FUNCTION:
                self._refused = f"calls {other}"
            case sqlite3.SQLITE_UPDATE if one == "sqlite_master":
                self._refused = "reads a table of SQLite's own, or writes into the schema"
            case _:
                self._refused = _ACTIONS.get(action, "writes")
        return sqlite3.SQLITE_DENY

    def _kept(self, function: Callable[..., SqlValue]) -> Callable[..., SqlValue]:
        """A function for SQLite, which loses what a function raises: here it is kept, to be raised again."""

        def call(*arguments: SqlValue) -> SqlValue:
            try:
                return function(*arguments)
            except BaseException as error:
                self._failure = error
                raise

        return call

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite as what they mean."""
        self._refused, self._failure = "", None
        try:
            yield
        except (sqlite3.Error, OverflowError, ValueError, UnicodeError) as error:
            raise self._meant(error) from error

    def _meant(self, error: Exception) -> BaseException:
        text = str(error)
        if isinstance(self._failure, AgentTTError | KeyboardInterrupt):
            return self._failure
        if self._refused:
            return ReadOnlySource(f"a query can only read, and this statement {self._refused}", hint=_HINT)
        if isinstance(error, ValueError):  # from sqlite-utils
            return ReadOnlySource("a query can only read, and this statement gives nothing back", hint=_HINT)
        if text.startswith("cannot modify"):
            return ReadOnlySource("a query can only read, and this statement writes", hint=_HINT)
        code = getattr(error, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_INTERRUPT:
            return KeyboardInterrupt()
        if isinstance(error, sqlite3.Error) and code is not None and code & 0xFF in _FILE_CODES:
            return our_error(self._path, error)
        if "user-defined function" in text:
            text = "a function cannot take what it was given, or was interrupted"
        if "did not supply a value for binding" in text:
            text = f"{text.rpartition(' ')[2].rstrip('.')} has no value: give it with -p NAME=VALUE"
        return UsageError(f"SQL: {text}", hint="`agent-tt sql` lists the views and their columns.")

    # ---------------------------------------------------------------- what the views call

    # They are given keys and read the rows themselves: what SQLite gives of a row depends on the conditions of the
    # query (in `name = 'x'` it puts the constant in the place of the column, also in rows of other names), and a text
    # that is damaged cannot be given to a function at all.

    def _row(self, table: str, selected: str, key: Sequence[SqlValue]) -> Row | None:
        return self._behind.row(table, selected, _KEYS[table], key)

    def _is_proven(self, *given: SqlValue) -> bool:
        """Whether the row of a table with this key is as it was recorded; of calls without what they carried."""
        table, *key = given
        proven = TABLES[str(table)]
        is_run = proven is RUNS
        if is_run and (known := self._proven_runs.get(key[0])) is not None:
            return known
        row = self._row(proven.name, proven.head, key)
        if row is None:  # the key is a constant of the query
            return False
        holds = _holds(proven, row)
        if not holds:
            self.damaged.add(f"row {', '.join(map(_short, row[: len(proven.key)]))} of {proven.name}")
        if is_run:
            self._proven_runs[key[0]] = holds
        return holds

    def _call_part(self, part: str, *key: SqlValue) -> SqlValue:
        """What a call carried, as JSON; None where it is not what was recorded."""
        row = self._row("calls", f"{part}, proof", key)
        if row is None:
            return None
        text: SqlValue = row[0]
        proof = row[1]
        number = 1 + CALLS.keeps.index(part)
        kept = proof[number * PROOF_SIZE : (number + 1) * PROOF_SIZE] if isinstance(proof, bytes) else b""
        what = f"the {part} of call {key[2]!r} of step {key[1]!r} of run number {key[0]!r}"
        if (part_digest(text) or bytes(PROOF_SIZE)) != kept:
            self.damaged.add(what)
            return None
        if not isinstance(text, str) or part == "error" or not text.startswith('{"v":'):
            return text
        unread: list[str] = []
        value = unpack_call_value(text, what, self._store.log.blobs.get, unread)
        if unread:
            self.damaged.add(what)
        return json.dumps(value)

    def _error_part(self, *given: SqlValue) -> SqlValue:
        """The class or the message of an exception."""
        part, table, *key = given
        if table == "calls":
            text = self._call_part("error", *key)
        else:
            row = self._row(str(table), "error", key)
            text = None if row is None else row[0]
        return columns.text(columns.mapping_from_text(text).get(str(part)))

    def _edit_part(self, part: str, run: SqlValue, number: SqlValue) -> SqlValue:
        """The old or new value of a fork's edit, as JSON."""
        row = self._row("runs", "meta", (run,))
        edits = LIST.read(columns.mapping_from_text(None if row is None else row[0]).get(RunMeta.edits.key))
        edit = edits[number] if isinstance(number, int) and number < len(edits) else None
        return json.dumps(edit.get(part) if isinstance(edit, dict) else None)

    def _run_status(self, run: SqlValue) -> SqlValue:
        """A run's status as it is shown: `crashed` where its process is gone without a word."""
        row = self._row("runs", "status, owner, beat_us", (run,))
        if row is None:
            return None
        status, owner, beat_us = row
        return shown_status(status, owner, beat_us)

    def _state(self, run: SqlValue, step: SqlValue, path: SqlValue = "") -> SqlValue:
        """A state, or one value of it, as JSON; None where there is none."""
        if not isinstance(run, str) or not isinstance(step, int) or not isinstance(path, str):
            return None
        try:
            state = self._store.state(self._store.run(run).id, step)
            place = to_wire_path(state, parse_path(path))
            value: Wire = state
            for key in place:
                value = value[key]  # type: ignore[index]  # it is there
        except (InvalidPath, AgentTTError) as error:
            if isinstance(error, PathNotFound | NotFound):
                return None
            if isinstance(error, Damaged):
                self.damaged.add(f"the state after step {step!r} of run {run}")
                return None
            raise
        return json.dumps(value)


def _holds(table: Table, row: Sequence[SqlValue]) -> bool:
    try:
        return table.holds_without(tuple(row)) if table is CALLS else table.holds(tuple(row))
    except (TypeError, ValueError):
        return False


def _short(value: SqlValue) -> str:
    return ascii(value)[:40]


def _lenient_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
