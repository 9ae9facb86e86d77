"""Whether a store's tables are those of its format: what another program dropped or rebuilt is named.

sqlite-utils, which reads schemas well, takes longer to import than a store to open: only this and `sql` load it.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from agent_tt.store.file import schema
from agent_tt.store.file.connecting import connect

if TYPE_CHECKING:
    from pathlib import Path

    import sqlite_utils

__all__ = ["schema_problems"]


def schema_problems(path: Path) -> list[str]:
    """One line for each table, column, key or index that is missing; what was added is not looked at.

    Raises:
        StoreUnreadable: the file cannot be opened.
    """
    from agent_tt.store.file.sqlite_errors import SQLITE_ERRORS

    try:
        return _differences(path)
    except SQLITE_ERRORS as error:
        return [f"the tables cannot be read: {error}"]


def _differences(path: Path) -> list[str]:
    import sqlite_utils

    expected = sqlite_utils.Database(memory=True)
    for statement in schema.STATEMENTS:
        expected.execute(statement)
    with closing(connect(path, mode="ro")) as connection:
        found = sqlite_utils.Database(connection)
        present = set(found.table_names())
        problems: list[str] = []
        for name in expected.table_names():
            if name not in present:
                problems.append(f"table {name} is missing")
            else:
                problems += _table_problems(expected.table(name), found.table(name))
    expected.close()
    return problems


def _table_problems(expected: sqlite_utils.db.Table, found: sqlite_utils.db.Table) -> list[str]:
    columns = {column.name for column in found.columns}
    problems = [
        f"table {expected.name} has no column {column.name}"
        for column in expected.columns
        if column.name not in columns
    ]
    if not problems and expected.pks != found.pks:
        problems.append(f"table {expected.name} has the key {found.pks}, not {expected.pks}")
    indexes = {(tuple(index.columns), index.unique) for index in found.indexes}
    problems += [
        f"table {expected.name} has no index on {', '.join(index.columns)}"
        for index in expected.indexes
        if (tuple(index.columns), index.unique) not in indexes
    ]
    return problems
