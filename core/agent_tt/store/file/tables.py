"""Refusing files whose tables are not tables: whoever gives us a file may have put a program into it.

SQLite lets a view, a virtual table or a computed column stand where a table is expected, and runs triggers at every
write: a name that we read could take all time and memory there is. What stands in a file beside our tables is never
touched and does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import NotAStore
from agent_tt.store.file import schema

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

__all__ = ["check_tables"]

_COMPUTED: Final = frozenset({("deltas", "track"), ("deltas", "seq")})
"""Those of the format itself, which only people read."""

_NAMES: Final = tuple(
    statement.removeprefix("CREATE TABLE ").partition("(")[0]
    for statement in schema.STATEMENTS
    if statement.startswith("CREATE TABLE ")
)

_OURS: Final = frozenset(schema.STATEMENTS)
"""SQLite keeps a statement that makes a table as it was given: of one of ours it is known what is computed."""

_HIDDEN: Final = """SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_xinfo(t.name) c
  WHERE t.type = 'table' AND instr(?, ',' || lower(t.name) || ',') AND c.hidden"""


def check_tables(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file of which reading a row, or writing one, could do more than that.

    Raises:
        NotAStore: says what stands there instead of a table, or which trigger there is.
        sqlite3.DatabaseError: its schema cannot be read.
    """
    schema_rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    found = [row for row in schema_rows if str(row[2]).lower() in _NAMES]
    for kind, name, table, sql in found:
        if kind == "trigger":
            raise _refused(path, f"it runs {name} at every change of {table}")
        if kind == "view" or (kind == "table" and not str(sql).upper().startswith("CREATE TABLE")):
            raise _refused(path, f"its {name} is not a table")
    if _OURS.issuperset(sql for kind, *_, sql in found if kind == "table"):
        return
    for table, column in connection.execute(_HIDDEN, (f",{','.join(_NAMES)},",)).fetchall():
        if (table, column) not in _COMPUTED:
            raise _refused(path, f"its {table}.{column} is computed")


def _refused(path: Path, why: str) -> NotAStore:
    return NotAStore(f"{path} is not a store that agent-tt made: {why}", hint="Open only files whose origin you know.")
