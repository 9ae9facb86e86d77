"""Whose turn it is to prune a store that prunes itself, and what came of it: the row `pruned` of `meta`.

It is JSON: `at_us`, when somebody last took the turn; and once that is over `runs`, how many went, and `freed`, bytes.
"""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.store.file.opening import open_database
from agent_tt.store.rows import columns
from agent_tt.store.tables.definitions import META

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.store.tables.asking import Rows

__all__ = ["last_turn", "take_turn", "turn_is_over"]

_KEY: Final = "pruned"
_DAY_US: Final = 86_400 * 1_000_000


def take_turn(path: Path, now_us: int) -> bool:
    """Take the turn to prune a store; False where somebody has taken it less than a day ago.

    Args:
        path: the store.
        now_us: the time.

    Raises:
        StoreUnreadable: it cannot be read or written.
    """
    with closing(open_database(path)) as database:
        if not _is_due(database, now_us):
            return False
        with database.transaction() as tx:
            if not _is_due(tx, now_us):  # somebody was faster
                return False
            value = json.dumps({"at_us": now_us})
            if tx.query("SELECT 1 FROM meta WHERE key = ?", (_KEY,)):
                META.update(tx, (_KEY,), {"value": value})
            else:
                META.insert(tx, (_KEY, value))
    return True


def turn_is_over(path: Path, runs: int, freed: int) -> None:
    """Write down what came of the last turn: how many runs went, and how many bytes the file is smaller."""
    with closing(open_database(path)) as database, database.transaction() as tx:
        turn = {"at_us": last_turn(tx)[0], "runs": runs, "freed": freed}
        META.update(tx, (_KEY,), {"value": json.dumps(turn)})


def last_turn(rows: Rows) -> tuple[int | None, int | None]:
    """When the last turn was, and how many runs went then; None of what is not known."""
    found = rows.query("SELECT value FROM meta WHERE key = ?", (_KEY,))
    said = columns.mapping_from_text(found[0][0]) if found else {}
    return columns.integer(said.get("at_us")), columns.integer(said.get("runs"))


def _is_due(rows: Rows, now_us: int) -> bool:
    at_us, _ = last_turn(rows)
    return at_us is None or not 0 <= now_us - at_us < _DAY_US
