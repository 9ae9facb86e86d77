"""The calls of a thread: worked out of what was written, and the same as of LangGraph's own database."""

from __future__ import annotations

import json
import operator
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt
from tests.core.checkpointer.test_checkpointer_graphs import ID, STORIES
from tests.core.conformance.reading import check_source
from tests.core.interop import graphs

from agent_tt.history.payloads.damage import find_placeholder
from agent_tt.interop.langgraph.messages import messages_in
from agent_tt.interop.threads.source import StoreWithThreads
from agent_tt.langgraph import Checkpointer
from agent_tt.model import NewRun
from agent_tt.model.statistics import Chosen
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.model import Call
    from agent_tt.protocols import RunSource


def said(text: str, *calls: tuple[str, dict[str, object], str], id: str | None = None, tokens: int = 0) -> AIMessage:  # noqa: A002  LangChain's name
    return AIMessage(
        text,
        id=id,
        tool_calls=[{"name": name, "args": args, "id": call} for name, args, call in calls],
        usage_metadata={"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1} if tokens else None,
        response_metadata={"model_name": "scripted-1"},
    )


def tool_loop(*, fails: bool = False) -> StateGraph[graphs.Chat]:
    """A model that asks for two tools at once, each sent to a node of its own, and then answers."""

    def agent(state: graphs.Chat) -> dict[str, Any]:
        if state["messages"][-1].type == "tool":
            return {"messages": [said("It rains.", tokens=30)]}
        asked = ("look_up", {"city": "Bergen"}, "c1"), ("charge", {"cents": 5}, "c2")
        return {"messages": [said("Let me look.", *asked, tokens=20)]}

    def tool(call: dict[str, Any]) -> dict[str, Any]:
        status = "error" if fails and call["name"] == "charge" else "success"
        return {"messages": [ToolMessage(f"{call['name']} done", tool_call_id=call["id"], status=status)]}

    def after(state: graphs.Chat) -> list[Send] | str:
        return [Send("tools", call) for call in state["messages"][-1].tool_calls] or END

    builder = StateGraph(graphs.Chat)
    builder.add_node("agent", agent)
    builder.add_node("tools", tool)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", after, ["tools", END])
    builder.add_edge("tools", "agent")
    return builder


def two_turns(checkpointer: Any) -> None:
    graph = tool_loop(fails=True).compile(checkpointer=checkpointer)
    graph.invoke({"messages": [HumanMessage("Umbrella?")]}, graphs.thread())
    graph.invoke({"messages": [HumanMessage("Sure?")]}, graphs.thread())


def in_a_subgraph(checkpointer: Any) -> None:
    """An agent whose conversation goes into a subgraph and back again, as a whole."""
    builder = StateGraph(graphs.Chat)
    builder.add_node("front", lambda _s: {"messages": [said("One moment.", tokens=7)]})
    builder.add_node("desk", tool_loop().compile())
    builder.add_node("ask", lambda _s: {"messages": [HumanMessage("And now?")]})
    builder.add_edge(START, "front")
    builder.add_edge("front", "ask")
    builder.add_edge("ask", "desk")
    builder.compile(checkpointer=checkpointer).invoke({"messages": [HumanMessage("Umbrella?")]}, graphs.thread())


def whole_conversations(checkpointer: Any) -> None:
    """A state without a reducer: each node gives the whole conversation back."""
    state: Any = TypedDict("state", {"messages": list[AnyMessage]})

    def agent(state: Any) -> dict[str, Any]:
        asked = [("look_up", {"n": len(state["messages"])}, f"c{len(state['messages'])}")]
        return {"messages": [*state["messages"], said("hm", *asked, tokens=3)]}

    def tools(state: Any) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]["id"]
        return {"messages": [*state["messages"], ToolMessage("found", tool_call_id=call)]}

    builder = StateGraph(state)
    for before, name, node in ((START, "agent", agent), ("agent", "tools", tools), ("tools", "again", agent)):
        builder.add_node(name, node)
        builder.add_edge(before, name)
    earlier = [HumanMessage("Hi"), said("Hello.", tokens=99), HumanMessage("Umbrella?")]
    builder.compile(checkpointer=checkpointer).invoke({"messages": earlier}, graphs.thread())


def asks_twice(checkpointer: Any) -> None:
    """A node that asks a model and runs its tool, then asks a person; the tool's result comes after the answer."""
    state: Any = TypedDict("state", {"messages": Annotated[list[AnyMessage], operator.add]})

    def both(_state: Any) -> dict[str, Any]:
        answer = interrupt("May I?")
        return {"messages": [said("", ("pay", {"to": "x"}, "c9"), tokens=4), ToolMessage(answer, tool_call_id="c9")]}

    builder = StateGraph(state)
    builder.add_node("both", both)
    builder.add_edge(START, "both")
    graph = builder.compile(checkpointer=checkpointer)
    graph.invoke({"messages": []}, graphs.thread())
    graph.invoke(Command(resume="yes"), graphs.thread())


def fails_and_recovers(checkpointer: Any) -> None:
    left = [1]

    def node(_state: graphs.Chat) -> dict[str, Any]:
        if left:
            raise ValueError(f"no line {left.pop()}")
        return {"messages": [said("There.", tokens=5)]}

    builder = StateGraph(graphs.Chat)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=checkpointer)
    with pytest.raises(ValueError, match="no line"):
        graph.invoke({"messages": [HumanMessage("Go")]}, graphs.thread())
    graph.invoke(None, graphs.thread())


def functional_chat(checkpointer: Any) -> None:
    @task
    def model(messages: list[AnyMessage]) -> AnyMessage:
        return said(f"answer {len(messages)}", tokens=6)

    @entrypoint(checkpointer=checkpointer)
    def workflow(messages: list[AnyMessage], *, previous: Any = None) -> Any:
        messages = [*(previous or []), *messages]
        messages = [*messages, model(messages).result()]
        return entrypoint.final(value=messages[-1], save=messages)

    workflow.invoke([HumanMessage("one")], graphs.thread())
    workflow.invoke([HumanMessage("two")], graphs.thread())


CHATS: dict[str, Callable[[Any], Any]] = {
    "two turns": two_turns,
    "in a subgraph": in_a_subgraph,
    "whole conversations": whole_conversations,
    "asks and pays in one node": asks_twice,
    "fails and recovers": fails_and_recovers,
    "functional chat": functional_chat,
}


ASKED = {
    "two turns": 4,
    "in a subgraph": 3,
    "whole conversations": 2,
    "asks and pays in one node": 1,
    "fails and recovers": 1,
    "functional chat": 2,
}
"""How often each of them asks a model."""


def told(call: Call) -> str:
    """All that a call says, without ids: LangGraph gives a message one while it is being written, or just before."""
    facts = {key: value for key, value in call.meta.items() if key != "task_id"}
    error = call.error and (call.error.class_name, call.error.message)
    values = json.dumps([call.args, call.result, facts], sort_keys=True).replace('"id": null', '"id": "#"')
    return ID.sub("#", repr((call.kind, call.name, call.effect, call.status, call.lane, error, values)))


def calls_in(source: RunSource) -> list[Call]:
    run = source.run("t").id
    return [call for step in source.steps(run) if step.calls for call in source.calls(run, step.number)]


def all_of(path: Path) -> dict[str, object]:
    """What calls, errors and usage all runs of a file tell of; parallel subgraphs take turns as they like."""
    with closing(open_source(path)) as source:
        runs = source.runs()
        steps = [step for run in runs for step in source.steps(run.id) if not step.inherited]
        own = [
            call
            for run in runs
            for step in source.steps(run.id)
            if not step.inherited
            for call in source.calls(run.id, step.number)
        ]
        return {
            "calls": sorted(map(told, own)),
            "ends": sorted((run.status, run.error and run.error.short) for run in runs),
            "errors": sorted((step.name, step.error.short) for step in steps if step.error is not None),
            "tokens": sum((step.tokens_in or 0) + (step.tokens_out or 0) for step in steps),
        }


@pytest.mark.parametrize("story", [*CHATS, *(story for story in STORIES if story != "two questions")])
def test_both_savers_tell_of_the_same_calls(story: str, tmp_path: Path):
    graph = CHATS[story] if story in CHATS else STORIES[story]
    with Checkpointer(tmp_path / "ours.db") as ours:
        graph(ours)
    with graphs.saver(tmp_path / "theirs.db") as theirs:
        graph(theirs)
    assert all_of(tmp_path / "ours.db") == all_of(tmp_path / "theirs.db")


@pytest.mark.parametrize("story", CHATS)
def test_a_message_is_one_call_however_often_it_is_written(story: str, tmp_path: Path):
    with Checkpointer(tmp_path / "ours.db") as ours, graphs.saver(tmp_path / "theirs.db") as theirs:
        CHATS[story](ours)
        CHATS[story](theirs)
    for path in (tmp_path / "ours.db", tmp_path / "theirs.db"):
        with closing(open_source(path)) as source:
            models = [call for call in calls_in(source) if call.kind == "llm"]
            assert len(models) == ASKED[story]
            assert len({str(messages_in(call.result)[0].content) + str(call.step) for call in models}) == ASKED[story]


def test_an_answer_is_known_here_that_their_database_does_not_keep(tmp_path: Path):
    with Checkpointer(tmp_path / "ours.db") as ours:
        graphs.two_questions(ours)
    with closing(open_source(tmp_path / "ours.db")) as source:
        asked = [(call.args, call.result, call.status) for call in calls_in(source) if call.name == "interrupt"]
    assert sorted(asked) == [("left 2?", "second", "ok"), ("right 2?", None, "pending")]


@pytest.mark.parametrize("story", [*CHATS, *STORIES])
def test_a_store_with_a_thread_does_all_that_a_source_must(story: str, tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as ours:
        (CHATS[story] if story in CHATS else STORIES[story])(ours)
    with closing(open_source(tmp_path / "runs.db")) as source:
        check_source(source)


async def test_an_asynchronous_graph_has_the_same_calls(tmp_path: Path):
    conversation = {"messages": [HumanMessage("Umbrella?")]}
    async with Checkpointer(tmp_path / "ours.db") as ours:
        await tool_loop(fails=True).compile(checkpointer=ours).ainvoke(conversation, graphs.thread())
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "theirs.db")) as theirs:
        await tool_loop(fails=True).compile(checkpointer=theirs).ainvoke(conversation, graphs.thread())
    assert all_of(tmp_path / "ours.db") == all_of(tmp_path / "theirs.db")


def test_calls_are_there_while_a_thread_grows_and_move_with_the_superstep_that_takes_them_in(tmp_path: Path):
    """One beside a failure belongs to the step that failed, until a retry ends the superstep."""
    left = [1]

    def bad(_state: graphs.Chat) -> dict[str, Any]:
        while left and not saver.get_tuple(graphs.thread()).pending_writes:  # type: ignore[union-attr]
            pass
        if left:
            raise ValueError(f"no line {left.pop()}")
        return {"messages": [said("Here.", id="b")]}

    builder = StateGraph(graphs.Chat)
    builder.add_node("good", lambda _s: {"messages": [said("There.", id="a", tokens=5)]})
    builder.add_node("bad", bad)
    builder.add_edge(START, "good")
    builder.add_edge(START, "bad")
    with Checkpointer(tmp_path / "runs.db") as saver, closing(open_source(tmp_path / "runs.db")) as source:
        graph = builder.compile(checkpointer=saver)
        with pytest.raises(ValueError, match="no line"):
            graph.invoke({"messages": [HumanMessage("Go", id="h")]}, graphs.thread())
        assert rows_of(source) == [("bad", "error", False, ["There."])]
        run = source.run("t")
        assert (run.status, run.error and run.error.message) == ("failed", "no line 1")
        graph.invoke(None, graphs.thread())
        assert rows_of(source) == [("bad", "error", True, []), ("good, bad", "ok", None, ["Here.", "There."])]
        assert (source.run("t").status, source.run("t").error) == ("succeeded", None)


def rows_of(source: RunSource) -> list[tuple[str, str, bool | None, list[str]]]:
    """The steps after the input: name, end, whether a later one overcame that, and what models said."""
    run = source.run("t").id
    return [
        (
            step.name,
            step.status,
            step.facts.attempt,
            sorted(
                str(message.content) for call in source.calls(run, step.number) for message in messages_in(call.result)
            ),
        )
        for step in source.steps(run, 3)
    ]


def test_whoever_asks_about_calls_is_told_of_those_of_a_thread(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        two_turns(saver)
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("t")
        tools = {group.name: (group.calls, group.errors) for group in source.call_groups(Chosen(), "tool")}
        models = {group.name: (group.calls, group.usage.tokens_in) for group in source.call_groups(Chosen(), "model")}
        assert tools == {"look_up": (2, 0), "charge": (2, 2)}
        assert models == {"scripted-1": (4, 100)}
        assert [(group.name, group.count) for group in source.statistics(Chosen()).errors] == [("charge", 2)]
        assert source.steps_calling(run.id, 1, run.steps, {"name": "charge"}) == {4, 9}
        heads = source.call_heads(run.id)
        assert [head.name for head in heads] == [call.name for call in source.call_page(run.id, 1, run.steps + 1)]
        assert source.with_values(run.id, heads[2]) == source.calls(run.id, heads[2].step)[heads[2].number - 1]


def test_statistics_read_the_threads_among_other_runs_and_no_other_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with Checkpointer(tmp_path / "runs.db") as saver:
        two_turns(saver)
    with closing(open_source(tmp_path / "runs.db")) as source:
        alone = source.statistics(Chosen()), source.call_groups(Chosen(), "tool")
    with closing(open_store(tmp_path / "runs.db")) as store:
        for number in range(3):
            about = {"about": "langgraph_thread"} if number else {}
            store.begin_run(NewRun(f"other {number}", metadata=about), {"n": 0}).finish("succeeded")
    read: list[str] = []
    steps = StoreWithThreads.steps
    monkeypatch.setattr(
        StoreWithThreads, "steps", lambda self, run, *rest: (read.append(run), steps(self, run, *rest))[1]
    )
    with closing(open_source(tmp_path / "runs.db")) as source:
        assert isinstance(source, StoreWithThreads)
        (thread,) = source.threads()
        assert thread.name == "t"
        counted = source.statistics(Chosen())
        assert (counted.errors, source.call_groups(Chosen(), "tool")) == (alone[0].errors, alone[1])
        assert counted.whole.runs == 4
        assert set(read) == {thread.id}


def test_settings_say_what_a_tool_of_a_thread_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENT_TT_EFFECTS", '{"look_*": "read"}')
    with Checkpointer(tmp_path / "ours.db") as ours, graphs.saver(tmp_path / "theirs.db") as theirs:
        two_turns(ours)
        two_turns(theirs)
    for path in (tmp_path / "ours.db", tmp_path / "theirs.db"):
        with closing(open_source(path)) as source:
            assert {call.name: call.effect for call in calls_in(source) if call.kind == "tool"} == {
                "look_up": "read",
                "charge": "write",
            }


def test_calls_are_those_of_the_thread_as_it_is_after_pruning(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        two_turns(saver)
        saver.prune(["t"])
        with closing(open_source(tmp_path / "runs.db")) as source:
            assert calls_in(source) == []
            two_turns(saver)
            assert [call.kind for call in calls_in(source)] == ["human", "llm", "tool", "tool", "llm"] * 2


def test_calls_that_cannot_be_read_are_said_to_be_so(tmp_path: Path):
    with Checkpointer(tmp_path / "runs.db") as saver:
        two_turns(saver)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as connection, connection:
        connection.execute("UPDATE deltas SET ops = zeroblob(8) WHERE (id & 0xffffffff) = 4")
    with closing(open_source(tmp_path / "runs.db")) as source:
        run = source.run("t")
        steps = source.steps(run.id)
        calls = [call for step in steps for call in source.calls(run.id, step.number)]
        assert len(calls) == sum(step.calls for step in steps)
        assert any(find_placeholder([call.args, call.result]) is not None for call in calls)
