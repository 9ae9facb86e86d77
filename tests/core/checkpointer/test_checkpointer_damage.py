"""Facts of a thread that are not as they were stored, and the order in which checkpoints are listed."""

from __future__ import annotations

import gc
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.base import empty_checkpoint

from agent_tt.errors import Damaged
from agent_tt.history.payloads.payload import pack
from agent_tt.interop.threads.writes import kept_writes, read_writes
from agent_tt.langgraph import Checkpointer
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["$type", "$v", "class", "stored", "encoding", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)
ROW = st.tuples(st.integers(-4, 3), st.text(max_size=2), JSON, st.tuples(JSON, JSON) | JSON).map(list) | JSON
TASKS = st.lists(st.tuples(st.text(max_size=3), st.text(max_size=2), ROW, ROW).map(list) | JSON, max_size=3)


@given(TASKS, st.dictionaries(st.text(max_size=2), JSON, max_size=3))
@settings(max_examples=500, deadline=None)
def test_writes_that_are_damaged_give_data_or_a_named_error(kept: list[Any], state: dict[str, Any]):
    try:
        writes = read_writes(kept)
        for write in writes:
            write.given(state)
    except Damaged:
        return
    assert [str(write.value) for write in read_writes(kept_writes(writes))] == [str(write.value) for write in writes]


def two(path: Path, before: Any = None) -> tuple[Any, Any]:
    """A thread of two checkpoints, what led to the second being stored as the place where it lies."""
    with Checkpointer(path) as saver:
        config: Any = before or {"configurable": {"thread_id": "desk", "checkpoint_ns": ""}}
        value = {"text": "a value that is long enough to be stored only once, in the state that it went into " * 4}
        first = saver.put(config, {**empty_checkpoint(), "channel_values": {}}, {"source": "input", "step": -1}, {})
        saver.put_writes(first, [("answer", value)], "task", "~__pregel_pull, node")
        second = {**empty_checkpoint(), "channel_values": {"answer": value}}
        return first, saver.put(first, second, {"source": "loop", "step": 0}, {})


def can_lie_in_a_file(value: Any) -> bool:
    """Whether there is JSON of it: there is none of an infinity beside a whole number of more than 64 bits."""
    try:
        pack(value)
    except ValueError:
        return False
    return True


def change(path: Path, writes: list[Any], number: int = 1) -> None:
    """Store other facts of a checkpoint, as a program of another version might."""
    with Checkpointer(path) as saver:
        store = saver._threads.store
        (run,) = store.runs()
        (step,) = store.steps(run.id, number, number + 1)
        store.write_run(run.id).change_extra(number, {**step.extra, "writes": writes})


@given(changed=TASKS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_thread_with_damaged_writes_is_read_or_named(tmp_path_factory: pytest.TempPathFactory, changed: list[Any]):
    assume(can_lie_in_a_file(changed))
    path = tmp_path_factory.mktemp("damaged") / "runs.db"
    first, second = two(path)
    change(path, changed)
    with Checkpointer(path) as saver:
        found = saver.get_tuple(second)
        assert found is not None
        assert found.checkpoint["channel_values"]["answer"]["text"].startswith("a value")
        for read in (
            lambda: saver.get_tuple(first),
            lambda: saver.put_writes(first, [("answer", 1)], "other"),
            lambda: saver.put(first, empty_checkpoint(), {"source": "loop", "step": 0}, {}),
            lambda: saver.copy_thread("desk", "copy"),
        ):
            with suppress(Damaged):
                read()


def test_the_error_names_the_thread_the_checkpoint_and_what_to_do(tmp_path: Path):
    first, _ = two(tmp_path / "runs.db")
    change(tmp_path / "runs.db", [["task", "~__pregel_pull, node", [0, "answer", None, [0, 1], ["gone"]]]])
    with Checkpointer(tmp_path / "runs.db") as saver, pytest.raises(Damaged) as raised:
        saver.get_tuple(first)
    assert first["configurable"]["checkpoint_id"] in raised.value.message
    assert "thread 'desk'" in raised.value.message
    assert "agent-tt verify" in raised.value.hint


def test_a_thread_does_not_go_on_from_an_older_checkpoint_where_the_latest_is_damaged(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        thread: Any = {"configurable": {"thread_id": "desk", "checkpoint_ns": ""}}
        earlier = saver.put(thread, empty_checkpoint(), {"source": "input", "step": -2}, {})
    first, second = two(tmp_path / "runs.db", earlier)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        connection.execute("UPDATE steps SET meta = replace(meta, 'extra', 'extro') WHERE step = 3")
        connection.commit()
    latest: Any = {"configurable": {"thread_id": "desk"}}
    with Checkpointer(tmp_path / "runs.db") as saver:
        for config in (latest, second):
            with pytest.raises(Damaged, match=r"thread 'desk': .* may be in step 3 of run"):
                saver.get_tuple(config)
        with pytest.raises(Damaged, match="what tasks wrote"):
            saver.get_tuple(first)
        found = saver.get_tuple(earlier)
        assert found is not None
        assert found.checkpoint["id"] == earlier["configurable"]["checkpoint_id"]


def test_no_checkpoint_has_a_false_parent_after_one_that_is_damaged(tmp_path: Path):
    configs: list[Any] = [{"configurable": {"thread_id": "desk", "checkpoint_ns": ""}}]
    with Checkpointer(tmp_path / "runs.db") as saver:
        for number in range(5):
            metadata: Any = {"source": "loop", "step": number - 1, "parents": {}}
            configs.append(saver.put(configs[-1], empty_checkpoint(), metadata, {}))
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        connection.execute("UPDATE steps SET name = 'other' WHERE step = 3")
        connection.commit()
    with Checkpointer(tmp_path / "runs.db") as saver:
        given = [(found.config, found.parent_config, found.metadata["step"]) for found in saver.list(configs[0])]
        assert given == [
            (configs[5], configs[4], 3),
            (configs[2], configs[1], 0),
            (configs[1], None, -1),
        ]
        with pytest.raises(Damaged, match="may be in step 3"):
            saver.get_tuple(configs[4])
        saver.put(configs[5], empty_checkpoint(), {"source": "loop", "step": 4}, {})
    with Checkpointer(tmp_path / "runs.db") as saver:
        latest = saver.get_tuple({"configurable": {"thread_id": "desk"}})
        assert latest is not None
        assert (latest.parent_config, latest.metadata["step"]) == (configs[5], 4)


def test_what_comes_before_a_damaged_checkpoint_is_listed_and_then_it_is_named(tmp_path: Path):
    config: Any = {"configurable": {"thread_id": "desk", "checkpoint_ns": ""}}
    with Checkpointer(tmp_path / "runs.db") as saver:
        for number in range(30):
            config = saver.put(config, empty_checkpoint(), {"source": "loop", "step": number - 1, "parents": {}}, {})
            saver.put_writes(config, [("answer", "a long answer " * 20)], "task", "~__pregel_pull, node")
    change(tmp_path / "runs.db", [["task", "~__pregel_pull, node", [0, "answer", None, [0, 1], ["gone"]]]], 20)
    with Checkpointer(tmp_path / "runs.db") as saver:
        listed = saver.list({"configurable": {"thread_id": "desk"}})
        assert [next(listed).metadata["step"] for _ in range(10)] == list(range(28, 18, -1))
        assert gc.isenabled(), "Python's collector rests only while checkpoints are read"
        with pytest.raises(Damaged, match="step 20 of run"):
            next(listed)


def test_checkpoints_of_all_threads_are_listed_in_order_and_only_as_many_as_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ids: list[str] = []
    with Checkpointer(tmp_path / "runs.db") as saver:
        for number in range(150):
            checkpoint = {**empty_checkpoint(), "channel_values": {"n": number}}
            config: Any = {"configurable": {"thread_id": f"t{number % 75}", "checkpoint_ns": ""}}
            ids.append(checkpoint["id"])
            saver.put(config, checkpoint, {"source": "loop", "step": number}, {})
    with Checkpointer(tmp_path / "runs.db") as saver:
        used: list[str] = []
        use = saver._threads.use
        monkeypatch.setattr(saver._threads, "use", lambda name: used.append(name) or use(name))
        newest = list(saver.list(None, limit=3))
        assert [found.config["configurable"]["checkpoint_id"] for found in newest] == ids[:-4:-1]
        assert len(set(used)) == 3  # nothing is looked for after the last
        before: Any = {"configurable": {"thread_id": "t", "checkpoint_id": ids[100]}}
        assert [found.checkpoint["id"] for found in saver.list(None, before=before)] == ids[99::-1]
        assert [found.checkpoint["id"] for found in saver.list(None)] == ids[::-1]
        assert [found.checkpoint["channel_values"]["n"] for found in saver.list(None, filter={"step": 7})] == [7]
    with closing(open_source(tmp_path / "runs.db")) as source:
        assert source.verify() == []
