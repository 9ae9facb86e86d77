"""A thread of LangGraph that tests fork, with its graph in a file beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.sqlite import SqliteSaver

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ASKING_FILE", "GRAPH_FILE", "asking_thread", "desk_thread"]

GRAPH_FILE = "desk_graph.py"

GRAPH = """
import operator
from typing import Annotated, TypedDict
from langgraph.graph import END, START, StateGraph

class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    topic: str

def builder():
    made = StateGraph(State)
    made.add_node("plan", lambda state: {"log": ["planned " + state["topic"]]})
    made.add_node("tides", lambda state: {"log": ["looked at the moon"]})
    made.add_node("maps", lambda state: {"log": ["looked at the map"]})
    made.add_edge(START, "plan")
    made.add_conditional_edges("plan", lambda state: {"tides": "tides"}.get(state["topic"], "maps"), ["tides", "maps"])
    made.add_edge("tides", END)
    made.add_edge("maps", END)
    return made
"""


ASKING_FILE = "asking_graph.py"

ASKING = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

class State(TypedDict, total=False):
    topic: str
    answer: str

def builder():
    made = StateGraph(State)
    made.add_node("ask", lambda state: {"answer": interrupt("go on with " + state["topic"] + "?")})
    made.add_edge(START, "ask")
    made.add_edge("ask", END)
    return made
"""


def asking_thread(folder: Path) -> Path:
    """Make a database with a thread `desk` that waits for a person in `ask`; the graph is in `ASKING_FILE`."""
    return _thread(folder, ASKING_FILE, ASKING, {"topic": "roads"})


def desk_thread(folder: Path) -> Path:
    """Make a database with a thread `desk` of the steps input, __start__, plan and maps.

    What follows `plan` depends on the topic; the graph is `builder` in `GRAPH_FILE`.
    """
    return _thread(folder, GRAPH_FILE, GRAPH, {"log": [], "topic": "roads"})


def _thread(folder: Path, name: str, text: str, given: dict[str, Any]) -> Path:
    (folder / name).write_text(text)
    made: dict[str, Any] = {}
    exec(compile(text, name, "exec", dont_inherit=True), made)  # a text above
    file = folder / "checkpoints.db"
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        graph = made["builder"]().compile(checkpointer=SqliteSaver(connection))
        graph.invoke(given, {"configurable": {"thread_id": "desk"}})
    return file
