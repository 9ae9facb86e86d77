"""Copying runs from one store into another, row by row: payloads name blobs by hash, never by row.

Only rows that are as they were written are copied; they are proven anew under their new numbers.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged
from agent_tt.history.hashing import blob_names
from agent_tt.history.rows import SEQ_BITS, row_key
from agent_tt.model.facts.program import as_foreign
from agent_tt.model.facts.stored import CodeFacts, RunMeta
from agent_tt.store.file.provenance import stamp_run
from agent_tt.store.rows import columns, ids
from agent_tt.store.rows.deliveries import keys_of
from agent_tt.store.tables.definitions import DELTAS, DICTS, KEYFRAMES, RUNS, SWEEPS, TABLES, TRACKS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.history.payloads.blobs import Blobs
    from agent_tt.history.rows import Row
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.reader import StoreReader
    from agent_tt.store.tables.asking import Rows, SqlValue
    from agent_tt.store.tables.table import Table

__all__ = ["copy_run", "copy_runs", "ends_of", "restore_file"]

_SEQ_MASK: Final = (1 << SEQ_BITS) - 1
_HINT: Final = "Run `agent-tt verify` on the source."


def copy_run(source: StoreReader, target: StoreReader, run_id: str, *, root: str | None = None) -> str:
    """Copy a run, with the runs that it was forked from where the target lacks them.

    Args:
        source: the store that holds the run.
        target: the store to copy into; all of it arrives in one transaction.
        run_id: the run.
        root: the project root (and working directory) that the copies name, and no Python: that of the run may be
            another one's there. None keeps what was recorded.

    Returns:
        The id of the copy: the same, unless the target has a run of that id already. `Run.origin` then holds it.

    Raises:
        RunNotFound: the source has no such run.
        Damaged: something that the run needs is missing in the source.
    """
    rows, lineage = source.database, source.lineage
    numbers = [stretch.run for stretch in lineage.stretches(lineage.number(run_id))]
    with target.database.adding() as tx:
        copier = _Copier(rows, source.log.blobs, tx, root)
        for number in numbers[:-1]:
            if not copier.reuse(number):
                copier.copy(number)
        copied = copier.copy(numbers[-1])
        copier.sweeps()
        if root is not None:  # what they name now is of this machine
            for number in copier.made():
                stamp_run(target.database, tx, number)
        return copied


def copy_runs(
    source: StoreReader,
    target: StoreReader,
    run_ids: Sequence[str],
    *,
    root: str | None = None,
    origin: Path | None = None,
) -> dict[str, str]:
    """Copy runs, with those that they were forked from; what the target holds already stays as it is there.

    Args:
        source: the store that holds the runs.
        target: the store to copy into; all of it arrives in one transaction.
        run_ids: the runs.
        root: as of `copy_run`.
        origin: the file that they came in from elsewhere: the copies say so, and name no program, so that nothing of
            theirs is run here before somebody names one, nor what tools do. None where they are ours.

    Returns:
        The ids of the copies by those of the runs, for runs that were not there.

    Raises:
        As `copy_run`.
    """
    rows, lineage, copied = source.database, source.lineage, dict[str, str]()
    with target.database.adding() as tx:
        copier = _Copier(rows, source.log.blobs, tx, root, origin)
        for number in (each.run for run_id in run_ids for each in lineage.stretches(lineage.number(run_id))):
            if not copier.knows(number) and not copier.reuse(number):
                ((run_id,),) = rows.query("SELECT id FROM runs WHERE run = ?", (number,))
                copied[str(run_id)] = copier.copy(number)
        copier.sweeps()
    return copied


def ends_of(store: StoreReader, run_id: str) -> dict[str, list[Row]]:
    """Number and chain of the last checkpoint of each state history of a run: equal only where every one before is."""
    tracks = store.database.query("SELECT name, track FROM tracks WHERE run = ?", (store.lineage.number(run_id),))
    return {str(name): _end(store.database, track) for name, track in tracks}


def restore_file(store: StoreReader, run_id: str, create: Callable[[Path], StoreReader]) -> None:
    """Make the file of a store again where it was removed and its folder is there, with one run that is still seen.

    The file is let go before another one of its name is made: SQLite would take what lies beside the two for one.

    Args:
        store: the store, which is closed by this.
        run_id: the run.
        create: makes a store file and opens it.
    """
    path = store.path
    if path.exists() or not path.parent.is_dir():
        return
    folder = tempfile.TemporaryDirectory(dir=path.parent, prefix=f"{path.name}.")
    with folder, closing(create(Path(folder.name) / path.name)) as between:
        copy_run(store, between, run_id)
        store.close()
        with closing(create(path)) as target:
            copy_run(between, target, run_id)


class _Copier:
    """Copies rows into a transaction, and knows under which numbers runs and tracks arrived."""

    def __init__(self, rows: Rows, blobs: Blobs, tx: Transaction, root: str | None, origin: Path | None = None) -> None:
        self._rows = rows
        self._source_blobs = blobs
        self._tx = tx
        self._root = root
        self._origin = origin
        self._runs: dict[int, int] = {}
        self._made: list[int] = []
        self._tracks: dict[int, int] = {}
        self._dictionaries: set[SqlValue] = set()
        self._copied: set[bytes] = set()

    def made(self) -> list[int]:
        """The row numbers of the copies."""
        return list(self._made)

    def knows(self, number: int) -> bool:
        """Whether a run has been copied, or an equal one been found."""
        return number in self._runs

    def reuse(self, number: int) -> bool:
        """Whether the target holds an equal copy of a run (same id, start and checkpoints); then that one is used."""
        ((run_id, started),) = self._rows.query("SELECT id, started_us FROM runs WHERE run = ?", (number,))
        found = self._tx.query("SELECT run FROM runs WHERE id = ? AND started_us = ?", (run_id, started))
        if not found:
            return False
        there = int(found[0][0])
        theirs: dict[str, int] = dict(self._tx.query("SELECT name, track FROM tracks WHERE run = ?", (there,)))
        pairs = [
            (track, theirs.get(name))
            for name, track in self._rows.query("SELECT name, track FROM tracks WHERE run = ?", (number,))
        ]
        for mine, other in pairs:
            if other is None or _end(self._rows, mine) != _end(self._tx, other):
                return False
        self._runs[number] = there
        self._tracks.update({mine: other for mine, other in pairs if other is not None})
        return True

    def copy(self, number: int) -> str:
        """Copy a run and everything that belongs to it alone; its parent must be there already."""
        run_id = self._run(number)
        for name in ("calls", "tags", "notes", "deliveries"):
            self._rows_of_run(name, number)
        for track, name, parent, fork_seq, indexed_to, dictionary in self._rows.query(
            "SELECT track, name, parent, fork_seq, indexed_to, dict FROM tracks WHERE run = ? ORDER BY track", (number,)
        ):
            there = (None, self._runs[number], name, self._tracks.get(parent), fork_seq, indexed_to, dictionary)
            self._tracks[track] = TRACKS.insert(self._tx, there)
            self._history(track)
        self._rows_of_run("steps", number)
        return run_id

    def sweeps(self) -> None:
        """Copy the sweeps of the runs that are there now. Whoever drives one goes on in the source alone."""
        for number, there in self._runs.items():
            for facts in self._read(SWEEPS, "run = ? ORDER BY sweep", (number,)):
                if not self._tx.query("SELECT 1 FROM sweeps WHERE id = ?", (facts["id"],)):
                    _insert(self._tx, SWEEPS, facts | {"sweep": None, "run": there, "owner": None, "beat_us": None})

    def _run(self, number: int) -> str:
        (facts,) = self._read(RUNS, "run = ?", (number,))
        old_id = facts["id"]
        meta = columns.mapping_from_text(facts["meta"])
        if self._tx.query("SELECT 1 FROM runs WHERE id = ?", (old_id,)):
            facts["id"] = ids.new_run_id()
            meta |= RunMeta.origin.entry({**RunMeta.origin.of(meta), "run": str(old_id)})
        code = meta.get(RunMeta.code.key)
        if self._root is not None and isinstance(code, dict):
            moved = CodeFacts.root.entry(self._root) | CodeFacts.cwd.entry(self._root)
            meta[RunMeta.code.key] = {**code, **moved, CodeFacts.interpreter.key: None}
        origin = RunMeta.origin.of(meta)
        if self._root is not None and "file" in origin:  # nor where that was, which is nobody's matter
            meta |= RunMeta.origin.entry({**origin, "file": Path(origin["file"]).name})
        if self._origin is not None:
            meta |= RunMeta.origin.entry({**RunMeta.origin.of(meta), "file": columns.sound(str(self._origin))})
            meta.pop(RunMeta.code.key, None)
            meta[RunMeta.metadata.key] = as_foreign(RunMeta.metadata.of(meta).raw)
            facts["agent"] = None
        facts["meta"] = columns.mapping_to_text(meta) or "{}"
        parent = facts["parent"]
        facts["parent"] = self._runs.get(parent) if isinstance(parent, int) else None
        if facts["status"] == "running":
            facts["status"] = "interrupted"
        facts |= {"run": None, "owner": None, "beat_us": None}  # nobody records into the copy
        self._runs[number] = _insert(self._tx, RUNS, facts)
        self._made.append(self._runs[number])
        return str(facts["id"])

    def _rows_of_run(self, name: str, number: int) -> None:
        table, run = TABLES[name], self._runs[number]
        where, given = ("id BETWEEN ? AND ?", keys_of(number)) if table.packed else ("run = ?", (number,))
        for facts in self._read(table, where, given):
            if table.packed:
                facts["id"] = (run << SEQ_BITS) | (_number(facts["id"]) & _SEQ_MASK)
            else:
                facts["run"] = run
            if name == "notes":
                facts["note"] = None  # notes get numbers of their own
            if name == "steps" and isinstance(track := facts["track"], int):
                facts["track"] = self._tracks.get(track, track)
            self._blobs(facts.get("refs"))
            _insert(self._tx, table, facts)

    def _history(self, track: int) -> None:
        """The checkpoints, keyframes and index of a track, under its new number."""
        for table in (DELTAS, KEYFRAMES):
            for facts in self._read(table, "id BETWEEN ? AND ?", (row_key(track, 0), row_key(track, _SEQ_MASK))):
                self._blobs(facts["refs"])
                self._dictionary(facts.get("dict"))
                facts["id"] = row_key(self._tracks[track], _number(facts["id"]) & _SEQ_MASK)
                _insert(self._tx, table, facts)
        self._tx.execute_many(
            "INSERT INTO changes(track, path, block, touched, struct, grown, len0) VALUES(?, ?, ?, ?, ?, ?, ?)",
            [
                (self._tracks[track], *row)
                for row in self._rows.query(
                    "SELECT path, block, touched, struct, grown, len0 FROM changes WHERE track = ?", (track,)
                )
            ],
        )
        self._tx.execute_many(
            "INSERT OR IGNORE INTO paths(id, path) VALUES(?, ?)",
            self._rows.query(
                "SELECT id, path FROM paths WHERE id IN (SELECT path FROM changes WHERE track = ?)", (track,)
            ),
        )

    def _dictionary(self, number: SqlValue) -> None:
        if not number or number in self._dictionaries:
            return
        self._dictionaries.add(number)
        if not self._tx.query("SELECT 1 FROM dicts WHERE id = ?", (number,)):
            for facts in self._read(DICTS, "id = ?", (number,)):
                _insert(self._tx, DICTS, facts)

    def _blobs(self, refs: SqlValue) -> None:
        for name in blob_names(refs):
            if name not in self._copied:
                self._copied.add(name)
                self._source_blobs.copy(self._tx, name)

    def _read(self, table: Table, where: str, given: Sequence[SqlValue]) -> list[dict[str, SqlValue]]:
        """Rows of the source as their columns.

        Raises:
            Damaged: one is not as it was written.
        """
        found = table.read(self._rows, where, given)
        for row in found:
            if not table.holds(row):
                key = ", ".join(str(value) for value in row[: len(table.key)])
                raise Damaged(f"row {key} of {table.name} is damaged: it is not as it was written", hint=_HINT)
        return [dict(zip(table.columns, row, strict=False)) for row in found]


def _number(found: SqlValue) -> int:
    return found if isinstance(found, int) else 0


def _insert(tx: Transaction, table: Table, facts: Mapping[str, SqlValue]) -> int:
    """Insert a row; give its row number."""
    return table.insert(tx, [facts[name] for name in table.columns])


def _end(rows: Rows, track: int) -> list[Row]:
    """The number and chain of a track's last checkpoint: equal only where everything before is."""
    return rows.query(
        f"SELECT id & {_SEQ_MASK}, chain FROM deltas WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",  # noqa: S608
        (row_key(track, 0), row_key(track, _SEQ_MASK)),
    )
