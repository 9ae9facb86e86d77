"""Digests of whole states (equality, rejoining) and the chain over them (tampering).

`H(x)` is BLAKE2b of 16 bytes; read as a little-endian number it is called a *token*. Tokens of parts are added up
(dicts, blind to key order) or used as the coefficients of a polynomial (lists), so that the digest of a changed state
costs what changed. `tlv` is the byte form of `agent_tt.codec.tlv`; a pair is in it `(`, uint32 2 and two items.

| wire value | digest |
|---|---|
| scalar | `H("s" tlv)` |
| list without containers | `H("a" tlv)` |
| dict of at most 64 entries without containers | `H("o" tlv(its (key, value) pairs, sorted by key))` |
| `dict` envelope of pairs | `H("E" uint64 n, uint128 sum of H("e" digest(key) digest(value)) mod 2^128)` |
| any other dict | `H("D" uint64 n, uint128 sum of H("p" digest(value) utf8(key)) mod 2^128)` |
| any other list | `H("L" uint64 n, uint128 sum of digest(v_i) * B^(n-1-i) mod 2^127-1)` |

The chain of checkpoint k is `H(chain(k-1) uint64-big-endian k digest H(operations))`; without the operations it can be
followed by whoever kept their digest.

Numbers are little-endian. Types count, key order does not: two runs whose parallel tools filled a dict in another
order hold equal states. For the same reason a digest cannot be used to *detect* changes.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeGuard

from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.errors import CorruptDelta

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.codec.wire import Scalar, Wire

__all__ = [
    "CONTAINERS",
    "DIGEST_SIZE",
    "SMALL_DICT",
    "chain",
    "digest",
    "entry_token",
    "flat_list_token",
    "is_hashed_whole",
    "list_token",
    "polynomial",
    "replaced",
    "scalar_entry_token",
    "small_dict_token",
    "sum_token",
    "token",
]

DIGEST_SIZE: Final = 16
SMALL_DICT: Final = 64
"""Entries up to which a dict without containers is hashed in one piece."""

CONTAINERS: Final = frozenset({dict, list})

_PRIME: Final = (1 << 127) - 1
_BASE: Final = 0x5DEECE66D1234567F4A7C15B9E3779B1
_MASK: Final = (1 << 128) - 1


def digest(wire: Wire) -> bytes:
    """The 16-byte digest of a wire value.

    Raises:
        CorruptDelta: the value is nested deeper than anything that is ever recorded.
    """
    try:
        return token(wire).to_bytes(DIGEST_SIZE, "little")
    except (RecursionError, ValueError) as error:
        message = "the state is nested too deeply to be one that was recorded"
        raise CorruptDelta(message, hint="Run `agent-tt verify` on the store.") from error


def chain(previous: bytes, seq: int, state_digest: bytes, ops: bytes) -> bytes:
    """The chain hash of a checkpoint.

    Args:
        previous: chain hash of the checkpoint before, empty before the first; for the first row of a fork that of the
            parent's checkpoint of the same number.
        seq: number of the checkpoint.
        state_digest: `digest` of its state.
        ops: its operations exactly as stored (before compression); never encode them again, JSON is not unique.
    """
    plain = previous + seq.to_bytes(8, "big") + state_digest + blake2b(ops, digest_size=DIGEST_SIZE).digest()
    return blake2b(plain, digest_size=DIGEST_SIZE).digest()


def token(wire: Wire) -> int:
    """The digest as a number, from which those of the containers around it are made."""
    if type(wire) is dict:
        if TYPE in wire and _is_pairs(wire):
            return _pairs_token(wire[VALUE])
        if len(wire) <= SMALL_DICT and CONTAINERS.isdisjoint(map(type, wire.values())):
            return small_dict_token(wire)
        total = 0
        for key, value in wire.items():
            kind = type(value)
            length = len(value) if kind is str else 0  # type: ignore[arg-type]
            if kind in _EXACT_BY_EQUALITY and len(key) + length <= _SHORT:
                total += _entry_of_short(key, value)  # type: ignore[arg-type]  # hashable, all of these types
            elif not value and kind in CONTAINERS:
                total += _entry_of_empty(key, kind)  # type: ignore[arg-type]  # one of the two
            else:
                total += entry_token(key, token(value))
        return sum_token(len(wire), total)
    if type(wire) is list:
        if CONTAINERS.isdisjoint(map(type, wire)):
            return flat_list_token(tlv(wire))
        return list_token(len(wire), polynomial(0, map(token, wire)))
    return _hash(b"s" + tlv(wire))


def small_dict_token(wire: Mapping[str, Wire]) -> int:
    """Token of a dict of at most 64 entries, none of them a container."""
    return _hash(b"o" + tlv(sorted(wire.items())))


def flat_list_token(raw: bytes) -> int:
    """Token of a list without containers, from its `tlv`."""
    return _hash(b"a" + raw)


def entry_token(key: str, value: int) -> int:
    """What an entry adds to the sum of its dict; `value` is the value's token."""
    return _hash_of_any(b"p" + value.to_bytes(DIGEST_SIZE, "little") + key.encode())


def scalar_entry_token(key: str, value: Scalar) -> int:
    """As `entry_token`, of a scalar."""
    inner = blake2b(b"s" + tlv(value), digest_size=DIGEST_SIZE).digest()
    return int.from_bytes(blake2b(b"p" + inner + key.encode(), digest_size=DIGEST_SIZE).digest(), "little")


def sum_token(count: int, total: int) -> int:
    """Token of a larger dict: its number of entries and the sum of their `entry_token`s (reduced here)."""
    return _hash_of_any(b"D" + count.to_bytes(8, "little") + (total & _MASK).to_bytes(16, "little"))


def polynomial(start: int, tokens: Iterable[int]) -> int:
    """Extend the hash of a list, a polynomial of its tokens, by those of further elements. An empty list has 0."""
    for value in tokens:
        start = (start * _BASE + value) % _PRIME
    return start


def replaced(value: int, removed: Iterable[int], added: Iterable[int], behind: int) -> int:
    """Give the hash of a list in which some elements were replaced: by as many others, or at its front by any number.

    Args:
        value: the hash before.
        removed: the tokens that went.
        added: the tokens that came.
        behind: how many elements follow them.
    """
    return (value + (polynomial(0, added) - polynomial(0, removed)) * pow(_BASE, behind, _PRIME)) % _PRIME


def is_hashed_whole(wire: dict[str, Wire] | list[Wire]) -> bool:
    """Whether the token of a container is made in one piece, not from the tokens of what it holds."""
    if type(wire) is dict:
        return _is_pairs(wire) or (len(wire) <= SMALL_DICT and CONTAINERS.isdisjoint(map(type, wire.values())))
    return CONTAINERS.isdisjoint(map(type, wire))


def list_token(count: int, value: int) -> int:
    """Token of a list that holds containers: its length and its `polynomial`."""
    return _hash_of_any(b"L" + count.to_bytes(8, "little") + value.to_bytes(16, "little"))


def _hash(plain: bytes) -> int:
    return _hash_of_short(plain) if len(plain) <= _SHORT else _hash_of_any(plain)


def _hash_of_any(plain: bytes) -> int:
    return int.from_bytes(blake2b(plain, digest_size=DIGEST_SIZE).digest(), "little")


_SHORT: Final = 64
"""Bytes, or characters, up to which what is hashed is remembered: keys and small values come again with each object of
a kind."""
_EXACT_BY_EQUALITY: Final = frozenset({str, int, bool, type(None)})
"""Types of which two equal values are the same."""
_hash_of_short: Final = lru_cache(4096)(_hash_of_any)


@lru_cache(4096, typed=True)
def _entry_of_short(key: str, value: Scalar) -> int:
    return entry_token(key, token(value))


@lru_cache(1024)
def _entry_of_empty(key: str, kind: type[dict[str, Wire] | list[Wire]]) -> int:
    return entry_token(key, token(kind()))


def _is_pairs(wire: dict[str, Wire]) -> bool:
    return wire.get(TYPE) == "dict" and _are_pairs(wire.get(VALUE))


def _are_pairs(payload: Wire) -> TypeGuard[list[list[Wire]]]:
    return type(payload) is list and all(type(pair) is list and len(pair) == 2 for pair in payload)


def _pairs_token(pairs: Wire) -> int:
    if not _are_pairs(pairs):
        raise TypeError("not the payload of a dict envelope")
    total = 0
    for key, value in pairs:
        both = token(key).to_bytes(DIGEST_SIZE, "little") + token(value).to_bytes(DIGEST_SIZE, "little")
        total += _hash(b"e" + both)
    return _hash(b"E" + len(pairs).to_bytes(8, "little") + (total & _MASK).to_bytes(16, "little"))
