"""Marks on runs that lie in files which are only read: who wrote down what, and what it points to.

`agent_tt.marking` says what they mean for the runs of such a file. The bodies pass the write door here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tt.errors import NotFound
from agent_tt.store import columns, door, schema
from agent_tt.store.columns import COUNT, NAME, TEXT, WHOLE
from agent_tt.store.liveness import now_us

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Rows, Transaction
    from agent_tt.store.connection import Database

__all__ = ["Change", "ForeignMark", "ForeignMarks", "Place"]

_COLUMNS: Final = "mark, run, checkpoint, step, kind, body, created_us"
_KINDS: Final = (WHOLE, NAME, TEXT, COUNT, NAME, TEXT, WHOLE)


@dataclass(frozen=True, slots=True)
class Place:
    """What a mark points to in its file.

    Attributes:
        run: id of a run, or of a thread.
        checkpoint: id that the file gives to a checkpoint; None where it has none.
        step: the step's number when the mark was made; None for the run.
    """

    run: str
    checkpoint: str | None
    step: int | None


@dataclass(frozen=True, slots=True)
class ForeignMark:
    """One row.

    Attributes:
        id: its number.
        place: what it points to.
        kind: `note`, `bookmark` and `watch`, whose body is a text; `run` and `label`, whose body is facts as JSON.
        body: what was written down.
        created_us: when.
    """

    id: int
    place: Place
    kind: str
    body: str
    created_us: int

    @property
    def facts(self) -> dict[str, Wire]:
        """The facts in the body; none where it holds none."""
        return columns.mapping_from_text(self.body)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of facts.

    Attributes:
        mark: the row that holds them; None where there is none yet.
        place: what a new row points to.
        kind: of a new row.
        change: changes the facts; those that it sets to None are taken away.
    """

    mark: int | None
    place: Place
    kind: str
    change: Callable[[dict[str, Wire]], None]


class ForeignMarks:
    """The marks in one store on the runs of one other file."""

    def __init__(self, database: Database, file: str) -> None:
        self._database = database
        self._file = columns.sound(file)

    def all(self) -> list[ForeignMark]:
        """All of them, oldest first."""
        if not _is_kept(self._database):
            return []
        found = self._database.query(
            f"SELECT {_COLUMNS} FROM foreign_marks WHERE file = ? ORDER BY mark",  # noqa: S608  a constant
            (self._file,),
        )
        return [
            ForeignMark(mark, Place(run, checkpoint, step), kind, body or "", created_us)
            for mark, run, checkpoint, step, kind, body, created_us in columns.fitted(found, _KINDS)
        ]

    def add(self, place: Place, kind: str, body: str) -> ForeignMark:
        """Writes a text down."""
        words, now = door.admit_text(body), now_us()
        with self._database.transaction() as tx:
            mark = self._insert(tx, place, kind, words, now)
        return ForeignMark(mark, place, kind, words, now)

    def change_text(self, mark: int, body: str) -> None:
        """Replaces a text that was written down.

        Raises:
            NotFound: it is gone.
        """
        words = door.admit_text(body)
        with self._database.transaction() as tx:
            where = "mark = ? AND file = ? AND kind IN ('note', 'bookmark', 'watch')"
            if not (_is_kept(tx) and tx.query(f"SELECT 1 FROM foreign_marks WHERE {where}", (mark, self._file))):  # noqa: S608  a constant
                raise NotFound(f"note {mark} is gone", hint="Somebody took it away meanwhile.")
            tx.execute("UPDATE foreign_marks SET body = ? WHERE mark = ?", (words, mark))

    def remove(self, mark: int) -> None:
        """Takes a text away; one that is gone already stays gone."""
        with self._database.transaction() as tx:
            if _is_kept(tx):
                tx.execute("DELETE FROM foreign_marks WHERE mark = ? AND file = ?", (mark, self._file))

    def change(self, changes: Sequence[Change]) -> None:
        """Changes facts: all of them, or none."""
        with self._database.transaction() as tx:
            for each in changes:
                self._change(tx, each)

    def _change(self, tx: Transaction, each: Change) -> None:
        mark, facts = self._facts(tx, each)
        each.change(facts)
        body = columns.mapping_to_text(facts) or "{}"
        if mark is not None:
            tx.execute("UPDATE foreign_marks SET body = ? WHERE mark = ?", (body, mark))
        else:
            self._insert(tx, each.place, each.kind, body, now_us())

    def _facts(self, tx: Transaction, each: Change) -> tuple[int | None, dict[str, Wire]]:
        """The row to change and its facts; one for just this place may have been written a moment ago."""
        place = each.place
        found = _is_kept(tx) and tx.query(
            "SELECT mark, body FROM foreign_marks WHERE file = ? AND (mark = ? OR (? IS NULL AND kind = ? AND run = ?"
            " AND checkpoint IS ? AND step IS ?)) ORDER BY mark DESC LIMIT 1",
            (self._file, each.mark, each.mark, each.kind, place.run, place.checkpoint, place.step),
        )
        return (found[0][0], columns.mapping_from_text(found[0][1])) if found else (None, {})

    def _insert(self, tx: Transaction, place: Place, kind: str, body: str, now: int) -> int:
        if not _is_kept(tx):
            tx.execute(schema.FOREIGN_MARKS)
        return tx.execute(
            "INSERT INTO foreign_marks(file, run, checkpoint, step, kind, body, created_us)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)",
            (
                self._file,
                columns.sound(place.run),
                None if place.checkpoint is None else columns.sound(place.checkpoint),
                place.step,
                kind,
                body,
                now,
            ),
        )


def _is_kept(rows: Rows) -> bool:
    """Whether a file has the table; those that were made earlier have none."""
    return bool(rows.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'foreign_marks'"))
