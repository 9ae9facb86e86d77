"""`agent-tt du` and `agent-tt prune`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.interop import graphs
from tests.core.interop.support import digest_of_folder

from agent_tt import samples

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graphs.react(checkpointer)
        graph = graphs.chain("one", "two").compile(checkpointer=checkpointer)
        graph.invoke({"log": ["\x1b[31m" * 5_000]}, graphs.thread("large"))
    return path


def checkpoints(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM checkpoints").fetchone()
        return int(count)


def test_du_shows_which_thread_and_channel_fill_a_database(command: Command, database: Path) -> None:
    before = digest_of_folder(database.parent)
    shown = command("du", str(database)).out
    assert digest_of_folder(database.parent) == before
    lines = shown.splitlines()
    assert lines[0].endswith("large")
    assert lines[1].endswith("log")
    assert "checkpoints.db has" in lines[-1]
    told = json.loads(command("du", "--json", str(database)).out)
    assert [owner["name"] for owner in told["owners"]] == ["large", "t"]
    large = told["owners"][0]["shares"][0]
    assert large["what"] == "log"
    assert large["bytes"] > 60_000
    assert told["bytes"] == database.stat().st_size > sum(owner["bytes"] for owner in told["owners"])


def test_du_of_a_store_of_ours_counts_runs(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    samples.ensure("refund-loop", path)
    told = json.loads(command("--store", str(path), "du", "--json").out)
    (owner,) = [owner for owner in told["owners"] if owner["name"] is not None]
    assert {share["what"] for share in owner["shares"]} >= {"states", "calls", "steps"}
    assert 0 < owner["bytes"] < told["bytes"]
    assert owner["name"] in command("--store", str(path), "du").out


def test_du_of_another_file_says_what_it_is(command: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    finished = command("du", str(tmp_path / "notes.txt"))
    assert finished.code != 0
    assert "a text file" in finished.err
    assert command("du", str(tmp_path / "missing.db")).code == 3


def test_prune_says_first_what_would_go_and_changes_nothing(command: Command, database: Path) -> None:
    before = digest_of_folder(database.parent)
    told = json.loads(command("--store", str(database), "prune", "--keep-last", "2", "--json").out)
    assert (told["out"], told["checkpoints"], told["untouched"]) == (None, 5, 0)
    assert {thread["thread"]: thread["kept"] for thread in told["threads"]} == {"large": 2, "t": 2}
    assert "5 checkpoints" in command("--store", str(database), "prune", "--keep-last", "2").out
    assert digest_of_folder(database.parent) == before


def test_prune_writes_a_copy(command: Command, database: Path, tmp_path: Path) -> None:
    before, out = database.read_bytes(), tmp_path / "smaller.db"
    finished = command("--store", str(database), "prune", "t", "--out", str(out), "--json")
    told = json.loads(finished.out)
    assert (told["out"], told["untouched"]) == (str(out), 1)
    assert (checkpoints(out), checkpoints(database)) == (5, 9)
    assert database.read_bytes() == before
    assert command("--store", str(database), "prune", "--out", str(out)).code == 2


def test_prune_of_the_file_itself_has_to_be_meant(command: Command, database: Path) -> None:
    assert command("--store", str(database), "prune", "--in-place").code == 2
    assert command("--store", str(database), "prune", "--in-place", "--out", "x.db").code == 2
    assert checkpoints(database) == 9
    assert command("--store", str(database), "prune", "--in-place", "--yes").code == 0
    assert checkpoints(database) == 2


def test_prune_is_for_databases_of_langgraph_and_threads_that_are_there(
    command: Command, database: Path, tmp_path: Path
) -> None:
    samples.ensure("refund-loop", tmp_path / "runs.db")
    refused = command("--store", str(tmp_path / "runs.db"), "prune")
    assert refused.code == 2
    assert "is not a LangGraph database" in refused.err
    assert command("--store", str(database), "prune", "nobody").code == 3
    assert command("--store", str(tmp_path / "missing.db"), "prune").code == 3


def test_show_applies_pending_writes_where_it_is_told_to(command: Command, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        (last,) = connection.execute("SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = 'large'").fetchone()
        row = ("large", "", last, "task", "~__pregel_pull, three", 0, "log", "msgpack", b"\x91\xa1x")
        connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    plain = command("--store", str(database), "show", "large", "5", "--json").json
    applied = command("--store", str(database), "show", "large", "5", "--json", "--pending").json
    assert applied["state"]["log"] == [*plain["state"]["log"], "x"]
    assert command("--store", str(database), "show", "large", "--pending").code == 2
    assert command("--store", str(database), "show", "large", "--pending", "--effects").code == 2
