"""Holds of runs: rows of `notes` of kind `hold`.

A hold stands as long as its row is there, its run goes on, and the process that holds is there: on this machine that is
seen at once, from another one by its heartbeat. So an agent goes on whose holder was killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model import Hold
from agent_tt.protocols.writing import check_running
from agent_tt.store import ingest_filter
from agent_tt.store.liveness import Owner, current_owner, is_alive, now_us
from agent_tt.store.rows import columns
from agent_tt.store.rows.run_rows import HOLD, shown_status
from agent_tt.store.tables.definitions import NOTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.store.file.connection import Database
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows, SqlValue

__all__ = ["Lookout", "beat", "hold", "let_go", "standing"]


def hold(tx: Transaction, run: int, run_id: str, when: str, by: str) -> Hold:
    """Write down that this process holds a run (row number and id)."""
    ((status, owner, beat_us),) = tx.query("SELECT status, owner, beat_us FROM runs WHERE run = ?", (run,))
    check_running(run_id, shown_status(status, owner, beat_us))
    now, me = now_us(), current_owner()
    when, by = ingest_filter.admit_text(when), ingest_filter.admit_text(by)
    body: dict[str, Wire] = {"when": when or None, "by": by, "owner": me.to_json(), "beat_us": now}
    number = NOTES.insert(tx, (None, run, None, HOLD, columns.mapping_to_text(body), now))
    return Hold(number, run_id, when, by, now, me.pid)


def standing(rows: Rows, run: int | None = None) -> list[Hold]:
    """The holds that stand, oldest first: of one run (row number), or of all."""
    where, given = ("", ()) if run is None else (" AND n.run = ?", (run,))
    return [hold for _, hold in _read(rows, where, given) if hold is not None]


def _read(rows: Rows, where: str, given: Sequence[SqlValue]) -> Iterator[tuple[int, Hold | None]]:
    """The rows of holds of running runs: the number of each, and the hold where it stands."""
    for number, run_id, body, since, status, owner, beat_us in rows.query(
        "SELECT n.note, r.id, n.body, n.created_us, r.status, r.owner, r.beat_us FROM notes n"  # noqa: S608  our own
        f" JOIN runs r ON r.run = n.run WHERE n.kind = ?{where} AND r.status = 'running' ORDER BY n.note",
        (HOLD, *given),
    ):
        facts = columns.mapping_from_text(body)
        holder = Owner.from_json(facts.get("owner"))
        is_there = holder is not None and is_alive(holder, columns.integer(facts.get("beat_us")))
        is_sound = all(map(NOTES.holds, NOTES.read(rows, "note = ?", (number,))))
        if holder is None or not is_there or not is_sound or shown_status(status, owner, beat_us) != "running":
            yield number, None
            continue
        when, by = columns.text(facts.get("when")) or "", columns.text(facts.get("by")) or ""
        yield number, Hold(number, str(run_id), when, by, columns.integer(since) or 0, holder.pid)


def beat(tx: Transaction, numbers: Sequence[int]) -> None:
    """Write down that the process that holds is still there."""
    for number in numbers:
        for (body,) in tx.query("SELECT body FROM notes WHERE note = ? AND kind = ?", (number, HOLD)):
            facts = {**columns.mapping_from_text(body), "beat_us": now_us()}
            NOTES.update(tx, (number,), {"body": columns.mapping_to_text(facts)})


def let_go(tx: Transaction, run: int, number: int | None) -> list[int]:
    """Let go of a run (row number): of one hold, or of all; give those that there were."""
    rows = tx.query("SELECT note FROM notes WHERE run = ? AND kind = ?", (run, HOLD))
    gone = [note for (note,) in rows if number in (None, note)]
    for note in gone:
        NOTES.delete(tx, "note = ?", (note,))
    return gone


class Lookout:
    """Looks before each call whether somebody holds a run: where nobody wrote to a file, by one small question.

    Of the notes it reads only those that are new since it looked last: a store may have very many.

    Args:
        database: the store.
        run: the run (row number).
    """

    def __init__(self, database: Database, run: int) -> None:
        self._database = database
        self._run = run
        self._others: int | None = None
        self._first = 0
        """No row before this one is a hold of the run."""

    def holds(self) -> list[Hold]:
        """The holds that stand."""
        others = None
        if self._database.is_file:  # a server has no such number: its notes are asked each time
            ((others,),) = self._database.query("PRAGMA data_version")
            if others == self._others:
                return []
        ((last,),) = self._database.query("SELECT max(note) FROM notes")
        found = list(_read(self._database, " AND n.note >= ? AND n.run = ?", (self._first, self._run)))
        self._first = min((number for number, _ in found), default=(last or 0) + 1)
        self._others = None if found else others
        return [hold for _, hold in found if hold is not None]
