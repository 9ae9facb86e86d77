"""Graphs that a fork goes on with. They are run by tests, and imported by the processes of forks from this file."""

from __future__ import annotations

import operator
import os
import urllib.request
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    topic: str
    item: str


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def _ran(name: str) -> None:
    """Count a node that ran."""
    with Path(os.environ["RAN"]).open("a") as file:
        file.write(name + "\n")


def _says(name: str) -> Any:
    def node(state: Log) -> dict[str, Any]:
        _ran(name)
        return {"log": [f"{name} {state.get('topic', '')}".strip()]}

    return node


def _chain(*names: str) -> StateGraph[Any]:
    builder: StateGraph[Any] = StateGraph(Log)
    for before, name in zip((START, *names), names, strict=False):
        builder.add_node(name, _says(name))
        builder.add_edge(before, name)
    return builder


def chain() -> Any:
    return _chain("a", "b", "c")


def fan_out() -> Any:
    """`plan` sends a worker for each letter of the topic; `join` follows them all."""
    builder = _chain("plan")
    builder.add_node("worker", lambda state: _ran("worker") or {"log": [f"worker {state['item']}"]})
    builder.add_node("join", _says("join"))
    builder.add_conditional_edges(
        "plan", lambda state: [Send("worker", {"item": each}) for each in state["topic"]], ["worker"]
    )
    builder.add_edge("worker", "join")
    return builder


def nested() -> Any:
    """`middle` is a subgraph of two nodes."""
    builder = _chain("first")
    builder.add_node("middle", _chain("inner1", "inner2").compile())
    builder.add_node("last", _says("last"))
    builder.add_edge("first", "middle")
    builder.add_edge("middle", "last")
    return builder


def _ask(_state: Log) -> dict[str, Any]:
    _ran("ask")
    return {"log": [f"told {interrupt('which one?')}"]}


def asking() -> Any:
    builder = _chain("first")
    builder.add_node("ask", _ask)
    builder.add_node("last", _says("last"))
    builder.add_edge("first", "ask")
    builder.add_edge("ask", "last")
    return builder


def asking_inside() -> Any:
    """The question is asked by the second node of a subgraph."""
    inner = _chain("inner1")
    inner.add_node("ask", _ask)
    inner.add_edge("inner1", "ask")
    builder = _chain("first")
    builder.add_node("middle", inner.compile())
    builder.add_edge("first", "middle")
    return builder


def _bad(_state: Log) -> dict[str, Any]:
    _ran("bad")
    if "BROKEN" in os.environ:
        raise ValueError("no answer")
    return {"log": ["bad mended"]}


def failing() -> Any:
    """`good` and `bad` run beside each other; `bad` fails while BROKEN is set."""
    builder = _chain("first")
    builder.add_node("good", _says("good"))
    builder.add_node("bad", _bad)
    builder.add_edge("first", "good")
    builder.add_edge("first", "bad")
    return builder


def ambiguous() -> Any:
    """After `left` and `right`, which run at once, LangGraph cannot tell whose an edit is."""
    builder = _chain("first")
    for name in ("left", "right"):
        builder.add_node(name, _says(name))
        builder.add_edge("first", name)
    builder.add_node("join", _says("join"))
    builder.add_edge(["left", "right"], "join")
    return builder


def awaited() -> Any:
    async def wait(_state: Log) -> dict[str, Any]:
        _ran("wait")
        return {"log": ["waited"]}

    builder = _chain("first")
    builder.add_node("wait", wait)
    builder.add_edge("first", "wait")
    return builder


@tool
def charge(cents: int) -> str:
    """Charge a card."""
    _ran("charge")
    return f"charged {cents}"


def _model(state: Chat) -> dict[str, Any]:
    """Ask for the tool, then say so; LangChain gives the answers their ids."""
    is_paid = any(message.type == "tool" for message in state["messages"])
    asked: Any = [] if is_paid else [{"name": "charge", "args": {"cents": 5}, "id": "c1"}]
    answer = AIMessage("done" if is_paid else "", tool_calls=asked)
    return {"messages": [GenericFakeChatModel(messages=iter([answer])).invoke(state["messages"])]}


def _report(_state: Chat) -> dict[str, Any]:
    """Tell a server, past every tool, and go on where that is not let."""
    try:
        with urllib.request.urlopen(os.environ["SERVER"], b"charged", timeout=0.2) as answer:
            said = answer.read().decode()
    except Exception as error:
        said = type(error).__name__
    return {"messages": [AIMessage(f"reported: {said}", id="r1")]}


def paying() -> Any:
    builder: StateGraph[Any] = StateGraph(Chat)
    builder.add_node("model", _model)
    builder.add_node("tools", ToolNode([charge]))
    builder.add_node("report", _report)
    builder.add_edge(START, "model")
    builder.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else "report", ["tools", "report"]
    )
    builder.add_edge("tools", "model")
    builder.add_edge("report", END)
    return builder


compiled = chain().compile()
not_a_graph = 5
