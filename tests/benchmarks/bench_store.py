"""The store beside other ways of keeping the state of every step, on the same states: what each takes, and what we owe.

    python tests/benchmarks/bench_store.py [--rounds 5] [--quick] [--memory] [--only NAME …] [--install] [--write]

All ways are measured in each round, in another order each time; medians of the rounds count. Each step is on the disk
before the next (but clearstone-sdk's); beside them stands what the disk itself takes for a commit of 1.5 KB. Ours keeps
a step's beginning too, and in a way of its own a tool call with its intent and answer. SqliteSaver has no diff, so what
its user would do stands beside ours: two reads and DeepDiff.

On a busy machine the disk decides what a step takes: `--memory` keeps the files in a file system in memory,
`/dev/shm`, where a commit costs what its processor takes; what is judged by the disk is then left out. `--quick`
takes a tenth of the steps, and judges nothing. `--install` fetches agentrr and clearstone-sdk, without what they
depend on, into a folder of this run's own; without it they are left out where they are not installed. `--write` keeps
what was found in `store.json`, of which the README's table is made. `AGENT_TT_RECORDINGS` names a folder with
recorded chats. Exits with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from deepdiff import DeepDiff
from tests.benchmarks.store_long import long_conversation
from tests.benchmarks.store_targets import judged, kept, shown
from tests.benchmarks.store_ways import WAYS, Ours, OursTracked, OursWithCall, Saver, Way, is_there
from tests.benchmarks.store_workloads import documents, growing_chat, nested_keys, recorded_chats
from tests.recordings import recordings

from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.store_workloads import Workload

PEERS: Final = ("agentrr==0.1.0a3", "clearstone-sdk==0.1.2")
READS: Final = 40
OURS: Final[tuple[type[Way], ...]] = (Ours, OursTracked, OursWithCall)


@dataclass(frozen=True)
class Load:
    """One workload, and the ways that it is kept in."""

    name: str
    states: Workload
    steps: int
    ways: tuple[type[Way], ...] = WAYS


def loads(scale: float) -> list[Load]:
    """The workloads; what would write tens of gigabytes is kept in our ways alone."""

    def load(name: str, made: Callable[[int], Workload], steps: int, ways: tuple[type[Way], ...] = WAYS) -> Load:
        count = max(100, int(steps * scale))
        return Load(name, made(count), count, ways)

    found = [
        load("chat 100", growing_chat, 100),
        load("chat 1,000", growing_chat, 1000),
        load("chat 5,000", growing_chat, 5000, OURS),
        load("5,000 keys", nested_keys, 500),
        load("documents", documents, 250),
    ]
    chats = recorded_chats(recordings("chat"))
    if chats is None:
        print("recorded chats are left out: AGENT_TT_RECORDINGS names no folder with any", file=sys.stderr)
    else:
        found.append(Load("recorded chats", chats, 0))
    return found


def measured(load: Load, way: type[Way], folder: Path) -> dict[str, float]:
    """What a step takes, in ms, and what the closed files take, in MB."""
    states = load.states(way.wrap)
    kept_in = way(folder, next(states))
    gc.collect()
    clock: list[float] = []
    taken = 0.0
    for step, state in enumerate(states, 1):
        begun, begun_at = time.process_time(), time.perf_counter()
        kept_in.keep(step, state)
        clock.append((time.perf_counter() - begun_at) * 1e3)
        taken += time.process_time() - begun
    kept_in.end()
    tail = max(1, len(clock) // 10)
    return {
        "p50": statistics.median(clock),
        "p99": sorted(clock)[int(len(clock) * 0.99)],
        "cpu": taken * 1e3 / len(clock),
        "first": statistics.median(clock[tail // 2 : tail]),
        "last": statistics.median(clock[-tail:]),
        "size": sum(file.stat().st_size for file in folder.iterdir()) / 1e6,
    }


def disk(folder: Path) -> float:
    """What a commit of 1.5 KB takes, in ms."""
    with closing(sqlite3.connect(folder / "disk.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE rows(row BLOB)")
        times = []
        for _ in range(200):
            begun = time.perf_counter()
            connection.execute("INSERT INTO rows VALUES(?)", (os.urandom(1500),))
            times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


def reading(folder: Path, steps: int) -> dict[str, float]:
    """What reading takes in the store and in SqliteSaver, in ms: `NAME` ours, `NAME, SqliteSaver` the other's."""
    load = growing_chat(steps)
    ways: dict[type[Way], Any] = {}
    for way in (Ours, Saver):
        (folder / way.name).mkdir()
        states = load(way.wrap)
        ways[way] = way(folder / way.name, next(states))
        for step, state in enumerate(states, 1):
            ways[way].keep(step, state)
    ways[Ours].end()
    saver, ids = ways[Saver].saver, ways[Saver].ids
    chosen = random.Random(3).choices(range(1, steps + 1), k=READS)
    thread: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}

    def theirs(step: int) -> Any:
        found = saver.get_tuple({"configurable": {**thread["configurable"], "checkpoint_id": ids[step]}})
        return found.checkpoint["channel_values"]

    with closing(open_store(folder / Ours.name / "runs.db", read_only=True)) as store:
        run = store.run("bench").id
        assert store.state(run, steps) == theirs(steps)
        found = {
            "read any state": mean(lambda step: store.state(run, step), chosen),
            "read any state, SqliteSaver": mean(theirs, chosen),
            "diff of neighbours": mean(lambda step: store.changes(run, step), chosen),
            "diff of neighbours, DeepDiff": mean(lambda step: DeepDiff(theirs(step - 1), theirs(step)), chosen[:3]),
            "list all steps": mean(lambda _: store.steps(run), [0] * 5),
            "list all steps, SqliteSaver": mean(lambda _: list(saver.list(thread)), [0]),
        }
    ways[Saver].end()
    return found


def mean(action: Callable[[int], object], arguments: list[int]) -> float:
    """Milliseconds of one call."""
    begun = time.perf_counter()
    for argument in arguments:
        action(argument)
    return (time.perf_counter() - begun) / len(arguments) * 1e3


_RECORDER: Final = """
import sys
from pathlib import Path
from agent_tt.model import AgentCode, NewRun, NewStep, StepEnd
from agent_tt.store import open_store
store = open_store(Path(sys.argv[1]))
state = {"messages": [], "n": 0}
writer = store.begin_run(NewRun("one of many", code=AgentCode(entry="bench:main")), state)
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[2])):
    number = writer.open_step(NewStep("step"))
    state["messages"].append({"role": "user", "content": f"message {n} " * 20})
    state["n"] = n
    writer.close_step(number, StepEnd("ok"), state)
print("done", flush=True)
writer.finish("succeeded")
"""


def throughput(folder: Path, processes: int, steps: int) -> float:
    """Steps a second that so many processes record into one store; every step of theirs is there, in order."""
    path = folder / "many.db"
    open_store(path, create=True).close()
    command = [sys.executable, "-c", _RECORDER, str(path), str(steps)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        children = [stack.enter_context(subprocess.Popen(command, **pipes)) for _ in range(processes)]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        begun = time.perf_counter()
        for child in children:
            child.stdin.write("\n")
            child.stdin.flush()
        for child in children:
            assert child.stdout.readline() == "done\n"
        taken = time.perf_counter() - begun
    with closing(open_store(path, read_only=True)) as store:
        runs = store.runs()
        assert len(runs) == processes
        for run in runs:
            assert [step.number for step in store.steps(run.id)] == list(range(1, steps + 1))
            assert store.state(run.id, steps)["n"] == steps - 1
    return processes * steps / taken


def graph(turns: int, rounds: int) -> dict[str, dict[str, float]]:
    """A real graph of LangGraph, as `bench_langgraph` measures it."""
    from tests.benchmarks.bench_langgraph import medians

    return {name: {"cpu": row["step"], "size": row["size"]} for name, row in medians(turns, rounds).items()}


def all_of(rounds: int, scale: float, only: list[str], *, in_memory: bool) -> dict[str, Any]:
    """Measure everything; the figures of each workload by way, medians of the rounds."""
    where = "/dev/shm" if in_memory else None
    ways = [way for way in WAYS if is_there(way)]
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    disks, read, alone, together, long = [], [], [], [], []
    for number in range(rounds):
        for load in loads(scale):
            if only and load.name not in only:
                continue
            its = [way for way in ways if way in load.ways]
            turn = number % len(its)
            for way in its[turn:] + its[:turn]:
                if not in_memory:
                    os.sync()  # what was written before is not this way's to wait for
                with tempfile.TemporaryDirectory(dir=where) as folder:
                    disks.append(disk(Path(folder)))
                    kept_in = Path(folder) / "kept"
                    kept_in.mkdir()
                    row = measured(load, way, kept_in)
                found.setdefault(load.name, {}).setdefault(way.name, []).append(row)
                print(f"round {number + 1}: {load.name}, {way.name}: p50 {row['p50']:.2f} ms", file=sys.stderr)
        if not only or "reading" in only:
            with tempfile.TemporaryDirectory(dir=where) as folder:
                read.append(reading(Path(folder), max(100, int(1000 * scale))))
        if not only or "long" in only:
            with tempfile.TemporaryDirectory(dir=where) as folder:
                long.append(long_conversation(Path(folder) / "long.db", int(10_000 * scale)))
        if not only or "processes" in only:
            for count, rates in ((1, alone), (16, together)):
                with tempfile.TemporaryDirectory(dir=where) as folder:
                    rates.append(throughput(Path(folder), count, max(20, int(1000 * scale))))
    return {
        "rounds": rounds,
        "processes": {"1": statistics.median(alone), "16": statistics.median(together)} if alone else {},
        "in_memory": in_memory,
        "disk": statistics.median(disks or [0]),
        "recording": {load: {way: _medians(rows) for way, rows in by_way.items()} for load, by_way in found.items()},
        "reading": _medians(read) if read else {},
        "long": _medians(long) if long else {},
        "graph": graph(max(10, int(200 * scale)), rounds) if not only or "graph" in only else {},
    }


def _medians(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def main() -> int:
    """Measure, print the tables, and say what is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps; nothing is judged")
    parser.add_argument("--memory", action="store_true", help="keep the files in memory: the disk does not count")
    parser.add_argument(
        "--only", nargs="+", default=[], help="names of workloads, `reading`, `long`, `processes`, `graph`"
    )
    parser.add_argument("--install", action="store_true", help="fetch the peers that are packages of their own")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("--write", action="store_true", help="keep what was found, for the README")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as packages:
        if given.install:
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", packages, *PEERS]
            subprocess.run(command, check=True)
            sys.path.append(packages)
        found = all_of(given.rounds, 0.1 if given.quick else 1, given.only, in_memory=given.memory)
    rows = [] if given.quick else judged(found)
    found["judged"] = [asdict(row) for row in rows]
    print(json.dumps(found, indent=1) if given.json else shown(found, rows))
    if given.write:
        kept(found)
    return 1 if any(not row.reached for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
