"""`agent-tt du` and `agent-tt prune`."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.core.interop import graphs
from tests.core.interop.support import digest_of_folder
from tests.core.store.recordings import fork

from agent_tt import samples
from agent_tt.model import NewRun, NewStep, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
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


def test_prune_of_a_database_is_for_threads_that_are_there_and_for_no_size(
    command: Command, database: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.db").write_text("hello")
    refused = command("--store", str(tmp_path / "notes.db"), "prune")
    assert refused.code == 2
    assert "is not a LangGraph database" in refused.err
    assert command("--store", str(database), "prune", "nobody").code == 3
    assert command("--store", str(tmp_path / "missing.db"), "prune").code == 3
    assert command("--store", str(database), "prune", "--max-size", "1GB").code == 2


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with ten runs that ended just now; the first is pinned, of the second there is a fork."""
    path = tmp_path / "runs.db"
    with closing(open_store(path, create=True)) as made:
        ids = []
        for number in range(10):
            writer = made.begin_run(NewRun(f"run {number}"), {"n": number})
            step = writer.open_step(NewStep("think"))
            writer.close_step(step, StepEnd("ok"), {"n": number, "text": random.Random(number).randbytes(50_000).hex()})
            writer.finish("succeeded")
            ids.append(writer.run_id)
        made.set_pinned(ids[:1], pinned=True)
        fork(made, ids[1], 1, {"n": 1})[1].finish("failed")
    return path


def names(path: Path) -> set[str]:
    with closing(open_store(path, read_only=True)) as store:
        assert store.verify() == []
        return {run.name for run in store.runs(archived=True)}


def test_prune_of_a_store_says_first_what_would_go_and_then_lets_exactly_that_go(command: Command, store: Path) -> None:
    before = names(store)
    asked = ("--store", str(store), "prune", "--keep-last", "4", "--json")
    planned = command(*asked).json
    assert (planned["done"], planned["untouched"], planned["stay"]) == (
        *(False, 4, {"pinned": 1, "needed by forks that stay": 1}),
    )
    assert {run["name"] for run in planned["runs"]} == {f"run {number}" for number in range(2, 7)}
    assert {(run["class"], run["why"]) for run in planned["runs"]} == {("success", "count")}
    assert names(store) == before
    told = command("--store", str(store), "prune", "--keep-last", "4").out
    assert "5 runs would go, about" in told
    assert "1 run stays: pinned" in told
    size = store.stat().st_size
    done = command(*asked, "--yes").json
    assert {run["id"] for run in done["runs"]} == {run["id"] for run in planned["runs"]}
    assert (done["done"], done["stayed"], done["file_bytes_after"]) == (True, 0, store.stat().st_size)
    assert store.stat().st_size < size
    assert names(store) == before - {run["name"] for run in planned["runs"]}
    assert "0 runs would go" in command("--store", str(store), "prune", "--keep-last", "6").out


def test_prune_of_a_store_goes_by_the_settings_where_nothing_is_asked(command: Command, store: Path) -> None:
    prune = ("--store", str(store), "prune", "--json")
    assert command(*prune).json["runs"] == []
    (Path.cwd() / "pyproject.toml").write_text('[tool.agent-tt.retention]\nsuccess = "0s"\nmax_size = "1 GB"\n')
    assert len(command(*prune).json["runs"]) == 8
    command("--store", str(store), "meta", "run 5", "retention=3d")
    command("--store", str(store), "tag", "run 6", "golden")
    told = command(*prune).json
    assert (len(told["runs"]), told["stay"]["golden"]) == (6, 1)
    (Path.cwd() / "pyproject.toml").write_text('[tool.agent-tt.retention]\nsuccess = "soon"\n')
    refused = command(*prune)
    assert refused.code == 2
    assert "retention: 'soon' is not a length of time" in refused.error["message"]


def test_prune_of_a_store_has_to_be_meant_and_is_of_all_of_it(command: Command, store: Path) -> None:
    prune = ("--store", str(store), "prune", "--keep-last", "1")
    before = names(store)
    assert command(*prune, "--in-place").code == 2, "nobody can be asked"
    assert command(*prune, "--out", "smaller.db").code == 2
    assert command(*prune, "run 3").code == 2
    assert command("--store", str(store), "prune", "--max-size", "small").code == 2
    assert names(store) == before


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
