"""Checking rows: that each is as it was written, and that those of an owner are all there, and no more.

All is read in one transaction of a connection of its own, so that a run that is being recorded is seen at one moment.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from agent_tt.addresses import Address
from agent_tt.errors import StoreUnreadable
from agent_tt.history.rows import SEQ_BITS, row_key
from agent_tt.model import Problem
from agent_tt.store.checking.counts import missing_rows
from agent_tt.store.file import schema
from agent_tt.store.file.connecting import connect
from agent_tt.store.file.sqlite_errors import SQLITE_ERRORS, our_error
from agent_tt.store.tables.definitions import TABLES
from agent_tt.store.tables.proofs import seal_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.history.rows import Row
    from agent_tt.store.postgres.moment import Moment
    from agent_tt.store.tables.asking import SqlValue
    from agent_tt.store.tables.table import Table

__all__ = ["verify_rows"]

_SEQ_MASK: Final = (1 << SEQ_BITS) - 1
_LANE: Final = (1 << 62) - 1
_MOST_NAMED: Final = 20
"""Rows of one table and owner that are named one by one."""
_NUMBERED: Final = frozenset({"steps", "calls", "deliveries"})
"""Tables whose rows are numbered and counted, see `agent_tt.store.checking.counts`."""
_OF_TRACKS: Final = frozenset({"deltas", "keyframes"})


def verify_rows(path: Path, runs: Sequence[int] | None = None, tables: Sequence[Table] = ()) -> list[Problem]:
    """Everything that is wrong with the rows of a store.

    Args:
        path: the file.
        runs: only the rows of these runs (row numbers); None for all, and those of the file itself.
        tables: only these tables; all where none is named.

    Raises:
        StoreUnreadable: it cannot be opened.
    """
    wanted = tables or tuple(TABLES.values())
    if isinstance(path, Address):
        from agent_tt.store.postgres.moment import one_moment

        try:
            with one_moment(path) as moment:
                return list(_Rows(moment, runs).problems(wanted))
        except StoreUnreadable as error:
            return [Problem(None, None, error.message)]
    with closing(connect(path, mode="ro")) as connection:
        connection.text_factory = _exact_text
        try:
            connection.execute("BEGIN")
            return list(_Rows(connection, runs).problems(wanted))
        except SQLITE_ERRORS as error:
            return [Problem(None, None, our_error(path, error).message)]


def _exact_text(raw: bytes) -> str:
    """Texts that are not UTF-8 as something that no text that was written is."""
    return raw.decode("utf-8", "surrogateescape")


class _Rows:
    """The checks of one file."""

    def __init__(self, connection: sqlite3.Connection | Moment, runs: Sequence[int] | None) -> None:
        self._connection = connection
        self._runs = runs
        self._ids: dict[Any, str] = {
            run: run_id
            for run, run_id in connection.execute("SELECT run, id FROM runs")
            if type(run_id) is str and run_id.isprintable()
        }
        self._tracks: dict[Any, Any] = dict(connection.execute("SELECT track, run FROM tracks"))

    def problems(self, tables: Sequence[Table]) -> Iterator[Problem]:
        """All that are in some tables."""
        if self._runs is None:
            yield from self._format()
        for table in tables:
            if table.name in _OF_TRACKS:
                continue  # these are checked with the states
            try:
                yield from self._table(table)
            except sqlite3.OperationalError as error:
                if "no such" not in str(error):  # a table or column that is missing is named by `schema_check`
                    raise
        if not {table.name for table in tables}.isdisjoint(_NUMBERED):
            yield from self._missing()

    def _format(self) -> Iterator[Problem]:
        ((number,),) = self._connection.execute("PRAGMA user_version").fetchall()
        if number != schema.FORMAT_VERSION:
            yield Problem(None, None, f"the file says in its header that it has format {number}")

    def query(self, sql: str, parameters: Sequence[SqlValue] = (), /) -> list[Row]:
        """All rows that `sql` gives."""
        return self._connection.execute(sql, parameters).fetchall()

    def _missing(self) -> Iterator[Problem]:
        for run in self._ids if self._runs is None else self._runs:
            for step, what in missing_rows(self, run):
                yield Problem(self._ids.get(run), step, what)

    def _table(self, table: Table) -> Iterator[Problem]:
        seals = {
            owner: sums
            for owner, *sums in self._connection.execute(
                "SELECT owner, n, a, b FROM seals WHERE name = ?", (table.name,)
            )
        }
        found: defaultdict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
        wrong: defaultdict[Any, int] = defaultdict(int)
        for row in self._read(table):
            owner = table.owner_of(row)
            if table.sealed:
                one, other = seal_terms(table.member(row))
                for at, term in enumerate((1, one, other)):
                    found[owner][at] += term
            if self._holds(table, row):
                continue
            wrong[owner] += 1
            if wrong[owner] <= _MOST_NAMED:
                yield self._problem(table, owner, row, f"{_named(table, row)} is not what was recorded")
        for owner in sorted({*found, *seals}, key=str) if table.sealed else ():
            if not self._is_asked(table, owner):
                continue
            count, one, other = found[owner]
            sealed = seals.get(owner, [0, 0, 0])
            if sealed != [count, one & _LANE, other & _LANE]:
                yield self._problem(table, owner, None, self._difference(table, count, sealed[0]))

    def _read(self, table: Table) -> Iterator[Row]:
        statement = f"SELECT {table.selected} FROM {table.name}"  # noqa: S608  # our own
        if self._runs is None:
            yield from self._connection.execute(statement)
        elif not table.owner:
            for run in self._runs if table.name == "runs" else ():
                yield from self._connection.execute(f"{statement} WHERE run = ?", (run,))
        else:
            in_tracks = table.name in _OF_TRACKS
            for owner in self._tracks_of(self._runs) if in_tracks else self._runs:
                where = "id BETWEEN ? AND ?" if table.packed else f"{table.owner} = ?"
                given = (row_key(owner, 0), row_key(owner, _SEQ_MASK)) if table.packed else (owner,)
                yield from self._connection.execute(f"{statement} WHERE {where}", given)

    def _tracks_of(self, runs: Sequence[int]) -> list[int]:
        return [track for track, run in self._tracks.items() if run in runs and type(track) is int]

    def _holds(self, table: Table, row: Row) -> bool:
        return type(row[-1]) is bytes and table.holds(row)

    def _is_asked(self, table: Table, owner: Any) -> bool:
        if self._runs is None:
            return True
        return bool(table.owner) and (self._tracks.get(owner) if table.name in _OF_TRACKS else owner) in self._runs

    def _difference(self, table: Table, count: int, sealed: Any) -> str:
        if type(sealed) is int and sealed > count:
            return f"{sealed - count} of {sealed} rows of {table.name} {_is(sealed - count)} missing"
        if type(sealed) is int and sealed < count:
            return f"{count - sealed} of {count} rows of {table.name} {_is(count - sealed)} not recorded, but added"
        return f"the {count} rows of {table.name} are not those that were recorded, or their seal is damaged"

    def _problem(self, table: Table, owner: Any, row: Row | None, what: str) -> Problem:
        if table.name == "runs":
            return Problem(self._ids.get(row[0]) if row is not None else None, None, what)
        if not table.owner:
            return Problem(None, None, what)
        run = self._ids.get(self._tracks.get(owner) if table.name in _OF_TRACKS else owner)
        step = row[table.columns.index("step")] if row is not None and "step" in table.columns else None
        return Problem(run, step if type(step) is int and run is not None else None, what)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _named(table: Table, row: Row) -> str:
    """A row by its key."""
    if table.name == "deliveries":
        return f"answer {row[0] & _SEQ_MASK} (call {row[2]} of step {row[1]})"
    if table.name == "calls":
        return f"call {row[2]} of step {row[1]}"
    key = row[1 : len(table.key)] if table.key[0] == "run" and len(table.key) > 1 else row[: len(table.key)]
    shown = ", ".join(ascii(value)[:40].strip("'") for value in key)
    return f"{_WORDS.get(table.name, f'row of {table.name}')} {shown}"


_WORDS: Final = {
    "steps": "step",
    "runs": "the row of run number",
    "tags": "the tag",
    "notes": "note",
    "tracks": "track",
    "sweeps": "sweep",
    "foreign_marks": "the mark on a run elsewhere",
    "meta": "the file's own fact",
    "blobs": "the row of blob number",
    "dicts": "the row of dictionary",
}
