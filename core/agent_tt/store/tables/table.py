"""A table whose rows are proven: it is read and written here, each row with its proof."""

from __future__ import annotations

from dataclasses import field
from itertools import repeat
from operator import eq
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged, StoreUnreadable
from agent_tt.history.rows import SEQ_BITS
from agent_tt.store.tables.proofs import PROOF_SIZE, PartDigest, hashed, hashed_all, part_digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.history.rows import Row
    from agent_tt.store.tables.asking import Rows, SqlValue, Statements

__all__ = ["Table"]

_NONE: Final = bytes(PROOF_SIZE)
_MANY: Final = 8
"""Rows from which on it pays to prove them column by column."""
_EXACT: Final = frozenset({int, str, bytes, type(None), PartDigest})
"""Types that come out of SQLite as they went in, whatever the column."""
_HINT: Final = "Run `agent-tt verify` to see what else is affected."


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table whose rows are proven.

    Attributes:
        name: its name.
        key: the columns of its primary key.
        columns: all proven columns, the key first.
        parts: those that enter the proof by a digest of their own.
        keeps: those parts whose digests follow the proof in its column.
        owner: the column that says whose a row is; "" for those of the whole file.
        packed: whether that column holds the owner shifted left, with a number below.
        counted: whether the key is a number that SQLite gives.
        reals: columns that hold fractions, in which SQLite makes a fraction of every number.
        sealed: whether seals say which rows there are.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    parts: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    owner: str = "run"
    packed: bool = False
    counted: bool = False
    reals: tuple[str, ...] = ()
    sealed: bool = True
    selected: str = field(init=False)
    _parts: tuple[int, ...] = field(init=False)
    _keeps: tuple[int, ...] = field(init=False)
    _reals: tuple[int, ...] = field(init=False)
    _owner: int = field(init=False)
    _where: str = field(init=False)
    _inserts: dict[tuple[bool, ...], str] = field(init=False)
    _updates: dict[tuple[str, ...], str] = field(init=False)
    _at: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        at = self.columns.index
        made = {
            "selected": ", ".join((*self.columns, "proof")),
            "_parts": tuple(map(at, self.parts)),
            "_keeps": tuple(map(at, self.keeps)),
            "_reals": tuple(map(at, self.reals)),
            "_owner": at(self.owner) if self.owner else -1,
            "_where": " AND ".join(f"{column} = ?" for column in self.key),
            "_inserts": {},
            "_updates": {},
            "_at": {name: number for number, name in enumerate(self.columns)},
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @property
    def head(self) -> str:
        """`selected`, with NULL for each part that has its digest in the row. See `holds_without`."""
        return ", ".join("NULL" if column in self.keeps else column for column in (*self.columns, "proof"))

    # ---------------------------------------------------------------- proving

    def proof(self, values: Sequence[SqlValue]) -> bytes:
        """What the column `proof` holds of a row with these values, as SQLite gives them back."""
        return self._of_digests(self.with_digests(values) if self._parts else values)

    def with_digests(self, values: Sequence[SqlValue]) -> list[SqlValue]:
        """A row with digests in the place of its parts: all that its proof is made of, and what `rewrite` takes.

        Args:
            values: its values, as SQLite gives them back; a part may be its `PartDigest`.
        """
        row = list(values)
        for at in self._parts:
            part = row[at]
            if part is not None and type(part) is not PartDigest:
                row[at] = hashed(part)
        return row

    def _of_digests(self, row: Sequence[SqlValue]) -> bytes:
        head = hashed((self.name, *row))
        if not self._keeps:
            return head
        return b"".join([head, *[row[at] or _NONE for at in self._keeps]])  # type: ignore[list-item]  # digests

    def holds(self, row: Row) -> bool:
        """Whether a row, read as `selected`, is as it was written."""
        return bool(self.proof(row[:-1]) == row[-1])

    def judged(self, row: Row) -> Row:
        """A row, read as `selected`, with whether it is as it was written in place of its proof."""
        return (*row[:-1], self.holds(row))

    def judged_all(self, rows: Sequence[Row]) -> list[Row]:
        """What `judged` gives of each of some rows."""
        if len(rows) < _MANY or self._keeps or not self._parts:
            return [self.judged(row) for row in rows]
        columns: list[Sequence[SqlValue]] = [*zip(*rows, strict=True)]
        proofs = columns.pop()
        proven = [*columns]
        for at in self._parts:
            digests = hashed_all(columns[at])
            proven[at] = [None if part is None else digest for part, digest in zip(columns[at], digests, strict=True)]
        found = hashed_all(zip(repeat(self.name), *proven))
        return [*zip(*columns, [*map(eq, found, proofs)], strict=True)]

    def holds_without(self, row: Row) -> bool:
        """The same of a row in which the parts that keep their digests were not read, and stand as None."""
        proof = row[-1]
        if type(proof) is not bytes or len(proof) != PROOF_SIZE * (1 + len(self._keeps)):
            return False
        proven = self.with_digests(row[:-1])
        for number, at in enumerate(self._keeps, 1):
            kept = proof[number * PROOF_SIZE : (number + 1) * PROOF_SIZE]
            proven[at] = None if kept == _NONE else kept
        return self._of_digests(proven) == proof

    def wrong_parts(self, row: Row) -> tuple[str, ...]:
        """Those parts of a row that is otherwise proven (see `holds_without`) which are not as they were written."""
        wrong = []
        for number, (name, at) in enumerate(zip(self.keeps, self._keeps, strict=True), 1):
            if (part_digest(row[at]) or _NONE) != row[-1][number * PROOF_SIZE : (number + 1) * PROOF_SIZE]:
                wrong.append(name)
        return tuple(wrong)

    def owner_of(self, row: Sequence[SqlValue]) -> SqlValue:
        """Whose a row is: the number of a run or a track, 0 for the whole file."""
        owner = row[self._owner] if self.owner else 0
        return owner >> SEQ_BITS if self.packed and type(owner) is int else owner

    # ---------------------------------------------------------------- writing

    def stored(self, values: Sequence[SqlValue]) -> Sequence[SqlValue]:
        """`values` as SQLite gives them back."""
        reals = self._reals
        if _EXACT.issuperset(map(type, values)):
            for at in reals:
                if type(values[at]) is int:
                    break
            else:
                return values
        return [_stored(value, real=at in reals) for at, value in enumerate(values)]

    def insert(self, tx: Statements, values: Sequence[SqlValue]) -> int:
        """Insert a row with its proof; give its row number. A key that SQLite is to give is None."""
        if not self.counted or values[0] is not None:
            return self.write(tx, values)[1]
        values = self.stored(values)
        number = self._insert(tx, values, b"")
        values = (number, *values[1:])
        tx.execute(f"UPDATE {self.name} SET proof = ? WHERE {self._where}", (self.proof(values), number))  # noqa: S608  # ours
        self._seal(tx, values, 1)
        return number

    def write(self, tx: Statements, values: Sequence[SqlValue]) -> tuple[list[SqlValue], int]:
        """Insert a row whose key is known, with its proof.

        Returns:
            The row as `rewrite` takes it, with digests in place of its parts, and its row number.
        """
        values = self.stored(values)
        row = self.with_digests(values)
        number = self._insert(tx, values, self._of_digests(row))
        self._seal(tx, values, 1)
        return row, number

    def _insert(self, tx: Statements, values: Sequence[SqlValue], proof: bytes) -> int:
        absent = tuple([value is None for value in values])
        statement = self._inserts.get(absent)
        if statement is None:
            places = ", ".join("NULL" if is_absent else "?" for is_absent in (*absent, False))
            statement = f"INSERT INTO {self.name}({', '.join(self.columns)}, proof) VALUES({places})"
            self._inserts[absent] = statement
        return tx.execute(statement, _bound([*[value for value in values if value is not None], proof]))

    def member(self, values: Sequence[SqlValue]) -> bytes:
        """What stands in the seal for a row whose values begin with these."""
        return hashed((self.name, *values[: len(self.key)]))

    def _seal(self, tx: Statements, values: Sequence[SqlValue], count: int) -> None:
        if self.sealed:
            tx.seal(self.name, self.owner_of(values), self.member(values), count)

    def update(self, tx: Statements, key: Sequence[SqlValue], changes: Mapping[str, SqlValue]) -> None:
        """Update the row of that key, where there is one.

        Raises:
            Damaged: it is not as it was written; nothing is written over it.
        """
        self.change(tx, self._where, key, changes)

    def change(self, tx: Statements, where: str, given: Sequence[SqlValue], changes: Mapping[str, SqlValue]) -> None:
        """Update the rows that a condition picks.

        Raises:
            Damaged: one is not as it was written; nothing is written over it.
        """
        for row in self.read(tx, where, given):
            if not self.holds(row):
                raise Damaged(f"a row of {self.name} is damaged, and cannot be changed", hint=_HINT)
            self.rewrite(tx, self.with_digests(row[:-1]), changes)

    def rewrite(self, tx: Statements, row: Sequence[SqlValue], changes: Mapping[str, SqlValue]) -> list[SqlValue]:
        """Write the changed columns of a row that is known to be as it was written.

        Args:
            tx: the transaction.
            row: its values until now, as `with_digests` gives them.
            changes: the new values, by column; none of the key.

        Returns:
            The row as it is now, in the same form.
        """
        names, given, now = [], [], list(row)
        for name, value in changes.items():
            at = self._at[name]
            if value is None and now[at] is None:
                continue
            kept = value
            if type(value) not in _EXACT or at in self._reals:
                kept = _stored(value, real=at in self._reals)
            names.append(name)
            given.append(kept)
            if kept is not None and at in self._parts:
                now[at] = hashed(kept)
            else:
                now[at] = kept
        changed = tuple(names)
        statement = self._updates.get(changed)
        if statement is None:
            setting = ", ".join(f"{name} = ?" for name in (*changed, "proof"))
            statement = f"UPDATE {self.name} SET {setting} WHERE {self._where}"  # noqa: S608  # ours
            self._updates[changed] = statement
        tx.execute(statement, _bound([*given, self._of_digests(now), *[now[self._at[name]] for name in self.key]]))
        return now

    def delete(self, tx: Statements, where: str, given: Sequence[SqlValue]) -> None:
        """Delete the rows that a condition picks."""
        if self.sealed:
            for row in tx.query(f"SELECT {', '.join(self.columns)} FROM {self.name} WHERE {where}", given):  # noqa: S608  # ours
                self._seal(tx, row, -1)
        tx.execute(f"DELETE FROM {self.name} WHERE {where}", given)  # noqa: S608  # conditions of ours

    # ---------------------------------------------------------------- reading

    def read(self, rows: Rows, where: str, given: Sequence[SqlValue] = ()) -> list[Row]:
        """Rows that a condition picks: their columns, then the proof."""
        return rows.query(f"SELECT {self.selected} FROM {self.name} WHERE {where}", given)  # noqa: S608  # ours


def _bound(values: Sequence[SqlValue]) -> list[SqlValue]:
    """`values` as they are given to SQLite, the fast way.

    For bytes and None `sqlite3` looks each time for a conversion that the program may have registered, which takes
    longer than inserting the row. For a bytearray it does not; NULLs are best named in the statement.
    """
    return [bytearray(value) if type(value) is bytes else value for value in values]  # type: ignore[misc]  # as bytes


def _stored(value: SqlValue, *, real: bool) -> SqlValue:
    """One value as SQLite gives it back."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        if value != value:  # NaN, which SQLite has no form for
            return None
        if real or not value.is_integer() or abs(value) >= _MOST_EXACT:
            return float(value) + 0.0  # of -0.0, 0.0: as SQLite keeps it
        return int(value)
    if not isinstance(value, int):
        raise StoreUnreadable(f"a store cannot hold a value that it was given: a {type(value).__name__}")
    return float(value) if real else int(value)


_MOST_EXACT: Final = 1 << 63
"""SQLite keeps smaller whole fractions as integers of 64 bits."""
