"""Proofs of rows: what shows that a row is as it was written, that none is missing, and that none was added.

`H(x)` is BLAKE2b of 16 bytes and `tlv` the byte form of `agent_tt.codec.tlv` (a tuple is in it `(`, uint32 count and
its items; bytes are `s`, uint32 length and the bytes).

**Row.** The column `proof` of a row begins with `H(tlv((table, value of each column ...)))`, the columns in the order
in which `store.tables.definitions` names them, the key among them: a row that was exchanged with another has a wrong
proof too. For a column that is one of the table's *parts* the digest `H(tlv(value))` stands in the place of the value,
None for NULL. So a part can be taken away later, and the row still be proven by whoever kept the part's digest. In
`calls` the digests of `args`, `result` and `error` follow the proof, 16 bytes each, zeros for NULL: what a call carried
need not be read to prove the rest of it.

**Seal.** For each table and owner of rows (a run, or 0 for the whole file) a row of `seals` says which rows there are:
how many (`n`), and the sums of `H(tlv((table, key ...)))` over them: `a` of bytes 0 to 7, `b` of bytes 8 to 15, each
read as a big-endian number and shifted right by two, modulo 2^62. It changes in the transaction that inserts or deletes
a row, by addition alone: several processes may write one run, in any order, and a crash leaves it right. A row that is
missing, or was added, makes it wrong. What changes in a row is left to the row's own proof, so that a row that was put
back, proof and all, to what it had been before is not noticed.

What a run records has no seals, which would write one more page of the file with each call: steps, calls and deliveries
are numbered without gaps and counted (`agent_tt.store.checking.counts`), checkpoints have no gaps, a chain goes through
them, and steps name them, and a blob that is missing is missed by the row that names it.

`paths` and `changes` have no proofs: a path's number is made from its text, and the index follows from the log, from
which `verify` makes it again.

Anybody can compute all of this. It shows damage and careless edits; against somebody who computes the proofs again only
a signature helps.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt.codec.tlv import tlv

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.store.tables.asking import SqlValue

__all__ = ["PROOF_SIZE", "PartDigest", "hashed", "hashed_all", "part_digest", "seal_terms"]

PROOF_SIZE: Final = 16


class PartDigest(bytes):
    """The digest of a part, in the place of a value that is not at hand."""

    __slots__ = ()


def hashed(value: object) -> bytes:
    """`H(tlv(value))`."""
    return blake2b(tlv(value), digest_size=PROOF_SIZE).digest()


def hashed_all(values: Iterable[object]) -> list[bytes]:
    """`H(tlv(value))` of each of some values: of very many in half of the time."""
    return [blake2b(marshalled, digest_size=PROOF_SIZE).digest() for marshalled in map(tlv, values)]


def part_digest(value: SqlValue) -> bytes | None:
    """The digest that stands for a part in the proof of its row; None for NULL."""
    return None if value is None else hashed(value)


def seal_terms(member: bytes) -> tuple[int, int]:
    """What a row adds to the sums of its seal."""
    return int.from_bytes(member[:8], "big") >> 2, int.from_bytes(member[8:], "big") >> 2
