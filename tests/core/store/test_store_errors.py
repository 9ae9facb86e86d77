"""Whatever the disk or another process does: an error of ours, said once, and nothing half-written."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.store.recordings import begin, call, chat, new_store, step

import agent_tt
from agent_tt.errors import AgentTTError, Damaged, ReadOnlySource, StoreBusy, StoreUnreadable
from agent_tt.model import AgentCode, NewFork, NewRun, NewStep, StepEnd
from agent_tt.store import open_store
from agent_tt.store.file.connecting import waiting_at_most

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.store import SqliteStore

FULL_DISK = """
import json, resource, sys
import agent_tt
from agent_tt.errors import StoreUnreadable

@agent_tt.tool(effect="write")
def charge(n):
    charged.append(n)
    return {"n": n, "receipt": "r" * 3000 + str(n)}

charged, returned = [], []
state = {"log": []}
most = int(sys.argv[2])
try:
    with agent_tt.record("x", state=state, store=sys.argv[1], on_store_error="stop") as run:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        for n in range(10_000):
            with run.step("s"):
                returned.append(charge(n)["n"])
                state["log"].append("l" * 500 + str(n))
except StoreUnreadable as error:
    print(json.dumps([len(charged), len(returned), error.message, error.hint]))
"""


@pytest.mark.parametrize("most", [200_000, 237_000, 301_111])
def test_a_disk_that_is_full_stops_the_agent_with_one_error_and_keeps_what_was_recorded(tmp_path, most):
    path = tmp_path / "runs.db"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path), str(most)], capture_output=True, text=True, check=True
    )
    charged, returned, message, hint = json.loads(done.stdout)
    assert str(path) in message
    assert hint
    assert 0 <= charged - returned <= 1
    store = open_store(path)
    assert store.verify() == []
    (run,) = store.runs()
    calls = [made for number in range(1, run.steps + 1) for made in store.calls(run.id, number)]
    assert [made.args for made in calls] == [{"n": n} for n in range(len(calls))]
    answered = [made for made in calls if made.status == "ok"]
    assert len(answered) >= returned  # durable before seen
    assert len(calls) >= charged  # no tool ran without its intent
    chat(store, 2)
    store.close()


class Broken:
    """The real connection; statements that begin with a word fail as told."""

    def __init__(self, real: sqlite3.Connection, word: str, error: Exception) -> None:
        self._real, self._word, self._error = real, word, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def execute(self, sql: str, *parameters: Any) -> Any:
        if sql.startswith(self._word):
            raise self._error
        return self._real.execute(sql, *parameters)


def whole_before_and_after(store: SqliteStore) -> list[list[tuple[Any, ...]]]:
    tables = ("runs", "steps", "calls", "deliveries", "deltas", "notes", "tags", "tracks")
    return [store.database.query(f"SELECT * FROM {table}") for table in tables]


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (sqlite3.OperationalError("database or disk is full"), StoreUnreadable),
        (sqlite3.OperationalError("disk I/O error"), StoreUnreadable),
        (sqlite3.OperationalError("database is locked"), StoreBusy),
        (sqlite3.OperationalError("attempt to write a readonly database"), ReadOnlySource),
        (sqlite3.DatabaseError("database disk image is malformed"), Damaged),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), StoreUnreadable),
        (sqlite3.InterfaceError("bad parameter or other API misuse"), StoreUnreadable),
        (OverflowError("Python int too large to convert to SQLite INTEGER"), StoreUnreadable),
    ],
)
@pytest.mark.parametrize("word", ["BEGIN", "INSERT", "UPDATE", "COMMIT"])
def test_every_failure_of_a_statement_is_ours_and_leaves_all_as_it_was(tmp_path, monkeypatch, error, ours, word):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    step(writer, {"n": 1})
    number = writer.open_step(NewStep("open"))
    made = call(writer, number, {}, 1)
    before = whole_before_and_after(store)
    real = store.database._connection
    monkeypatch.setattr(store.database, "_connection", Broken(real, word, error))
    actions = [
        lambda: begin(store, {"n": 5}),
        lambda: store.begin_fork(NewFork(writer.run_id, 1, state={"n": 7}, new=NewRun(""))),
        lambda: call(writer, number, {}, 2),
        lambda: writer.deliver(number, made, "chunk", 1),
        lambda: writer.close_step(number, StepEnd("ok"), {"n": 2}),
        lambda: store.add_note(writer.run_id, 1, "note", "x"),
        lambda: store.set_tags(writer.run_id, ["x"]),
        lambda: store.set_metadata(writer.run_id, {"x": 1}),
        lambda: writer.finish("succeeded"),
    ]
    raised = []
    for action in actions:
        try:
            action()
        except AgentTTError as found:
            raised.append(found)
        if word in ("BEGIN", "COMMIT"):
            assert whole_before_and_after(store) == before
    assert len(raised) == len(actions) if word in ("BEGIN", "COMMIT") else len(raised) >= 3
    for found in raised:
        assert isinstance(found, ours) or "no free run id" in found.message
        assert str(store.path) in found.message
    monkeypatch.undo()
    assert store.verify() == []
    writer = begin(store, {"n": 0}, "goes on")
    step(writer, {"n": 1})
    writer.finish("succeeded")
    assert store.run("goes on").status == "succeeded"


def test_a_lock_that_another_process_holds_is_waited_for_and_then_named(tmp_path):
    with waiting_at_most(0.05):
        store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    number = writer.open_step(NewStep("s"))
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for write in (lambda: call(writer, number, {}, 1), lambda: writer.close_step(number, StepEnd("ok"), {"n": 1})):
        with pytest.raises(StoreBusy, match="locked"):
            write()
    other.execute("ROLLBACK")
    other.close()
    call(writer, number, {}, 1)
    writer.close_step(number, StepEnd("ok"), {"n": 1})
    (found,) = store.steps(writer.run_id)
    assert (found.status, found.calls, found.kind) == ("ok", 1, "read")
    assert store.state(writer.run_id, 1) == {"n": 1}
    assert store.verify() == []


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_that_was_removed_under_a_recording_is_noticed_at_the_next_write(tmp_path, replace):
    path = tmp_path / "runs.db"
    ran = []

    @agent_tt.tool
    def act(n):
        ran.append(n)

    def agent():
        with agent_tt.record("x", state={}, store=path, on_store_error="stop") as run:
            with run.step("s"):
                act(1)
            path.unlink()
            if replace:
                path.write_bytes(b"another file")
            with run.step("t"):
                act(2)

    with pytest.raises(StoreUnreadable, match="removed or replaced"):
        agent()
    assert ran == [1]


def test_a_file_that_may_not_be_written_says_so(tmp_path, monkeypatch):
    store = new_store(tmp_path)
    run_id = chat(store, 1)
    store.database._connection.execute("PRAGMA query_only = 1")
    for write in (lambda: store.add_note(run_id, 1, "note", "x"), lambda: begin(store, {})):
        with pytest.raises(ReadOnlySource, match="only be read"):
            write()
    assert store.notes(run_id) == []
    read_only = open_store(store.path, read_only=True)
    with pytest.raises(ReadOnlySource):
        read_only.set_tags(run_id, ["x"])
    monkeypatch.setattr(os, "mkdir", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(ReadOnlySource, match="no store can be made"):
        open_store(tmp_path / "locked" / "runs.db", create=True)


def test_what_no_column_can_hold_is_refused_before_anything_is_written(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    number = writer.open_step(NewStep("s"))
    for end in (StepEnd("ok", tokens_in=1 << 70), StepEnd("ok", cost_usd=object())):  # type: ignore[arg-type]
        with pytest.raises(StoreUnreadable, match="cannot hold"):
            writer.close_step(number, end, {"n": 1})
    writer.close_step(number, StepEnd("ok", tokens_in=1), {"n": 2})
    assert store.state(writer.run_id, 1) == {"n": 2}
    assert store.verify() == []


def test_names_that_are_not_utf_8_are_kept_readable(tmp_path):
    store = new_store(tmp_path)
    bad = "caf\udce9"
    code = AgentCode(entry=f"{bad}.py:main", version=bad, root=f"/{bad}", cwd=f"/{bad}")
    writer = store.begin_run(NewRun(bad, code=code, user_id=bad, tags=(bad,)), {})
    step(writer, {"n": 1}, bad, track=bad)
    fork_id = store.begin_fork(NewFork(writer.run_id, 1, state={}, new=NewRun(bad, code=code), policy={bad: "deny"}))
    store.adopt_run(fork_id, NewRun(bad, code=code, user_id=bad), {}).finish("succeeded")
    run = store.run(writer.run_id)
    assert (run.name, run.code.entry, run.code.root) == ("caf\\udce9", "caf\\udce9.py:main", "/caf\\udce9")
    assert store.run(fork_id).policy == {"caf\\udce9": "deny"}
    assert store.verify() == []


def test_a_store_that_was_closed_says_so(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {})
    store.close()
    store.close()
    for use in (store.runs, lambda: writer.open_step(NewStep("s"))):
        with pytest.raises(StoreUnreadable, match="was closed"):
            use()
