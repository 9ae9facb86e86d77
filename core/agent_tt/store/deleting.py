"""Deleting runs, and what is then named by nobody.

Rows go in one transaction: after a kill at any moment the runs are there whole, or gone. Blobs and dictionaries are
swept in a second one, which looks at what every row that is left names; so what a kill came between is swept the next
time. Numbers never come back, so nobody who still reads a run that is gone reads another one.

A fork holds only what came after its fork step, so a run goes with everything that descends from it, or not at all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.history.hashing import blob_names
from agent_tt.history.rows import row_key
from agent_tt.model import Deletion
from agent_tt.model.retention import kept_always
from agent_tt.store import keeping
from agent_tt.store.done_keys import leave_keys
from agent_tt.store.rows.deliveries import NUMBER_MASK, keys_of
from agent_tt.store.rows.run_rows import RunRows, descendants, shown_status
from agent_tt.store.tables.definitions import BLOBS, DICTS, META, RUNS, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt.store.file.connection import Database
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows

__all__ = ["delete_rows", "delete_runs", "plan_deletion", "prune_runs", "sweep", "sweep_rows"]

_OF_A_RUN: Final = ("steps", "calls", "tags", "notes", "sweeps", "tracks")
"""Tables whose rows name their run in a column."""

_IN: Final = "IN (SELECT value FROM json_each(?))"
_AT_ONCE: Final = 200
"""So many runs are pruned in one transaction: others write between two of them."""

_MOST_COMPACTED_BYTES: Final = 256 << 20
"""Larger files are not written anew for the room that a deletion leaves in them."""


def delete_runs(database: Database, run_ids: Sequence[str], *, with_forks: bool = False) -> tuple[Deletion, list[int]]:
    """Delete runs, all of them or none.

    Returns:
        What is gone, and its row numbers.

    Raises:
        RunNotFound: one of them is not there.
        HasForks, IsRunning, IsPinned: one of them has to stay. Nothing was deleted then.
    """
    with database.transaction() as tx:
        free = _free_pages(tx)
        runs, numbers = _plan(tx, run_ids, with_forks=with_forks)
        delete_rows(tx, numbers)
        freed = _free_pages(tx) - free
        ((page_size,),) = tx.query("PRAGMA page_size")
    freed += sweep(database)
    return Deletion(tuple(runs), max(0, freed) * int(page_size)), numbers


def prune_runs(
    database: Database, run_ids: Sequence[str], report: Callable[[int, int], None], *, is_gentle: bool = False
) -> Iterator[tuple[list[str], list[int]]]:
    """Delete runs, some at a time, and make the file smaller; leave those that have to stay.

    Args:
        database: the store.
        run_ids: the runs, forks before what they were forked from.
        report: told (runs done, in all).
        is_gentle: whether others are held up as little as can be.

    Yields:
        Ids and row numbers of those that a transaction deleted.
    """
    at_once = 1 if is_gentle else _AT_ONCE
    for first in range(0, len(run_ids), at_once):
        some = run_ids[first : first + at_once]
        with database.transaction() as tx:
            gone = _still_to_go(tx, some)
            delete_rows(tx, list(gone.values()))
        yield list(gone), list(gone.values())
        report(first + len(some), len(run_ids))
    with database.transaction() as tx:
        sweep_rows(tx)
    _compact(database, always=not is_gentle)


def _still_to_go(tx: Transaction, run_ids: Sequence[str]) -> dict[str, int]:
    """The runs that are there and may go, by id: nobody has pinned them since, resumed them or forked from them."""
    numbers: dict[str, int] = dict(tx.query(f"SELECT id, run FROM runs WHERE id {_IN}", (_json(run_ids),)))  # noqa: S608  # ours
    going: dict[str, int] = {}
    for run_id in run_ids:
        number = numbers.get(run_id)
        if number is None:
            continue
        may_go = [run for run in RunRows(tx).several([number]) if kept_always(run) is None]
        forks = {fork for (fork,) in tx.query("SELECT run FROM runs WHERE parent = ?", (number,))}
        if may_go and forks <= set(going.values()):
            going[run_id] = number
    return going


def sweep(database: Database) -> int:
    """Delete what no row names any more, and make the file smaller where it is worth it; give the freed pages."""
    with database.transaction() as tx:
        free = _free_pages(tx)
        sweep_rows(tx)
        freed = _free_pages(tx) - free
    _compact(database)
    return freed


def plan_deletion(rows: Rows, run_ids: Sequence[str], *, with_forks: bool = False) -> list[Run]:
    """What `delete_runs` would delete now, in the order in which it was made; raises what that would raise."""
    return _plan(rows, run_ids, with_forks=with_forks)[0]


def _plan(rows: Rows, run_ids: Sequence[str], *, with_forks: bool) -> tuple[list[Run], list[int]]:
    chosen = dict.fromkeys(keeping.row_number(rows, run_id) for run_id in run_ids)
    below = dict.fromkeys(fork for run in chosen for fork in descendants(rows, run))
    numbers = sorted({*chosen, *below} if with_forks else chosen)
    runs = RunRows(rows).several(numbers)
    keeping.check_deletion(runs, RunRows(rows).several([fork for fork in below if fork not in numbers]))
    return runs, numbers


def delete_rows(tx: Transaction, runs: Sequence[int]) -> None:
    """Delete all rows of some runs; what is done once stays done."""
    numbers = (_json(runs),)
    leave_keys(tx, [run_id for (run_id,) in tx.query(f"SELECT id FROM runs WHERE run {_IN}", numbers)])  # noqa: S608  # ours
    for (track,) in tx.query(f"SELECT track FROM tracks WHERE run {_IN}", numbers):  # noqa: S608  # ours
        for table in ("deltas", "keyframes"):
            tx.execute(
                f"DELETE FROM {table} WHERE id BETWEEN ? AND ?",  # noqa: S608  # tables of our own
                (row_key(track, 0), row_key(track, NUMBER_MASK)),
            )
        tx.execute("DELETE FROM changes WHERE track = ?", (track,))
    for run in runs:
        tx.execute("DELETE FROM deliveries WHERE id BETWEEN ? AND ?", keys_of(run))
    tx.execute(f"DELETE FROM seals WHERE name = 'deliveries' AND owner {_IN}", numbers)  # noqa: S608  # ours
    for table in _OF_A_RUN:
        tx.execute(f"DELETE FROM {table} WHERE run {_IN}", numbers)  # noqa: S608  # tables of our own
        if TABLES[table].sealed:
            tx.execute(f"DELETE FROM seals WHERE name = ? AND owner {_IN}", (table, *numbers))  # noqa: S608  # ours
    RUNS.delete(tx, f"run {_IN}", numbers)


# -------------------------------------------------------------------- sweeping


def sweep_rows(tx: Transaction, *, is_alone: bool = False) -> None:
    """Delete blobs that no row names; and dictionaries and paths, unless a writer may be about to use one.

    Args:
        tx: the transaction.
        is_alone: whether it is known that nobody records into the store.
    """
    named = set(_named_blobs(tx))
    unnamed = [(number,) for number, name in tx.query("SELECT id, hash FROM blobs") if name not in named]
    if unnamed:
        for blob in unnamed:
            BLOBS.delete(tx, "id = ?", blob)
        # So that a writer that remembers blobs (this version's do not) can tell that its memory is old.
        for (value,) in tx.query("SELECT value FROM meta WHERE key = 'gc_epoch'"):
            META.update(tx, ("gc_epoch",), {"value": str(int(value) + 1 if str(value).isdecimal() else 1)})
    # Whoever begins a run has chosen its dictionary by the time that its row can be seen.
    if is_alone or not tx.query("SELECT 1 FROM runs WHERE status = 'running' LIMIT 1"):
        DICTS.delete(tx, "id NOT IN (SELECT dict FROM deltas)", ())
        tx.execute("DELETE FROM paths WHERE id NOT IN (SELECT path FROM changes)")


def _named_blobs(rows: Rows) -> Iterator[bytes]:
    """Every hash that a row names; one that is damaged names nothing."""
    for table in ("deltas", "keyframes", "calls", "deliveries"):
        for (refs,) in rows.query(f"SELECT refs FROM {table} WHERE refs IS NOT NULL"):  # noqa: S608  # tables of our own
            yield from blob_names(refs)


def _json(words: Sequence[str] | Sequence[int]) -> str:
    return json.dumps(list(words))


def _free_pages(rows: Rows) -> int:
    ((count,),) = rows.query("PRAGMA freelist_count")
    return int(count)


def _compact(database: Database, *, always: bool = False) -> None:
    """Give room back to the disk where nobody records.

    Args:
        database: the store.
        always: also of a file that is large, or of which less than half is free.
    """
    ((pages,), (free,), (page_size,)) = (
        row for name in ("page_count", "freelist_count", "page_size") for row in database.query(f"PRAGMA {name}")
    )
    running = [
        row
        for row in database.query("SELECT status, owner, beat_us FROM runs WHERE status = 'running'")
        if shown_status(*row) == "running"
    ]
    is_worth_it = free if always else free * 2 >= pages and pages * page_size <= _MOST_COMPACTED_BYTES
    if is_worth_it and not running:
        database.compact()
    database.checkpoint("TRUNCATE")
