"""Marks on runs that lie in files which are only read: who wrote down what, and what it points to.

`agent_tt.marking` says what they mean for the runs of such a file. The bodies pass the ingest filter here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.errors import NotFound
from agent_tt.store import ingest_filter
from agent_tt.store.file.opening import open_database
from agent_tt.store.liveness import now_us
from agent_tt.store.rows import columns
from agent_tt.store.rows.columns import COUNT, NAME, TEXT, WHOLE
from agent_tt.store.tables.definitions import FOREIGN_MARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.store.file.transaction import Transaction

__all__ = ["Change", "ForeignMark", "ForeignMarks", "Place"]

_KINDS: Final = (WHOLE, NAME, TEXT, COUNT, NAME, TEXT, WHOLE)


class Place(NamedTuple):
    """What a mark points to in its file.

    Attributes:
        run: id of a run, or of a thread.
        checkpoint: id that the file gives to a checkpoint; None where it has none.
        step: the step's number when the mark was made; None for the run.
    """

    run: str
    checkpoint: str | None
    step: int | None


class ForeignMark(NamedTuple):
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


class Change(NamedTuple):
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
    """The marks in one store on the runs of one other file.

    Args:
        path: the store.
        file: the other file, by its real path.
        read_only: only read; else the store is made where there is none.

    Raises:
        ReadOnlySource: the store cannot be made or written.
        StoreUnreadable: it cannot be opened.
    """

    def __init__(self, path: Path, file: str, *, read_only: bool) -> None:
        self._database = open_database(path, create=not read_only, read_only=read_only)
        self._file = columns.sound(file)

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written down."""
        return self._database.read_only

    def close(self) -> None:
        """Let go of the store."""
        self._database.close()

    def version(self) -> int:
        """A number that differs after the store changed."""
        return self._database.version()

    def all(self) -> list[ForeignMark]:
        """All of them, oldest first; those that are damaged are left out, and `verify` names them."""
        rows = FOREIGN_MARKS.read(self._database, "file = ? ORDER BY mark", (self._file,))
        found = [(row[0], *row[2:8]) for row in rows if FOREIGN_MARKS.holds(row)]
        return [
            ForeignMark(mark, Place(run, checkpoint, step), kind, body or "", created_us)
            for mark, run, checkpoint, step, kind, body, created_us in columns.fitted(found, _KINDS)
        ]

    def add(self, place: Place, kind: str, body: str) -> ForeignMark:
        """Write a text down."""
        words, now = ingest_filter.admit_text(body), now_us()
        with self._database.transaction() as tx:
            mark = self._insert(tx, place, kind, words, now)
        return ForeignMark(mark, place, kind, words, now)

    def change_text(self, mark: int, body: str) -> None:
        """Replace a text that was written down.

        Raises:
            NotFound: it is gone.
        """
        words = ingest_filter.admit_text(body)
        with self._database.transaction() as tx:
            where = "mark = ? AND file = ? AND kind IN ('note', 'bookmark', 'watch')"
            if not tx.query(f"SELECT 1 FROM foreign_marks WHERE {where}", (mark, self._file)):  # noqa: S608  a constant
                raise NotFound(f"note {mark} is gone", hint="Somebody took it away meanwhile.")
            FOREIGN_MARKS.update(tx, (mark,), {"body": words})

    def remove(self, mark: int) -> None:
        """Take a text away; one that is gone already stays gone."""
        with self._database.transaction() as tx:
            FOREIGN_MARKS.delete(tx, "mark = ? AND file = ?", (mark, self._file))

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
            FOREIGN_MARKS.update(tx, (mark,), {"body": body})
        else:
            self._insert(tx, each.place, each.kind, body, now_us())

    def _facts(self, tx: Transaction, each: Change) -> tuple[int | None, dict[str, Wire]]:
        """The row to change and its facts; one for just this place may have been written a moment ago."""
        place = each.place
        found = tx.query(
            "SELECT mark, body FROM foreign_marks WHERE file = ? AND (mark = ? OR (? IS NULL AND kind = ? AND run = ?"
            " AND checkpoint IS ? AND step IS ?)) ORDER BY mark DESC LIMIT 1",
            (self._file, each.mark, each.mark, each.kind, place.run, place.checkpoint, place.step),
        )
        return (found[0][0], columns.mapping_from_text(found[0][1])) if found else (None, {})

    def _insert(self, tx: Transaction, place: Place, kind: str, body: str, now: int) -> int:
        return FOREIGN_MARKS.insert(
            tx,
            (
                None,
                self._file,
                columns.sound(place.run),
                None if place.checkpoint is None else columns.sound(place.checkpoint),
                place.step,
                kind,
                body,
                now,
            ),
        )
