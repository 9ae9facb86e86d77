"""Sessions of the OpenAI Agents SDK, in databases that the SDK itself writes."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession
from tests.core.conformance.reading import check_source
from tests.core.interop.support import digest_of_folder

from agent_tt.errors import Damaged, NotAStore
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

ITEMS: list[Any] = [
    {"role": "user", "content": "What is 17 times 3?"},
    {"type": "function_call", "call_id": "c1", "name": "times", "arguments": '{"a": 17, "b": 3}'},
    {"type": "function_call_output", "call_id": "c1", "output": "51"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 51."}]},
]
AGAIN = {"role": "user", "content": "Sure?"}


def kept(path: Path, session: str, *items: Any) -> SQLiteSession:
    found = SQLiteSession(session, path)
    asyncio.run(found.add_items([*items]))
    return found


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    kept(path, "first", *ITEMS).close()
    kept(path, "other", *ITEMS, AGAIN, ITEMS[-1]).close()
    return path


def test_each_session_is_a_run_and_the_folder_is_left_as_it_was(database: Path) -> None:
    before = digest_of_folder(database.parent)
    with closing(open_source(database)) as source:
        assert sorted((run.id, run.status, run.steps) for run in source.runs()) == [
            ("first", "unknown", 2), ("other", "unknown", 4),
        ]  # fmt: skip
        _, call = source.calls("first", 1)
        assert (call.name, call.args, call.result) == ("times", {"a": 17, "b": 3}, "51")
        assert len(source.state("other", 4)["messages"]) == 6
        assert source.run("first").origin["system"] == "OpenAI Agents SDK"
        check_source(source)
    assert digest_of_folder(database.parent) == before


def test_what_is_said_beside_an_open_source_is_seen(database: Path) -> None:
    with closing(open_source(database)) as source:
        version = source.version()
        session = kept(database, "first", AGAIN)  # its log is not moved into the file while it is open
        assert source.version() != version
        assert source.step_count("first") == 3
        session.close()


def test_a_branch_is_a_fork(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"

    async def work() -> None:
        session = AdvancedSQLiteSession(session_id="talk", db_path=path, create_tables=True)
        await session.add_items([*ITEMS, AGAIN, ITEMS[-1]])
        await session.create_branch_from_turn(2, "doubt")
        await session.add_items([{"role": "user", "content": "Really?"}, ITEMS[-1]])
        session.close()

    asyncio.run(work())
    with closing(open_source(path)) as source:
        main, fork = source.run("talk"), source.run("talk@doubt")
        assert (main.steps, main.parent) == (4, None)
        assert (fork.steps, fork.parent, fork.fork_step) == (4, "talk", 2)
        assert source.state("talk", 4)["messages"][4]["content"] == "Sure?"
        assert source.state("talk@doubt", 4)["messages"][4]["content"] == "Really?"


def test_a_message_that_is_no_json_is_named(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE agent_messages SET message_data = '{' WHERE id = 3")
        connection.execute("UPDATE agent_messages SET message_data = '[1]' WHERE id = 4")
        connection.execute("UPDATE agent_messages SET message_data = x'ff' WHERE id = 5")
    with closing(open_source(database)) as source:
        assert [problem.what.partition(":")[0] for problem in source.verify("first")] == ["message 3", "message 4"]
        assert [problem.what.partition(":")[0] for problem in source.verify("other")] == ["message 5"]
        check_source(source)


def test_a_session_that_is_too_large_is_read_to_a_point(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tt.interop.databases.agents_sessions.MOST_BYTES", 200)
    with closing(open_source(database)) as source:
        assert "was not read" in source.verify("first")[0].what
        check_source(source)


@pytest.mark.parametrize(
    "made",
    ["CREATE TABLE agent_sessions (a)", "CREATE TABLE agent_messages (id, session_id, message_data, created_at)",
     "CREATE VIEW agent_messages AS SELECT 1 id, 2 session_id, 3 message_data, 4 created_at"],
)  # fmt: skip
def test_another_database_is_none(tmp_path: Path, made: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(made)
    with pytest.raises(NotAStore, match="SQLite database"):
        open_source(path)


def test_a_damaged_database_is_refused_in_words(database: Path) -> None:
    body = bytearray(database.read_bytes())
    body[4096:8192] = b"\xff" * 4096
    database.write_bytes(body)
    with pytest.raises((Damaged, NotAStore)), closing(open_source(database)) as source:
        source.runs()
