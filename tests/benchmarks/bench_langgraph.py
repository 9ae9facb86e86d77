"""Our checkpointer beside SqliteSaver, with and without a delta channel, on the same loop of a model and a tool.

    python tests/benchmarks/bench_langgraph.py [--turns 200] [--rounds 5] [--parts]

The model's answers are scripted; every superstep is durable before the next. All ways are measured in each round, in
another order each time; medians count. Times are the processor's, of all threads, and those by the clock, in which the
disk is. What LangGraph itself takes is in a superstep's. Sizes are those of closed files. Nothing of ours may be larger
or slower: exits with 1 if anything is.

With `--parts` it says instead what the parts of a superstep of ours take of the processor.
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict, cast

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


OURS: Final = ("ours", "ours, DeltaChannel")
OTHERS: Final = ("SqliteSaver", "SqliteSaver, DeltaChannel")
NO_MORE: Final[Figures] = {"size": 1, "step": 1, "clock": 1, "history": 1}
LEAST: Final[dict[tuple[str, str], Figures]] = {
    (OTHERS[0], OURS[0]): {**NO_MORE, "size": 50},
    (OTHERS[1], OURS[0]): {**NO_MORE, "size": 5},
    (OTHERS[1], OURS[1]): NO_MORE,
}
"""What the other's figure divided by ours must reach."""


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
    config = config_of(turns)
    step, clock = stepped(graph, turns)
    begun = time.process_time()
    found = sum(1 for _ in graph.get_state_history(config))
    history = time.process_time() - begun
    assert found == 2 * turns + 3
    return step, clock, history


def stepped(graph: Any, turns: int) -> tuple[float, float]:
    """Run the loop; give milliseconds of a superstep, of the processor and by the clock."""
    begun, begun_at = time.process_time(), time.perf_counter()
    given = {"messages": [HumanMessage("hi", id="h")]}
    steps = sum(1 for _ in graph.stream(given, config_of(turns), durability="sync"))
    taken, taken_at = time.process_time() - begun, time.perf_counter() - begun_at
    assert steps == 2 * turns + 1
    return taken * 1e3 / steps, taken_at * 1e3 / steps


def config_of(turns: int) -> Any:
    """The config of the thread."""
    return {"configurable": {"thread_id": "t"}, "recursion_limit": 10 * turns + 10}


def channel_of(name: str) -> Any:
    """The type of the channel of one of the ways."""
    return Annotated[list, DeltaChannel(_messages_delta_reducer) if "Delta" in name else add_messages]


def figures(name: str, path: Path, turns: int) -> Figures:
    """Run the loop and read its history, kept in one of the ways."""
    gc.collect()
    if name in OURS:
        with Checkpointer(path) as saver:
            step, clock, history = measured(saver, channel_of(name), turns)
    else:
        with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
            step, clock, history = measured(SqliteSaver(connection), channel_of(name), turns)
    return {"size": path.stat().st_size / 1e6, "step": step, "clock": clock, "history": history}


def medians(turns: int, rounds: int) -> dict[str, Figures]:
    """The figures of all ways."""
    names = [*OURS, *OTHERS]
    found: dict[str, list[Figures]] = {name: [] for name in names}
    for number in range(-1, rounds):  # the first round only warms up
        for name in names[number % len(names) :] + names[: number % len(names)]:
            with tempfile.TemporaryDirectory() as folder:
                row = figures(name, Path(folder) / "threads.db", turns if number >= 0 else 10)
            if number >= 0:
                found[name].append(row)
    return {
        name: cast("Figures", {key: statistics.median(row[key] for row in rows) for key in NO_MORE})  # type: ignore[literal-required]
        for name, rows in found.items()
    }


def main() -> int:
    """Measure all ways, print their figures, and say whether ours are as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", action="store_true")
    given = parser.parse_args()
    if given.parts:
        from langgraph_parts import print_parts

        print_parts(
            lambda saver, name: stepped(loop(saver, channel_of(name), given.turns), given.turns)[0], given.rounds
        )
        return 0
    found = medians(given.turns, given.rounds)
    width = 48
    print(f"{'':{width}}{'MB':>10}{'ms a superstep':>18}{'by the clock':>16}{'s history':>14}")
    for name, row in found.items():
        print(f"{name:{width}}{row['size']:>10.2f}{row['step']:>18.2f}{row['clock']:>16.2f}{row['history']:>14.2f}")
    missed = 0
    for (other, own), least in LEAST.items():
        ratios = {key: found[other][key] / found[own][key] for key in least}  # type: ignore[literal-required]
        short = [f"{key} (≥ {least[key]:g})" for key, ratio in ratios.items() if ratio < least[key]]  # type: ignore[literal-required]
        missed += len(short)
        told = "".join(f"{ratios[key]:>{wide}.2f} ×" for key, wide in zip(least, (8, 16, 14, 12), strict=True))
        print(f"{f'{other} / {own}':{width}}{told}  {'missed: ' + ', '.join(short) if short else 'reached'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
