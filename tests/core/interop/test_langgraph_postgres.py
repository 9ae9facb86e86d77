"""What PostgresSaver keeps reads as what SqliteSaver keeps."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from tests.core.conformance.reading import check_source
from tests.core.interop import graphs
from tests.core.interop.test_langgraph_sieve import texts_of
from tests.postgres_server import ASKED, SECRET, postgres_saver

from agent_tt.codec.folding import fold
from agent_tt.errors import NewerFormat, NotAStore, StoreNotFound, StoreUnreadable, UsageError
from agent_tt.history.payloads.damage import find_placeholder
from agent_tt.interop.langgraph import postgres as reader
from agent_tt.interop.langgraph import source as source_module
from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.langgraph import Checkpointer
from agent_tt.langgraph.importing import import_threads
from agent_tt.sources import open_source, space_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.postgres_server import TestDatabase

    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Step


class Both(SqliteSaver):
    """Keeps the same checkpoints in a file and in PostgreSQL."""

    other: Any

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.other.put(config, checkpoint, metadata, new_versions)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.other.put_writes(config, writes, task_id, task_path)
        super().put_writes(config, writes, task_id, task_path)


def unordered_step(step: Step) -> Step:
    """A step whose next nodes have no order: which one the graph gives them is not in JSONB."""
    return replace(step, extra={**step.extra, "next": sorted(step.extra["next"] or ())})


def unordered(changes: list[Op]) -> list[Op]:
    """Changes in the order of their paths, without that of the channels' own order, which JSONB does not keep."""
    return sorted((op for op in changes if op[:2] != ["o", []]), key=str)


@pytest.mark.parametrize("name", graphs.ALL)
def test_a_graph_kept_in_both_ways_reads_alike(
    name: str, tmp_path: Path, postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 0)
    path = tmp_path / "both.db"
    with graphs.saver(path) as kept, postgres_saver(postgres) as other:
        both = Both(kept.conn)
        both.other = other
        graphs.ALL[name](both)
    with closing(LangGraphSource(path)) as ours, closing(LangGraphSource(postgres.address)) as theirs:
        check_source(theirs)
        runs = ours.runs()
        assert [replace(run, origin={}) for run in theirs.runs()] == [replace(run, origin={}) for run in runs]
        for run in runs:
            assert [*map(unordered_step, theirs.steps(run.id))] == [*map(unordered_step, ours.steps(run.id))]
            for step in range(theirs.step_count(run.id) + 1):
                assert theirs.state(run.id, step) == ours.state(run.id, step)
                assert theirs.pending_state(run.id, step) == ours.pending_state(run.id, step)
                assert theirs.calls(run.id, step) == ours.calls(run.id, step)
                assert unordered(theirs.changes(run.id, step)) == unordered(ours.changes(run.id, step))
                assert theirs.digest(run.id, step) == ours.digest(run.id, step)
                assert theirs.anchor(run.id, step or None) == ours.anchor(run.id, step or None)
            for source in (ours, theirs):
                needed = {fold(text) for text in texts_of(source, run)}
                assert run.id in (source.may_hold(needed) or ()), "each text is told to stand somewhere in it"
            with theirs.ahead([run.id]):
                assert theirs.state(run.id, theirs.step_count(run.id)) == ours.state(run.id, ours.step_count(run.id))
        assert theirs.may_hold(["qzxwv"]) == ours.may_hold(["qzxwv"])
        assert theirs.verify() == ours.verify()


def chained(database: TestDatabase, *threads: str) -> None:
    """Let a chain of two nodes run on some threads."""
    with postgres_saver(database) as saver:
        for name in threads:
            graphs.chain("one", "two").compile(checkpointer=saver).invoke(
                {"log": ["in"], "topic": "x"}, graphs.thread(name)
            )


def test_a_saver_of_its_own_is_read_as_it_wrote(postgres: TestDatabase) -> None:
    with postgres_saver(postgres) as saver:
        graph = graphs.react(saver)
        history = list(graph.get_state_history(graphs.thread()))
    before = postgres.rows()
    with closing(open_source(postgres.address)) as source:
        assert source.read_only
        (run,) = source.runs()
        assert run.origin["file"] == str(postgres.address)
        assert [step.name for step in source.steps(run.id)] == ["input", "__start__", "agent", "tools", "agent"]
        found = [step.facts.checkpoint_id for step in source.steps(run.id)]
        assert found == [each.config["configurable"]["checkpoint_id"] for each in reversed(history)]
        assert [len(source.state(run.id, step).get("messages", ())) for step in range(1, 6)] == [0, 1, 2, 4, 5]
        assert space_in(postgres.address).free is None
    assert postgres.rows() == before, "nothing was written, not even a mark on a row"


def test_the_server_itself_refuses_to_let_the_reader_write(postgres: TestDatabase) -> None:
    chained(postgres, "t")
    with closing(reader.PostgresDatabase(postgres.address)) as database:
        with pytest.raises(StoreUnreadable, match="read-only transaction"):
            database._server.read(lambda connection: connection.execute("DELETE FROM checkpoints"))
        assert [*database.threads()] == ["t"]
        held = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'agent-tt' AND state <> 'idle'"
        assert postgres.query(held) == [(0,)], "no transaction stays open between two reads"


def test_a_thread_that_grows_is_followed_and_the_others_are_not_read_again(
    postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_PATIENCE", 0)
    chained(postgres, "old", "other", "t")
    with closing(LangGraphSource(postgres.address)) as source:
        database = source._database
        assert source.step_count("t") == 4
        version, old = source.version(), database.threads()["old"]
        assert source.version() == version
        postgres.execute("CREATE TABLE of_somebody_else (x int)", "INSERT INTO of_somebody_else VALUES (1)")
        assert source.version() == version, "only the tables of LangGraph count"
        with postgres_saver(postgres) as saver:
            graph = graphs.chain("one", "two").compile(checkpointer=saver)
            graph.invoke({"log": ["again"]}, graphs.thread("t"))
        assert source.version() != version
        assert source.step_count("t") == 8
        assert database.threads()["old"] is old
        version = source.version()
        postgres.execute("UPDATE checkpoints SET metadata = metadata || '{\"who\": \"me\"}' WHERE thread_id = 'other'")
        assert source.version() != version, "a row that is written again counts too"
        assert source.run("other").metadata == {"who": "me"}
        with postgres_saver(postgres) as saver:
            saver.delete_thread("other")
        assert [run.id for run in source.runs()] == ["t", "old"]


def test_what_the_list_asks_the_server_does_not_grow_with_its_threads(
    postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    read = reader.Server.read
    monkeypatch.setattr(reader.Server, "read", lambda server, work: asked.append(1) or read(server, work))
    chained(postgres, "a")
    counts = []
    for more in ((), ("b", "c", "d", "e")):
        chained(postgres, *more)
        asked.clear()
        with closing(LangGraphSource(postgres.address)) as source:
            assert all(run.status == "succeeded" for run in source.runs())
        counts.append(len(asked))
    assert counts[0] == counts[1]


@pytest.mark.filterwarnings("ignore:ShallowPostgresSaver is deprecated")
def test_of_a_shallow_saver_the_latest_checkpoint_is_there(postgres: TestDatabase) -> None:
    with postgres_saver(postgres, "ShallowPostgresSaver") as saver:
        graph = graphs.chain("one", "two").compile(checkpointer=saver)
        graph.invoke({"log": ["in"], "topic": "x"}, graphs.thread())
        latest = graph.get_state(graphs.thread()).config["configurable"]["checkpoint_id"]
    with closing(LangGraphSource(postgres.address)) as source:
        check_source(source)
        (run,) = source.runs()
        assert run.status == "succeeded"
        assert source.steps(run.id)[-1].facts.checkpoint_id == latest
        assert source.state(run.id, run.steps) == {"log": ["in", "one", "two"], "topic": "x"}


def test_threads_are_copied_as_langgraph_reads_them(postgres: TestDatabase, tmp_path: Path) -> None:
    with postgres_saver(postgres) as saver:
        graphs.react(saver)
        history = list(saver.list(None))
    before = postgres.rows()
    (done,) = import_threads(postgres.address, tmp_path / "runs.db")
    assert (done.added, done.problems) == (len(history), ())
    (again,) = import_threads(postgres.address, tmp_path / "runs.db")
    assert (again.added, again.known) == (0, len(history))
    assert postgres.rows() == before
    with Checkpointer(tmp_path / "runs.db") as copy:
        for one, other in zip(copy.list(None), history, strict=True):
            assert (one.config, one.parent_config, one.checkpoint) == (
                other.config,
                other.parent_config,
                other.checkpoint,
            )
            assert sorted(one.pending_writes, key=repr) == sorted(other.pending_writes, key=repr)
    assert SECRET.encode() not in (tmp_path / "runs.db").read_bytes()


def refusal(url: str) -> Any:
    """The error that opening an address ends with; none holds the password."""
    with pytest.raises((UsageError, StoreNotFound, StoreUnreadable)) as caught:
        open_source(url).close()
    assert SECRET not in f"{caught.value} {caught.value.hint} {caught.value!r} {caught.value.__cause__}"
    return caught.value


def test_each_reason_not_to_open_has_its_own_error(postgres: TestDatabase) -> None:
    server, _, name = postgres.url.rpartition("/")
    assert type(refusal(f"{server}/nobody_made_this")) is StoreNotFound
    error = refusal(postgres.url)
    assert (type(error), "no tables of PostgresSaver in schema public" in error.message) == (NotAStore, True)
    assert type(refusal(f"{postgres.url}?nonsense=1")) is UsageError
    assert type(refusal(f"postgresql://u:{SECRET}@127.0.0.1:99999/x")) in (UsageError, StoreUnreadable)
    assert type(refusal(f"postgresql://u:{SECRET}/x@127.0.0.1:1/x")) in (UsageError, StoreUnreadable)
    error = refusal(f"postgresql://u:{SECRET}@%2Fnowhere/{name}")
    assert (type(error), "cannot be reached" in error.message) == (StoreUnreadable, True)
    chained(postgres, "t")
    postgres.execute("INSERT INTO checkpoint_migrations VALUES (10)")
    error = refusal(postgres.url)
    assert (type(error), error.found, error.supported) == (NewerFormat, 10, 9)
    postgres.execute("DELETE FROM checkpoint_migrations WHERE v = 10", "ALTER TABLE checkpoints RENAME TO other")
    postgres.execute("CREATE VIEW checkpoints AS SELECT * FROM other")
    assert type(refusal(postgres.url)) is NotAStore, "a view may do anything"


def test_tables_that_a_user_may_not_read_are_named(postgres: TestDatabase) -> None:
    chained(postgres, "t")
    role = f"r_{postgres.address.stem}"
    postgres.execute(f"CREATE ROLE {role} LOGIN")
    try:
        error = refusal(postgres.url.replace("tester:", f"{role}:"))
        assert (type(error), "GRANT SELECT" in error.hint) == (StoreUnreadable, True)
    finally:
        postgres.execute(f"DROP ROLE {role}")


@pytest.mark.skipif(
    "AGENT_TT_TEST_POSTGRES" in os.environ, reason="who is asked for a password is that server's affair"
)
def test_whom_the_server_does_not_let_in_is_told_so(postgres: TestDatabase) -> None:
    chained(postgres, "t")
    postgres.execute(f"CREATE ROLE {ASKED} LOGIN PASSWORD '{SECRET}' IN ROLE tester")
    place = postgres.url.rpartition("@")[2]
    try:
        for login in (f"{ASKED}:{SECRET}-not", ASKED):
            error = refusal(f"postgresql://{login}@{place}")
            assert (type(error), "lets nobody in so" in error.message) == (StoreUnreadable, True)
            assert ".pgpass" in error.hint
        with closing(open_source(f"postgresql://{ASKED}:{SECRET}@{place}")) as source:
            assert [run.id for run in source.runs()] == ["t"]
    finally:
        postgres.execute(f"DROP ROLE {ASKED}")


def test_a_connection_that_is_cut_is_made_again_and_a_database_that_is_gone_is_said(
    postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_PATIENCE", 0)
    chained(postgres, "t")
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agent-tt'"
    with closing(LangGraphSource(postgres.address)) as source:
        assert source.step_count("t") == 4
        postgres.query(cut)
        assert source.state("t", 4) == {"log": ["in", "one", "two"], "topic": "x"}
        postgres.query(cut)
        version = source.version()
        assert source.step_count("t") == 4, "that nobody could look does not take away what is there"
        postgres.query(cut)
        postgres.execute("DROP TABLE checkpoints")
        assert source.version() != version
        with pytest.raises(NotAStore, match="other tables"):
            source.runs()


def test_hostile_rows_are_data_or_named_damage(postgres: TestDatabase) -> None:
    chained(postgres, "a", "b", "c", "d")
    postgres.execute(
        "UPDATE checkpoints SET checkpoint = '[1, 2]' WHERE thread_id = 'a'",
        "UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{channel_versions}', '7'), metadata = '[]'"
        " WHERE thread_id = 'b'",
        "UPDATE checkpoint_blobs SET blob = '\\xdeadbeef' WHERE thread_id = 'c'",
        "UPDATE checkpoint_blobs SET type = 'pickle' WHERE thread_id = 'd'",
    )
    with closing(LangGraphSource(postgres.address)) as source:
        assert sorted(run.id for run in source.runs()) == ["a", "b", "c", "d"]
        states = {run.id: source.state(run.id, run.steps) for run in source.runs()}
        assert find_placeholder(states["a"]) == ()
        assert find_placeholder(states["c"]) == ()
        assert states["b"] == {"topic": "x"}, "the versions say which values there are"
        assert states["d"]["topic"] == "x"
        assert "pickle" in repr(states["d"]["log"])
        assert {problem.run for problem in source.verify()} >= {"a", "b", "c"}
        assert "channel log" in repr(states["c"])


@pytest.mark.parametrize("name", ["map_reduce", "nested_interrupted", "changes_alone"])
def test_of_encrypted_values_nothing_is_said_that_they_alone_tell(name: str, postgres: TestDatabase) -> None:
    with postgres_saver(postgres) as saver:
        graphs.ALL[name](saver)
    with closing(LangGraphSource(postgres.address)) as source:
        known = {run.id: (run.status, source.steps(run.id)) for run in source.runs()}
    postgres.execute("UPDATE checkpoint_blobs SET type = type || '+aes', blob = 'sealed'")
    with closing(LangGraphSource(postgres.address)) as source:
        for run in source.runs():
            status, steps = known[run.id]
            assert run.status in (status, "unknown")
            for step, before in zip(source.steps(run.id), steps, strict=True):
                assert step.extra["next"] in (before.extra["next"], None)
            assert "+aes" in repr(source.state(run.id, run.steps))
