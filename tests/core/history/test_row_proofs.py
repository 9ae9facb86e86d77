"""The proof of a row, as its definition says it: which values, in which order, and which parts by their digests."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.tlv import tlv
from agent_tt.history.proofs import PROOF_SIZE, TABLES, PartDigest, Table, part_digest, seal_terms

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
