"""SQLite's write-ahead log is moved into the file in time, by those who may, and nobody waits for it."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.core.store.recordings import begin, call, chat, new_store, step

from agent_tt.model import NewStep
from agent_tt.store import open_store
from agent_tt.store.file import connection
from agent_tt.store.file.connecting import waiting_at_most

if TYPE_CHECKING:
    from pathlib import Path

LEAVES_A_LOG = """
import os, signal, sys
from agent_tt.model import NewRun, NewStep
from agent_tt.store import open_store
store = open_store(sys.argv[1], create=True)
writer = store.begin_run(NewRun("killed"), {"n": 0})
for n in range(50):
    writer.open_step(NewStep("step"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def log_size(path: Path) -> int:
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


def test_the_log_is_moved_into_the_file_every_512_commits_and_emptied_at_the_end(tmp_path, monkeypatch):
    store = new_store(tmp_path)
    modes: list[str] = []
    original = connection.Database.checkpoint
    monkeypatch.setattr(
        connection.Database, "checkpoint", lambda self, mode: (modes.append(mode), original(self, mode))[1]
    )
    writer = begin(store, {})
    number = writer.open_step(NewStep("s"))
    for turn in range(255):
        call(writer, number, turn, turn)
    assert modes == ["FULL"]
    largest = log_size(store.path)
    for turn in range(256):
        call(writer, number, turn, turn)
    assert modes == ["FULL", "FULL"]
    assert log_size(store.path) <= largest * 1.5  # it was begun anew, not continued
    writer.finish("succeeded")
    assert modes == ["FULL", "FULL", "TRUNCATE"]
    assert log_size(store.path) == 0
    assert store.database.query("PRAGMA wal_autocheckpoint") == [(0,)]
    store.close()


def test_the_log_that_a_killed_process_left_is_emptied_by_the_next_that_records(tmp_path):
    path = tmp_path / "runs.db"
    killed = subprocess.run([sys.executable, "-c", LEAVES_A_LOG, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert log_size(path) > 0
    reader = open_store(path, read_only=True)
    (run,) = reader.runs()
    assert (run.status, run.steps) == ("crashed", 50)
    store = open_store(path)
    chat(store, 2)
    assert log_size(path) == 0
    store.close()
    reader.close()
    assert [found.status for found in open_store(path, read_only=True).runs()] == ["succeeded", "crashed"]


def test_a_reader_that_never_lets_go_delays_nobody(tmp_path, monkeypatch):
    with waiting_at_most(3600.0):  # whoever waited would never come back
        store = new_store(tmp_path)
    chat(store, 1)
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM runs").fetchall()
    monkeypatch.setattr(connection, "_COMMITS_PER_CHECKPOINT", 2)
    run_id = chat(store, 20)
    assert log_size(store.path) > 0
    reader.close()
    assert store.step_count(run_id) == 20
    chat(store, 1)
    assert log_size(store.path) == 0


def test_a_checkpoint_that_fails_is_logged_and_what_was_committed_stays(tmp_path, monkeypatch, caplog):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    monkeypatch.setattr(connection, "_COMMITS_PER_CHECKPOINT", 1)

    class NoRoom:
        """The real connection, on a disk that has no room for a checkpoint."""

        def __init__(self, real):
            self._real = real

        def __getattr__(self, name):
            return getattr(self._real, name)

        def execute(self, sql, *parameters):
            if "wal_checkpoint" in sql:
                raise sqlite3.OperationalError("database or disk is full")
            return self._real.execute(sql, *parameters)

    monkeypatch.setattr(store.database, "_connection", NoRoom(store.database._connection))
    step(writer, {"n": 1})
    writer.finish("succeeded")
    assert "could not be moved" in caplog.text
    assert store.state(writer.run_id, 1) == {"n": 1}
    assert store.run(writer.run_id).status == "succeeded"
