"""Sweeps: what was varied over a fork, and which process drives it now.

Only the definition is kept. How far a sweep is follows from the forks that name it (`forking.terms.SWEEP`), each of
which was written together with that fact: whatever is killed, no run of a sweep is unknown to it.

One process at a time drives a sweep. It says so in `owner`, as the process of a run does (`store.liveness`), and beats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import Damaged, IsRunning, RunNotFound, StoreUnreadable
from agent_tt.model import Sweep
from agent_tt.store import ingest_filter, keeping
from agent_tt.store.checking.counts import meta_with_counts
from agent_tt.store.liveness import Owner, current_owner, is_alive, now_us
from agent_tt.store.rows import columns, ids
from agent_tt.store.rows.columns import ANY, COUNT, NAME, WHOLE
from agent_tt.store.tables.definitions import RUNS, SWEEPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.store.file.connection import Database
    from agent_tt.store.file.transaction import Transaction

__all__ = ["all_sweeps", "beat", "begin", "check_idle", "claim", "release", "settle"]

_COLUMNS: Final = (
    "s.id, r.id, r.name, s.number, s.step, s.definition, s.created_us, s.owner, s.beat_us, s.run"
    " FROM sweeps s JOIN runs r USING(run)"
)
_KINDS: Final = (NAME, NAME, NAME, WHOLE, COUNT, ANY, WHOLE, ANY, ANY, WHOLE)


def all_sweeps(database: Database) -> list[Sweep]:
    """All of them, newest first; those that are damaged are left out, and `verify` names them."""
    found = database.query(f"SELECT {_COLUMNS} ORDER BY s.created_us DESC, s.sweep DESC")  # constants of ours
    damaged = {row[1] for row in SWEEPS.read(database, "1") if not SWEEPS.holds(row)}
    return [_sweep(row) for row in columns.fitted(found, _KINDS) if row[0] not in damaged]


def begin(database: Database, run_id: str, step: int, definition: Mapping[str, Wire], *, driven: bool = True) -> Sweep:
    """Write a new sweep of a run.

    Args:
        database: the store.
        run_id: the run.
        step: the step after which its runs begin to differ.
        definition: what is varied.
        driven: whether this process drives it from now on; else nobody does.

    Raises:
        RunNotFound: the run is not there any more.
    """
    text = columns.mapping_to_text(ingest_filter.admit_mapping(definition)) or "{}"
    now = now_us()
    with database.transaction() as tx:
        run = keeping.row_number(tx, run_id)
        ((last,),) = tx.query("SELECT max(number) FROM sweeps WHERE run = ?", (run,))
        sweep_id = _new_id(tx)
        owner = current_owner().to_json() if driven else None
        SWEEPS.insert(tx, (None, sweep_id, run, (last or 0) + 1, step, text, now, owner, now))
    return next(sweep for sweep in all_sweeps(database) if sweep.id == sweep_id)


def claim(database: Database, sweep_id: str, definition: Mapping[str, Wire] | None = None) -> None:
    """Let this process drive a sweep that nobody drives.

    Args:
        database: the store.
        sweep_id: the sweep.
        definition: what takes the place of its definition; None keeps that.

    Raises:
        IsRunning: somebody drives it.
        RunNotFound: it is not there any more.
    """
    with database.transaction() as tx:
        found = tx.query(f"SELECT {_COLUMNS} WHERE s.id = ?", (sweep_id,))  # constants of ours
        if not found:
            raise RunNotFound(f"no sweep {sweep_id!r}", hint="`agent-tt sweep --list` lists them.")
        if not all(map(SWEEPS.holds, SWEEPS.read(tx, "id = ?", (sweep_id,)))):
            raise Damaged(f"sweep {sweep_id} is damaged", hint="Run `agent-tt verify` on the store.")
        sweep = _sweep(columns.fitted(found, _KINDS)[0])
        check_idle(sweep, Owner.from_json(found[0][7]))
        if definition is not None:
            text = columns.mapping_to_text(ingest_filter.admit_mapping(definition)) or "{}"
            SWEEPS.change(tx, "id = ?", (sweep_id,), {"definition": text})
        SWEEPS.change(tx, "id = ?", (sweep_id,), {"owner": current_owner().to_json(), "beat_us": now_us()})


def check_idle(sweep: Sweep, owner: Owner | None) -> None:
    """Refuse to drive a sweep that another process drives.

    Args:
        sweep: as it is now.
        owner: who drives it.

    Raises:
        IsRunning: somebody does.
    """
    if sweep.driven:
        who = f"process {owner.pid}" if owner is not None else "another process"
        raise IsRunning(
            f"{sweep.name} is being run, by {who}",
            runs=[sweep.name],
            hint=f"`agent-tt sweep --show {sweep.name}` shows how far it is.",
        )


def beat(database: Database, sweep_id: str) -> None:
    """Write down that this process still drives a sweep."""
    with database.transaction(durable=False) as tx:
        SWEEPS.change(tx, "id = ?", (sweep_id,), {"beat_us": now_us()})


def release(database: Database, sweep_id: str) -> None:
    """Let others drive a sweep that this process drove."""
    with database.transaction() as tx:
        mine = (sweep_id, current_owner().to_json())
        SWEEPS.change(tx, "id = ? AND owner = ?", mine, {"owner": None, "beat_us": None})


def settle(database: Database, run_id: str) -> Owner | None:
    """Give the process that records a run of a sweep; a run without one is marked as crashed.

    The process that was to fill it may be gone, before it took the run over even: then the run is written down as
    crashed in the same transaction, and a process that comes too late finds it over.

    Returns:
        The process that fills it; None where it is over.

    Raises:
        RunNotFound: the run is not there any more.
    """
    with database.transaction() as tx:
        run = keeping.row_number(tx, run_id)
        ((status, owner, beat_us),) = tx.query("SELECT status, owner, beat_us FROM runs WHERE run = ?", (run,))
        filler = Owner.from_json(owner)
        if status != "running":
            return None
        if is_alive(filler, columns.integer(beat_us)):
            return filler
        ended_us = columns.integer(beat_us) or now_us()
        RUNS.update(tx, (run,), {"status": "crashed", "ended_us": ended_us, "meta": meta_with_counts(tx, run)})
    return None


def _sweep(row: Sequence[Any]) -> Sweep:
    sweep_id, run_id, run_name, number, step, definition, created, owner, beat_us, _ = row
    return Sweep(
        sweep_id,
        run_id,
        run_name,
        number,
        step or 0,
        columns.mapping_from_text(definition),
        created,
        owner is not None and is_alive(Owner.from_json(owner), columns.integer(beat_us)),
    )


def _new_id(tx: Transaction) -> str:
    for _ in range(8):
        drawn = ids.new_run_id()
        if not tx.query("SELECT 1 FROM sweeps WHERE id = ? UNION SELECT 1 FROM runs WHERE id = ?", (drawn, drawn)):
            return drawn
    raise StoreUnreadable("the store has no free id", hint="Run `agent-tt verify` on the store.")
