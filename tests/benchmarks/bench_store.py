"""The store beside langgraph-checkpoint-sqlite on the same states, in the same run: ratios and what they must reach.

    python tests/benchmarks/bench_store.py [--steps 1000] [--keep FOLDER]

A growing chat: two messages of about 1.5 KB a step, 20 scalars, one tool call, every commit durable. Times are medians
(recording), means over random steps (reading), or best of several (listing). SqliteSaver has no diff: beside ours stand
two reads and DeepDiff. Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepdiff import DeepDiff
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from agent_tt.model import AgentCode, CallEnd, NewCall, NewRun, NewStep, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.store import SqliteStore

WORDS = re.findall(
    r"\w+",
    "refund policy order customer shipping delay agent tool search result document answer question invoice account "
    "reset password update status pending approved denied manager escalate ticket number date amount total payment",
)
READS = 40


@dataclass(frozen=True)
class Threshold:
    """What a row of the table must reach: `ratio` is the peer's figure divided by ours."""

    name: str
    ours: float
    peer: float
    unit: str
    least: float

    @property
    def ratio(self) -> float:
        return self.peer / self.ours

    @property
    def reached(self) -> bool:
        return self.ratio >= self.least


def states(steps: int) -> Iterator[dict[str, Any]]:
    """One state object that grows, as an agent's does: yielded once for the input and once after each step."""
    generator = random.Random(7)
    state: dict[str, Any] = {"messages": [], **{f"scalar_{n}": n for n in range(20)}}
    yield state
    for step in range(1, steps + 1):
        for role in ("user", "assistant"):
            text = " ".join(generator.choice(WORDS) for _ in range(210))
            state["messages"].append({"role": role, "content": text, "id": f"{generator.getrandbits(64):016x}"})
        for n in range(20):
            state[f"scalar_{n}"] = step * (n + 1)
        yield state


def record_ours(store: SqliteStore, steps: int) -> list[float]:
    """Seconds of each step: opening, a tool call's intent and result, the checkpoint."""
    times = []
    growing = states(steps)
    writer = store.begin_run(NewRun("bench", code=AgentCode(entry="bench:main")), next(growing))
    for step, state in enumerate(growing, 1):
        start = time.perf_counter()
        number = writer.open_step(NewStep("chat"))
        intent = NewCall("tool", "search", {"query": f"order {step}"}, f"{step:032x}", effect="read")
        call = writer.begin_call(number, intent)
        writer.end_call(number, call, CallEnd("ok", {"docs": [f"document {step}"], "count": 1}))
        writer.close_step(number, StepEnd("ok", tokens_in=400, tokens_out=380), state)
        times.append(time.perf_counter() - start)
    writer.finish("succeeded")
    return times


def record_peer(saver: SqliteSaver, steps: int) -> tuple[list[float], list[str]]:
    """Seconds of each `put`, and the checkpoints' ids; the versions of channels are as LangGraph writes them."""
    times, ids = [], []
    parent: str | None = None
    for step, state in enumerate(states(steps)):
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = state
        checkpoint["channel_versions"] = dict.fromkeys(state, step + 1)
        config = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
        if parent is not None:
            config["configurable"]["checkpoint_id"] = parent
        start = time.perf_counter()
        saver.put(config, checkpoint, {"source": "loop", "step": step - 1}, {})  # type: ignore[arg-type]
        times.append(time.perf_counter() - start)
        parent = checkpoint["id"]
        ids.append(parent)
    return times[1:], ids


def mean_time(action: Callable[[int], object], arguments: list[int]) -> float:
    start = time.perf_counter()
    for argument in arguments:
        action(argument)
    return (time.perf_counter() - start) / len(arguments)


def best_time(action: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def measure(folder: Path, steps: int) -> list[Threshold]:
    ours_folder, peer_folder = folder / "ours", folder / "peer"
    for made in (ours_folder, peer_folder):
        made.mkdir()
    connection = sqlite3.connect(peer_folder / "checkpoints.db", check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute("PRAGMA synchronous = FULL")
    peer_times, ids = record_peer(saver, steps)
    with_store = open_store(ours_folder / "runs.db", create=True)
    our_times = record_ours(with_store, steps)
    with_store.close()
    store = open_store(ours_folder / "runs.db", read_only=True)
    run = store.run("bench").id
    chosen = random.Random(3).choices(range(1, steps + 1), k=READS)

    def peer_state(step: int) -> dict[str, Any]:
        config = {"configurable": {"thread_id": "bench", "checkpoint_ns": "", "checkpoint_id": ids[step]}}
        found = saver.get_tuple(config)  # type: ignore[arg-type]
        assert found is not None
        return found.checkpoint["channel_values"]

    assert store.state(run, steps) == peer_state(steps)
    thread = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
    rows = [
        Threshold(
            "record a step, p50", statistics.median(our_times) * 1e3, statistics.median(peer_times) * 1e3, "ms", 4
        ),
        Threshold(
            "record, last tenth p50",
            statistics.median(our_times[-steps // 10 :]) * 1e3,
            statistics.median(peer_times[-steps // 10 :]) * 1e3,
            "ms",
            4,
        ),
        Threshold(
            "load any step",
            mean_time(lambda step: store.state(run, step), chosen) * 1e3,
            mean_time(peer_state, chosen) * 1e3,
            "ms",
            1 / 8,
        ),
        Threshold(
            "diff of neighbours",
            mean_time(lambda step: store.changes(run, step), chosen) * 1e3,
            mean_time(lambda step: DeepDiff(peer_state(step - 1), peer_state(step)), chosen[:5]) * 1e3,
            "ms",
            500,
        ),
        Threshold(
            "list all steps",
            best_time(lambda: store.steps(run), 5) * 1e3,
            best_time(lambda: list(saver.list(thread)), 1) * 1e3,  # type: ignore[arg-type]
            "ms",
            500,
        ),
    ]
    store.close()
    connection.close()
    rows.append(Threshold("file", size_of(ours_folder) / 1e6, size_of(peer_folder) / 1e6, "MB", 600))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="leave both files in this folder")
    arguments = parser.parse_args()
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True)
        rows = measure(arguments.keep, arguments.steps)
    else:
        with tempfile.TemporaryDirectory() as folder:
            rows = measure(Path(folder), arguments.steps)
    print(f"{arguments.steps} steps of a growing chat, durable")
    print(f"{'':24}{'agent-tt':>12}{'SqliteSaver':>14}{'ratio':>10}{'at least':>10}")
    for row in rows:
        mark = "ok" if row.reached else "MISSED"
        figures = f"{row.ours:>9.3f} {row.unit}{row.peer:>11.1f} {row.unit}{row.ratio:>10.1f}{row.least:>10.3g}"
        print(f"{row.name:24}{figures}  {mark}")
    return 0 if all(row.reached for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
