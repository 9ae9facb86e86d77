"""What a compressed file holds, by gzip or Zstandard: bounded by what comes out of it, whatever it claims."""

from __future__ import annotations

import io
import zlib
from typing import Final

import zstandard

__all__ = ["is_compressed", "unpacked"]

_GZIP: Final = b"\x1f\x8b\x08"
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_MOST_WINDOW: Final = 8 << 20
"""Bytes that a frame of Zstandard may make its reader remember: what every decoder has to grant (RFC 8878)."""

_PIECE: Final = 1 << 16


def is_compressed(head: bytes) -> bool:
    """Whether a file begins as a compressed one does."""
    return head.startswith((_GZIP, _ZSTANDARD))


def unpacked(body: bytes, most: int) -> tuple[bytes, str]:
    """What comes out of a compressed file, and what is wrong with it in words; these are empty of a sound one.

    Args:
        body: the file, or its beginning.
        most: how many bytes may come out; not many more do, and that they are more is all that is known then.
    """
    found = bytearray()
    try:
        if body.startswith(_GZIP):
            _gzip(body, most, found)
        else:
            decompressor = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
            with decompressor.stream_reader(io.BytesIO(body), read_across_frames=True) as reader:
                while len(found) <= most and (piece := reader.read(_PIECE)):
                    found += piece
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        return bytes(found), f"it is damaged behind {len(found)} unpacked bytes: {error}"
    return bytes(found), ""


def _gzip(body: bytes, most: int, found: bytearray) -> None:
    """Unpack the members of a file of gzip one after another.

    Raises:
        EOFError: it breaks off.
        zlib.error: it is damaged.
    """
    rest = body
    while rest.startswith(_GZIP) and len(found) <= most:
        member = zlib.decompressobj(_GZIP_BITS)
        while len(found) <= most and not member.eof:
            piece = member.decompress(rest, _PIECE)
            rest = member.unconsumed_tail
            if not piece and not rest and not member.eof:
                raise EOFError("it breaks off")
            found += piece
        rest = member.unused_data
