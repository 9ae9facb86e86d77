"""What a LangGraph checkpoint database looks like from outside: its tables and their columns."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Family", "Tables", "table_names", "tables_of"]

_CHECKPOINTS: Final = frozenset(
    {"thread_id", "checkpoint_ns", "checkpoint_id", "parent_checkpoint_id", "type", "checkpoint", "metadata"}
)
_OLDEST: Final = frozenset({"thread_id", "thread_ts", "parent_ts", "checkpoint"})
_WRITES: Final = frozenset(
    {"thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel", "type", "value"}
)


class Family(enum.Enum):
    """Which of LangGraph's table layouts a database has."""

    CURRENT = "checkpoints with namespaces"
    OLDEST = "checkpoints with thread_ts, before 0.2"


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a LangGraph database.

    Attributes:
        family: their layout.
        has_writes: there is a usable table of writes.
        has_task_path: writes say which node made them.
        has_metadata: checkpoints say what made them.
    """

    family: Family
    has_writes: bool = False
    has_task_path: bool = False
    has_metadata: bool = True

    @property
    def checkpoint_id(self) -> str:
        """The column that names a checkpoint."""
        return "thread_ts" if self.family is Family.OLDEST else "checkpoint_id"


def tables_of(connection: sqlite3.Connection) -> Tables | None:
    """What LangGraph tables a database has; None if it is not a database of LangGraph."""
    checkpoints = _columns(connection, "checkpoints")
    if checkpoints >= _CHECKPOINTS:
        writes = _columns(connection, "writes")
        return Tables(Family.CURRENT, has_writes=writes >= _WRITES, has_task_path="task_path" in writes)
    if checkpoints >= _OLDEST:
        return Tables(Family.OLDEST, has_metadata="metadata" in checkpoints)
    return None


def table_names(connection: sqlite3.Connection) -> list[str]:
    """The names of a database's tables, for a message that says what it looks like."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return sorted(str(name) for (name,) in rows)


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a real table: a view of that name could make reading it as costly as it likes."""
    row = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql LIKE 'CREATE TABLE%'", (table,)
    ).fetchone()
    if row is None:
        return set()
    return {str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
