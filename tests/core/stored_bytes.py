"""Everything that a store's file holds, as bytes to search in."""

from __future__ import annotations

import base64
import contextlib
import re
import sqlite3
import zlib
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every value in the file as bytes, compressed ones also as what they hold."""
    connection = sqlite3.connect(path)
    dictionaries = {
        number: zstandard.ZstdCompressionDict(zstandard.ZstdDecompressor().decompress(data), 1)
        for number, data in connection.execute("SELECT id, data FROM dicts")
    }
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        for row in cursor:
            for name, value in zip(names, row, strict=True):
                raw = value if isinstance(value, bytes) else str(value).encode()
                yield f"{table}.{name}", raw
                if raw[:4] == b"\x28\xb5\x2f\xfd":
                    dictionary = dictionaries.get(dict(zip(names, row, strict=True)).get("dict", 0))
                    raw = zstandard.ZstdDecompressor(dict_data=dictionary).decompress(raw)
                    yield f"{table}.{name}", raw
                yield from ((f"{table}.{name}", packed) for packed in _packed(raw))
    connection.close()


def _packed(raw: bytes) -> Iterator[bytes]:
    """What envelopes of bytes hold, and what gzip bodies in there hold."""
    for match in re.finditer(rb'"bytes", *"\$v": *"([A-Za-z0-9+/=]+)"', raw):
        data = base64.b64decode(match[1])
        yield data
        with contextlib.suppress(zlib.error):
            yield zlib.decompressobj(31).decompress(data[data.find(b"\x1f\x8b") :])
