"""Traces of clearstone: the database that its `TraceStore` keeps spans in. Its checkpoints are a format of files.

A trace is a run. What a span was given and gave stands there as `input` and `output`, in JSON; what clearstone could
only write as a pickle stays sealed.

Source of the format: github.com/Sancauid/clearstone-sdk, clearstone/storage/sqlite.py.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from agent_tt.interop.databases.rows import columns, json_of, number_of, read, rows_of, text_of
from agent_tt.interop.transcripts.clearstone import span_of
from agent_tt.interop.transcripts.document import MOST_BYTES
from agent_tt.interop.transcripts.spans import tell_trace
from agent_tt.interop.transcripts.transcript import Promise

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from agent_tt.interop.langgraph.connection import DatabaseFile
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["fits", "runs"]

_PLAIN: Final = (
    "span_id", "trace_id", "parent_span_id", "name", "kind", "start_time_ns", "end_time_ns", "status", "error_message",
    "instrumentation_name", "instrumentation_version",
)  # fmt: skip
_JSON: Final = ("attributes_json", "input_snapshot_json", "output_snapshot_json")
_MOST_SPANS: Final = 25_000
_MOST_TRACES: Final = 20_000


def fits(connection: sqlite3.Connection) -> bool:
    """Whether a database has the table of clearstone."""
    return columns(connection, "spans") >= {*_PLAIN, *_JSON}


def runs(file: DatabaseFile) -> Sequence[Promise]:
    """The traces."""
    return [
        Promise(trace, (began_ns or 0) // 1000, 0, partial(_told, file, trace))
        for trace, began_ns in read(file, _traces, refresh=True)
    ]


def _traces(connection: sqlite3.Connection) -> list[tuple[str, int | None]]:
    query = "SELECT trace_id, min(start_time_ns) FROM spans GROUP BY trace_id ORDER BY 2 DESC LIMIT ?"
    return [(name, number_of(at)) for name, at in connection.execute(query, (_MOST_TRACES,)) if isinstance(name, str)]


def _told(file: DatabaseFile, trace: str) -> Transcript:
    flaws: list[str] = []
    rows = read(file, partial(_rows, trace=trace, flaws=flaws))
    if len(rows) > _MOST_SPANS:
        flaws.append(f"it has more than {_MOST_SPANS:,} spans: those that follow are not shown")
    spans, size = {}, 0
    for row in rows[:_MOST_SPANS]:
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if size > MOST_BYTES:
            flaws.append(f"it is larger than {MOST_BYTES >> 20} MB: the spans that follow are not shown")
            break
        span = span_of(_read(row, flaws), flaws)
        spans[span.id] = span
    told = tell_trace(trace, spans, "clearstone")
    told.flaws += [(0, flaw) for flaw in flaws]
    return told


def _rows(connection: sqlite3.Connection, *, trace: str, flaws: list[str]) -> list[dict[str, Any]]:
    names = (*_PLAIN, *_JSON)
    which = "SELECT rowid FROM spans WHERE trace_id = ? ORDER BY start_time_ns LIMIT ?"
    found: list[dict[str, Any]] = []
    size = 0
    for row in rows_of(connection, "spans", names, which, (trace, _MOST_SPANS + 1), flaws):
        found.append(dict(zip(names, row, strict=True)))
        size += sum(len(value) for value in row if isinstance(value, str))
        if size > MOST_BYTES:
            break
    return found


def _read(row: dict[str, Any], flaws: list[str]) -> dict[str, Json]:
    """A row in the form of a span in a checkpoint."""
    span: dict[str, Json] = {key: number_of(row[key]) if key.endswith("_ns") else text_of(row[key]) for key in _PLAIN}
    for key in _JSON:
        try:
            span[key.removesuffix("_json")] = json_of(row[key])
        except orjson.JSONDecodeError as error:
            flaws.append(f"{key} of the span {text_of(row['name'])} is not valid JSON: {error.msg}")
    return span
