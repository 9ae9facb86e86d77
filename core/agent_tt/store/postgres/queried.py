"""Answer SQL about a store on a server: copy the rows that a query needs into an SQLite file, and ask that.

The views of `agent_tt.store.views` show rows that are as they were recorded, by proofs that no server can compute, and
call functions of ours. So the server is not asked the query: rows are read from it as they are, each with its proof,
all of one moment, in a transaction that only reads; the query is about the copy. What calls carried stays there until
it is asked for.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.store.file import schema
from agent_tt.store.postgres.errors import Translation
from agent_tt.store.postgres.moment import one_moment
from agent_tt.store.tables.definitions import CALLS, TABLES
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from agent_tt.addresses import Address
    from agent_tt.history.rows import Row
    from agent_tt.store.postgres.moment import Moment
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["QueriedRows", "queried_rows"]

_TIMEOUT_S: Final = 60
"""After so long the server gives up a question; each reads some rows in their order, and nothing else."""

_ROOTS: Final = "SELECT tbl_name, rootpage FROM sqlite_master WHERE type IN ('table', 'index')"
_AT_ONCE: Final = 2_000
_STEPS: Final = 200
"""What calls carried is read for so many steps together: a query asks for one after the other."""


@contextmanager
def queried_rows(address: Address) -> Iterator[QueriedRows]:
    """Read one moment of a store on a server for queries.

    Raises:
        StoreUnreadable: it cannot be read.
        UsageError: there is no room for temporary files.
    """
    with (
        temporary_folder("agent-tt-sql-") as folder,
        one_moment(address, seconds=_TIMEOUT_S) as moment,
        closing(sqlite3.connect(Path(folder) / "copy.db", isolation_level=None, check_same_thread=False)) as copy,
    ):
        copy.execute("PRAGMA journal_mode = WAL")
        copy.execute("PRAGMA synchronous = OFF")
        for statement in schema.STATEMENTS:
            copy.execute(statement)
        yield QueriedRows(Path(folder) / "copy.db", moment, copy, Translation(address))


class QueriedRows:
    """The rows of one moment, as queries need them.

    Attributes:
        path: the file that tables are brought into.
    """

    def __init__(self, path: Path, moment: Moment, copy: sqlite3.Connection, translated: Translation) -> None:
        self.path = path
        self._translated = translated
        self._moment = moment
        self._copy = copy
        self._brought: set[str] = set()
        self._page: tuple[SqlValue, int, dict[tuple[SqlValue, ...], Row]] = (None, -1, {})

    def bring(self, roots: Callable[[], AbstractSet[int]]) -> None:
        """Copy the tables that begin on some pages, where they are not there yet; of what calls carried the digests."""
        wanted = roots()
        tables = {name for name, root in self._copy.execute(_ROOTS) if root in wanted}
        for name in sorted(tables & TABLES.keys() - self._brought):
            table = TABLES[name]
            columns = (*table.columns, "proof")
            into = f"INSERT INTO {name}({', '.join(columns)}) VALUES({', '.join('?' * len(columns))})"
            found = self._moment.execute(f"SELECT {table.head} FROM {name}")  # noqa: S608  # ours
            self._copy.execute("BEGIN")
            try:
                with self._translated:
                    while rows := found.fetchmany(_AT_ONCE):
                        self._copy.executemany(into, rows)
            except BaseException:
                self._copy.execute("ROLLBACK")
                raise
            self._copy.execute("COMMIT")
            self._brought.add(name)

    def row(self, table: str, selected: str, where: str, key: Sequence[SqlValue]) -> Row | None:
        """The row with a key; see `agent_tt.store.sql`."""
        if table == CALLS.name and (parts := self._parts_of(selected)):
            found = self._call(key)
            return None if found is None else tuple(found[at] for at in parts)
        return self._copy.execute(f"SELECT {selected} FROM {table} WHERE {where}", key).fetchone()  # type: ignore[no-any-return]  # noqa: S608  # ours

    def _parts_of(self, selected: str) -> list[int]:
        """Where in the row of a call stands what is asked for, if any of it is not in the copy."""
        names = selected.split(", ")
        kept = (*CALLS.keeps, "proof")
        return [kept.index(name) for name in names] if {*names} & {*CALLS.keeps} and {*names} <= {*kept} else []

    def _call(self, key: Sequence[SqlValue]) -> Row | None:
        run, step, call = key
        if not isinstance(step, int):
            return None
        page = step // _STEPS
        if self._page[:2] != (run, page):
            names = ", ".join((*CALLS.keeps, "proof"))
            with self._translated:
                rows = self._moment.execute(
                    f"SELECT step, call, {names} FROM calls WHERE run = ? AND step BETWEEN ? AND ?",  # noqa: S608  # ours
                    (run, page * _STEPS, page * _STEPS + _STEPS - 1),
                ).fetchall()
            self._page = run, page, {row[:2]: row[2:] for row in rows}
        return self._page[2].get((step, call))
