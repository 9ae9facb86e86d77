"""Steps, calls and answers that are missing are named, the last ones too; more than were counted are no damage."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.store.recordings import begin, call, new_store, step
from tests.core.store.rows import execute

from agent_tt.model import CallEnd, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.store import open_store
from agent_tt.store.tables.definitions import RUNS

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import RunStatus
    from agent_tt.store import SqliteStore


def record(store: SqliteStore, status: RunStatus = "succeeded", *, forked: bool = False) -> str:
    """A run called `mine` of four steps with two calls each, one of them in pieces; a fork's follow two shared ones."""
    if forked:
        parent = record(store)
        store.rename_run(parent, "theirs")
        fork = store.begin_fork(NewFork(parent, 2, state={"n": 0}, new=NewRun("mine")))
        writer = store.adopt_run(fork, NewRun("mine"), None)
    else:
        writer = begin(store, {"n": 0}, "mine")
    for number in range(1, 5):
        made = writer.open_step(NewStep("work"))
        call(writer, made, {"n": number}, {"found": number})
        streamed = writer.begin_call(made, NewCall("llm", "model", {"n": number}, "ab" * 16))
        writer.deliver(made, streamed, "chunk", f"piece {number}")
        writer.end_call(made, streamed, CallEnd("ok", f"piece {number}", stream="end"))
        writer.close_step(made, StepEnd("ok"), {"n": number})
    writer.finish(status)
    return writer.run_id


MISSING = {
    "a step between others": (["FROM steps WHERE run = :run AND step = :last - 1"], "step . is missing"),
    "the last step": (["FROM steps WHERE run = :run AND step = :last"], "step . is missing"),
    "the last step with its calls": (
        ["FROM steps WHERE run = :run AND step = :last", "FROM calls WHERE run = :run AND step = :last"],
        "step . is missing",
    ),
    "the first call of a step": (["FROM calls WHERE run = :run AND call = 1"], "1 of the 2 calls of step . is missing"),
    "the last call of a step": (["FROM calls WHERE run = :run AND call = 2"], "1 of the 2 calls of step . is missing"),
    "all calls": (["FROM calls WHERE run = :run"], "2 of the 2 calls of step . are missing"),
    "the first answer": (["FROM deliveries WHERE id = :first_piece"], "its answers are numbered"),
    "the last answer": (["FROM deliveries WHERE id = :last_piece"], "1 of its 12 answers is missing"),
    "all pieces": (["FROM deliveries WHERE id >> 32 = :run"], "its answers are numbered"),
    "everything": ([f"FROM {table} WHERE run = :run" for table in ("steps", "calls")], "steps? .*missing"),
}
"""What is deleted, and what is said of it."""


@pytest.mark.parametrize("forked", [False, True])
@pytest.mark.parametrize("status", ["succeeded", "interrupted"])
@pytest.mark.parametrize("what", MISSING)
def test_whatever_is_missing_of_a_run_that_has_ended_is_named(
    tmp_path: Path, what: str, status: RunStatus, *, forked: bool
) -> None:
    deletions, said = MISSING[what]
    with closing(new_store(tmp_path)) as store:
        run_id = record(store, status, forked=forked)
        assert store.verify() == store.verify(run_id) == []
        path, run = store.path, store.lineage.number(run_id)
    with closing(sqlite3.connect(path)) as connection:
        pieces = connection.execute("SELECT min(id), max(id) FROM deliveries WHERE id >> 32 = ?", (run,)).fetchone()
        ((last,),) = connection.execute("SELECT max(step) FROM steps WHERE run = ?", (run,))
        for deletion in deletions:
            given = {"run": run, "last": last, "first_piece": pieces[0], "last_piece": pieces[1]}
            assert connection.execute(f"DELETE {deletion}", given).rowcount
        connection.commit()
    with closing(open_store(path, read_only=True)) as store:
        assert any(re.search(said, problem.what) for problem in store.verify(run_id)), store.verify(run_id)
        assert store.verify()
        assert store.damage(run_id) is not None


def test_what_a_process_adds_to_a_run_that_another_one_has_ended_is_no_damage(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {"n": 0}, "mine")
        made = writer.open_step(NewStep("work"))
        other = store.join_run(writer.run_id)
        call(other, made, {"n": 1}, {"found": 1})
        writer.close_step(made, StepEnd("ok"), {"n": 1})
        writer.finish("succeeded")
        call(other, made, {"n": 2}, {"found": 2})
        step(other, {"n": 2})
        other.finish("succeeded")
        assert store.verify() == []
        assert store.run(writer.run_id).steps == 2
        assert [found.number for found in store.calls(writer.run_id, made)] == [1, 2]


def test_the_first_answer_of_who_joins_a_fork_follows_those_that_it_shares(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        parent = record(store)
        fork = store.begin_fork(NewFork(parent, 2, state={"n": 0}, new=NewRun("fork")))
        joined = store.join_run(fork)
        made = joined.open_step(NewStep("work"))
        assert joined.deliver(made, joined.begin_call(made, NewCall("llm", "model", 1, "ab" * 16)), "chunk", "x") == 7
        assert store.verify() == []


def test_the_calls_of_a_step_that_a_run_ended_in_are_counted(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {"n": 0}, "mine")
        made = writer.open_step(NewStep("work"))
        call(writer, made, {"n": 1}, {"found": 1})
        call(writer, made, {"n": 2}, {"found": 2})
        writer.finish("failed")
        path, run_id = store.path, writer.run_id
        assert store.steps(run_id)[0].calls == 2
    execute(path, "DELETE FROM calls WHERE call = 2")
    with closing(open_store(path, read_only=True)) as store:
        assert [problem.what for problem in store.verify(run_id)][:1] == ["1 of the 2 calls of step 1 is missing"]


def test_a_count_in_a_damaged_row_says_nothing_and_a_proven_one_of_billions_takes_no_time(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        run_id, path = record(store), store.path
    billions = "json_set(meta, '$.counts', json('[4000000000, 8]'))"
    with closing(sqlite3.connect(path)) as connection:
        (meta,) = connection.execute(f"SELECT {billions} FROM runs").fetchone()  # our own
    execute(path, "UPDATE runs SET meta = ?", meta)
    execute(path, "UPDATE steps SET meta = json_set(meta, '$.calls', 9) WHERE step = 2")
    with closing(open_store(path, read_only=True)) as store:
        assert store.verify(run_id)
        assert not [problem.what for problem in store.verify(run_id) if "missing" in problem.what]
    with closing(sqlite3.connect(path)) as connection:
        proof = RUNS.proof(connection.execute(f"SELECT {', '.join(RUNS.columns)} FROM runs").fetchone())
    execute(path, "UPDATE runs SET proof = ?", proof)
    with closing(open_store(path, read_only=True)) as store:
        said = [problem.what for problem in store.verify(run_id)]
        assert "step 5 is missing" in said
        assert "3999999976 more steps are missing" in said
