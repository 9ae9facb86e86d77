"""Names, pins, the archive and deleting: a store stays whole whatever is taken out of it, and whenever."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.keeping import FAMILY, check_keeping
from tests.core.store.recordings import AGENT, begin, call, chat, fork, new_store, step
from tests.core.store.rows import insert, update
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import IsRunning, ReadOnlySource, RunNotFound, StoreUnreadable
from agent_tt.model import CallEnd, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.store import SqliteStore, deleting, open_store
from agent_tt.store.liveness import now_us

if TYPE_CHECKING:
    from pathlib import Path

LARGE = "large " * 2000
"""A text that is kept as a blob."""


def family(store: SqliteStore) -> dict[str, str]:
    """The runs that the conformance suite wants; ids by name."""
    ids = {"root": chat(store, 4, "root")}
    for name, parent, at in (
        ("root/fork-1", "root", 2),
        ("root/fork-1/fork-1", "root/fork-1", 3),
        ("root/fork-2", "root", 4),
    ):
        ids[name], writer = fork(store, ids[parent], at, {**_mapping(store.state(ids[parent], at)), "edited": name})
        for n in range(2):
            step(writer, {"n": n, "of": name})
        writer.finish("succeeded")
    ids["other"] = chat(store, 3, "other")
    assert [store.run(name).id for name in FAMILY] == [ids[name] for name in FAMILY]
    return ids


def _mapping(state: Any) -> dict[str, Any]:
    assert isinstance(state, dict)
    return state


def count(store: SqliteStore, table: str) -> int:
    ((number,),) = store.database.query(f"SELECT count(*) FROM {table}")
    return int(number)


def with_blobs(store: SqliteStore, name: str, *texts: str) -> str:
    """A run with a large text in its state, in a call's arguments and in a piece of an answer."""
    writer = begin(store, {"text": ""}, name)
    for text in texts:
        number = writer.open_step(NewStep("read"))
        call(writer, number, {"text": text + "!"}, text + "?")
        writer.close_step(number, StepEnd("ok"), {"text": text})
    writer.finish("succeeded")
    return writer.run_id


def test_a_store_keeps_order(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    family(store)
    check_keeping(store)
    for table in ("runs", "tracks", "steps", "calls", "deltas", "keyframes", "changes", "tags", "notes", "blobs"):
        assert count(store, table) == 0, table
    assert count(store, "dicts") == count(store, "paths") == 0
    store.close()


def test_blobs_that_another_run_names_stay_and_the_others_go(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    shared, own = LARGE, LARGE[::-1]
    first = with_blobs(store, "first", shared, own)
    second = with_blobs(store, "second", shared)
    before = count(store, "blobs")
    deletion = store.delete_runs([first])
    assert deletion.freed_bytes >= 0
    assert count(store, "blobs") < before
    assert store.state(second, 1) == {"text": shared}
    assert store.calls(second, 1)[0].result == shared + "?"
    assert store.verify() == []
    store.delete_runs([second])
    assert count(store, "blobs") == 0
    store.close()


def test_pieces_of_streams_go_with_their_run(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    kept, gone = (begin(store, {}, name) for name in ("kept", "gone"))
    for writer in (kept, gone):
        number = writer.open_step(NewStep("stream"))
        made = writer.begin_call(number, NewCall("llm", "model", {}, "ab" * 16))
        writer.deliver(number, made, "chunk", LARGE)
        writer.deliver(number, made, "chunk", "small")
        writer.end_call(number, made, CallEnd("ok", "all", stream="end"))
        writer.finish("succeeded")
    store.delete_runs([gone.run_id])
    assert [piece.data for piece in store.deliveries(kept.run_id, 1, 1)] == [LARGE, "small", None]
    assert store.verify() == []
    store.delete_runs([kept.run_id])
    assert count(store, "deliveries") == count(store, "blobs") == 0
    store.close()


def test_the_file_becomes_smaller_where_most_of_it_is_free(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    small = chat(store, 2, "small")
    noise = random.Random(1).randbytes(400_000).hex()
    large = with_blobs(store, "large", noise)
    store.database.checkpoint("TRUNCATE")
    before = store.path.stat().st_size
    deletion = store.delete_runs([large])
    assert deletion.freed_bytes > 300_000
    assert store.path.stat().st_size < before - 300_000
    assert store.state(small, 2)
    assert store.verify() == []
    store.close()


def test_a_running_run_is_not_deleted_and_goes_on(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    parent = chat(store, 2)
    fork_id, writer = fork(store, parent, 1, {"n": 0})
    for ids, options in (([fork_id], {}), ([parent], {"with_forks": True})):
        with pytest.raises(IsRunning) as caught:
            store.delete_runs(ids, **options)
        assert caught.value.runs == ("chat/fork-1",)
    step(writer, {"n": 1})
    writer.finish("succeeded")
    assert store.verify() == []
    store.delete_runs([parent], with_forks=True)
    assert store.runs(archived=True) == []
    store.close()


def test_a_run_whose_process_is_gone_can_be_deleted(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {})
    with store.database.transaction() as tx:
        update(tx, "runs", owner=None, beat_us=0)
    assert store.run(writer.run_id).status == "crashed"
    store.delete_runs([writer.run_id])
    assert store.runs() == []
    store.close()


def test_whoever_forks_a_run_that_was_deleted_meanwhile_is_told_so(tmp_path: Path) -> None:
    store, other = new_store(tmp_path), open_store(tmp_path / "runs.db")
    run_id = chat(other, 2)
    assert store.step_count(run_id) == 2
    other.delete_runs([run_id])
    with pytest.raises(RunNotFound):
        store.begin_fork(NewFork(run_id, 1, state={}, new=NewRun("", code=AGENT)))
    for late in (
        lambda: store.state(run_id, 1),
        lambda: store.adopt_run(run_id, NewRun("", code=AGENT), {}),
        lambda: store.reopen_run(run_id),
    ):
        with pytest.raises(RunNotFound):
            late()
    assert store.verify() == []
    store.close()
    other.close()


def test_a_run_that_is_recorded_meanwhile_keeps_all_it_names(tmp_path: Path) -> None:
    store, recorder = new_store(tmp_path), new_store(tmp_path)
    old = [with_blobs(store, f"old {n}", LARGE + str(n % 3)) for n in range(12)]
    done = threading.Event()
    recorded: list[str] = []

    def record() -> None:
        n = 0
        while not done.is_set() or n < 12:
            recorded.append(with_blobs(recorder, f"new {n}", LARGE + str(n % 3)))
            n += 1

    thread = threading.Thread(target=record)
    thread.start()
    for run_id in old:
        store.delete_runs([run_id])
    done.set()
    thread.join()
    assert {run.id for run in store.runs()} == set(recorded)
    assert store.verify() == []
    for store_ in (store, recorder):
        store_.close()


def test_a_store_that_is_only_read_refuses_every_mark(tmp_path: Path) -> None:
    run_id = chat(new_store(tmp_path), 2)
    store = open_store(tmp_path / "runs.db", read_only=True)
    for write in (
        lambda: store.rename_run(run_id, "other"),
        lambda: store.name_checkpoint(run_id, 1, "here"),
        lambda: store.set_metadata(run_id, {"a": 1}),
        lambda: store.set_pinned([run_id], pinned=True),
        lambda: store.set_archived([run_id], archived=True),
        lambda: store.delete_runs([run_id]),
    ):
        with pytest.raises(ReadOnlySource):
            write()
    store.close()


def test_marks_that_a_hostile_file_holds_are_only_read(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 2)
    with store.database.transaction() as tx:
        insert(tx, "notes", run=1, step=1, kind="label", body=b"\xff", created_us=0)
        insert(tx, "notes", run=1, step=2, kind="label", body='{"name": [1]}', created_us=0)
        update(tx, "runs", "id = ?", (run_id,), hidden="yes", meta='"former_names" {')
    assert [label.name for label in store.labels(run_id).values()] == [None, None]
    with pytest.raises(RunNotFound):
        store.run("no such run")
    with store.database.transaction() as tx:
        update(tx, "runs", "id = ?", (run_id,), meta='{"former_names": {"a": 1}, "pinned": "yes"}')
    assert (store.run(run_id).former_names, store.run(run_id).pinned) == ((), False)
    store.close()


def test_what_forks_share_is_counted_for_each_of_them(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    ids = family(store)  # each step of `root` takes 2 tokens and half a dollar, those of forks nothing
    for listed in (store.runs(), [store.run(name) for name in FAMILY], store.forks(ids["root"], deep=True)):
        used = {run.name: (run.tokens_in, run.cost_usd) for run in listed}
        expected = {
            "root": (8, 2.0),
            "root/fork-1": (4, 1.0),
            "root/fork-1/fork-1": (4, 1.0),
            "root/fork-2": (8, 2.0),
            "other": (6, 1.5),
        }
        assert used == {name: expected[name] for name in used}
    store.close()


def test_a_list_that_was_read_before_shows_what_changed_since(tmp_path: Path) -> None:
    store, other = new_store(tmp_path), open_store(tmp_path / "runs.db")
    ids = family(other)
    assert [run.name for run in store.runs()] == [run.name for run in other.runs()]
    other.set_tags(ids["other"], ["later"])
    other.set_pinned([ids["other"]], pinned=True)
    other.rename_run(ids["root"], "renamed")
    assert {run.id: run for run in store.runs()} == {run.id: run for run in other.runs()}
    assert store.run("other").tags == ("later",)
    assert store.run("other").pinned
    other.delete_runs([ids["root/fork-2"]])
    assert ids["root/fork-2"] not in {run.id for run in store.runs()}
    store.close()
    other.close()


def test_verify_names_rows_that_belong_to_no_run(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    chat(store, 2)
    with store.database.transaction() as tx:
        insert(tx, "tags", run=99, tag="lost")
        tx.execute("DELETE FROM tracks")
    assert {"1 row of tags belongs to no run", "3 rows of deltas belong to no run"} <= {
        problem.what for problem in store.verify()
    }
    store.close()


DELETES = """
import os, random, signal, sys, threading
from pathlib import Path
from agent_tt.store import open_store

choose = random.Random(7)
for path in map(Path, sys.argv[1:]):
    delay = choose.uniform(0, 0.04)
    child = os.fork()
    if child == 0:
        store = open_store(path)
        trees = [run.id for run in store.runs() if run.parent is None and run.name != "kept"]
        threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        for run_id in trees:
            store.delete_runs([run_id], with_forks=True)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_a_kill_in_the_middle_of_deleting_leaves_a_whole_store(tmp_path: Path) -> None:
    template = new_store(tmp_path, "template.db")
    for n in range(6):
        root = with_blobs(template, f"run {n}", LARGE + str(n), LARGE)
        for at in (1, 2):
            _, writer = fork(template, root, at, {"text": LARGE * 2})
            step(writer, {"text": LARGE + "fork"})
            writer.finish("succeeded")
    kept = with_blobs(template, "kept", LARGE, LARGE + "0")
    template.database.checkpoint("TRUNCATE")
    template.close()
    paths = [tmp_path / f"{n}.db" for n in range(16)]
    for path in paths:
        path.write_bytes((tmp_path / "template.db").read_bytes())
    subprocess.run([sys.executable, "-c", DELETES, *paths], check=True, timeout=PATIENCE_SECONDS)
    partly = 0
    for path in paths:
        store = open_store(path)
        names = {run.name for run in store.runs()}
        for root_name in {name.partition("/")[0] for name in names} - {"kept"}:
            assert {root_name, f"{root_name}/fork-1", f"{root_name}/fork-2"} <= names, "a tree goes as one"
        partly += 1 < len(names) < 19
        assert store.verify() == []
        assert store.state(kept, 2) == {"text": LARGE + "0"}
        store.delete_runs([run.id for run in store.runs() if run.parent is None], with_forks=True)
        assert count(store, "blobs") == 0, "what a kill left behind goes the next time"
        store.close()
    assert partly, "some were killed in between"


def test_a_page_of_ten_thousand_runs_takes_as_many_queries_as_one_of_ten(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    _many(store, 10_000)
    asked: list[str] = []
    store.database._connection.set_trace_callback(asked.append)
    counts = []
    for limit in (10, 1000, None):
        asked.clear()
        found = store.runs(limit=limit)
        counts.append(len(asked))
        assert len(found) == (limit or 10_000)
    assert len(set(counts)) == 1
    asked.clear()
    assert len(store.forks(store.run("run 0").id, deep=True)) == 199
    assert len(asked) <= 2 * counts[0] + 4
    store.close()


def _many(store: SqliteStore, runs: int) -> None:
    """Trees of 200 runs, in chains of 100."""
    now = now_us()
    with store.database.transaction() as tx:
        for n in range(runs):
            insert(
                tx,
                "runs",
                run=n + 1,
                id=f"r{n:011}",
                name=f"run {n}",
                status="succeeded",
                parent=None if n % 200 == 0 else n + 1 - (n % 200 if n % 100 == 0 else 1),
                fork_step=None if n % 200 == 0 else n % 100,
                started_us=now + n,
                ended_us=now + n + 1,
                hidden=0,
                meta="{}",
            )
            insert(tx, "steps", run=n + 1, step=n % 100 + 1, name="step", lane="main", status="ok", tokens_in=1)


def test_a_database_error_while_deleting_leaves_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 3)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(deleting, "keys_of", full)  # asked for once most of the rows are gone
    with pytest.raises(StoreUnreadable):
        store.delete_runs([run_id])
    monkeypatch.undo()
    assert store.state(run_id, 3)
    assert store.verify() == []
    store.close()
