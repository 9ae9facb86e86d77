"""Listing steps: any page of a long run, each step whole and not to be changed."""

from __future__ import annotations

import dataclasses
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.store.recordings import begin, chat, fork, new_store, step

from agent_tt.codec.tlv import tlv
from agent_tt.history.changes.ops import apply
from agent_tt.model import ErrorInfo, NewStep, Step, StepEnd
from agent_tt.store import open_store
from agent_tt.store.rows import run_rows


def test_a_listed_step_is_whole_and_frozen(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 3)
    for found in store.steps(run_id):
        assert type(found) is Step
        assert dataclasses.replace(found) == found
        with pytest.raises(dataclasses.FrozenInstanceError):
            found.name = "other"  # type: ignore[misc]
    store.close()


def test_a_page_is_a_slice_of_the_whole_list(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 30)
    fork_id, writer = fork(store, run_id, 12, store.state(run_id, 12))
    for _ in range(5):
        step(writer, {"n": 1})
    writer.finish("succeeded")
    for listed in (run_id, fork_id):
        everything = store.steps(listed)
        assert [found.number for found in everything] == list(range(1, len(everything) + 1))
        for start, stop in ((1, 5), (10, 15), (12, 13), (13, 99), (5, 5)):
            assert store.steps(listed, start, stop) == everything[start - 1 : stop - 1]
    store.close()


def test_the_changes_of_every_step_lead_from_its_base_to_it(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 8)
    fork_id, writer = fork(store, run_id, 5, {**store.state(run_id, 5), "edited": True})  # type: ignore[dict-item]
    step(writer, {"n": 1})
    step(writer, {"n": 2})
    writer.finish("succeeded")
    for listed, last in ((run_id, 8), (fork_id, 7)):
        for number in range(1, last + 1):
            base = store.base_step(listed, number)
            assert base is not None
            before = store.state(listed, base)
            assert tlv(apply(before, store.changes(listed, number))) == tlv(store.state(listed, number))
    store.close()


@settings(deadline=None)  # each example makes a store: how long that takes says nothing
@given(st.lists(st.floats(min_value=0, allow_nan=False, allow_infinity=False) | st.none(), min_size=1, max_size=5))
def test_what_a_step_cost_is_listed_to_the_last_bit(costs: list[float | None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = new_store(Path(folder))
        writer = begin(store, {})
        for n, cost in enumerate(costs):
            step(writer, {"n": n}, cost_usd=cost)
        assert [found.cost_usd for found in store.steps(writer.run_id)] == costs
        writer.finish("succeeded")
        store.close()


@pytest.mark.parametrize(
    "name", ['"quoted" [red]\\', "back\0ground", "\u2028 \u202e \U0001f469\u200d\U0001f467", "ﷺ" * 300, ""]
)
def test_a_step_is_listed_under_the_name_that_it_has(tmp_path: Path, name: str) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {})
    step(writer, {"n": 1}, name)
    writer.finish("succeeded")
    assert [found.name for found in store.steps(writer.run_id)] == [name]
    store.close()


def test_steps_whose_rows_hold_what_nobody_writes_are_listed_all_the_same(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 4)
    with store.database.transaction() as tx:
        tx.execute("UPDATE steps SET name = x'ff00', cost_usd = 9e999 WHERE step = 2")
        tx.execute("UPDATE steps SET agent = CAST(x'c328' AS TEXT), meta = x'00' WHERE step = 3")
    steps = store.steps(run_id)
    assert [found.number for found in steps] == [1, 2, 3, 4]
    assert [found.damaged is not None for found in steps] == [False, True, True, False]
    assert steps[0].name == steps[3].name
    store.close()


def test_a_step_that_is_damaged_after_it_was_listed_is_told_the_next_time(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    run_id = chat(store, 30)
    store.close()
    reading = open_store(store.path, read_only=True)
    before = reading.steps(run_id)
    assert reading.steps(run_id) == before
    assert all(found.damaged is None for found in before)
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("UPDATE steps SET tokens_in = 7 WHERE step = 11")
    assert [found.number for found in reading.steps(run_id) if found.damaged is not None] == [11]
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("UPDATE steps SET proof = zeroblob(16) WHERE step = 5")
        other.execute("DELETE FROM steps WHERE step = 20")
    again = reading.steps(run_id)
    assert [found.number for found in again if found.damaged is not None] == [5, 11, 20]
    assert [found for found in again if found.damaged is None] == [
        found for found in before if found.number not in (5, 11, 20)
    ]
    reading.close()


def test_a_run_that_goes_on_is_listed_as_far_as_it_is_and_a_list_is_the_callers_own(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {})
    for n in range(5):
        step(writer, {"n": n})
        listed = store.steps(writer.run_id)
        assert [found.number for found in listed] == list(range(1, n + 2))
        listed.clear()
    number = writer.open_step(NewStep("asks"))
    assert store.steps(writer.run_id)[-1].status == "running"
    writer.close_step(number, StepEnd("error", ErrorInfo("builtins:ValueError", "no", "")), {"n": 9})
    (last,) = store.steps(writer.run_id)[-1:]
    assert (last.status, last.error) == ("error", ErrorInfo("builtins:ValueError", "no", ""))
    writer.finish("failed")
    store.close()


def test_runs_are_listed_in_pages_newest_first_and_one_that_is_damaged_later_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(run_rows, "_AT_ONCE", 3)
    store = new_store(tmp_path)
    made = [chat(store, 1) for _ in range(8)]
    archived = made[2]
    store.set_archived([archived], archived=True)
    store.set_tags(made[4], ["kept"])
    store.close()
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("DELETE FROM runs WHERE run = 4")  # numbers have gaps
    reading = open_store(store.path, read_only=True)
    listed = reading.runs(archived=True)
    assert [run.id for run in listed] == [run_id for run_id in reversed(made) if run_id != made[3]]
    assert [run.id for run in reading.runs()] == [run.id for run in listed if run.id != archived]
    assert [run.id for run in reading.runs(limit=2)] == made[:-3:-1]
    assert [run.tags for run in listed if run.tags] == [("kept",)]
    assert reading.runs(archived=True) == listed
    with closing(sqlite3.connect(store.path)) as other, other:
        other.execute("UPDATE runs SET name = 'other' WHERE run = 6")
    assert [run.id for run in reading.runs(archived=True) if run.damaged is not None] == [made[5]]
    reading.close()
