"""What no checkpoint of a thread holds: delta channels between snapshots, and writes that were never taken in."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from tests.core.checkpointer.test_checkpointer_calls import all_of, said
from tests.core.checkpointer.test_checkpointer_graphs import fails_beside_a_result
from tests.core.interop import graphs

from agent_tt.langgraph import Checkpointer
from agent_tt.model.kinds import LANGGRAPH_KEY
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire


def shown(state: Wire) -> dict[str, Wire]:
    assert isinstance(state, dict)
    return {name: value for name, value in state.items() if name != LANGGRAPH_KEY}


def test_delta_channels_are_put_together_as_langgraph_shows_them(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        graph = graphs.changes_alone(saver)
        history = {
            snapshot.config["configurable"]["checkpoint_id"]: snapshot.values
            for snapshot in graph.get_state_history(graphs.thread())
        }
    seen = set()
    with closing(open_source(tmp_path / "runs.db")) as source:
        for run in source.runs():
            for step in source.steps(run.id, 2):
                checkpoint = step.facts.checkpoint_id or ""
                assert shown(source.pending_state(run.id, step.number)) == history[checkpoint]
                assert (step.facts.not_held == ["events"]) == ("events" not in source.state(run.id, step.number))
                seen.add(checkpoint)
    assert len(seen) == len(history) - 1  # of the first input LangGraph shows an empty channel


def test_what_was_written_beside_a_failure_is_applied_on_demand(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        graph = graphs.chain("look").compile(checkpointer=saver)
        graph.invoke({"log": ["in"]}, graphs.thread("example"))
        now = fails_beside_a_result(saver, again=False).get_state(graphs.thread()).values
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("t")
        failed = source.step_number(run, "@error")
        assert shown(source.state(run.id, failed)) == {"log": ["in"]}
        assert now == {"log": ["in", "good"]}
        for step in (failed - 1, failed):  # how it is combined no superstep of this thread shows
            assert shown(source.pending_state(run.id, step))["log"] in (["in", "good"], opaque_pending())


def opaque_pending() -> Wire:
    return {
        "$type": "opaque",
        "class": "langgraph:pending",
        "repr": "how it is combined is not in the database",
        "why": "reducer",
        "$v": None,
    }


def tool_calls_in_a_delta_channel(checkpointer: Any) -> None:
    def joined(before: list[Any], writes: list[Any]) -> list[Any]:
        return [*before, *(item for write in writes for item in write)]

    channel = DeltaChannel(joined, snapshot_frequency=3)
    state: Any = TypedDict("state", {"messages": Annotated[list[Any], channel]})

    def agent(state: Any) -> dict[str, Any]:
        number = len(state["messages"])
        return {"messages": [said("hm", ("look_up", {"n": number}, f"c{number}"), id=f"a{number}", tokens=2)]}

    def tools(state: Any) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]["id"]
        return {"messages": [ToolMessage("found", id=f"t{call}", tool_call_id=call)]}

    builder = StateGraph(state)
    builder.add_node("agent", agent)
    builder.add_node("tools", tools)
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "tools")
    graph = builder.compile(checkpointer=checkpointer)
    for turn in range(4):
        graph.invoke({"messages": [HumanMessage(f"turn {turn}", id=f"h{turn}")]}, graphs.thread())


def test_the_arguments_of_calls_are_found_in_a_delta_channel(tmp_path: Path):
    with Checkpointer(tmp_path / "ours.db") as ours:
        tool_calls_in_a_delta_channel(ours)
    with graphs.saver(tmp_path / "theirs.db") as theirs:
        tool_calls_in_a_delta_channel(theirs)
    assert all_of(tmp_path / "ours.db") == all_of(tmp_path / "theirs.db")
    with closing(open_source(tmp_path / "ours.db")) as source:
        run = source.run("t")
        calls = [call for step in source.steps(run.id) for call in source.calls(run.id, step.number)]
        assert [call.args for call in calls if call.kind == "tool"] == [{"n": 1}, {"n": 4}, {"n": 7}, {"n": 10}]


@pytest.mark.parametrize("resume", [False, True])
def test_a_state_with_nothing_pending_is_the_state(resume: bool, tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        graphs.nested_interrupt(saver, resume=resume)
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("t")
        for step in range(run.steps + 1):
            assert source.pending_state(run.id, step) == source.state(run.id, step)
