"""Zip archives as tests need them: packed by any method, damaged, or claiming what is not so."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STORED, DEFLATED, ZSTANDARD = 0, 8, 93


def _packed(body: bytes, method: int) -> bytes:
    if method == DEFLATED:
        packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return packing.compress(body) + packing.flush()
    if method == ZSTANDARD:  # Inspect's writer begins another frame after every 200 MB
        half = len(body) // 2
        return b"".join(zstandard.ZstdCompressor().compress(part) for part in (body[:half], body[half:]))
    return body


def write_zip(
    path: Path, members: Mapping[str, bytes], method: int = DEFLATED, *, claimed: int | None = None, flags: int = 0
) -> Path:
    """Write an archive; `claimed` is the size that it says each member has."""
    body, directory = b"", b""
    for name, content in members.items():
        packed, encoded = _packed(content, method), name.encode()
        size = len(content) if claimed is None else claimed
        facts = struct.pack("<HHHHHIII", 20, flags, method, 0, 0, zlib.crc32(content), len(packed), size)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + facts
        directory += struct.pack("<HHHHHII", len(encoded), 0, 0, 0, 0, 0, len(body)) + encoded
        body += b"PK\x03\x04" + facts + struct.pack("<HH", len(encoded), 0) + encoded + packed
    count = len(members)
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path
