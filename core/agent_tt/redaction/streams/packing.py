"""Content codings of HTTP (RFC 9110 §8.4): bodies unpacked as they arrive, and packed again at the length they had."""

from __future__ import annotations

import gzip
import sys
import zlib
from typing import Final, Protocol, cast

_GZIP: Final = 16 + zlib.MAX_WBITS
_COMMENT: Final = 0x10


class Unpacker(Protocol):
    """Unpacks one body."""

    def decompress(self, data: bytes, /) -> bytes:
        """What the next bytes add to it."""


class _Brotli:
    """The decompressor of whichever library the agent's client has loaded."""

    def __init__(self, module: object) -> None:
        inner = module.Decompressor()  # type: ignore[attr-defined]
        self.decompress = getattr(inner, "process", None) or inner.decompress


def is_gzip(coding: str) -> bool:
    """Whether a coding, in lower case, is gzip."""
    return coding in ("gzip", "x-gzip")


def unpacker(coding: str) -> Unpacker | None:
    """What unpacks a coding, in lower case; None where there is none, or it is unknown."""
    if is_gzip(coding):
        return zlib.decompressobj(_GZIP)
    if coding == "deflate":
        return zlib.decompressobj()
    if coding == "zstd":
        import zstandard

        return cast("Unpacker", zstandard.ZstdDecompressor().decompressobj())
    if coding == "br":
        # The agent's client asked for it, so it has one of these loaded.
        brotli = sys.modules.get("brotli") or sys.modules.get("brotlicffi")
        return None if brotli is None else cast("Unpacker", _Brotli(brotli))
    return None


def is_at_end(unpacked: Unpacker) -> bool:
    """Whether a gzip body is complete."""
    return bool(getattr(unpacked, "eof", False))


def packed_as_long(plain: bytes, length: int) -> bytes | None:
    """A gzip file of `length` bytes that holds `plain`; None where it would be longer.

    What is missing is a comment in its head (RFC 1952 §2.3.1).
    """
    packed = gzip.compress(plain, 9, mtime=0)
    missing = length - len(packed)
    if missing <= 0:
        return None if missing else packed
    head = bytearray(packed[:10])
    head[3] |= _COMMENT
    return bytes(head) + b"x" * (missing - 1) + b"\0" + packed[10:]
