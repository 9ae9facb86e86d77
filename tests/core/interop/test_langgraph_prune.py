"""A pruned database is smaller, and LangGraph's history of what is left in it is as it was."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.interop import graphs
from tests.core.interop.support import digest_of_folder

from agent_tt.errors import RunNotFound, StoreBusy, UsageError
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.langgraph.prune import prune_in_place, write_pruned
from agent_tt.interop.langgraph.source import LangGraphSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def snapshot(state: Any) -> str:
    """All that LangGraph says about a checkpoint."""
    return json.dumps(
        [
            state.config,
            state.parent_config,
            state.values,
            state.next,
            state.metadata,
            state.created_at,
            [[task.id, task.name, task.error, task.interrupts, task.result, task.state] for task in state.tasks],
        ],
        default=repr,
    )


def history(path: Path, graph: Any, namespace: str = "", thread: str = "t") -> dict[str, str]:
    """LangGraph's own history of a database, read by the graph that wrote it."""
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
    with graphs.saver(path) as checkpointer:
        own = graph.copy(update={"checkpointer": checkpointer})
        latest = own.get_state({"configurable": {"thread_id": thread}})
        states = own.get_state_history(config)
        found = {state.config["configurable"]["checkpoint_id"]: snapshot(state) for state in states}
        return found | {"latest": snapshot(latest)}


def rows(path: Path) -> dict[str, set[tuple[str, str]]]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: set(connection.execute(f"SELECT checkpoint_ns, checkpoint_id FROM {table}"))
            for table in ("checkpoints", "writes")
        }


@pytest.mark.parametrize("keep_last", [1, 2, 5])
@pytest.mark.parametrize("name", graphs.ALL)
def test_langgraph_s_history_of_what_stays_is_as_it_was(name: str, keep_last: int, tmp_path: Path) -> None:
    path, pruned = tmp_path / "checkpoints.db", tmp_path / "pruned.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.ALL[name](checkpointer)
    before, at_first = digest_of_folder(tmp_path), history(path, graph)
    path_before = rows(path)
    with closing(DatabaseFile(path)) as file:
        plan = write_pruned(file, pruned, keep_last)
    assert {file: digest for file, digest in digest_of_folder(tmp_path).items() if file in before} == before
    left = history(pruned, graph)
    assert left == {key: at_first[key] for key in left}
    assert len(left) >= min(keep_last, len(at_first) - 1) + 1
    kept = set() if not plan.threads else plan.threads[0].kept
    if plan.threads:
        assert rows(pruned)["checkpoints"] == kept
        assert rows(pruned)["writes"] <= kept
    else:
        assert rows(pruned) == path_before
    with closing(LangGraphSource(pruned)) as source:
        assert {problem.what.split(" ")[1] for problem in source.verify()} <= {"parent"}


@pytest.mark.parametrize("name", ["changes_alone", "forks", "nested_interrupted", "subgraph_with_memory"])
def test_pruning_the_file_itself_leaves_the_same_as_a_copy(name: str, tmp_path: Path) -> None:
    path, pruned = tmp_path / "checkpoints.db", tmp_path / "pruned.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.ALL[name](checkpointer)
    with closing(DatabaseFile(path)) as file:
        plan = write_pruned(file, pruned, 1)
    size = path.stat().st_size
    assert prune_in_place(path, 1) == plan
    assert rows(path) == rows(pruned)
    assert history(path, graph) == history(pruned, graph)
    assert path.stat().st_size <= size


def test_a_thread_goes_on_after_it_was_pruned(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.changes_alone(checkpointer, frequency=4, turns=5)
    with graphs.saver(path) as checkpointer:
        events = graph.copy(update={"checkpointer": checkpointer}).get_state(graphs.thread()).values["events"]
    prune_in_place(path, 1)
    with graphs.saver(path) as checkpointer:
        own = graph.copy(update={"checkpointer": checkpointer})
        assert own.invoke({"events": ["more"]}, graphs.thread())["events"] == [*events, "more", "one", "two a", "two b"]


def test_a_question_that_waits_on_another_branch_stays(tmp_path: Path) -> None:
    path, pruned = tmp_path / "checkpoints.db", tmp_path / "pruned.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.nested_interrupt(checkpointer, resume=False)
        waiting = graph.get_state(graphs.thread()).config["configurable"]["checkpoint_id"]
        older = list(graph.get_state_history(graphs.thread()))[-1]
        graph.update_state(older.config, {"log": ["another way"]}, as_node="finish")
    with closing(DatabaseFile(path)) as file:
        (plan,) = write_pruned(file, pruned, 1).threads
    assert ("", waiting) in plan.kept
    assert plan.kept_for["waiting for a person"] == 1
    assert plan.kept_for["of subgraphs"] > 3
    with closing(LangGraphSource(pruned)) as source:
        (run,) = [run for run in source.runs() if run.status == "interrupted"]
        assert "send it?" in str([source.calls(run.id, step.number) for step in source.steps(run.id)])


@pytest.fixture
def two_threads(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.chain("one", "two").compile(checkpointer=checkpointer)
        for name in ("a", "b"):
            graph.invoke({"log": ["in"]}, graphs.thread(name))
    return path


def counts(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT thread_id, count(*) FROM checkpoints GROUP BY 1"))


def test_only_named_threads_are_pruned_and_other_tables_are_copied(two_threads: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(two_threads)) as connection:
        connection.executescript(
            'CREATE TABLE "my ""own"(x); INSERT INTO "my ""own" VALUES (7); CREATE INDEX i ON checkpoints(type);'
            "CREATE VIEW v AS SELECT 1 AS one"
        )
    with closing(DatabaseFile(two_threads)) as file:
        plan = write_pruned(file, tmp_path / "pruned.db", 1, ["a"])
    assert (len(plan.threads), plan.untouched, plan.checkpoints) == (1, 1, 3)
    assert counts(tmp_path / "pruned.db") == {"a": 1, "b": 4}
    with closing(sqlite3.connect(tmp_path / "pruned.db")) as connection:
        assert connection.execute('SELECT x, one FROM "my ""own", v').fetchall() == [(7, 1)]
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'i'").fetchone() == (1,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_what_cannot_be_done_is_said_and_leaves_nothing(two_threads: Path, tmp_path: Path) -> None:
    target = tmp_path / "pruned.db"
    with closing(DatabaseFile(two_threads)) as file:
        with pytest.raises(RunNotFound, match="'c'"):
            write_pruned(file, target, 1, ["c"])
        with pytest.raises(UsageError, match="at least one"):
            write_pruned(file, target, 0)
        with pytest.raises(UsageError, match="already"):
            write_pruned(file, two_threads, 1)
        before = digest_of_folder(tmp_path)

        def stop(_done: int, _total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_pruned(file, target, 1, (), stop)
        assert digest_of_folder(tmp_path) == before
        with closing(sqlite3.connect(two_threads)) as connection:
            connection.execute("CREATE TRIGGER watch AFTER INSERT ON checkpoints BEGIN SELECT 1; END")
        with pytest.raises(Exception, match="watch, which cannot be copied"):
            write_pruned(file, target, 1)


def test_a_file_that_somebody_writes_to_is_not_pruned(two_threads: Path) -> None:
    with closing(sqlite3.connect(two_threads)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            prune_in_place(two_threads, 1)
    assert counts(two_threads) == {"a": 4, "b": 4}


def test_a_write_whose_checkpoint_is_not_there_yet_stays(two_threads: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(two_threads)) as connection:
        connection.execute("UPDATE writes SET checkpoint_id = 'to come' WHERE thread_id = 'a' AND idx = 0")
        connection.commit()
    with closing(DatabaseFile(two_threads)) as file, contextlib.suppress(UsageError):
        write_pruned(file, tmp_path / "pruned.db", 1)
    assert ("", "to come") in rows(tmp_path / "pruned.db")["writes"]
