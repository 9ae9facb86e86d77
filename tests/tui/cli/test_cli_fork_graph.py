"""`agent-tt fork` of a thread of LangGraph: what it says before, what it runs, and what it compares to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import ormsgpack
import pytest
from tests.tui.graph_thread import desk_thread

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm("langgraph.graph", "langgraph.checkpoint.sqlite")


@pytest.fixture
def thread(tmp_path: Path) -> Path:
    """A database with the thread `desk`; its graph lies beside it."""
    return desk_thread(tmp_path)


def planned_at(command: Command, file: Path) -> str:
    steps = command("show", "desk", "--store", str(file), "--json").json["steps"]
    assert [step["name"] for step in steps] == ["input", "__start__", "plan", "maps"]
    return str(steps[2]["step"])


def fork_words(file: Path, *more: str) -> list[str]:
    return ["fork", "desk", "--store", str(file), "--agent", "desk_graph.py:builder", *more]


def test_the_pre_flight_says_which_nodes_run_next_to_people_and_to_programs(
    command: Command, thread: Path, tmp_path: Path
) -> None:
    planned = planned_at(command, thread)
    plain = fork_words(thread, "--at", planned, "--dry-run", "--json")
    edited = fork_words(thread, "--at", planned, "--dry-run", "--set", 'topic="tides"')
    before = thread.read_bytes()

    assert command(*plain).json["graph"] == {
        "copied_from": str(thread),
        "next": ["maps"],
        "next_after_edit": None,
        "unknown": None,
    }
    told = command(*edited, "--json").json["graph"]
    assert (told["next"], told["next_after_edit"]) == (["maps"], ["tides"])
    said = " ".join(command(*edited).out.split())
    assert "next maps" in said
    assert "once the state is edited tides" in said
    assert "No node was run." in said
    refused = command(*edited, "--as-node", "nobody", "--json").json["graph"]
    assert refused["next_after_edit"] is None
    assert "nobody" in refused["unknown"]
    assert thread.read_bytes() == before


def test_the_pre_flight_says_unknown_where_the_database_does_not_tell_what_runs_next(
    command: Command, thread: Path, tmp_path: Path
) -> None:
    as_before_format_4(thread)
    last = command("show", "desk", "--store", str(thread), "--json").json["steps"][-1]
    words = fork_words(thread, "--at", str(last["step"]), "--dry-run")

    assert command(*words, "--json").json["graph"]["next"] is None
    said = " ".join(command(*words).out.split())
    assert "next unknown: the database does not tell" in said
    assert "has ended" not in said


def as_before_format_4(file: Path) -> None:
    """Make the last checkpoint one of format 3, whose node `maps` has run; only the graph knows what follows it."""
    with closing(sqlite3.connect(file)) as connection, connection:
        newest = "rowid = (SELECT max(rowid) FROM checkpoints)"
        (stored,) = connection.execute(f"SELECT checkpoint FROM checkpoints WHERE {newest}").fetchone()
        checkpoint = ormsgpack.unpackb(stored) | {"v": 3}
        checkpoint["channel_values"]["maps"] = "maps"
        checkpoint["versions_seen"]["maps"] = {}
        connection.execute(f"UPDATE checkpoints SET checkpoint = ? WHERE {newest}", [ormsgpack.packb(checkpoint)])


def test_a_forked_thread_is_a_run_of_the_own_store_that_compares_with_its_thread(
    command: Command, thread: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = planned_at(command, thread)
    store = tmp_path / "own.db"
    monkeypatch.setenv("AGENT_TT_STORE", str(store))
    before = thread.read_bytes()

    done = command(*fork_words(thread, "--at", planned, "--set", 'topic="tides"', "--name", "moon"))
    assert done.code == 0, done.err
    assert "tides" in done.out
    assert thread.read_bytes() == before

    names = [step["name"] for step in command("show", "moon", "--json").json["steps"]]
    assert names[-1] == "tides"
    assert "maps" not in names
    state = command("show", f"moon@{len(names)}", "--json").json["state"]
    assert state["log"] == ["planned roads", "looked at the moon"]
    against = command("compare", f"{thread}:desk", "moon", "--json")
    assert against.code == 1
    assert against.json["diverged_at"] == int(planned) + 1
