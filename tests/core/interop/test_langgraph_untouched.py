"""Reading leaves the file, its write-ahead log and its folder as they were, whatever lies there."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from tests.core.interop import graphs
from tests.core.interop.support import database_of, digest_of_folder, outline
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import StoreNotFound, StoreUnreadable
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.sources import open_source

KILLED = """
import os, pathlib, sys
from tests.core.interop import graphs

path = pathlib.Path(sys.argv[1])
with graphs.saver(path) as checkpointer:
    graphs.react(checkpointer)
    os._exit(9)
"""


def read_everything(path: Path) -> None:
    source = open_source(path)
    for run in source.runs():
        for step in source.steps(run.id):
            source.state(run.id, step.number)
            source.calls(run.id, step.number)
    source.verify()
    source.close()


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A database whose writer was killed: all of it is in the log."""
    path = tmp_path / "killed" / "checkpoints.db"
    path.parent.mkdir()
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "core")])}
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], env=environment, timeout=PATIENCE_SECONDS, check=False
    )
    assert ended.returncode == 9
    assert path.with_name("checkpoints.db-wal").stat().st_size > path.stat().st_size
    return path


def test_a_finished_database_is_unchanged(tmp_path: Path) -> None:
    path = database_of("forks", tmp_path)
    before = digest_of_folder(tmp_path)
    read_everything(path)
    assert digest_of_folder(tmp_path) == before
    assert list(before) == ["forks.db"]


@pytest.mark.parametrize("lost", [(), ("-shm",)])
def test_a_database_that_lies_in_its_log_opens_and_is_unchanged(killed: Path, lost: tuple[str, ...]) -> None:
    for suffix in lost:
        killed.with_name(killed.name + suffix).unlink()
    before = digest_of_folder(killed.parent)
    read_everything(killed)
    source = open_source(killed)
    assert source.run("t").steps == 5
    source.close()
    assert digest_of_folder(killed.parent) == before


def test_a_large_database_with_a_log_is_read_in_place(killed: Path) -> None:
    before = digest_of_folder(killed.parent)
    file = DatabaseFile(killed, largest_copy=1)
    assert file.read(lambda connection: connection.execute("SELECT count(*) FROM checkpoints").fetchone()) == (5,)
    assert not file._view.is_copy
    file.close()
    assert digest_of_folder(killed.parent) == before


def test_a_folder_that_cannot_be_written_is_no_obstacle(killed: Path) -> None:
    killed.parent.chmod(0o555)
    try:
        read_everything(killed)
    finally:
        killed.parent.chmod(0o755)


def test_private_copies_are_removed(killed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    source = LangGraphSource(killed)
    assert len(list(private.iterdir())) == 1
    source.close()
    assert list(private.iterdir()) == []
    with pytest.raises(StoreUnreadable):
        source.runs()


def test_a_run_is_followed_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.chain("one", "two").compile(checkpointer=checkpointer, interrupt_before=["two"])
        graph.invoke({"log": ["in"]}, graphs.thread())
        source = LangGraphSource(path)
        version = source.version()
        assert outline(source, "t") == ["input", "__start__", "one"]
        assert source.version() == version
        graph.invoke(None, graphs.thread())
        assert source.version() != version
        assert outline(source, "t") == ["input", "__start__", "one", "two"]
        graph.invoke({"log": ["more"]}, graphs.thread("other"))
        assert {run.id for run in source.runs()} == {"t", "other"}
    # Its owner closes it: the log moves into the file and is gone.
    assert outline(source, "other") == ["input", "__start__", "one"]
    source.close()


def test_threads_read_while_a_busy_writer_writes(tmp_path: Path) -> None:
    path = tmp_path / "busy.db"
    failures: list[Exception] = []
    done = threading.Event()

    def read(source: LangGraphSource) -> None:
        try:
            while not done.is_set():
                run = source.run("t")
                steps = source.steps(run.id)
                assert [step.number for step in steps] == list(range(1, len(steps) + 1))
                assert source.state(run.id, 1) == {}
        except Exception as error:
            failures.append(error)

    with graphs.saver(path) as checkpointer:
        graph = graphs.chain("one", "two").compile(checkpointer=checkpointer)
        graph.invoke({"log": ["in"]}, graphs.thread())
        source = LangGraphSource(path)
        readers = [threading.Thread(target=read, args=(source,)) for _ in range(2)]
        for reader in readers:
            reader.start()
        for turn in range(25):
            graph.invoke({"log": [str(turn)]}, graphs.thread())
        done.set()
        for reader in readers:
            reader.join(30)
        assert failures == []
        assert source.step_count("t") == 26 * 4
        source.close()


def test_a_file_that_another_takes_the_place_of_is_read_anew(tmp_path: Path) -> None:
    path = database_of("react", tmp_path)
    source = LangGraphSource(path)
    assert source.run("latest").steps == 5
    other = tmp_path / "other"
    other.mkdir()
    database_of("map_reduce", other).replace(path)
    assert source.run("latest").steps == 7
    path.unlink()
    assert isinstance(source.version(), int)
    with pytest.raises(StoreNotFound):
        source.runs()
    source.close()


def test_a_link_leads_to_the_log_beside_the_file_itself(killed: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(killed)
    before = digest_of_folder(killed.parent)
    source = open_source(link)
    assert (source.path, source.run("t").steps) == (link, 5)
    source.close()
    assert digest_of_folder(killed.parent) == before


def test_odd_file_names_are_file_names(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c%20 d'é.db"
    shutil.move(database_of("react", tmp_path), path)
    read_everything(path)


def test_another_databases_rollback_journal_is_rolled_back_in_the_copy_only(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    shutil.copyfile(database_of("react", tmp_path), path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM writes")
    connection.execute("UPDATE checkpoints SET metadata = zeroblob(20000)")
    folder = tmp_path / "crashed"
    folder.mkdir()
    for part in ("live.db", "live.db-journal"):
        shutil.copyfile(tmp_path / part, folder / part)
    connection.rollback()
    connection.close()
    before = digest_of_folder(folder)
    source = LangGraphSource(folder / "live.db")
    assert outline(source, "t") == ["input", "__start__", "agent", "tools", "agent"]
    source.close()
    assert digest_of_folder(folder) == before
