"""Whoever writes into a run at the same time, its steps, calls and answers are numbered without gaps."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.store.recordings import begin, new_store

from agent_tt.errors import StoreUnreadable
from agent_tt.model import CallEnd, NewCall, NewStep, StepEnd
from agent_tt.store import open_store
from agent_tt.store.file.in_place import Place

DEEDS = ("open", "begin", "piece", "end", "close", "mark", "fail")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(DEEDS)), max_size=40))
def test_writers_of_one_run_number_what_they_write_without_gaps(deeds):
    """One writer, another one with the same connection, and one with a connection of its own, in any order."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(new_store(Path(folder))) as store,
        closing(open_store(store.path, durability="normal")) as other,
    ):
        owner = begin(store, {"n": 0})
        writers: list[Any] = [owner, store.join_run(owner.run_id), other.join_run(owner.run_id)]
        steps: list[int] = []
        calls: list[tuple[int, int]] = []
        answers: list[int] = []
        ended: set[tuple[int, int]] = set()
        for who, deed in deeds:
            writer = writers[who]
            if deed == "open":
                steps.append(writer.open_step(NewStep("step")))
            elif deed == "begin" and steps:
                calls.append((steps[-1], writer.begin_call(steps[-1], NewCall("llm", "model", {}, "ab" * 16))))
            elif deed == "piece" and calls and calls[-1] not in ended:
                answers.append(writer.deliver(*calls[-1], "chunk", "piece"))
            elif deed == "end" and calls and calls[-1] not in ended:
                ended.add(calls[-1])
                writer.end_call(*calls[-1], CallEnd("ok", "done"))
                answers.append(len(answers) + 1)
            elif deed == "close" and steps:
                writer.close_step(steps.pop(), StepEnd("ok"), {"n": len(answers)})
            elif deed == "mark":
                store.add_note(owner.run_id, None, "note", "words")
            elif deed == "fail":
                with pytest.raises(StoreUnreadable):
                    writer.open_step(NewStep("step", parent=1 << 80))
        assert answers == list(range(1, len(answers) + 1))
        for number in {step for step, _ in calls}:
            numbers = [call for step, call in calls if step == number]
            assert numbers == list(range(1, len(numbers) + 1))
        recorded = store.steps(owner.run_id)
        assert [each.number for each in recorded] == list(range(1, len(recorded) + 1))
        owner.finish("succeeded")
        assert store.verify() == []
        assert [each.calls for each in store.steps(owner.run_id)] == [
            sum(step == each.number for step, _ in calls) for each in recorded
        ]


def test_numbers_are_asked_for_again_only_where_somebody_else_wrote(tmp_path, monkeypatch):
    store = new_store(tmp_path)
    writer = begin(store, {})
    step = writer.open_step(NewStep("first"))
    asked: list[str] = []
    store.database._connection.set_trace_callback(asked.append)
    for _ in range(3):
        call = writer.begin_call(step, NewCall("tool", "search", {}, "ab" * 16))
        writer.end_call(step, call, CallEnd("ok"))
    writer.close_step(step, StepEnd("ok"), {})
    step = writer.open_step(NewStep("second"))
    assert [each for each in asked if "max(" in each] == [each for each in asked if "max(delivered)" in each][:1]
    asked.clear()
    with closing(open_store(store.path)) as other:
        other.add_note(writer.run_id, None, "note", "somebody else's")
    call = writer.begin_call(step, NewCall("tool", "search", {}, "ab" * 16))
    writer.end_call(step, call, CallEnd("ok"))
    assert len([each for each in asked if "max(" in each]) == 2


def test_a_transaction_that_was_interrupted_as_it_began_is_no_obstacle(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    store.database.begin(durable=True)  # the interrupt comes here, before the block
    assert writer.open_step(NewStep("step")) == 1
    writer.finish("succeeded")
    assert store.verify() == []


def test_a_step_that_the_end_of_its_run_breaks_off_counts_the_calls_of_other_processes(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    step = writer.open_step(NewStep("step"))
    with closing(open_store(store.path)) as other:
        other.join_run(writer.run_id).begin_call(step, NewCall("tool", "search", {}, "ab" * 16))
    writer.finish("interrupted")
    assert store.database.query("SELECT json_extract(meta, '$.calls') FROM steps") == [(1,)]


@pytest.mark.parametrize("is_counted", [True, False])
def test_a_version_is_the_one_after_the_last_exactly_if_nobody_else_wrote(tmp_path, monkeypatch, is_counted):
    """As the index of the log counts, and where that cannot be read, as SQLite says."""
    if not is_counted:
        monkeypatch.setattr(Place, "changes", lambda _: None)
    with closing(new_store(tmp_path)) as store, closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        assert (store.database._place.changes() is not None) == is_counted

        def version() -> int:
            with store.database.transaction() as tx:
                tx.execute("INSERT INTO paths(path) VALUES('one more')")
                found = tx.version()
            assert found is not None
            return found

        first = version()
        assert version() == first + 1
        store.database.checkpoint("FULL")
        assert version() == first + 2
        store.database.checkpoint("TRUNCATE")
        assert version() == first + 3
        other.execute("INSERT INTO paths(path) VALUES('somebody else''s')")
        assert version() > first + 4
