"""What a compressed file holds, by gzip or Zstandard: bounded by what comes out of it, whatever it claims."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, BinaryIO, Final

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["begins", "is_compressed", "unpack"]

_GZIP: Final = b"\x1f\x8b\x08"
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_MOST_WINDOW: Final = 8 << 20
"""Bytes that a frame of Zstandard may make its reader remember: what every decoder has to grant (RFC 8878)."""

_PIECE: Final = 1 << 16


class _BreaksOff(Exception):
    """The file ends inside what it holds."""


def is_compressed(head: bytes) -> bool:
    """Whether a file begins as a compressed one does."""
    return head.startswith((_GZIP, _ZSTANDARD))


def begins(head: bytes) -> bytes:
    """The first bytes of what a file of gzip holds, by its own; none of Zstandard, which tells none before many."""
    try:
        return zlib.decompressobj(_GZIP_BITS).decompress(head, _PIECE) if head.startswith(_GZIP) else b""
    except zlib.error:
        return b""


def unpack(packed: BinaryIO, into: BinaryIO, most: int) -> str:
    """Write what a compressed file holds, and say what is wrong with it; nothing of a sound one.

    Args:
        packed: the file.
        into: where it is written to.
        most: how many bytes may come out; where there are more, a few more are written and the rest is not looked at.
    """
    written = 0
    try:
        for piece in _gzip(packed) if packed.peek(3)[:3] == _GZIP else _zstandard(packed):  # type: ignore[attr-defined]
            into.write(piece)
            written += len(piece)
            if written > most:
                break
    except (zlib.error, zstandard.ZstdError, _BreaksOff) as error:
        return f"what is compressed is damaged behind {written} bytes of it: {error}"
    return ""


def _gzip(packed: BinaryIO) -> Iterator[bytes]:
    """The members of a file of gzip, one after another."""
    rest = packed.read(_PIECE)
    while rest.startswith(_GZIP):
        member = zlib.decompressobj(_GZIP_BITS)
        while not member.eof:
            piece = member.decompress(rest, _PIECE)
            rest = member.unconsumed_tail
            if piece:
                yield piece
            elif not rest and not member.eof:
                rest = packed.read(_PIECE)
                if not rest:
                    raise _BreaksOff("it breaks off")
        rest = member.unused_data or packed.read(_PIECE)


def _zstandard(packed: BinaryIO) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    with decompressor.stream_reader(packed, read_across_frames=True) as reader:
        while piece := reader.read(_PIECE):
            yield piece
