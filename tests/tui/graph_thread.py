"""A thread of LangGraph that tests fork, with its graph in a file beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.sqlite import SqliteSaver

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["GRAPH_FILE", "desk_thread"]

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


def desk_thread(folder: Path) -> Path:
    """Make a database with a thread `desk` of the steps input, __start__, plan and maps.

    What follows `plan` depends on the topic; the graph is `builder` in `GRAPH_FILE`.
    """
    (folder / GRAPH_FILE).write_text(GRAPH)
    made: dict[str, Any] = {}
    exec(compile(GRAPH, GRAPH_FILE, "exec", dont_inherit=True), made)  # the text above
    file = folder / "checkpoints.db"
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        graph = made["builder"]().compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"log": [], "topic": "roads"}, {"configurable": {"thread_id": "desk"}})
    return file
