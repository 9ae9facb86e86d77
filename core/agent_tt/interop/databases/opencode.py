"""Sessions of OpenCode in the database that it keeps since 2026 (`opencode.db`).

| table | has |
|---|---|
| `session` | the heads: folder, title, version; `parent_id` of a sub-agent's |
| `message`, `part` | turns and their parts, as JSON in `data`; what the files of older versions hold |
| `session_message` | entries of newer sessions, as JSON in `data`, in the order of `seq` |

A session of a sub-agent is a lane of the one that began it. One that stands in both forms is read by what is newer.

Source of the format: `SessionTable` of github.com/anomalyco/opencode, packages/core/src/session/sql.ts.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from agent_tt.errors import StoreUnreadable
from agent_tt.interop.databases.rows import columns, json_of, number_of, read, rows_of, text_of
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.transcripts.document import MOST_BYTES
from agent_tt.interop.transcripts.opencode import Kept, tell_session
from agent_tt.interop.transcripts.transcript import Promise
from agent_tt.providers.loose import dicts, mapping, text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["Head", "fits", "heads", "runs"]

_SESSION: Final = {"id", "parent_id", "directory", "title", "version", "time_created"}
_ROWS: Final = {"id", "session_id", "time_created", "data"}
_MOST_SESSIONS: Final = 20_000
_MOST_INSIDE: Final = 500
"""So many sub-agents' sessions are told in one."""


def fits(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables of OpenCode."""
    return columns(connection, "session") >= _SESSION and (
        columns(connection, "message") >= _ROWS or columns(connection, "session_message") >= _ROWS
    )


def runs(file: DatabaseFile) -> Sequence[Promise]:
    """The sessions that a person began, each with those of its sub-agents."""
    return [
        Promise(name, (began_ms or 0) * 1000, 0, partial(_told, file, name))
        for name, began_ms in read(file, _sessions, refresh=True)
    ]


class Head(NamedTuple):
    """What is said of a session without reading it."""

    id: str
    title: str | None
    folder: str | None
    updated_us: int | None


def heads(path: Path) -> list[Head]:
    """The sessions in a database that a person began, the newest first, by what their heads say.

    Raises:
        StoreUnreadable: it cannot be read, or is none of OpenCode.
    """
    with closing(DatabaseFile(path)) as file:
        if not read(file, fits):
            raise StoreUnreadable(f"{path} has not the tables of OpenCode", hint="Another version may have written it.")
        return read(file, _heads)


def _heads(connection: sqlite3.Connection) -> list[Head]:
    written = "time_updated" if "time_updated" in columns(connection, "session") else "time_created"
    query = (
        f"SELECT id, substr(title, 1, 300), substr(directory, 1, 4000), {written} FROM session"  # noqa: S608
        " WHERE parent_id IS NULL OR parent_id NOT IN (SELECT id FROM session) ORDER BY 4 DESC LIMIT ?"
    )
    return [
        Head(name, text_of(title) or None, text_of(folder) or None, (number_of(at) or 0) * 1000 or None)
        for name, title, folder, at in connection.execute(query, (_MOST_SESSIONS,))
        if isinstance(name, str)
    ]


def _sessions(connection: sqlite3.Connection) -> list[tuple[str, int | None]]:
    query = (
        "SELECT id, time_created FROM session WHERE parent_id IS NULL OR parent_id NOT IN (SELECT id FROM session)"
        " ORDER BY time_created DESC, id LIMIT ?"
    )
    found = connection.execute(query, (_MOST_SESSIONS,))
    return [(name, number_of(at)) for name, at in found if isinstance(name, str)]


def _told(file: DatabaseFile, name: str) -> Transcript:
    """Tell a session with all that belongs to it, of one state of the database."""
    return tell_session(read(file, partial(_kept, name=name)))


def _kept(connection: sqlite3.Connection, name: str) -> Kept:
    reading = _Reading(connection)
    whole = reading.session(name)
    waiting = [whole]
    for kept in waiting:  # those that are found meanwhile follow
        for inner in reading.inside(text(kept.head.get("id"))):
            if len(waiting) > _MOST_INSIDE:
                break
            kept.inside.append(inner)
            waiting.append(inner)
    whole.flaws += reading.flaws
    return whole


class _Reading:
    """Reads sessions as long as there is room."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.flaws: list[str] = []
        self._connection, self._left = connection, MOST_BYTES
        self._seen: set[str] = set()
        tables = ("message", "part", "session_message")
        self._has = {table for table in tables if columns(connection, table) >= _ROWS}
        self._heads = columns(connection, "session")

    def inside(self, name: str) -> Iterator[Kept]:
        """The sessions of the sub-agents that one began."""
        rows = self._connection.execute("SELECT id FROM session WHERE parent_id = ? ORDER BY time_created, id", (name,))
        for (inner,) in rows.fetchall():
            if isinstance(inner, str) and inner not in self._seen:
                yield self.session(inner)

    def session(self, name: str) -> Kept:
        self._seen.add(name)
        row = (
            self._connection.execute(
                "SELECT parent_id, directory, title, version, time_created FROM session WHERE id = ?", (name,)
            ).fetchone()
            or (None,) * 5
        )
        keys = ("parentID", "directory", "title", "version")
        head: dict[str, Json] = {"id": name, **{key: text_of(value) for key, value in zip(keys, row, strict=False)}}
        if self._has >= {"message", "part"} and not self._is_newer(name):
            return Kept(head, [*self._messages(name)])
        return Kept(head, [*self._entries(name)] if "session_message" in self._has else [])

    def _is_newer(self, name: str) -> bool:
        """Whether what a session said last stands among its entries, not among its messages."""
        if "session_message" not in self._has:
            return False
        times = [
            self._connection.execute(f"SELECT max(time_created) FROM {table} WHERE session_id = ?", (name,)).fetchone()  # noqa: S608
            for table in ("message", "session_message")
        ]
        old, new = (number_of(time[0]) or 0 for time in times)
        return new > old

    def _rows(self, table: str, beside: str, order: str, name: str) -> Iterator[tuple[str, Any, dict[str, Json]]]:
        """Rows of an id, something beside it and an object, as long as there is room."""
        which = f"SELECT rowid FROM {table} WHERE session_id = ? ORDER BY {order}"  # noqa: S608
        for row, also, body in rows_of(self._connection, table, ("id", beside, "data"), which, (name,), self.flaws):
            self._left -= len(body) if isinstance(body, str | bytes) else 0
            if self._left < 0:
                self.flaws.append(f"it is larger than {MOST_BYTES >> 20} MB: what follows was not read")
                return
            try:
                found = json_of(body)
            except orjson.JSONDecodeError as error:
                self.flaws.append(f"{text_of(row)} is left out: it is not valid JSON: {error.msg}")
                continue
            if isinstance(found, dict):
                yield text_of(row), also, found
            else:
                self.flaws.append(f"{text_of(row)} is left out: it is not a JSON object")

    def _messages(self, name: str) -> Iterator[dict[str, Json]]:
        parts: dict[str, list[Json]] = {}
        messages = [*self._rows("message", "time_created", "time_created, id", name)]
        for row, message, part in self._rows("part", "message_id", "id", name):
            parts.setdefault(text_of(message), []).append({**part, "id": row})
        for row, _, info in messages:
            yield {"info": {**info, "id": row}, "parts": parts.get(row, [])}

    def _entries(self, name: str) -> Iterator[dict[str, Json]]:
        order = "seq" if "seq" in columns(self._connection, "session_message") else "time_created, id"
        for row, kind, entry in self._rows("session_message", "type", order, name):
            yield _as_message({**entry, "id": row, "type": text_of(kind)})


def _as_message(entry: dict[str, Json]) -> dict[str, Json]:
    """An entry of a newer session in the form of a message with parts."""
    kind, rest = (
        entry["type"],
        {key: value for key, value in entry.items() if key not in ("content", "text", "summary")},
    )
    said: dict[str, Json] = {"type": "text", "text": entry.get("text")}
    if kind == "user":
        files: list[Json] = [{**each, "type": "file"} for each in dicts(entry.get("files"))]
        return {"info": {**rest, "role": "user"}, "parts": [said, *files]}
    if kind == "assistant":
        model = mapping(entry.get("model"))
        info: dict[str, Json] = {
            **rest,
            "role": "assistant",
            "modelID": model.get("id"),
            "providerID": model.get("providerID"),
        }
        return {"info": info, "parts": [_as_part(each) for each in dicts(entry.get("content"))]}
    if kind == "compaction":
        info = {**rest, "role": "compaction"}
        return {"info": info, "parts": [{"type": "text", "text": entry.get("summary")}]}
    if kind == "synthetic":
        return {"info": {**rest, "role": "synthetic"}, "parts": [said]}
    return {"info": {**entry, "role": "note"}, "parts": []}


def _as_part(content: dict[str, Json]) -> dict[str, Json]:
    if content.get("type") != "tool":
        return content
    state, time = mapping(content.get("state")), mapping(content.get("time"))
    came: Json = "\n".join(text(each.get("text")) for each in dicts(state.get("content"))) or state.get("structured")
    told: dict[str, Json] = {
        **state,
        "output": came,
        "error": mapping(state.get("error")).get("message") or state.get("error"),
        "metadata": state.get("structured"),
        "time": {"start": time.get("ran", time.get("created")), "end": time.get("completed")},
    }
    return {"type": "tool", "callID": content.get("id"), "tool": content.get("name"), "state": told}
