"""The store beside langgraph-checkpoint-sqlite on the same states, in the same run: ratios and what they must reach.

    python tests/benchmarks/bench_store.py [--steps 1000] [--long 10000] [--keep FOLDER]

A growing chat: two messages of about 1.5 KB a step, 20 scalars, one tool call, every commit durable. Times are medians
(recording), means over random steps (reading), or best of several (listing, whole databases both). SqliteSaver has no
diff, so what its user would do stands beside ours: two reads and DeepDiff; a second row, for comparison only, has two
reads and our own walk in its place. Ours records first: the peer leaves more than a gigabyte for the disk to finish,
which the next one's commits would wait for. Then a long conversation alone, in CPU time: what its last steps, its
opening and `verify` cost.
Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepdiff import DeepDiff
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from agent_tt.history.changes.diff import diff
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
class Ratio:
    """A row of the table: `least` is what the peer's figure divided by ours must reach; None where nothing must be."""

    name: str
    ours: float
    peer: float
    unit: str
    least: float | None

    @property
    def reached(self) -> bool:
        return self.least is None or self.peer / self.ours >= self.least

    def __str__(self) -> str:
        figures = f"{self.ours:>9.3f} {self.unit}{self.peer:>11.1f} {self.unit}{self.peer / self.ours:>10.1f}"
        return f"{self.name:32}{figures}" + ("" if self.least is None else f"{self.least:>10.3g}  {verdict(self)}")


@dataclass(frozen=True)
class Limit:
    """A row about ours alone: `most` is what the figure may be."""

    name: str
    ours: float
    unit: str
    most: float

    @property
    def reached(self) -> bool:
        return self.ours <= self.most

    def __str__(self) -> str:
        return f"{self.name:32}{self.ours:>9.3f} {self.unit:2}{self.most:>34.3g}  {verdict(self)}"


def verdict(row: Ratio | Limit) -> str:
    return "PASS" if row.reached else "FAIL"


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
    os.sync()  # what was written before is not ours to wait for
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
    """Seconds of each `put` but the input's, and the checkpoints' ids."""
    os.sync()
    times, ids = [], []
    for step, state in enumerate(states(steps)):
        start = time.perf_counter()
        ids.append(put(saver, state, step, ids[-1] if ids else None))
        times.append(time.perf_counter() - start)
    return times[1:], ids


def put(saver: SqliteSaver, state: dict[str, Any], step: int, parent: str | None) -> str:
    """Stores a checkpoint as LangGraph does, versions of channels included; gives its id."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = state
    checkpoint["channel_versions"] = dict.fromkeys(state, step + 1)
    where: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": "", "checkpoint_id": parent}}
    saver.put(where, checkpoint, {"source": "loop", "step": step - 1}, {})
    return checkpoint["id"]


def median_ms(times: list[float]) -> float:
    return statistics.median(times) * 1e3


def mean_ms(action: Callable[[int], object], arguments: list[int]) -> float:
    start = time.perf_counter()
    for argument in arguments:
        action(argument)
    return (time.perf_counter() - start) / len(arguments) * 1e3


def best_ms(action: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def beside_the_peer(folder: Path, steps: int) -> list[Ratio]:
    ours_folder, peer_folder = folder / "ours", folder / "peer"
    for made in (ours_folder, peer_folder):
        made.mkdir()
    connection = sqlite3.connect(peer_folder / "checkpoints.db", check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute("PRAGMA synchronous = FULL")
    with closing(open_store(ours_folder / "runs.db", create=True)) as written:
        our_times = record_ours(written, steps)
    peer_times, ids = record_peer(saver, steps)
    store = open_store(ours_folder / "runs.db", read_only=True)
    run = store.run("bench").id
    chosen = random.Random(3).choices(range(1, steps + 1), k=READS)
    thread: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}

    def peer_state(step: int) -> dict[str, Any]:
        found = saver.get_tuple({"configurable": {**thread["configurable"], "checkpoint_id": ids[step]}})
        assert found is not None
        return found.checkpoint["channel_values"]

    assert store.state(run, steps) == peer_state(steps)
    tenth = steps // 10
    our_diff = mean_ms(lambda step: store.changes(run, step), chosen)
    rows = [
        Ratio("record a step, p50", median_ms(our_times), median_ms(peer_times), "ms", 4),
        Ratio("record, last tenth p50", median_ms(our_times[-tenth:]), median_ms(peer_times[-tenth:]), "ms", None),
        Ratio(
            "read any step",
            mean_ms(lambda step: store.state(run, step), chosen),
            mean_ms(peer_state, chosen),
            "ms",
            1 / 8,
        ),
        Ratio(
            "diff of neighbours: DeepDiff",
            our_diff,
            mean_ms(lambda step: DeepDiff(peer_state(step - 1), peer_state(step)), chosen[:5]),
            "ms",
            500,
        ),
        Ratio(
            "diff of neighbours: our walk",
            our_diff,
            mean_ms(lambda step: diff(peer_state(step - 1), peer_state(step)), chosen[:10]),
            "ms",
            None,
        ),
        Ratio(
            "list all steps",
            best_ms(lambda: store.steps(run), 7),
            best_ms(lambda: list(saver.list(thread)), 2),
            "ms",
            500,
        ),
    ]
    store.close()
    connection.close()
    return [*rows, Ratio("file", size_of(ours_folder) / 1e6, size_of(peer_folder) / 1e6, "MB", 600)]


def long_conversation(folder: Path, steps: int) -> list[Limit]:
    """A conversation of two small messages a step, recorded without forcing commits to the disk. All is CPU time."""
    path = folder / "long.db"
    state: dict[str, Any] = {"messages": [], "hour": 0}
    times: list[float] = []
    start = time.process_time()
    with closing(open_store(path, create=True, durability="normal")) as store:
        writer = store.begin_run(NewRun("long"), state)
        for step in range(1, steps + 1):
            state["messages"] += [
                {"role": "user", "content": f"{step} litres"},
                {"role": "assistant", "content": "fine"},
            ]
            state["hour"] = step
            number = writer.open_step(NewStep("watch"))
            before = time.process_time()
            writer.close_step(number, StepEnd("ok"), state)
            times.append(time.process_time() - before)
        writer.finish("succeeded")
        recorded = time.process_time() - start
    start = time.process_time()
    with closing(open_store(path, read_only=True)) as store:
        run = store.runs()[0]
        store.steps(run.id, max(1, steps - 50))
        store.state(run.id, steps)
        opened = time.process_time() - start
        cursor = store.cursor(run.id, steps)
        back = best_ms(lambda: cursor.seek(cursor.step - 1), 50)
        page = best_ms(lambda: store.steps(run.id, steps // 2, steps // 2 + 100), 7)
        start = time.process_time()
        assert store.verify(run.id) == []
        verified = time.process_time() - start
    return [
        Limit("record all of it", recorded, "s", 20),
        Limit("a checkpoint at its end, p50", median_ms(times[-100:]), "ms", 5),
        Limit("open: list, page, last state", opened * 1e3, "ms", 250),
        Limit("a page of 100 steps", page, "ms", 2),
        Limit("one step back", back, "ms", 1),
        Limit("verify", verified, "s", 3),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--long", type=int, default=10_000, help="steps of the long conversation")
    parser.add_argument("--keep", type=Path, help="leave the files in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        ratios = beside_the_peer(folder, arguments.steps)
        print(f"{arguments.steps} steps of a growing chat, durable")
        print(f"{'':32}{'agent-tt':>12}{'SqliteSaver':>14}{'ratio':>10}{'at least':>10}")
        print(*ratios, sep="\n")
        limits = long_conversation(folder, arguments.long)
        print(f"\n{arguments.long} steps of a long conversation, CPU time{'':14}{'at most':>10}")
        print(*limits, sep="\n")
    return 0 if all(row.reached for row in (*ratios, *limits)) else 1


if __name__ == "__main__":
    sys.exit(main())
