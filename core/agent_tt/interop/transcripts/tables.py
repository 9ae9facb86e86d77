"""Tables as lists of JSON objects, a row each: CSV, and Parquet where `pyarrow` is installed (extra `parquet`).

Texts stay as they are: a format knows which of its columns hold JSON. What is empty is absent.
"""

from __future__ import annotations

import csv
import io
import re
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import StoreUnreadable, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.providers.shapes import Json

__all__ = ["PARQUET", "TooMany", "is_csv", "read_csv", "read_parquet"]

PARQUET: Final = b"PAR1"
"""How a file of Parquet begins, and ends."""

_NAME: Final = r'(?:"[^"\r\n]{1,80}"|[A-Za-z_][\w .]{0,79})'
_FIRST_LINE: Final = re.compile(rf"{_NAME}(?:,{_NAME}){{3,}}", re.ASCII)
_ID: Final = re.compile(r"(?:^|,)\"?(?:id|span_id|context\.span_id)\"?(?:,|$)")
_TRACE: Final = re.compile(r"\"?(?:trace_?id|context\.trace_id)\"?", re.IGNORECASE)
_BATCH_BYTES: Final = 16 << 20
_MOST_BATCH: Final = 1_000
_ONE_LIMIT: Final = threading.Lock()
"""How long a field may be is a setting of the whole process in Python's `csv`."""


class TooMany(Exception):
    """A table holds more than may be read."""


def is_csv(head: bytes) -> bool:
    """Whether a file may be a table of spans as CSV, by the first bytes of the names of its columns."""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].rstrip(b"\r").decode("utf-8", "replace")
    found = _FIRST_LINE.match(line)
    return found is not None and _ID.search(found[0]) is not None and len(line) - found.end() < 90


def read_csv(body: bytes, most_rows: int) -> list[Json]:
    """The rows of a table.

    Raises:
        TooMany: there are more rows.
        ValueError: it is no CSV.
    """
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    rows: list[Json] = []
    with _ONE_LIMIT:
        before = csv.field_size_limit(len(text) + 1)
        try:
            reader = csv.reader(io.StringIO(text, newline=""), strict=True)
            names = next(reader, [])
            if _TRACE.search(",".join(names)) is None:
                return []
            for row in reader:
                if len(rows) >= most_rows:
                    raise TooMany
                rows.append({name: value for name, value in zip(names, row, strict=False) if value})
        except csv.Error as error:
            raise ValueError(f"row {len(rows) + 2}: {error}") from error
        finally:
            csv.field_size_limit(before)
    return rows


def read_parquet(path: Path, most_bytes: int, most_rows: int) -> list[Json]:
    """The rows of a table.

    Raises:
        TooMany: it holds more.
        StoreUnreadable: it is damaged.
        UsageError: `pyarrow` is not installed.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UsageError(
            f"{path} is a Parquet file, and what reads these is not installed", hint="pip install 'agent-tt[parquet]'"
        ) from error
    rows: list[Json] = []
    try:
        with ParquetFile(path, memory_map=False) as file:
            about = file.metadata
            groups = [about.row_group(number) for number in range(about.num_row_groups)]
            columns = [group.column(number) for group in groups for number in range(group.num_columns)]
            if about.num_rows > most_rows or sum(each.total_uncompressed_size for each in columns) > most_bytes:
                raise TooMany
            # A value that is repeated is stored once, and comes out as often as it is repeated.
            largest = max((each.total_uncompressed_size for each in columns), default=1)
            left = 2 * most_bytes
            size = max(1, min(_MOST_BATCH, _BATCH_BYTES // max(largest, 1)))
            for batch in file.iter_batches(size, use_threads=False):
                left -= batch.nbytes
                if left < 0:
                    raise TooMany
                rows += [
                    {name: _plain(value) for name, value in row.items() if value is not None}
                    for row in batch.to_pylist()
                ]
    except (ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        words = str(error).partition("\n")[0][:200]
        raise StoreUnreadable(f"{path} is a damaged Parquet file: {words}", hint="Export it again.") from error
    return rows


def _plain(value: Any) -> Json:
    """A value of a column as JSON."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.hex() if len(value) == 16 else value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        pairs = [each for each in value if isinstance(each, tuple) and len(each) == 2]
        if pairs and len(pairs) == len(value):  # a map
            return {str(name): _plain(each) for name, each in pairs}
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
