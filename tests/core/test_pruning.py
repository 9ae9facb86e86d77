"""Pruning a store: which runs go, that what goes is what was said, and that a kill leaves a sound store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import MemoryStore
from tests.core.store.recordings import begin, fork, new_store, step
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import UsageError
from agent_tt.model.quantities import moment, period, size
from agent_tt.model.retention import DEFAULT_AGES, Retention, retention_of
from agent_tt.pruning import plan_pruning, prune
from agent_tt.store import deleting, open_store
from agent_tt.store.tables.definitions import RUNS

if TYPE_CHECKING:
    from agent_tt.protocols import Store
    from agent_tt.store import SqliteStore

DAY = period("1d")
NOW = 1_000 * DAY

runs = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["succeeded", "failed", "crashed", "interrupted"]),
        "age": st.integers(0, 120),
        "tags": st.sets(st.sampled_from(["test", "flagged", "golden", "other"]), max_size=2),
        "says": st.sampled_from([None, None, None, "never", "3d", "flagged", "no age"]),
        "pinned": st.sampled_from([False, False, False, True]),
        "parent": st.none() | st.integers(0, 6),
        "large": st.booleans(),
    }
)


def make(store: SqliteStore, plan: list[dict[str, Any]]) -> list[str]:
    """Runs that ended so many days before `NOW`; gives their ids."""
    shared = "shared " * 2_000
    ids: list[str] = []
    for number, run in enumerate(plan):
        if run["parent"] is not None and run["parent"] < number:
            run_id, writer = fork(store, ids[run["parent"]], 1, {"n": number, "doc": shared})
        else:
            writer = begin(store, {"n": 0, "doc": shared}, f"run {number}")
            run_id = writer.run_id
        own = os.urandom(40_000).hex() if run["large"] else ""
        step(writer, {"n": number, "doc": shared, "own": own})
        writer.finish("failed" if run["status"] == "crashed" else run["status"])
        store.set_run_status(run_id, run["status"])
        store.set_tags(run_id, sorted(run["tags"]))
        if run["says"] is not None:
            store.set_metadata(run_id, {"retention": run["says"]})
        store.set_pinned([run_id], pinned=run["pinned"])
        with store.database.transaction() as tx:
            ended = NOW - run["age"] * DAY
            RUNS.change(tx, "id = ?", (run_id,), {"started_us": ended - 5, "ended_us": ended})
        ids.append(run_id)
    return ids


def should_go(plan: list[dict[str, Any]], keep_last: int | None) -> set[int]:
    """The rules once more, as a person would say them."""
    days = {"test": 1, "success": 7, "failed": 30, "flagged": 90}
    newest = sorted(range(len(plan)), key=lambda at: plan[at]["age"])
    going = set()
    for at, run in enumerate(plan):
        if run["pinned"] or "golden" in run["tags"] or run["says"] in ("never", "no age"):
            continue
        group = "success" if run["status"] == "succeeded" else "failed"
        group = "test" if "test" in run["tags"] else group
        group = "flagged" if "flagged" in run["tags"] or run["says"] == "flagged" else group
        limit = 3 if run["says"] == "3d" else days[group]
        if run["age"] >= limit or (keep_last is not None and newest.index(at) >= keep_last):
            going.add(at)
    for _ in plan:  # as often as a fork may be deep
        for at, run in enumerate(plan):
            if at not in going and run["parent"] is not None and run["parent"] < at:
                going.discard(run["parent"])
    return going


@settings(max_examples=30, deadline=None)
@given(st.lists(runs, max_size=7, unique_by=lambda run: run["age"]), st.sampled_from([None, 1, 3]))
def test_what_goes_is_what_the_rules_say_and_what_was_said_before_and_what_stays_opens(
    plan: list[dict[str, Any]], keep_last: int | None
):
    with TemporaryDirectory() as folder, closing(new_store(Path(folder))) as store:
        ids = make(store, plan)
        retention = Retention(DEFAULT_AGES, keep_last)
        said = plan_pruning(store, retention, NOW)
        assert {each.run.id for each in said.going} == {ids[at] for at in should_go(plan, keep_last)}
        assert len(said.going) + sum(said.stay.values()) + said.untouched == len(plan)
        before = {run.id: store.state(run.id, run.steps) for run in store.runs()}
        again = plan_pruning(store, retention, NOW)
        assert again == said, "nothing was changed"
        done = prune(store, again)
        assert (set(done.runs), done.stayed) == ({each.run.id for each in said.going}, 0)
        left = {run.id: run for run in store.runs()}
        assert left.keys() == set(ids) - set(done.runs)
        assert all(store.state(run.id, run.steps) == before[run.id] for run in left.values())
        assert store.verify() == []
        assert plan_pruning(store, retention, NOW).going == []


def a_run(**facts: Any) -> dict[str, Any]:
    plain = {
        "status": "succeeded",
        "age": 0,
        "tags": set(),
        "says": None,
        "pinned": False,
        "parent": None,
        "large": True,
    }
    return {**plain, **facts}


def test_the_oldest_go_until_the_file_is_as_small_as_asked_and_it_shrinks(tmp_path: Path):
    store = new_store(tmp_path)
    ids = make(store, [a_run(age=age, pinned=age == 9) for age in range(10)])
    whole = plan_pruning(store, Retention(None), NOW)
    assert (whole.going, whole.untouched) == ([], 10)
    wanted = whole.file_bytes // 2
    plan = plan_pruning(store, Retention(None, max_bytes=wanted), NOW)
    gone = [each.run.id for each in plan.going]
    assert gone == [ids[age] for age in range(8, 8 - len(gone), -1)], "the oldest first, and not the pinned one"
    assert {each.why for each in plan.going} == {"size"}
    before = store.path.stat().st_size
    done = prune(store, plan)
    assert store.path.stat().st_size == done.file_bytes < before
    assert done.file_bytes <= wanted * 1.1
    assert store.verify() == []


def test_ages_are_not_looked_at_where_only_a_number_is_asked_for(tmp_path: Path):
    store = new_store(tmp_path)
    make(store, [a_run(age=50), a_run(age=60, says="3d"), a_run(age=70)])
    assert plan_pruning(store, Retention(None, keep_last=3), NOW).going == []
    assert [each.why for each in plan_pruning(store, Retention(None, keep_last=2), NOW).going] == ["count"]


def test_a_run_stays_as_long_as_a_fork_of_it_and_goes_with_the_last(tmp_path: Path):
    store = new_store(tmp_path)
    root, young, old = make(store, [a_run(age=40), a_run(age=2, parent=0), a_run(age=30, parent=0)])
    plan = plan_pruning(store, Retention(), NOW)
    assert [each.run.id for each in plan.going] == [old]
    assert plan.stay == {"needed by forks that stay": 1}
    prune(store, plan)
    assert store.state(young, 2)["n"] == 1  # type: ignore[index,call-overload]
    later = plan_pruning(store, Retention(), NOW + 5 * DAY)
    assert [each.run.id for each in later.going] == [young, root], "forks first"
    prune(store, later)
    assert store.runs(archived=True) == []
    assert store.verify() == []


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_what_became_something_to_keep_after_it_was_said_stays(tmp_path: Path, kind: str):
    store: Store = new_store(tmp_path) if kind == "file" else MemoryStore(tmp_path / "runs.db")
    (tmp_path / "runs.db").touch()
    ids = []
    for _ in range(4):
        writer = begin(store, {"n": 0})  # type: ignore[arg-type]
        step(writer, {"n": 1})
        writer.finish("succeeded")
        ids.append(writer.run_id)
    pinned, forked, gone, plain = ids
    store.set_pinned([pinned], pinned=True)
    fork(store, forked, 1, {"n": 2})[1].finish("failed")  # type: ignore[arg-type]
    store.delete_runs([gone])
    told: list[tuple[int, int]] = []
    assert store.prune_runs(ids, lambda done, all_: told.append((done, all_))) == [plain]
    assert told[-1] == (4, 4)
    assert {run.id for run in store.runs()} > {pinned, forked}
    assert store.verify() == []


def test_a_run_that_is_being_recorded_stays_however_old(tmp_path: Path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    plan = plan_pruning(store, Retention(), NOW * 100)
    assert (plan.going, plan.stay) == ([], {"running": 1})
    writer.finish("succeeded")
    plan = plan_pruning(store, Retention(), NOW * 100)
    assert ([each.run.id for each in plan.going], plan.stay) == ([writer.run_id], {})


CHILD = """
import sys
from agent_tt.model.retention import Retention
from agent_tt.pruning import plan_pruning, prune
from agent_tt.store import deleting, open_store

deleting._AT_ONCE = 1
store = open_store(sys.argv[1])
plan = plan_pruning(store, Retention(None, keep_last=2), 0)
print("going", flush=True)
prune(store, plan, lambda done, of: print(done, flush=True))
print("done", flush=True)
"""


@pytest.mark.parametrize("after", [0, 1, 5, 11])
def test_a_kill_at_any_moment_leaves_a_sound_store_and_the_next_prune_goes_on(tmp_path: Path, after: int):
    with closing(new_store(tmp_path)) as store:
        make(store, [a_run(age=age, parent=0 if age % 3 == 1 else None) for age in range(14)])
        path = store.path
    with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _ in range(after + 1):
            assert child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait(PATIENCE_SECONDS)
    with closing(open_store(path)) as store:
        assert store.verify() == []
        left = store.runs()
        assert 2 <= len(left) <= 14 - after
        assert all(store.state(run.id, run.steps) for run in left)
        prune(store, plan_pruning(store, Retention(None, keep_last=2), 0))
        assert store.verify() == []
        assert {run.name for run in store.runs()} == {"run 0", "run 0/fork-1"}


def test_a_transaction_that_is_broken_off_anywhere_deletes_nothing_of_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every statement in turn is the last one, as for a process that is killed there."""
    store = new_store(tmp_path)
    ids = make(store, [a_run(age=age) for age in range(3)])
    plan = plan_pruning(store, Retention(None, keep_last=1), NOW)
    for table in ("deltas", "calls", "notes", "runs"):
        with monkeypatch.context() as patch:
            patch.setattr(deleting, "delete_rows", broken_off(deleting.delete_rows, table))
            with pytest.raises(KeyboardInterrupt):
                prune(store, plan)
        assert {run.id for run in store.runs()} == set(ids)
        assert store.verify() == []
    with monkeypatch.context() as patch:
        patch.setattr(deleting, "sweep_rows", stop)
        with pytest.raises(KeyboardInterrupt):
            prune(store, plan)
    assert [run.id for run in store.runs()] == [ids[0]]
    assert store.verify() == []
    blobs = "SELECT count(*) FROM blobs"
    ((unused,),) = store.database.query(blobs)
    deleting.sweep(store.database)
    assert store.database.query(blobs)[0][0] < unused, "what was left of them goes the next time"


def broken_off(delete_rows: Any, table: str) -> Any:
    class Broken:
        def __init__(self, tx: Any) -> None:
            self.tx = tx

        def __getattr__(self, name: str) -> Any:
            return getattr(self.tx, name)

        def execute(self, sql: str, *rest: Any) -> Any:
            found = self.tx.execute(sql, *rest)
            if sql.startswith(f"DELETE FROM {table}"):
                stop()
            return found

    return lambda tx, runs: delete_rows(Broken(tx), runs)


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_settings_say_ages_by_class_a_number_and_a_size():
    found = retention_of({"success": "2w", "test": "never", "keep_last": 9, "max_size": "1.5 GB"})
    assert found.ages == {**DEFAULT_AGES, "success": 14 * DAY, "test": None}
    assert (found.keep_last, found.max_bytes) == (9, 3 << 29)
    assert retention_of({}) == Retention()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"succes": "1d"}, "there is no 'succes'"),
        ({"success": "soon"}, "'soon' is not a length of time"),
        ({"success": 7}, "success must be a string"),
        ({"keep_last": "9"}, "keep_last must be a number"),
        ({"keep_last": 0}, "keep_last must be a number"),
        ({"keep_last": True}, "keep_last must be a number"),
        ({"max_size": "2 gibibytes"}, "is not a size"),
    ],
)
def test_settings_that_cannot_be_read_are_refused(words: dict[str, object], said: str):
    with pytest.raises(UsageError, match=said):
        retention_of(words)


def test_moments_and_sizes_are_read_as_people_write_them():
    assert moment("2d", NOW) == NOW - 2 * DAY
    assert moment("1970-01-02", NOW) == moment("1970-01-02T01:00+01:00", NOW) == DAY
    assert (size("12B"), size("3kb"), size("2 MB")) == (12, 3 << 10, 2 << 20)
    for words in ("-1d", "1y", "d", "١d", "1e3d"):
        with pytest.raises(UsageError):
            period(words)
