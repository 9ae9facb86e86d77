"""Everything that a store holds, a file or a database of a server, as bytes to search in."""

from __future__ import annotations

import base64
import contextlib
import re
import sqlite3
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard

from agent_tt.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Iterator


def all_bytes(path: Path) -> bytes:
    """All that lies in a store, packed and unpacked, and in its files: of a server those of the database, if we may."""
    files = _files_of_server(path) if isinstance(path, Address) else path.parent.glob("runs.db*")
    return b"\n".join([*(raw for _, raw in contents(path)), *(file.read_bytes() for file in files)])


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every value in the store as bytes, compressed ones also as what they hold."""
    with contextlib.closing(_connected(path)) as connection:
        dictionaries = {
            number: zstandard.ZstdCompressionDict(zstandard.ZstdDecompressor().decompress(data), 1)
            for number, data in connection.execute("SELECT id, data FROM dicts")
        }
        for (table,) in connection.execute(_TABLES[isinstance(path, Address)]).fetchall():
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


_TABLES = ("SELECT name FROM sqlite_master WHERE type = 'table'",
           "SELECT tablename FROM pg_tables WHERE schemaname = 'agent_tt'")  # fmt: skip


def _connected(path: Path) -> Any:
    if not isinstance(path, Address):
        return sqlite3.connect(path)
    import psycopg

    return psycopg.connect(path.url, autocommit=True, options="-c search_path=agent_tt")


def _files_of_server(address: Address) -> list[Path]:
    """The files of a database, all that the server has in memory written to them."""
    with contextlib.closing(_connected(address)) as connection:
        connection.execute("CHECKPOINT")
        ((folder, number),) = connection.execute(
            "SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()"
        ).fetchall()
    return [file for file in Path(folder, "base", str(number)).glob("[1-9]*") if file.is_file()]


def _packed(raw: bytes) -> Iterator[bytes]:
    """What envelopes of bytes hold, and what gzip bodies in there hold."""
    for match in re.finditer(rb'"bytes", *"\$v": *"([A-Za-z0-9+/=]+)"', raw):
        data = base64.b64decode(match[1])
        yield data
        with contextlib.suppress(zlib.error):
            yield zlib.decompressobj(31).decompress(data[data.find(b"\x1f\x8b") :])
