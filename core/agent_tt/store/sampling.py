"""Runs that are sampled out: they leave a count, so that the others can be told for what they are, a part.

A row of `meta` whose key is `sampled ` and JSON of `[day, agent]` says how many runs are gone. All had succeeded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from agent_tt.model.facts import UserFacts
from agent_tt.model.retention import kept_always
from agent_tt.store.deleting import delete_rows, sweep_rows
from agent_tt.store.done_keys import has_keys
from agent_tt.store.rows import columns
from agent_tt.store.rows.run_rows import RunRows
from agent_tt.store.tables.definitions import META

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.store.file.connection import Database
    from agent_tt.store.tables.asking import Rows

__all__ = ["sample_out", "sampled"]

_PREFIX: Final = "sampled "
_ALL: Final = ("sampled ", "sampled!")
_PROCESSES: Final = "/proc."
"""Part of the lanes of processes that an agent has started."""

_REFS: Final = """SELECT EXISTS (SELECT 1 FROM calls WHERE run = :run AND refs IS NOT NULL)
  OR EXISTS (SELECT 1 FROM deliveries WHERE id >> 32 = :run AND refs IS NOT NULL)
  OR EXISTS (SELECT 1 FROM tracks t JOIN deltas d ON d.id BETWEEN t.track << 32 AND (t.track + 1 << 32) - 1
             WHERE t.run = :run AND d.refs IS NOT NULL)
  OR EXISTS (SELECT 1 FROM tracks t JOIN keyframes k ON k.id BETWEEN t.track << 32 AND (t.track + 1 << 32) - 1
             WHERE t.run = :run AND k.refs IS NOT NULL)"""


def sample_out(database: Database, run_id: str, slow_us: int | None) -> int | None:
    """Delete a run that succeeded, and count it; leave it where there is a reason to.

    Reasons are a tag `flagged` or `golden`, a pin, an age of its own (`retention`), that it took long, that something
    was forked from it, that it has the key of what is done once, or that other processes recorded into it: one of them
    may still write.

    Args:
        database: the store.
        run_id: the run.
        slow_us: from how long on it took long, in microseconds; None for never.

    Returns:
        Its row number, where it is gone.
    """
    with database.transaction() as tx:
        found = tx.query(
            "SELECT run, agent, date(started_us / 1000000, 'unixepoch'), ended_us - started_us FROM runs"
            " WHERE id = ? AND status = 'succeeded' AND parent IS NULL",
            (run_id,),
        )
        if not found:
            return None
        ((number, agent, day, took_us),) = found
        (run,) = RunRows(tx).several([number])
        marked = "flagged" in run.tags or UserFacts.retention.of(run.metadata) is not None
        if marked or kept_always(run) is not None or (slow_us is not None and took_us >= slow_us):
            return None
        if _is_used(tx, number) or has_keys(tx, run_id):
            return None
        ((has_blobs,),) = tx.query(_REFS.replace(":run", str(int(number))))
        delete_rows(tx, [number])
        if has_blobs:
            sweep_rows(tx)
        key = _PREFIX + json.dumps([day, agent])
        before = tx.query("SELECT value FROM meta WHERE key = ?", (key,))
        if before:
            META.update(tx, (key,), {"value": str((columns.integer(json.loads(before[0][0])) or 0) + 1)})
        else:
            META.insert(tx, (key, "1"))
    return int(number)


def _is_used(rows: Rows, number: int) -> bool:
    ((is_used,),) = rows.query(
        "SELECT EXISTS (SELECT 1 FROM runs WHERE parent = ?)"
        " OR EXISTS (SELECT 1 FROM steps WHERE run = ? AND instr(lane, ?))"
        " OR EXISTS (SELECT 1 FROM calls WHERE run = ? AND instr(lane, ?))",
        (number, number, _PROCESSES, number, _PROCESSES),
    )
    return bool(is_used)


def sampled(rows: Any) -> Iterator[tuple[str, str | None, int]]:
    """How many runs were sampled out, by day (UTC) on which they began and entry point.

    Args:
        rows: an open connection to the file, or what stands for one.
    """
    for key, value in rows.execute("SELECT key, value FROM main.meta WHERE key > ? AND key < ?", _ALL):
        try:
            day, agent = json.loads(str(key).removeprefix(_PREFIX))
            count = json.loads(str(value))
        except (ValueError, TypeError):
            continue  # `verify` names it
        if isinstance(day, str) and (agent is None or isinstance(agent, str)) and type(count) is int and count > 0:
            yield day, agent, count
