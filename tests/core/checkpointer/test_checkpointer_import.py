"""Threads of LangGraph's own databases, copied into a store."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.types import Command
from tests.core.interop import graphs
from tests.core.interop.support import digest_of_folder

from agent_tt.errors import RunNotFound, UsageError
from agent_tt.langgraph import Checkpointer
from agent_tt.langgraph.importing import import_threads
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCENARIOS: dict[str, Callable[[Any], Any]] = {
    "react": graphs.react,
    "map_reduce": graphs.map_reduce,
    "a question in a subgraph": partial(graphs.nested_interrupt, resume=False),
    "an answer in a subgraph": partial(graphs.nested_interrupt, resume=True),
    "subgraph_with_memory": graphs.subgraph_with_memory,
    "two_subgraphs_in_one_node": graphs.two_subgraphs_in_one_node,
    "functional": partial(graphs.functional, resume=True),
    "commanded": graphs.commanded,
    "stops": graphs.stops,
    "forks": graphs.forks,
    "saved_at_exit": graphs.saved_at_exit,
    "sent_to_subgraphs": graphs.sent_to_subgraphs,
    "two_questions": graphs.two_questions,
    "changes_alone": graphs.changes_alone,
}


def listed(saver: Any) -> list[Any]:
    """All that a checkpointer gives of all checkpoints, in an order of ours."""
    given = [
        (
            found.config["configurable"],
            found.checkpoint,
            found.metadata,
            found.parent_config,
            sorted(found.pending_writes or [], key=repr),
        )
        for found in saver.list(None)
    ]
    return sorted(given, key=lambda row: (row[0]["thread_id"], row[0]["checkpoint_id"], row[0]["checkpoint_ns"]))


@pytest.mark.parametrize("name", SCENARIOS)
def test_langgraph_is_given_the_same_of_the_copy(name: str, tmp_path: Path):
    (tmp_path / "theirs").mkdir()
    with graphs.saver(tmp_path / "theirs" / "checkpoints.db") as saver:
        SCENARIOS[name](saver)
        theirs = listed(saver)
    before = digest_of_folder(tmp_path / "theirs")
    done = import_threads(tmp_path / "theirs" / "checkpoints.db", tmp_path / "runs.db")
    assert digest_of_folder(tmp_path / "theirs") == before
    assert [thread.problems for thread in done] == [()] * len(done)
    assert sum(thread.added for thread in done) == len(theirs)
    with Checkpointer(tmp_path / "runs.db") as copy:
        ours = listed(copy)
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one == other
    with (
        closing(open_source(tmp_path / "runs.db")) as source,
        closing(open_source(tmp_path / "theirs" / "checkpoints.db")) as original,
    ):
        assert source.verify() == []
        assert sorted(run.status for run in source.runs()) == sorted(run.status for run in original.runs())
        assert not source.runs()[0].read_only
        assert max(run.started_us for run in source.runs()) <= max(run.ended_us or 0 for run in source.runs())


def test_a_copy_is_gone_on_with(tmp_path: Path):
    with graphs.saver(tmp_path / "checkpoints.db") as saver:
        graphs.nested_interrupt(saver, resume=False)
    import_threads(tmp_path / "checkpoints.db", tmp_path / "runs.db")
    with graphs.saver(tmp_path / "checkpoints.db") as saver:
        theirs = graphs.nested_interrupt(saver, resume=True).get_state(graphs.thread()).values
    with Checkpointer(tmp_path / "runs.db") as copy, Checkpointer(tmp_path / "other.db") as other:
        graph: Any = graphs.nested_interrupt(other, resume=False).builder.compile(checkpointer=copy)
        graph.invoke(Command(resume="yes"), graphs.thread())
        assert graph.get_state(graphs.thread()).next == ()
        assert graph.get_state(graphs.thread()).values.keys() == theirs.keys()


def test_only_what_is_new_is_added(tmp_path: Path):
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as saver:
        graph = graphs.chain("one", "two").compile(checkpointer=saver)
        graph.invoke({"log": ["x"]}, graphs.thread())
        (first,) = import_threads(path, tmp_path / "runs.db")
        latest = graph.get_state(graphs.thread()).config
        saver.put_writes(latest, [("log", ["later"])], "a-task", "~__pregel_pull, one")
        (writes,) = import_threads(path, tmp_path / "runs.db")
        graph.invoke({"log": ["y"]}, graphs.thread())
        graph.invoke({"log": ["z"]}, graphs.thread("another"))
        theirs = listed(saver)
    (second,) = import_threads(path, tmp_path / "runs.db", ["t"])
    assert (first.added, first.known, writes.added, writes.known) == (4, 0, 0, 4)
    assert (second.added, second.known, second.run) == (4, 4, first.run)
    content = (tmp_path / "runs.db").read_bytes()
    (third,) = import_threads(path, tmp_path / "runs.db", ["t"])
    assert (third.added, third.known) == (0, 8)
    assert (tmp_path / "runs.db").read_bytes() == content
    with Checkpointer(tmp_path / "runs.db") as copy:
        assert listed(copy) == [row for row in theirs if row[0]["thread_id"] == "t"]


def test_what_is_damaged_or_dangerous_is_named_and_left_out(tmp_path: Path):
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as saver:
        graph = graphs.chain("one", "two").compile(checkpointer=saver)
        graph.invoke({"log": ["x"]}, graphs.thread())
        ids = [found.config["configurable"]["checkpoint_id"] for found in graph.get_state_history(graphs.thread())]
    calls = ormsgpack.Ext(0, ormsgpack.packb(["os", "system", f"touch {tmp_path}/ran"]))
    document = {**empty_checkpoint(), "id": ids[0], "channel_values": {"log": calls}}
    with closing(sqlite3.connect(path)) as connection:
        blob = ormsgpack.packb(document)
        connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (blob, ids[0]))
        connection.execute("UPDATE checkpoints SET checkpoint = x'81' WHERE checkpoint_id = ?", (ids[1],))
        connection.execute("UPDATE checkpoints SET type = 'msgpack+aes' WHERE checkpoint_id = ?", (ids[2],))
        connection.commit()
    (done,) = import_threads(path, tmp_path / "runs.db")
    assert not (tmp_path / "ran").exists()
    assert done.added == 2
    assert [ids.index(problem.split()[1].rstrip(":")) for problem in done.problems] == [2, 1]
    assert all(problem.endswith("it is left out") for problem in done.problems)
    with closing(open_source(tmp_path / "runs.db")) as source:
        assert source.verify() == []
        states = [source.state(run.id, source.step_count(run.id)) for run in source.runs()]
        assert any("os:system" in repr(state) for state in states)


def test_a_thread_that_only_has_the_same_id_is_left_out(tmp_path: Path):
    with graphs.saver(tmp_path / "checkpoints.db") as saver:
        graphs.chain("one", "two").compile(checkpointer=saver).invoke({"log": ["x"]}, graphs.thread())
    with Checkpointer(tmp_path / "runs.db") as saver:
        graphs.chain("three").compile(checkpointer=saver).invoke({"log": ["mine"]}, graphs.thread())
        before = listed(saver)
    (done,) = import_threads(tmp_path / "checkpoints.db", tmp_path / "runs.db")
    assert done.added == 0
    assert "another thread of that id" in done.problems[0]
    with Checkpointer(tmp_path / "runs.db") as saver:
        assert listed(saver) == before


def test_what_cannot_be_imported_is_said(tmp_path: Path):
    with graphs.saver(tmp_path / "checkpoints.db") as saver:
        graphs.chain("one").compile(checkpointer=saver).invoke({"log": ["x"]}, graphs.thread())
    with pytest.raises(RunNotFound, match="no thread 'nobody'"):
        import_threads(tmp_path / "checkpoints.db", tmp_path / "runs.db", ["t", "nobody"])
    assert not (tmp_path / "runs.db").exists()
    import_threads(tmp_path / "checkpoints.db", tmp_path / "runs.db")
    with pytest.raises(UsageError, match="not a LangGraph database"):
        import_threads(tmp_path / "runs.db", tmp_path / "more.db")


KILLED = """
import os, signal, sys
from pathlib import Path
from agent_tt.langgraph import importing
from agent_tt.store.file.transaction import Transaction
importing._ROWS = 25
left, execute = int(sys.argv[3]), Transaction.execute

def counted(self, sql, parameters=(), /):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, sql, parameters)

Transaction.execute = counted
importing.import_threads(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_a_killed_import_leaves_whole_threads_and_is_repeated_for_the_rest(tmp_path: Path):
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as saver:
        graph = graphs.chain("one", "two").compile(checkpointer=saver)
        for number in range(9):
            graph.invoke({"log": ["x"]}, graphs.thread(f"thread-{number}"))
        theirs = listed(saver)
    left_there = []
    for statements in (15, 80):
        into = tmp_path / f"{statements}.db"
        given = [sys.executable, "-c", KILLED, str(path), str(into), str(statements)]
        assert subprocess.run(given, timeout=60, check=False).returncode == -signal.SIGKILL
        with Checkpointer(into) as copy:
            ours = listed(copy)
        assert [row for row in theirs if row[0]["thread_id"] in {each[0]["thread_id"] for each in ours}] == ours
        left_there.append(len(ours))
        done = import_threads(path, into)
        assert sum(thread.added for thread in done) == len(theirs) - len(ours)
        with Checkpointer(into) as copy, closing(open_source(into)) as source:
            assert listed(copy) == theirs
            assert source.verify() == []
    assert left_there[0] == 0 < left_there[1] < len(theirs)
