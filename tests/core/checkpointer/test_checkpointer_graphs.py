"""Graphs on our checkpointer and on LangGraph's own: the same states, tasks, parents and writes."""

from __future__ import annotations

import re
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from tests.core.interop import graphs

from agent_tt.langgraph import Checkpointer
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from langgraph.checkpoint.base import BaseCheckpointSaver


def fails_beside_a_result(checkpointer: Any, *, again: bool) -> Any:
    """Two parallel nodes: one fails as soon as what the other wrote is stored, and not when it runs again."""
    left = [1]

    def bad(_state: graphs.Log) -> dict[str, Any]:
        while left and not checkpointer.get_tuple(graphs.thread()).pending_writes:
            time.sleep(0.001)
        if left:
            left.clear()
            raise ValueError("bad input")
        return {"log": ["bad recovered"]}

    builder: StateGraph[graphs.Log] = StateGraph(graphs.Log)
    builder.add_node("good", graphs.says("good"))
    builder.add_node("bad", bad)
    builder.add_edge(START, "good")
    builder.add_edge(START, "bad")
    graph = builder.compile(checkpointer=checkpointer)
    with pytest.raises(ValueError, match="bad input"):
        graph.invoke({"log": ["in"]}, graphs.thread())
    if again:
        graph.invoke(None, graphs.thread())
    return graph


STORIES: dict[str, Callable[[Any], Any]] = {
    "react": graphs.react,
    "map_reduce": graphs.map_reduce,
    "nested interrupt": partial(graphs.nested_interrupt, resume=False),
    "nested interrupt, resumed": partial(graphs.nested_interrupt, resume=True),
    "subgraph with memory": graphs.subgraph_with_memory,
    "two subgraphs in one node": graphs.two_subgraphs_in_one_node,
    "functional": partial(graphs.functional, resume=False),
    "functional, resumed": partial(graphs.functional, resume=True),
    "commanded": graphs.commanded,
    "stops": graphs.stops,
    "forks": graphs.forks,
    "parallel failure": partial(fails_beside_a_result, again=False),
    "parallel failure, resumed": partial(fails_beside_a_result, again=True),
    "parallel failure, retried": partial(graphs.parallel_failure, mode="retried"),
    "saved at exit": graphs.saved_at_exit,
    "sent to subgraphs": graphs.sent_to_subgraphs,
    "two questions": graphs.two_questions,
    "answered by hand": graphs.answered_by_hand,
}

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Checkpointer]:
    with Checkpointer(tmp_path / "runs.db") as checkpointer:
        yield checkpointer


class Names:
    """Ids in the order in which they are met: two runs of a graph draw others."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def __call__(self, value: object) -> str:
        return ID.sub(lambda found: self.known.setdefault(found[0], f"#{len(self.known)}"), repr(value))


def seen(graph: Any) -> list[str]:
    """What LangGraph shows of a thread: its state now, with those of subgraphs, and its history."""
    names = Names()
    now = graph.get_state(graphs.thread(), subgraphs=True)
    return [described(names, snapshot) for snapshot in (*graph.get_state_history(graphs.thread()), now)]


def described(names: Names, snapshot: Any) -> str:
    tasks = [
        (task.name, task.path, task.error, task.interrupts, task.result, task.state and names(task.state)[:0])
        for task in snapshot.tasks
    ]
    said = {key: value for key, value in snapshot.metadata.items() if key != "parents"}
    return names((snapshot.config, snapshot.parent_config, snapshot.values, snapshot.next, said, tasks))


def in_order(value: object) -> object:
    """A value that is written alike wherever it is equal: a set is written in whatever order it was filled."""
    return (type(value), sorted(value)) if isinstance(value, set) else value


def stored(saver: BaseCheckpointSaver[Any]) -> list[str]:
    """All checkpoints of all namespaces, with what was written on top of them.

    A checkpoint is named by its place in its namespace: parallel subgraphs take turns as they like.
    """
    found = sorted(saver.list(graphs.thread()), key=lambda found: found.config["configurable"]["checkpoint_id"])
    places: dict[str, list[str]] = {}
    for checkpoint in found:
        names = checkpoint.config["configurable"]
        places.setdefault(names["checkpoint_ns"], []).append(names["checkpoint_id"])

    def place(config: Any) -> object:
        names = config and config["configurable"]
        return names and (names["checkpoint_ns"], places[names["checkpoint_ns"]].index(names["checkpoint_id"]))

    return sorted(
        ID.sub(
            "#",
            repr(
                (
                    place(one.config),
                    place(one.parent_config),
                    [(name, in_order(value)) for name, value in sorted(one.checkpoint["channel_values"].items())],
                    sorted(one.checkpoint["channel_versions"]),
                    sorted(one.checkpoint["versions_seen"]),
                    one.checkpoint["v"],
                    one.checkpoint.get("updated_channels"),
                    one.metadata,
                    sorted((channel, repr(value)) for _, channel, value in one.pending_writes or ()),
                )
            ),
        )
        for one in found
    )


@pytest.mark.parametrize("story", STORIES)
def test_a_graph_sees_the_same(story: str, ours: Checkpointer):
    theirs = InMemorySaver()
    assert seen(STORIES[story](ours)) == seen(STORIES[story](theirs))
    assert stored(ours) == stored(theirs)


@pytest.mark.parametrize("story", STORIES)
def test_another_process_would_see_the_same(story: str, ours: Checkpointer):
    STORIES[story](ours)
    with Checkpointer(ours.path) as again:
        assert stored(again) == stored(ours)


@pytest.mark.parametrize("story", STORIES)
def test_a_copy_has_all_of_it_and_the_store_is_sound(story: str, ours: Checkpointer):
    STORIES[story](ours)
    ours.copy_thread("t", "copy")
    before = stored(ours)
    ours.delete_thread("t")
    ours.copy_thread("copy", "t")
    assert stored(ours) == before
    with closing(open_source(ours.path)) as source:
        assert source.verify() == []
