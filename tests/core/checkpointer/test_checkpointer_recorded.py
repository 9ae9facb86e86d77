"""A graph with our checkpointer under a recording: each call is in one place, and the thread says where."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from tests.core.checkpointer.test_checkpointer_calls import said
from tests.core.interop import graphs

import agent_tt
from agent_tt.langgraph import Checkpointer
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource


@tool
def look_up(city: str) -> str:
    """Look up the weather."""
    return f"rain in {city}"


@agent_tt.llm
def ask_model(question: str) -> dict[str, Any]:
    """A model whose calls are recorded."""
    return {"text": f"answer to {question}"}


def agent(state: graphs.Chat) -> dict[str, Any]:
    """Ask for a tool by itself, which nobody records; answer with a model that is recorded."""
    if state["messages"][-1].type == "tool":
        return {"messages": [AIMessage(ask_model("the result")["text"])]}
    return {"messages": [said("", ("look_up", {"city": "Bergen"}, "c1"), tokens=9)]}


def run_graph(store: Path) -> None:
    builder = StateGraph(graphs.Chat)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([look_up]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda s: "tools" if s["messages"][-1].tool_calls else END, ["tools", END])
    builder.add_edge("tools", "agent")
    with Checkpointer(store) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"messages": [HumanMessage("Umbrella?")]}, graphs.thread())


def calls_of(source: RunSource, name: str) -> list[tuple[int, str, str]]:
    run = source.run(name)
    return [
        (step.number, call.kind, call.name)
        for step in source.steps(run.id)
        for call in source.calls(run.id, step.number)
        if call.kind != "human"
    ]


def test_a_call_that_was_recorded_is_not_shown_a_second_time_in_the_thread(tmp_path: Path):
    with agent_tt.record("desk", store=tmp_path / "runs.db"):
        run_graph(tmp_path / "runs.db")
    with closing(open_source(tmp_path / "runs.db")) as source:
        desk, thread = source.run("desk"), source.run("t")
        assert [(kind, name) for _, kind, name in calls_of(source, "desk")] == [
            ("tool", "look_up"),
            ("llm", "ask_model"),
        ]
        assert calls_of(source, "t") == [(3, "llm", "scripted-1")]
        assert {step.facts.recorded_in for step in source.steps(thread.id)} == {desk.id}
        assert (thread.tokens_in, thread.tokens_out) == (9, 1)


def test_a_recording_in_another_file_takes_nothing_from_a_thread(tmp_path: Path):
    with agent_tt.record("desk", store=tmp_path / "recorded.db"):
        run_graph(tmp_path / "threads.db")
    with closing(open_source(tmp_path / "threads.db")) as source:
        assert [kind for _, kind, _ in calls_of(source, "t")] == ["llm", "tool", "llm"]


def test_a_thread_whose_recording_was_deleted_has_its_calls_again(tmp_path: Path):
    with agent_tt.record("desk", store=tmp_path / "runs.db"):
        run_graph(tmp_path / "runs.db")
    with closing(open_source(tmp_path / "runs.db")) as source:
        source.delete_runs([source.run("desk").id])  # type: ignore[attr-defined]  # a store
        assert [kind for _, kind, _ in calls_of(source, "t")] == ["llm", "tool", "llm"]


@pytest.mark.parametrize("times", [1, 2])
def test_turns_of_several_recordings_each_name_their_own(times: int, tmp_path: Path):
    for number in range(times):
        with agent_tt.record(f"desk {number}", store=tmp_path / "runs.db"):
            run_graph(tmp_path / "runs.db")
    with closing(open_source(tmp_path / "runs.db")) as source:
        known = {source.run(f"desk {number}").id for number in range(times)}
        assert {step.facts.recorded_in for step in source.steps(source.run("t").id)} == known
        assert len(calls_of(source, "t")) == times
