"""`agent-tt import`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.interop import graphs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graphs.react(checkpointer)
        graphs.forks(checkpointer)
        graphs.chain("one").compile(checkpointer=checkpointer).invoke({"log": ["x"]}, graphs.thread("other"))
    return path


def test_import_copies_threads_once_and_their_runs_are_ours(command: Command, database: Path, tmp_path: Path) -> None:
    into = ("--into", str(tmp_path / "runs.db"))
    told = json.loads(command("import", str(database), "other", *into, "--json").out)
    assert [(run["name"], run["added"], run["known"]) for run in told["runs"]] == [("other", 3, 0)]
    shown = command("import", str(database), *into)
    assert shown.code == 0
    assert f"steps added to {tmp_path / 'runs.db'}" in shown.out
    again = json.loads(command("--store", str(tmp_path / "runs.db"), "import", str(database), "--json").out)
    assert [run["added"] for run in again["runs"]] == [0, 0]
    assert again["store"] == str(tmp_path / "runs.db")
    store = ("--store", str(tmp_path / "runs.db"))
    assert command(*store, "pin", "other").code == 0
    assert "fork-1" in command(*store, "tree").out
    assert command(*store, "verify").code == 0


def test_import_names_what_it_leaves_out(command: Command, database: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE checkpoints SET checkpoint = x'81' WHERE thread_id = 'other'")
        connection.commit()
    finished = command("import", str(database), "other", "--into", str(tmp_path / "runs.db"))
    assert finished.code == 1
    assert finished.out.count("it is left out") == 3
    assert command("import", str(database), "nobody").code == 3
    assert command("import", str(tmp_path / "missing.db")).code == 3
    assert command("import", str(tmp_path / "runs.db")).code == 2
