"""Our checkpointer beside SqliteSaver, with and without a delta channel, on the same loop of a model and a tool.

    python tests/benchmarks/bench_langgraph.py [--turns 200]

The model's answers are scripted; every superstep is durable before the next. Times are the processor's, of all
threads: what the disk of a busy machine takes says more about the machine. It is in the time by the clock, which is
printed and not judged. What LangGraph itself takes is in a superstep's; with a delta channel it is less, for there the
whole list is never written. Sizes are those of closed files. Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages

from agent_tt.langgraph import Checkpointer

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

WORDS: Final = re.findall(
    r"\w+",
    "refund policy order customer shipping delay agent tool search result document answer question invoice account "
    "reset password update status pending approved denied manager escalate ticket number date amount total payment",
)


class Figures(TypedDict):
    """What one way of keeping a thread takes."""

    size: float
    step: float
    clock: float
    history: float


LEAST: Final[dict[str, Figures]] = {
    "SqliteSaver": {"size": 50, "step": 1, "clock": 0, "history": 1},
    "SqliteSaver, DeltaChannel": {"size": 5, "step": 0, "clock": 0, "history": 1},
}
"""What the other's figure divided by ours must reach; 0 where it is only printed."""


def loop(saver: BaseCheckpointSaver[Any], channel: Any, turns: int) -> Any:
    """A graph in which a model asks for a tool `turns` times."""
    drawn = random.Random(1)

    def text(count: int) -> str:
        return " ".join(drawn.choice(WORDS) for _ in range(count))

    def agent(state: Any) -> dict[str, Any]:
        turn = sum(message.type == "ai" for message in state["messages"])
        if turn >= turns:
            return {"messages": [AIMessage("done", id="last")]}
        calls = [{"name": "search", "args": {"query": text(6)}, "id": f"call_{drawn.getrandbits(90):x}"}]
        usage = {"input_tokens": 11 + turn, "output_tokens": 7, "total_tokens": 18 + turn}
        said = {"model_name": "scripted-1", "finish_reason": "tool_calls"}
        name = f"lc_run--{drawn.getrandbits(128):032x}"
        answer = AIMessage(text(60), id=name, tool_calls=calls, usage_metadata=usage, response_metadata=said)  # type: ignore[arg-type]
        return {"messages": [answer]}

    def tools(state: Any) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]
        name = f"{drawn.getrandbits(128):032x}"
        return {"messages": [ToolMessage(text(100), tool_call_id=call["id"], name="search", id=name)]}

    builder = StateGraph(TypedDict("Chat", {"messages": channel}))  # type: ignore[misc, arg-type]
    builder.add_node("agent", agent)
    builder.add_node("tools", tools)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "agent")
    return builder.compile(checkpointer=saver)


def measured(saver: BaseCheckpointSaver[Any], channel: Any, turns: int) -> tuple[float, float, float]:
    """Milliseconds of a superstep, of the processor and by the clock, and seconds of reading the history."""
    graph = loop(saver, channel, turns)
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 10 * turns + 10}
    begun, begun_at = time.process_time(), time.perf_counter()
    steps = sum(1 for _ in graph.stream({"messages": [HumanMessage("hi", id="h")]}, config, durability="sync"))
    stepped, stepped_at = time.process_time(), time.perf_counter()
    found = sum(1 for _ in graph.get_state_history(config))
    read = time.process_time()
    assert (steps, found) == (2 * turns + 1, 2 * turns + 3)
    return (stepped - begun) * 1e3 / steps, (stepped_at - begun_at) * 1e3 / steps, read - stepped


def figures(name: str, path: Path, turns: int) -> Figures:
    """Run the loop and read its history, kept in one of the ways."""
    if name == "ours":
        with Checkpointer(path) as saver:
            step, clock, history = measured(saver, Annotated[list, add_messages], turns)
    else:
        channel = DeltaChannel(_messages_delta_reducer) if "Delta" in name else add_messages
        with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
            step, clock, history = measured(SqliteSaver(connection), Annotated[list, channel], turns)
    return {"size": path.stat().st_size / 1e6, "step": step, "clock": clock, "history": history}


def main() -> int:
    """Measure all three, print their figures, and say whether ours are as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    turns = parser.parse_args().turns
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        found = {
            name: figures(name, Path(folder) / f"{number}.db", turns) for number, name in enumerate(("ours", *LEAST))
        }
    print(f"{'':28}{'MB':>10}{'ms a superstep':>18}{'by the clock':>16}{'s history':>14}")
    for name, row in found.items():
        print(f"{name:28}{row['size']:>10.2f}{row['step']:>18.2f}{row['clock']:>16.2f}{row['history']:>14.2f}")
    for name, least in LEAST.items():
        ratios = {key: found[name][key] / found["ours"][key] for key in least}  # type: ignore[literal-required]
        short = [key for key, ratio in ratios.items() if ratio < least[key]]  # type: ignore[literal-required]
        missed += len(short)
        told = "".join(f"{ratios[key]:>{width}.1f} ×" for key, width in zip(least, (8, 16, 14, 12), strict=True))
        print(f"{name + ' / ours':28}{told}  {'missed: ' + ', '.join(short) if short else 'reached'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
