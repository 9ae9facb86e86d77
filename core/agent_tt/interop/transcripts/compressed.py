"""What a compressed file holds, by gzip or Zstandard: bounded by what comes out of it, whatever it claims."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, BinaryIO, Final

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["BreaksOff", "begins", "is_compressed", "unpack", "unpacked_zstandard"]

_GZIP: Final = b"\x1f\x8b\x08"
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_MOST_WINDOW: Final = 8 << 20
"""Bytes that a frame of Zstandard may make its reader remember: what every decoder has to grant (RFC 8878,
3.1.1.1.2)."""

_PIECE: Final = 1 << 16
_BITE: Final = 512
"""Bytes of Zstandard that are unpacked at once. Four may become a block of 128 KB, so these become at most 16 MB."""


class BreaksOff(Exception):
    """What is compressed ends before its end."""

    def __init__(self) -> None:
        super().__init__("it breaks off")


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
        is_gzip = packed.peek(3)[:3] == _GZIP  # type: ignore[attr-defined]
        for piece in _gzip(packed) if is_gzip else unpacked_zstandard(iter(lambda: packed.read(_PIECE), b"")):
            into.write(piece)
            written += len(piece)
            if written > most:
                break
    except (zlib.error, zstandard.ZstdError, BreaksOff) as error:
        return f"what is compressed is damaged behind {written} bytes of it: {error}"
    return ""


def unpacked_zstandard(packed: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack frames of Zstandard, one after another. The size that the head of a frame claims allocates nothing.

    Args:
        packed: them, in pieces of any size.

    Raises:
        BreaksOff: the last frame has no end.
        zstandard.ZstdError: something else than a frame stands there, or it is damaged.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    frame = decompressor.decompressobj()
    is_inside = False
    for piece in packed:
        for start in range(0, len(piece), _BITE):
            rest = piece[start : start + _BITE]
            while rest:
                if frame.eof:
                    frame = decompressor.decompressobj()
                yield frame.decompress(rest)
                is_inside, rest = not frame.eof, frame.unused_data
    if is_inside:
        raise BreaksOff


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
                    raise BreaksOff
        rest = member.unused_data or packed.read(_PIECE)
