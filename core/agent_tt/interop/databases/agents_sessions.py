"""Sessions of the OpenAI Agents SDK: the database that its `SQLiteSession` keeps conversations in.

| table | has |
|---|---|
| `agent_sessions` | the sessions, by `session_id` |
| `agent_messages` | their items in the order of `id`, as JSON in `message_data`; in the form of the Responses API |
| `message_structure`, of an `AdvancedSQLiteSession` | which items a branch has: `branch_id`, and their order in it |

Each session is a run; a branch of it is a fork, which left the main one where its items are others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from agent_tt.interop.databases.rows import columns, read, rows_of
from agent_tt.interop.transcripts.document import MOST_BYTES
from agent_tt.interop.transcripts.telling import Teller, micros
from agent_tt.interop.transcripts.transcript import Promise

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from agent_tt.interop.langgraph.connection import DatabaseFile
    from agent_tt.interop.transcripts.transcript import Transcript

__all__ = ["fits", "runs"]

_MAIN: Final = "main"
_SESSIONS: Final = {"session_id", "created_at"}
_MESSAGES: Final = {"id", "session_id", "message_data", "created_at"}
_STRUCTURE: Final = {"session_id", "message_id", "branch_id", "sequence_number"}


class _Item(NamedTuple):
    """One item of a session, before it is read."""

    id: int
    body: str
    at_us: int | None


def fits(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables of an `SQLiteSession`."""
    return columns(connection, "agent_sessions") >= _SESSIONS and columns(connection, "agent_messages") >= _MESSAGES


def runs(file: DatabaseFile) -> Sequence[Promise]:
    """The sessions and their branches."""
    return [
        Promise(_run_id(session, branch), began_us, 0, partial(_told, file, session, branch, began_us))
        for session, branch, began_us in read(file, _branches, refresh=True)
    ]


def _told(file: DatabaseFile, session: str, branch: str, began_us: int) -> Transcript:
    """Tell a branch of a session."""
    flaws: list[str] = []
    items = read(file, partial(_items, session=session, branch=branch, flaws=flaws))
    main = items if branch == _MAIN else read(file, partial(_items, session=session, branch=_MAIN, flaws=[]))
    pairs = enumerate(zip(main, items, strict=False))
    shared = next((at for at, (one, other) in pairs if one.id != other.id), min(len(main), len(items)))
    teller, left, size = Teller(_run_id(session, branch), "OpenAI Agents SDK"), 0, 0
    for number, item in enumerate(items):
        if number == shared:
            left = len(teller.steps)
        size += len(item.body)
        if size > MOST_BYTES:
            teller.flaw(f"it is larger than {MOST_BYTES >> 20} MB: what follows was not read")
            break
        try:
            turn = orjson.loads(item.body)
        except orjson.JSONDecodeError as error:
            teller.flaw(f"message {item.id}: it is not valid JSON: {error.msg}")
            continue
        if isinstance(turn, dict):
            teller.main.turn(turn, item.at_us)
        else:
            teller.flaw(f"message {item.id}: it is not a JSON object")
    for flaw in flaws:
        teller.flaw(flaw)
    fork = None if branch == _MAIN else (session, left)
    return teller.done(fork=fork, began_us=began_us)


def _run_id(session: str, branch: str) -> str:
    return session if branch == _MAIN else f"{session}@{branch}"


# ---------------------------------------------------------------- rows


def _has_branches(connection: Any) -> bool:
    return columns(connection, "message_structure") >= _STRUCTURE


def _branches(connection: Any) -> list[tuple[str, str, int]]:
    """The sessions and their branches, each with when it began."""
    query = "SELECT session_id, created_at FROM agent_sessions ORDER BY created_at DESC, session_id"
    sessions = [(str(name), micros(str(at)) or 0) for name, at in connection.execute(query)]
    if not _has_branches(connection):
        return [(name, _MAIN, began_us) for name, began_us in sessions]
    query = "SELECT DISTINCT branch_id FROM message_structure WHERE session_id = ? AND branch_id <> ? ORDER BY 1"
    found: list[tuple[str, str, int]] = []
    for name, began_us in sessions:
        found += [(name, str(branch), began_us) for (branch,) in connection.execute(query, (name, _MAIN))]
        found.append((name, _MAIN, began_us))
    return found


def _items(connection: Any, *, session: str, branch: str, flaws: list[str]) -> list[_Item]:
    """The items of a branch in order, as many as may be read, and one more."""
    query = "SELECT rowid FROM agent_messages WHERE session_id = ? ORDER BY id"
    names: tuple[str, ...] = (session,)
    if _has_branches(connection):
        query = (
            "SELECT m.rowid FROM message_structure s JOIN agent_messages m"
            " ON m.id = s.message_id WHERE s.session_id = ? AND s.branch_id = ? ORDER BY s.sequence_number, m.id"
        )
        names = (session, branch)
    found: list[_Item] = []
    size = 0
    columns_read = ("id", "message_data", "created_at")
    for number, body, at in rows_of(connection, "agent_messages", columns_read, query, names, flaws):
        found.append(_Item(number, body if isinstance(body, str) else "", micros(str(at))))
        size += len(found[-1].body)
        if size > MOST_BYTES:
            break
    return found
