"""The proof of a row, as its definition says it: which values, in which order, and which parts by their digests."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.history.logs import MemoryRows

from agent_tt.codec.tlv import tlv
from agent_tt.errors import Damaged, StoreUnreadable
from agent_tt.history.rows import whole
from agent_tt.store.tables.definitions import TABLES
from agent_tt.store.tables.proofs import PROOF_SIZE, PartDigest, part_digest, seal_terms
from agent_tt.store.tables.table import Table

PLAIN = Table("plain", ("run", "name"), ("run", "name", "value"))
LARGE = Table("large", ("run",), ("run", "args", "name", "result"), parts=("args", "result"), keeps=("result",))
VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5) | st.binary(max_size=5)


def digest(*values: object) -> bytes:
    return blake2b(tlv(values), digest_size=16).digest()


def alone(value: object) -> bytes | None:
    return None if value is None else blake2b(tlv(value), digest_size=16).digest()


@given(st.tuples(VALUES, VALUES, VALUES))
def test_a_proof_is_the_digest_of_the_table_and_its_values(values: tuple[object, ...]) -> None:
    proof = PLAIN.proof(values)
    assert proof == digest("plain", *values)
    assert PLAIN.holds((*values, proof))
    assert not PLAIN.holds((*values, proof[:-1]))
    assert not PLAIN.holds((*values, None))


@given(st.tuples(VALUES, VALUES, VALUES, VALUES))
def test_parts_stand_in_a_proof_by_their_digests_and_some_are_kept_behind_it(values: tuple[object, ...]) -> None:
    run, args, name, result = values
    proof = LARGE.proof(values)
    assert proof == digest("large", run, alone(args), name, alone(result)) + (alone(result) or bytes(16))
    assert LARGE.holds((*values, proof))
    given_digest = [run, PartDigest(alone(args)) if args is not None else None, name, result]
    assert LARGE.proof(given_digest) == proof
    assert LARGE.wrong_parts((*values, proof)) == ()


@given(st.tuples(VALUES, VALUES, VALUES, VALUES), st.tuples(VALUES, VALUES, VALUES, VALUES))
def test_a_row_is_proven_without_the_parts_that_keep_their_digests(
    values: tuple[object, ...], others: tuple[object, ...]
) -> None:
    run, args, name, result = values
    proof = LARGE.proof(values)
    assert LARGE.holds_without((run, args, name, None, proof))
    for at in (0, 1, 2):
        changed = [*values[:3], None]
        changed[at] = others[at]
        same = tlv(others[at]) == tlv(values[at])
        assert LARGE.holds_without((*changed, proof)) is same
    wrong = tlv(others[3]) != tlv(result)
    assert LARGE.wrong_parts((run, args, name, others[3], proof)) == (("result",) if wrong else ())


@pytest.mark.parametrize("proof", [None, b"", bytes(PROOF_SIZE), bytes(3 * PROOF_SIZE), "text", 7])
def test_a_proof_of_another_size_proves_nothing(proof: object) -> None:
    assert not LARGE.holds_without((1, "a", "n", None, proof))


def test_each_kept_part_is_wrong_by_itself() -> None:
    calls = (
        next(table for table in TABLES if table.name == "calls") if not isinstance(TABLES, dict) else TABLES["calls"]
    )
    values = [f"{column} of it" for column in calls.columns]
    proof = calls.proof(values)
    assert len(proof) == PROOF_SIZE * (1 + len(calls.keeps))
    for name in calls.keeps:
        row = list(values)
        row[calls.columns.index(name)] = "changed"
        assert calls.wrong_parts((*row, proof)) == (name,)
        row[calls.columns.index(name)] = None
        assert calls.wrong_parts((*row, proof)) == (name,)
        assert calls.holds_without(
            (
                *[None if each in calls.keeps else value for each, value in zip(calls.columns, values, strict=True)],
                proof,
            )
        )


def test_a_row_belongs_to_its_owner() -> None:
    assert PLAIN.owner_of((7, "n", 1)) == 7
    assert Table("all", ("key",), ("key", "value"), owner="").owner_of((7, 1)) == 0
    packed = Table("rows", ("id",), ("value", "id"), owner="id", packed=True)
    from agent_tt.history.rows import SEQ_BITS

    assert packed.owner_of(("x", (5 << SEQ_BITS) + 3)) == 5
    assert packed.owner_of(("x", "odd")) == "odd"


def test_a_row_adds_both_halves_of_its_digest_to_its_seal() -> None:
    member = bytes(range(1, 17))
    assert seal_terms(member) == (0x0102030405060708 >> 2, 0x090A0B0C0D0E0F10 >> 2)
    assert part_digest(None) is None
    assert part_digest("a") == alone("a")


class Text(str):
    """A text of another type."""

    __slots__ = ()


class Number(int):
    """A number of another type."""


REAL = Table("real", ("run",), ("run", "cost", "name"), reals=("cost",))
COUNTED = Table("counted", ("run",), ("run", "count"))
ODD_VALUES = (
    VALUES | st.floats() | st.booleans() | st.builds(Text, st.text(max_size=3)) | st.builds(Number, st.integers(0, 9))
)


@settings(max_examples=30)
@example(1, -0.0, -0.0)
@example(1, float("inf"), 1e300)
@given(st.integers(1, 9), ODD_VALUES, ODD_VALUES)
def test_a_row_is_proven_by_the_values_that_sqlite_gives_back(run: int, cost: object, name: object) -> None:
    if isinstance(cost, str | bytes):
        cost = None
    rows = MemoryRows()
    rows.connection.execute("CREATE TABLE real(run INTEGER PRIMARY KEY, cost REAL, name, proof BLOB)")
    assert REAL.insert(rows.tx, (run, cost, name)) == run  # type: ignore[arg-type]
    (row,) = REAL.read(rows, "run = ?", (run,))
    assert REAL.holds(row)
    rows.commit()
    assert rows.query("SELECT name, owner, n FROM seals") == [("real", run, 1)]
    REAL.update(rows.tx, (run,), {"cost": 3, "name": "other"})
    (row,) = REAL.read(rows, "1")
    assert row[:3] == (run, 3.0, "other")
    assert REAL.holds(row)
    REAL.delete(rows.tx, "run = ?", (run,))
    rows.commit()
    assert rows.query("SELECT n, a, b FROM seals") == [(0, 0, 0)]


@pytest.mark.parametrize("count", [2.0, -0.0, 2.5, True, 2.0**53, 2.0**62, 2.0**63, -(2.0**63), 1e300, Number(3)])
def test_a_fraction_that_is_whole_is_proven_as_the_number_that_a_column_of_numbers_gives_back(count: float) -> None:
    rows = MemoryRows()
    rows.connection.execute("CREATE TABLE counted(run INTEGER PRIMARY KEY, count INTEGER, proof BLOB)")
    COUNTED.insert(rows.tx, (1, count))
    (row,) = COUNTED.read(rows, "1")
    assert COUNTED.holds(row)
    assert row[1] == count


@pytest.mark.parametrize("found", [None, "5", 5.0, True, -1, 1 << 32, b"5"])
def test_what_counts_something_is_a_number_that_is_not_too_large(found: object) -> None:
    with pytest.raises(Damaged) as caught:
        whole(found, "track 3")
    assert caught.value.message == f"track 3 is damaged: {str(found)[:40]!r} stands where a number should"
    assert "agent-tt verify" in caught.value.hint
    assert [whole(each, "it") for each in (0, 7, (1 << 32) - 1)] == [0, 7, (1 << 32) - 1]


def test_what_sqlite_cannot_hold_is_refused_by_its_type() -> None:
    with pytest.raises(StoreUnreadable, match="a store cannot hold a value that it was given: a list"):
        REAL.stored((1, 2.0, []))  # type: ignore[arg-type]


def test_values_that_sqlite_gives_back_as_they_are_are_not_copied() -> None:
    values = (1, 2.5, "name")
    assert PLAIN.stored(values[::2]) is not values
    exact = (1, "x", b"y", None)
    assert PLAIN.stored(exact) is exact


def test_a_row_that_is_damaged_is_not_written_over() -> None:
    rows = MemoryRows()
    rows.connection.execute("CREATE TABLE real(run INTEGER PRIMARY KEY, cost REAL, name, proof BLOB)")
    REAL.insert(rows.tx, (1, 2.0, "a"))
    rows.connection.execute("UPDATE real SET name = 'b'")
    with pytest.raises(Damaged, match="a row of real is damaged, and cannot be changed") as caught:
        REAL.update(rows.tx, (1,), {"cost": 3.0})
    assert "agent-tt verify" in caught.value.hint
    assert rows.query("SELECT cost, name FROM real") == [(2.0, "b")]


def test_a_table_whose_key_sqlite_gives_is_proven_with_it() -> None:
    rows = MemoryRows()
    made = TABLES["tracks"]
    first = made.insert(rows.tx, (None, 7, "main", None, None, -1, 0))
    second = made.insert(rows.tx, (None, 7, "web", first, 3, 2, 0))
    given_key = made.insert(rows.tx, (40, 8, "main", None, None, -1, 0))
    assert (second, given_key) == (first + 1, 40)
    assert all(made.holds(row) for row in made.read(rows, "1"))
    assert [made.owner_of(row) for row in made.read(rows, "1 ORDER BY track")] == [7, 7, 8]
    rows.commit()
    assert rows.query("SELECT owner, n FROM seals ORDER BY owner") == [(7, 2), (8, 1)]


@pytest.mark.parametrize(
    ("table", "row", "owner"),
    [("runs", (5, "id"), 0), ("deltas", ((3 << 32) | 9,), 3), ("deltas", ("odd",), "odd"), ("tags", (4, "x"), 4)],
)
def test_a_row_is_some_runs_some_tracks_or_the_whole_files(table: str, row: tuple[object, ...], owner: object) -> None:
    assert TABLES[table].owner_of(row) == owner  # type: ignore[arg-type]
