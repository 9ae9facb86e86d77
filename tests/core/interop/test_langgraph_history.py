"""Databases of real graphs, compared with LangGraph's own view of them."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import BaseMessage
from tests.core.interop import graphs
from tests.core.interop.support import database_of

from agent_tt.interop.langgraph.source import LangGraphSource

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire


def as_wire(value: Any) -> Any:
    """LangGraph's own value in our wire form, messages by their fields."""
    if isinstance(value, BaseMessage):
        return {"message": value.model_dump()}
    if isinstance(value, dict):
        return {key: as_wire(item) for key, item in value.items()}
    return [as_wire(item) for item in value] if isinstance(value, list) else value


def readable(wire: Wire) -> Any:
    """Our wire value, messages by their fields."""
    if isinstance(wire, dict):
        if wire.get("$type") == "pydantic":
            return {"message": readable(wire["$v"])}
        return {key: readable(item) for key, item in wire.items()}
    return [readable(item) for item in wire] if isinstance(wire, list) else wire


@pytest.mark.parametrize("name", graphs.ALL)
def test_history_is_that_of_langgraph(name: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.ALL[name](checkpointer)
        history = {str(s.config["configurable"]["checkpoint_id"]): s for s in graph.get_state_history(graphs.thread())}
    source = LangGraphSource(path)
    seen = set()
    for run in source.runs():
        for step in source.steps(run.id):
            snapshot = history.get(str(step.extra["checkpoint_id"]))
            if snapshot is None:
                continue
            seen.add(step.extra["checkpoint_id"])
            parent = snapshot.parent_config
            assert step.extra["parent_checkpoint_id"] == (parent["configurable"]["checkpoint_id"] if parent else None)
            assert step.extra["langgraph_step"] == snapshot.metadata["step"]
            assert step.extra["source"] == snapshot.metadata["source"]
            assert step.extra["next"] == list(snapshot.next)
            shown = readable(source.state(run.id, step.number))
            expected = as_wire(snapshot.values)
            if step.extra["source"] == "input" or not isinstance(expected, dict):
                continue
            assert {key: value for key, value in shown.items() if value != []} == {
                key: value for key, value in expected.items() if value != []
            }
    assert seen == set(history)
    source.close()


@pytest.mark.parametrize("name", graphs.ALL)
def test_every_checkpoint_of_every_namespace_is_a_step_of_some_run(name: str, tmp_path: Path) -> None:
    path = database_of(name, tmp_path)
    connection = sqlite3.connect(path)
    stored = set(connection.execute("SELECT checkpoint_ns, checkpoint_id FROM checkpoints"))
    connection.close()
    source = LangGraphSource(path)
    shown = [
        (step.extra["checkpoint_ns"], step.extra["checkpoint_id"])
        for run in source.runs()
        for step in source.steps(run.id)
        if not step.inherited and step.extra["checkpoint_id"] is not None
    ]
    assert set(shown) == stored
    assert len(shown) == len(stored), "a checkpoint belongs to one branch, others inherit it"
    assert source.verify() == []
    source.close()


@pytest.mark.parametrize("name", graphs.ALL)
def test_changes_lead_from_each_base_to_its_step(name: str, tmp_path: Path) -> None:
    from agent_tt.history.changes.ops import apply
    from agent_tt.history.digest import digest

    source = LangGraphSource(database_of(name, tmp_path))
    for run in source.runs():
        for step in source.steps(run.id):
            base = source.base_step(run.id, step.number)
            if base is not None:
                assert base < step.number
                rebuilt = apply(source.state(run.id, base), source.changes(run.id, step.number))
                assert rebuilt == source.state(run.id, step.number)
                assert digest(rebuilt) == source.digest(run.id, step.number)
    source.close()
