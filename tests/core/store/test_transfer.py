"""Runs copied into another store are the same runs."""

from __future__ import annotations

import pytest
from tests.core.conformance.reading import check_source
from tests.core.store.recordings import chat, fork, new_store, step

from agent_tt.errors import RunNotFound
from agent_tt.store import copy_run


def test_a_copy_of_a_fork_of_a_fork_brings_its_ancestors_and_keeps_every_chain(tmp_path):
    source = new_store(tmp_path, "source.db")
    chat(source, 2, "in the way of row numbers")
    root = chat(source, 20)
    large = "x" * 9000
    first, writer = fork(source, root, 10, {**source.state(root, 10), "doc": large})
    step(writer, {"n": "first", "doc": large, "big": [large, large[:5000]]})
    writer.finish("succeeded")
    second, writer = fork(source, first, 11, source.state(first, 11))
    step(writer, {"n": "second"})
    writer.finish("failed")
    source.add_note(second, 12, "note", "look here")
    source.set_tags(second, ["kept"])
    target = new_store(tmp_path, "target.db")
    chat(target, 3, "already there")
    assert copy_run(source, target, second, root="/new/root") == second
    assert target.verify() == []
    for run_id in (root, first, second):
        for number in range(source.step_count(run_id) + 1):
            assert target.state(run_id, number) == source.state(run_id, number)
            assert target.digest(run_id, number) == source.digest(run_id, number)
        assert target.steps(run_id) == source.steps(run_id)
        assert target.calls(run_id, 1) == source.calls(run_id, 1)
        assert target.last_write(run_id, source.step_count(run_id), ("n",)) == source.step_count(run_id)
        assert target.run(run_id).code.root == "/new/root"
        assert target.run(run_id).parent == source.run(run_id).parent
    assert [(n.body, n.step) for n in target.notes(second)] == [("look here", 12)]
    assert target.run(second).tags == ("kept",)
    chains = "SELECT chain FROM deltas ORDER BY chain"
    assert set(target.database.query(chains)) >= set(source.database.query("SELECT chain FROM deltas WHERE track > 1"))
    check_source(target)


def test_a_run_that_is_there_already_is_copied_under_a_new_id_and_its_parents_are_shared(tmp_path):
    source, target = new_store(tmp_path, "source.db"), new_store(tmp_path, "target.db")
    root = chat(source, 4)
    fork_id, writer = fork(source, root, 2, {"n": 1})
    writer.finish("succeeded")
    assert copy_run(source, target, fork_id) == fork_id
    again = copy_run(source, target, fork_id)
    assert again != fork_id
    assert target.run(again).origin == {"run": fork_id}
    assert target.run(again).parent == root
    assert len(target.runs()) == 3
    assert copy_run(source, target, root) != root
    assert target.verify() == []


def test_a_run_that_still_records_arrives_as_interrupted(tmp_path):
    source, target = new_store(tmp_path, "source.db"), new_store(tmp_path, "target.db")
    root = chat(source, 4)
    fork_id, writer = fork(source, root, 2, {"n": 1})
    step(writer, {"n": 2})
    assert target.run(copy_run(source, target, fork_id)).status == "interrupted"
    assert target.state(fork_id, 3) == {"n": 2}


def test_a_copy_that_fails_leaves_nothing_behind(tmp_path):
    source, target = new_store(tmp_path, "source.db"), new_store(tmp_path, "target.db")
    with pytest.raises(RunNotFound):
        copy_run(source, target, "nothing")
    assert target.runs() == []
