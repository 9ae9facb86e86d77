"""Copying runs from one store into another, row by row and byte for byte: payloads name blobs by hash, never by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.history.rows import SEQ_BITS, row_key
from agent_tt.store import columns, ids
from agent_tt.store.deliveries import blob_of, keys_of
from agent_tt.store.sweeps import begin_keeping, is_kept
from agent_tt.store.verify import blob_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.history.blobs import Blobs
    from agent_tt.history.rows import Row, Rows, SqlValue, Transaction
    from agent_tt.store.store import SqliteStore

__all__ = ["copy_run"]

_SEQ_MASK: Final = (1 << SEQ_BITS) - 1


def copy_run(source: SqliteStore, target: SqliteStore, run_id: str, *, root: str | None = None) -> str:
    """Copies a run, with the runs that it was forked from where the target lacks them.

    Args:
        source: the store that holds the run.
        target: the store to copy into; all of it arrives in one transaction.
        run_id: the run.
        root: the project root (and working directory) that the copies name; None keeps what was recorded.

    Returns:
        The id of the copy: the same, unless the target has a run of that id already. `Run.origin` then holds it.

    Raises:
        RunNotFound: the source has no such run.
        Damaged: something that the run needs is missing in the source.
    """
    rows, lineage = source.database, source.lineage
    numbers = [stretch.run for stretch in lineage.stretches(lineage.number(run_id))]
    with target.database.transaction() as tx:
        copier = _Copier(rows, source.log.blobs, tx, root)
        for number in numbers[:-1]:
            if not copier.reuse(number):
                copier.copy(number)
        copied = copier.copy(numbers[-1])
        copier.sweeps()
        return copied


class _Copier:
    """Copies rows into a transaction, and knows under which numbers runs and tracks arrived."""

    def __init__(self, rows: Rows, blobs: Blobs, tx: Transaction, root: str | None) -> None:
        self._rows = rows
        self._source_blobs = blobs
        self._tx = tx
        self._root = root
        self._runs: dict[int, int] = {}
        self._tracks: dict[int, int] = {}

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
        """Copies a run and everything that belongs to it alone; its parent must be there already."""
        run_id = self._run(number)
        for name in ("steps", "calls", "tags", "notes", "deliveries"):
            self._rows_of_run(name, number)
        for track, name, parent, fork_seq, indexed_to, dictionary in self._rows.query(
            "SELECT track, name, parent, fork_seq, indexed_to, dict FROM tracks WHERE run = ? ORDER BY track", (number,)
        ):
            self._tracks[track] = self._tx.execute(
                "INSERT INTO tracks(run, name, parent, fork_seq, indexed_to, dict) VALUES(?, ?, ?, ?, ?, ?)",
                (self._runs[number], name, self._tracks.get(parent), fork_seq, indexed_to, dictionary),
            )
            self._history(track)
        self._tx.execute_many(
            "UPDATE steps SET track = ? WHERE run = ? AND track = ?",
            [(-new, self._runs[number], old) for old, new in self._tracks.items()],
        )
        self._tx.execute("UPDATE steps SET track = -track WHERE run = ? AND track < 0", (self._runs[number],))
        return run_id

    def sweeps(self) -> None:
        """Copies the sweeps of the runs that are there now. Whoever drives one goes on in the source alone."""
        if not is_kept(self._rows):
            return
        begin_keeping(self._tx)
        for number, there in self._runs.items():
            names, found = _table(self._rows, "sweeps", "run = ? ORDER BY sweep", (number,))
            for row in found:
                facts = dict(zip(names, row, strict=True))
                del facts["sweep"]
                facts |= {"run": there, "owner": None, "beat_us": None}
                _insert(self._tx, "sweeps", list(facts), [list(facts.values())], clash="IGNORE")

    def _run(self, number: int) -> str:
        names, (row,) = _table(self._rows, "runs", "run = ?", (number,))
        facts = dict(zip(names, row, strict=True))
        old_id = facts["id"]
        meta = columns.mapping_from_text(facts["meta"])
        if self._tx.query("SELECT 1 FROM runs WHERE id = ?", (old_id,)):
            facts["id"] = ids.new_run_id()
            origin = meta.get("origin")
            meta["origin"] = {**(origin if isinstance(origin, dict) else {}), "run": old_id}
        code = meta.get("code")
        if self._root is not None and isinstance(code, dict):
            meta["code"] = {**code, "root": self._root, "cwd": self._root}
        facts["meta"] = columns.mapping_to_text(meta) or "{}"
        facts["parent"] = self._runs.get(facts["parent"])
        if facts["status"] == "running":
            facts["status"] = "interrupted"  # nobody records into the copy
        del facts["run"]
        self._runs[number] = _insert(self._tx, "runs", list(facts), [list(facts.values())])
        return str(facts["id"])

    def _rows_of_run(self, table: str, number: int) -> None:
        run = self._runs[number]
        if table == "deliveries":
            names, found = _table(self._rows, table, "id BETWEEN ? AND ?", keys_of(number))
            moved = [[(run << SEQ_BITS) | (row[0] & _SEQ_MASK), *row[1:]] for row in found]
        else:
            names, found = _table(self._rows, table, "run = ?", (number,))
            at = names.index("run")
            moved = [[*row[:at], run, *row[at + 1 :]] for row in found]
            if table == "notes":
                names, moved = names[1:], [row[1:] for row in moved]  # notes get numbers of their own
        if table == "calls":
            self._blobs(row[names.index("refs")] for row in moved)
        if table == "deliveries":
            self._blobs(blob_of(row[names.index("data")]) for row in moved)
        _insert(self._tx, table, names, moved)

    def _history(self, track: int) -> None:
        """The checkpoints, keyframes and index of a track, under its new number."""
        for table in ("deltas", "keyframes"):
            names, found = _table(
                self._rows, table, "id BETWEEN ? AND ?", (row_key(track, 0), row_key(track, _SEQ_MASK))
            )
            self._blobs(row[names.index("refs")] for row in found)
            if table == "deltas":
                self._dictionaries({row[names.index("dict")] for row in found})
            moved = [[row_key(self._tracks[track], row[0] & _SEQ_MASK), *row[1:]] for row in found]
            _insert(self._tx, table, names, moved)
        names, found = _table(self._rows, "changes", "track = ?", (track,))
        _insert(self._tx, "changes", names, [[self._tracks[track], *row[1:]] for row in found])
        for (number,) in self._rows.query("SELECT DISTINCT path FROM changes WHERE track = ?", (track,)):
            names, found = _table(self._rows, "paths", "id = ?", (number,))
            _insert(self._tx, "paths", names, found, clash="IGNORE")

    def _dictionaries(self, numbers: set[int]) -> None:
        for number in numbers - {0}:
            names, found = _table(self._rows, "dicts", "id = ?", (number,))
            _insert(self._tx, "dicts", names, found, clash="IGNORE")

    def _blobs(self, columns_of_refs: Iterable[object]) -> None:
        for name in {name for refs in columns_of_refs for name in blob_names(refs)}:
            self._source_blobs.copy(self._tx, name)


def _table(rows: Rows, table: str, where: str, parameters: Sequence[SqlValue]) -> tuple[list[str], list[Row]]:
    """The stored columns of a table (not the generated ones), and rows of it."""
    names = [name for (name,) in rows.query("SELECT name FROM pragma_table_info(?)", (table,))]
    found = rows.query(f"SELECT {', '.join(names)} FROM {table} WHERE {where}", parameters)  # noqa: S608  # names of our own schema
    return names, found


def _insert(
    tx: Transaction, table: str, names: Sequence[str], found: Iterable[Sequence[SqlValue]], clash: str = "ABORT"
) -> int:
    """Inserts rows; gives the row number of the last."""
    places = ", ".join("?" * len(names))
    statement = f"INSERT OR {clash} INTO {table}({', '.join(names)}) VALUES({places})"  # names of our own schema
    last = 0
    for row in found:
        last = tx.execute(statement, row)
    return last


def _end(rows: Rows, track: int) -> list[Row]:
    """The number and chain of a track's last checkpoint: equal only where everything before is."""
    return rows.query(
        "SELECT seq, chain FROM deltas WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
        (row_key(track, 0), row_key(track, _SEQ_MASK)),
    )
