"""Small LangGraph graphs with scripted nodes; each function runs one on a database and gives the compiled graph."""

from __future__ import annotations

import contextlib
import functools
import operator
import sqlite3
import threading
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, RetryPolicy, Send, interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Thread = dict[str, dict[str, str]]


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    topic: str
    answer: str


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@contextlib.contextmanager
def saver(path: Path) -> Iterator[SqliteSaver]:
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


def thread(name: str = "t") -> Thread:
    return {"configurable": {"thread_id": name}}


def says(word: str, **more: Any) -> Callable[[Log], dict[str, Any]]:
    """A node that appends `word` to the log."""

    def node(_state: Log) -> dict[str, Any]:
        return {"log": [word], **more}

    node.__name__ = word
    return node


def chain(*names: str) -> StateGraph[Log]:
    builder: StateGraph[Log] = StateGraph(Log)
    for before, name in zip((START, *names), names, strict=False):
        builder.add_node(name, says(name))
        builder.add_edge(before, name)
    return builder


def react(checkpointer: SqliteSaver) -> Any:
    """A tool loop with two parallel calls, one of which fails; conditional edges."""
    script = [
        AIMessage(
            "looking",
            id="a1",
            tool_calls=[
                {"name": "search", "args": {"q": "x"}, "id": "c1"},
                {"name": "charge", "args": {"cents": 5}, "id": "c2"},
            ],
            usage_metadata={"input_tokens": 11, "output_tokens": 7, "total_tokens": 18},
            response_metadata={"model_name": "scripted-1"},
        ),
        AIMessage("done", id="a2", usage_metadata={"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}),
    ]

    def agent(state: Chat) -> dict[str, Any]:
        return {"messages": [script[sum(m.type == "ai" for m in state["messages"])]]}

    def tools(_state: Chat) -> dict[str, Any]:
        return {
            "messages": [
                ToolMessage("[]", id="m1", tool_call_id="c1", name="search"),
                ToolMessage("card declined", id="m2", tool_call_id="c2", name="charge", status="error"),
            ]
        }

    builder: StateGraph[Chat] = StateGraph(Chat)
    builder.add_node("agent", agent)
    builder.add_node("tools", tools)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges(
        "agent", lambda s: "tools" if s["messages"][-1].tool_calls else END, {"tools": "tools", END: END}
    )
    builder.add_edge("tools", "agent")
    graph = builder.compile(checkpointer=checkpointer)
    graph.invoke({"messages": [HumanMessage("find it", id="h1")]}, thread())
    return graph


def map_reduce(checkpointer: SqliteSaver) -> Any:
    """`Send` to four workers, a join of two nodes, `Command(goto=…)`, a deferred node."""
    builder: StateGraph[Log] = StateGraph(Log)
    builder.add_node("plan", says("plan"))
    builder.add_node("worker", lambda arg: {"log": [f"worker {arg['i']}"]})
    builder.add_node("left", says("left"))
    builder.add_node("right", says("right"))
    builder.add_node("join", lambda _s: Command(goto="last", update={"log": ["join"]}), destinations=("last",))
    builder.add_node("last", says("last", topic="end"))
    builder.add_node("late", says("late"), defer=True)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda _s: [Send("worker", {"i": i}) for i in range(4)], ["worker"])
    builder.add_edge("worker", "left")
    builder.add_edge("worker", "right")
    builder.add_edge("plan", "late")
    builder.add_edge(["left", "right"], "join")
    graph = builder.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["go"]}, thread())
    return graph


def nested_interrupt(checkpointer: SqliteSaver, *, resume: bool) -> Any:
    """A subgraph in a subgraph; the inner one waits for a person."""

    def ask(_state: Log) -> dict[str, Any]:
        return {"answer": interrupt({"question": "send it?"}), "log": ["ask"]}

    inner = chain("polish")
    inner.add_node("ask", ask)
    inner.add_edge("polish", "ask")
    middle = chain("draft")
    middle.add_node("inner", inner.compile())
    middle.add_edge("draft", "inner")
    outer = chain("begin")
    outer.add_node("middle", middle.compile())
    outer.add_node("finish", says("finish"))
    outer.add_edge("begin", "middle")
    outer.add_edge("middle", "finish")
    graph = outer.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread())
    if resume:
        graph.invoke(Command(resume="yes"), thread())
    return graph


def subgraph_with_memory(checkpointer: SqliteSaver) -> Any:
    """A subgraph compiled with `checkpointer=True`, called in two turns of one thread."""
    inner = chain("think").compile(checkpointer=True)
    outer: StateGraph[Log] = StateGraph(Log)
    outer.add_node("helper", inner)
    outer.add_edge(START, "helper")
    graph = outer.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["one"]}, thread())
    graph.invoke({"log": ["two"]}, thread())
    return graph


def two_subgraphs_in_one_node(checkpointer: SqliteSaver) -> Any:
    inner = chain("think").compile()

    def both(_state: Log) -> dict[str, Any]:
        first = inner.invoke({"log": ["first"]})
        second = inner.invoke({"log": ["second"]})
        return {"log": [first["log"][-1], second["log"][-1]]}

    outer: StateGraph[Log] = StateGraph(Log)
    outer.add_node("both", both)
    outer.add_edge(START, "both")
    graph = outer.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread())
    return graph


def functional(checkpointer: SqliteSaver, *, resume: bool) -> Any:
    """The functional API: two tasks, then a question to a person."""

    @task
    def double(number: int) -> int:
        return number * 2

    @entrypoint(checkpointer=checkpointer)
    def workflow(number: int) -> dict[str, Any]:
        doubled = double(number).result()
        again = double(doubled).result()
        return {"value": again, "answer": interrupt("go on?")}

    workflow.invoke(3, thread())
    if resume:
        workflow.invoke(Command(resume="yes"), thread())
    return workflow


def commanded(checkpointer: SqliteSaver) -> Any:
    """Answers that come with an update of the state, and a `Command` that goes on after the end."""
    builder: StateGraph[Log] = StateGraph(Log)
    builder.add_node("ask", lambda _s: {"answer": interrupt("why?")})
    builder.add_node("other", says("other"))
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread())
    graph.invoke(Command(resume="so", update={"topic": "T", "log": ["told"]}), thread())
    graph.invoke(Command(goto="other", update={"topic": "U"}), thread())
    return graph


def stops(checkpointer: SqliteSaver) -> Any:
    """`interrupt_before` and `interrupt_after`, then left standing before `three`."""
    graph = chain("one", "two", "three").compile(
        checkpointer=checkpointer, interrupt_before=["two", "three"], interrupt_after=["one"]
    )
    graph.invoke({"log": ["in"]}, thread())
    graph.invoke(None, thread())
    return graph


def forks(checkpointer: SqliteSaver) -> Any:
    """An edit as another node, a replay, a copy, and a second turn on the newest branch."""
    graph = chain("one", "two", "three").compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread())
    history = list(graph.get_state_history(thread()))
    at_two = next(s for s in history if s.next == ("two",))
    edited = graph.update_state(at_two.config, {"log": ["edited"], "topic": "new"}, as_node="two")
    graph.invoke(None, edited)
    graph.invoke(None, at_two.config)
    graph.update_state(at_two.config, None, as_node="__copy__")
    graph.invoke({"log": ["second turn"]}, thread())
    return graph


def parallel_failure(checkpointer: SqliteSaver, *, mode: str) -> Any:
    """Two parallel nodes of which one raises: `always`, `once` and then resumed, or `retried` by a policy."""
    failures = {"always": 99, "once": 1, "retried": 1}
    left = [failures[mode]]
    is_good_written = threading.Event()
    put_writes = checkpointer.put_writes

    @functools.wraps(put_writes)
    def telling(config: Any, writes: Any, *args: Any, **options: Any) -> None:
        put_writes(config, writes, *args, **options)
        if ("log", ["good"]) in writes:  # what the graph begins with is written so, too
            is_good_written.set()

    checkpointer.put_writes = telling  # type: ignore[method-assign]

    def bad(_state: Log) -> dict[str, Any]:
        assert is_good_written.wait(60)  # a failure ends the superstep: what is not written by then never is
        if left[0] > 0:
            left[0] -= 1
            raise ValueError(f"bad input ({mode})")
        return {"log": ["bad recovered"]}

    builder: StateGraph[Log] = StateGraph(Log)
    policy = RetryPolicy(max_attempts=2, initial_interval=0.0, jitter=False, retry_on=ValueError)
    builder.add_node("good", says("good"))
    builder.add_node("bad", bad, retry_policy=policy if mode == "retried" else None)
    builder.add_node("post", says("post"))
    builder.add_edge(START, "good")
    builder.add_edge(START, "bad")
    builder.add_edge(["good", "bad"], "post")
    graph = builder.compile(checkpointer=checkpointer)
    with contextlib.suppress(ValueError):
        graph.invoke({"log": ["in"]}, thread())
    if mode == "once":
        graph.invoke(None, thread())
    return graph


def saved_at_exit(checkpointer: SqliteSaver) -> Any:
    """`durability="exit"`: one checkpoint a run and no writes; with a subgraph."""
    outer = chain("begin")
    outer.add_node("sub", chain("inside").compile())
    outer.add_edge("begin", "sub")
    graph = outer.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread(), durability="exit")
    graph.invoke({"log": ["again"]}, thread(), durability="exit")
    return graph


def sent_to_subgraphs(checkpointer: SqliteSaver) -> Any:
    """Two `Send`s to one subgraph, each of which asks; one answer, an edit inside it, the rest, then a replay."""

    def ask(state: Log) -> dict[str, Any]:
        return {"log": [f"{state['topic']}: {interrupt(state['topic'])}"]}

    inner = chain("prepare")
    inner.add_node("ask", ask)
    inner.add_edge("prepare", "ask")
    outer: StateGraph[Log] = StateGraph(Log)
    outer.add_node("worker", inner.compile())
    outer.add_node("finish", says("finish"))
    outer.add_conditional_edges(START, lambda _s: [Send("worker", {"topic": t, "log": []}) for t in "ab"], ["worker"])
    outer.add_edge("worker", "finish")
    graph = outer.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread())
    waiting = graph.get_state(thread(), subgraphs=True)
    first, _ = waiting.tasks
    graph.update_state(first.state.config, {"log": ["edited inside"]})
    graph.invoke(Command(resume={waiting.interrupts[0].id: "yes"}), thread())
    graph.invoke(Command(resume={waiting.interrupts[1].id: "no"}), thread())
    at_workers = next(s for s in graph.get_state_history(thread()) if s.next == ("worker", "worker"))
    graph.invoke(None, at_workers.config)
    return graph


def two_questions(checkpointer: SqliteSaver) -> Any:
    """Two nodes that each ask twice; both answered once, then one of them to the end."""

    def asks(name: str) -> Callable[[Log], dict[str, Any]]:
        def node(_state: Log) -> dict[str, Any]:
            return {"log": [f"{interrupt(f'{name} 1?')} {interrupt(f'{name} 2?')}"]}

        return node

    builder: StateGraph[Log] = StateGraph(Log)
    for name in ("left", "right"):
        builder.add_node(name, asks(name))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread())
    graph.invoke(Command(resume={open_.id: "first" for open_ in graph.get_state(thread()).interrupts}), thread())
    left = next(open_ for open_ in graph.get_state(thread()).interrupts if open_.value == "left 2?")
    graph.invoke(Command(resume={left.id: "second"}), thread())
    return graph


def answered_by_hand(checkpointer: SqliteSaver) -> Any:
    """A question that nobody answers: an edit in the name of the node goes on in its place."""
    builder = chain("begin")
    builder.add_node("ask", lambda _s: {"answer": interrupt("why?")})
    builder.add_node("finish", says("finish"))
    builder.add_edge("begin", "ask")
    builder.add_edge("ask", "finish")
    graph = builder.compile(checkpointer=checkpointer)
    graph.invoke({"log": ["in"]}, thread())
    graph.update_state(thread(), {"answer": "by hand"}, as_node="ask")
    graph.invoke(None, thread())
    return graph


def changes_alone(checkpointer: SqliteSaver, *, frequency: int = 3, turns: int = 3) -> Any:
    """A channel that stores changes, with a snapshot now and then; an edit, a fork and a question at the end."""

    channel = DeltaChannel(_joined, snapshot_frequency=frequency)
    state: Any = TypedDict("state", {"events": Annotated[list[str], channel], "turn": int}, total=False)
    builder = StateGraph(state)
    builder.add_node("one", lambda s: {"events": ["one"], "turn": len(s["events"])})
    builder.add_node("two", lambda _s: {"events": ["two a", "two b"]})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph = builder.compile(checkpointer=checkpointer)
    for turn in range(turns):
        graph.invoke({"events": [f"turn {turn}"]}, thread())
    older = list(graph.get_state_history(thread()))[3]
    graph.invoke(None, graph.update_state(older.config, {"events": ["edited"]}))
    return graph


def _joined(state: list[str], writes: list[list[str]]) -> list[str]:
    return [*state, *(item for write in writes for item in write)]


ALL: dict[str, Callable[[SqliteSaver], Any]] = {
    "react": react,
    "map_reduce": map_reduce,
    "nested_interrupted": lambda c: nested_interrupt(c, resume=False),
    "nested_resumed": lambda c: nested_interrupt(c, resume=True),
    "subgraph_with_memory": subgraph_with_memory,
    "two_subgraphs_in_one_node": two_subgraphs_in_one_node,
    "functional_interrupted": lambda c: functional(c, resume=False),
    "functional_resumed": lambda c: functional(c, resume=True),
    "commanded": commanded,
    "stops": stops,
    "forks": forks,
    "sent_to_subgraphs": sent_to_subgraphs,
    "fails": lambda c: parallel_failure(c, mode="always"),
    "resumed_after_failure": lambda c: parallel_failure(c, mode="once"),
    "retried": lambda c: parallel_failure(c, mode="retried"),
    "saved_at_exit": saved_at_exit,
    "two_questions": two_questions,
    "answered_by_hand": answered_by_hand,
    "changes_alone": changes_alone,
}
