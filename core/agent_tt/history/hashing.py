"""Hashes that name content, and the row numbers made from them: the same in every file.

The hash of a blob or dictionary is BLAKE2b of 20 bytes over its content. The number made from a hash is its first 8
bytes, big-endian, without the lowest bit. That of a path is made from BLAKE2b of 8 bytes over its JSON array.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HASH_SIZE", "blob_names", "content_hash", "path_id", "path_text", "row_id", "text_id"]

HASH_SIZE: Final = 20
"""Bytes of a blob's or dictionary's hash."""


def content_hash(plain: bytes) -> bytes:
    """The 20-byte BLAKE2b hash that names `plain`."""
    return blake2b(plain, digest_size=HASH_SIZE).digest()


def row_id(digest: bytes) -> int:
    """The row number made from a hash: its first 8 bytes, big-endian, without the lowest bit (never negative)."""
    return int.from_bytes(digest[:8], "big") >> 1


def path_text(path: Sequence[str | int]) -> str:
    """The path as the index keeps it: a JSON array."""
    import orjson

    return orjson.dumps(list(path)).decode()


def path_id(path: Sequence[str | int]) -> int:
    """The row number of a path in `paths`."""
    return text_id(path_text(path))


@lru_cache(8192)
def text_id(text: str) -> int:
    """The same of the text of a path."""
    return row_id(blake2b(text.encode(), digest_size=8).digest())


def blob_names(refs: object) -> list[bytes]:
    """The hashes in a `refs` column."""
    if not isinstance(refs, bytes):
        return []
    return [refs[at : at + HASH_SIZE] for at in range(0, len(refs), HASH_SIZE)]
