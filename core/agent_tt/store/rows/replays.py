"""Replays of runs: rows of `notes` of kind `replay`, one each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.model.facts.replays import ReplayFacts
from agent_tt.store import ingest_filter
from agent_tt.store.rows import columns
from agent_tt.store.rows.run_rows import REPLAY
from agent_tt.store.tables.definitions import NOTES

if TYPE_CHECKING:
    from agent_tt.model import Replay
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows

__all__ = ["admitted", "keep", "kept_replays"]

_OF_RUNS: Final = "SELECT note, id FROM notes JOIN runs USING(run) WHERE kind = ?"


def admitted(replay: Replay) -> Replay:
    """A replay as it may be stored: what it says may name what was asked."""
    return replace(replay, message=ingest_filter.admit_text(replay.message))


def keep(tx: Transaction, run: int, replay: Replay, now: int) -> int:
    """Write down a replay of the run of a row number; give the number of its row."""
    body = columns.mapping_to_text(ReplayFacts.of_replay(admitted(replay)))
    return NOTES.insert(tx, (None, run, None, REPLAY, body, now))


def kept_replays(rows: Rows, run: int | None) -> list[Replay]:
    """Replays, newest first, of one run or of all; one that is damaged is left out, and `verify` names it.

    Args:
        rows: the file.
        run: the run's row number; None for all.
    """
    where, given = ("", ()) if run is None else (" AND run = ?", (run,))
    ids: dict[object, str] = dict(rows.query(f"{_OF_RUNS}{where}", (REPLAY, *given)))
    found = NOTES.read(rows, f"kind = ?{where} ORDER BY note DESC", (REPLAY, *given))
    replays = [
        ReplayFacts(columns.mapping_from_text(body)).replay(ids[note], created_us, note)
        for note, run, step, kind, body, created_us, proof in found
        if note in ids and NOTES.holds((note, run, step, kind, body, created_us, proof))
    ]
    return [replay for replay in replays if replay is not None]
