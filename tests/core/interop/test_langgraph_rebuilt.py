"""Values that no checkpoint holds are LangGraph's own, or unknown."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.interop import graphs
from tests.core.interop.support import database_of
from tests.core.interop.test_langgraph_history import as_wire, readable

from agent_tt.interop.langgraph.reducers import Example, combined
from agent_tt.interop.langgraph.source import LangGraphSource

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire


def ai(name: str | None, content: str) -> Wire:
    return {"type": "ai", "content": content, "id": name}


def states_of(path: Path, frequency: int, turns: int) -> list[tuple[Any, Any]]:
    """Of each checkpoint our state and LangGraph's."""
    with graphs.saver(path) as checkpointer:
        graph = graphs.changes_alone(checkpointer, frequency=frequency, turns=turns)
        history = {s.config["configurable"]["checkpoint_id"]: s for s in graph.get_state_history(graphs.thread())}
    with closing(LangGraphSource(path)) as source:
        return [
            (source.state(run.id, step.number), history[str(step.extra["checkpoint_id"])].values)
            for run in source.runs()
            for step in source.steps(run.id)
        ]


@pytest.mark.parametrize("frequency", [1, 2, 3, 4])
def test_a_channel_of_changes_has_its_value_between_two_snapshots(tmp_path: Path, frequency: int) -> None:
    for ours, theirs in states_of(tmp_path / "delta.db", frequency, 4):
        assert ours == {key: value for key, value in theirs.items() if value != []}


def test_a_channel_of_changes_without_a_snapshot_shows_what_was_written_last(tmp_path: Path) -> None:
    shown = [ours.get("events") for ours, _ in states_of(tmp_path / "delta.db", 100, 2)]
    unknown = [value for value in shown if isinstance(value, dict)]
    assert len(unknown) > 5
    assert all(value["class"] == "langgraph.channels.delta:DeltaChannel" for value in unknown)


JOINED = Example([1], [[2]], [1, 2])


def test_writes_are_combined_as_the_examples_show() -> None:
    assert combined(["a"], [["b"], ["c"]], [JOINED]) == (["a", "b", "c"],)
    assert combined("a", ["b"], [Example(1, [2], 2)]) == ("b",)
    assert combined({"a": 1}, [{"b": 2}], [Example({"x": 1}, [{"y": 1}], {"x": 1, "y": 1})]) == ({"a": 1, "b": 2},)
    assert combined(5, [1], [Example(1, [2], 3)]) == (6,)


def test_without_an_example_that_combined_two_values_nothing_is_known() -> None:
    assert combined(["a"], [["b"]], []) is None
    assert combined(["a"], [["b"]], [Example(None, [["x"]], ["x"])]) is None
    assert combined(["a"], [["b"]], [JOINED, Example([1], [[2]], [2, 1])]) is None


def test_where_the_ways_that_are_left_differ_nothing_is_known() -> None:
    both = Example([ai("1", "a")], [[ai("2", "b")]], [ai("1", "a"), ai("2", "b")])
    assert combined([ai("1", "a")], [[ai("3", "c")]], [both]) == ([ai("1", "a"), ai("3", "c")],)
    assert combined([ai("1", "a")], [[ai("1", "c")]], [both]) is None
    replaced = Example([ai("1", "a")], [[ai("1", "b")]], [ai("1", "b")])
    assert combined([ai("1", "a")], [[ai("1", "c")]], [both, replaced]) == ([ai("1", "c")],)


def test_a_message_that_was_given_its_id_when_it_was_taken_in_is_an_example() -> None:
    named = Example([ai("1", "a")], [[ai(None, "b")]], [ai("1", "a"), ai("made", "b")])
    assert combined([ai("1", "a")], [[ai("2", "c")]], [named]) == ([ai("1", "a"), ai("2", "c")],)


@pytest.mark.parametrize(
    "write",
    [
        {"__overwrite__": ["new"]},
        {"type": "__overwrite__", "value": ["new"]},
        {"$type": "made", "class": "langgraph.types:Overwrite", "method": None, "$v": [[], {"value": ["new"]}]},
    ],
)
def test_an_overwrite_puts_its_value_in_place_of_all_before(write: Wire) -> None:
    assert combined(["old"], [["lost"], write], []) == (["new"],)
    assert combined(["old"], [write, ["more"]], [JOINED]) == (["new", "more"],)


def test_a_removed_message_is_gone() -> None:
    gone: Wire = {"type": "remove", "content": "", "id": "1"}
    example = Example([ai("1", "a"), ai("2", "b")], [[gone]], [ai("2", "b")])
    assert combined([ai("1", "a")], [[gone]], [example]) == ([],)


WIRES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "content", "type", "a"]), inner),
    max_leaves=8,
)


@given(WIRES, st.lists(WIRES, max_size=3), st.lists(st.builds(Example, WIRES, st.lists(WIRES, max_size=3), WIRES)))
def test_any_values_are_combined_or_unknown(before: Wire, writes: list[Wire], examples: list[Example]) -> None:
    found = combined(before, writes, examples)
    assert found is None or len(found) == 1


@pytest.mark.parametrize("name", graphs.ALL)
def test_with_pending_writes_the_last_state_is_what_langgraph_says_it_is_now(name: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.ALL[name](checkpointer)
        now = graph.get_state(graphs.thread())
    with closing(LangGraphSource(path)) as source:
        run = source.run("t")
        last = [
            step.number for step in source.steps("t")
            if step.extra["checkpoint_id"] == now.config["configurable"]["checkpoint_id"]
        ]  # fmt: skip
        assert run.origin["checkpoint"] == now.config["configurable"]["checkpoint_id"]
        state, expected = readable(source.pending_state("t", last[0])), as_wire(now.values)
        assert source.pending_state("t", 0) == {}
        if not isinstance(expected, dict):
            assert state == ({} if expected is None else expected)
            return
        for channel, value in expected.items():
            assert state.get(channel, []) == value or "how it is combined" in str(state[channel])


def test_pending_writes_are_applied_task_by_task(tmp_path: Path) -> None:
    path = database_of("stops", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        (last,) = connection.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()
        written = [("three", 0, "log", ["3"]), ("side", 0, "log", ["4"]), ("side", 1, "topic", "new")]
        for node, index, channel, value in written:
            row = ("t", "", last, node, f"~__pregel_pull, {node}", index, channel, "msgpack", ormsgpack.packb(value))
            connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    with closing(LangGraphSource(path)) as source:
        *_, ended, side, three = source.steps("t")
        assert (side.name, three.name) == ("side", "three")
        assert source.state("t", ended.number) == source.state("t", three.number) == {"log": ["in", "one", "two"]}
        first, both = source.pending_state("t", side.number), source.pending_state("t", three.number)
        assert isinstance(first, dict)
        assert isinstance(both, dict)
        assert first["log"] == ["in", "one", "two", "4"]
        assert both["log"] == ["in", "one", "two", "4", "3"]
        assert source.pending_state("t", ended.number) == both
        assert "how it is combined is not in the database" in str(both["topic"]), "nothing in this thread shows it"
