"""Reading a run beside langgraph-checkpoint-sqlite on the same states, in one run: ratios and what they must reach.

    python tests/benchmarks/bench_reading.py [--rounds 5] [--only chat] [--json FILE] [--keep FOLDER]

| workload | its states |
|---|---|
| chat 1,000 / chat 5,000 | two messages of about 1.5 KB a step, 20 scalars that change at every step |
| keys | 5,000 numbers in 50 dicts, of which 5 change a step; 500 steps |
| documents | 40 texts of 50 KB, all replaced every 50 steps, and a short log; 300 steps |

Every row is asked of both in each round, at the same random steps; medians of the rounds count. A round's figure is the
mean of what it asked; of single values the median, for what is read around the first ones serves the others. Times are
the processor's. `warm` is a store that is open and has been asked before, as an app's is; `first` opens the file anew
for each question, and the peer its connection. SqliteSaver has no diff and knows no writes, so what its user would do
stands beside ours: for neighbours two reads and DeepDiff, for states far apart two reads and our own walk, for the last
write of a value reading backwards until it differs. Where it keeps each state whole, 5,000 states of a chat would take
36 GB: it is given those that are asked for, and no more.

Thresholds are those of a growing chat, which is what the rows are about. Elsewhere the peer may have less to do: of
documents DeepDiff finds out by one comparison each that they are the same, and 500 small states are listed at once.
What is read for the first time is compressed and proven, which SqliteSaver's rows are not: those rows have no
threshold. More than half of that time is zstd and JSON alone, as each row of the log is a frame of its own. Steps that
were listed before are read again and compared, and made anew where they differ: `list all steps` is of such ones.

Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deepdiff import DeepDiff
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from agent_tt.comparing.values.states import compare_states
from agent_tt.history.changes.diff import diff
from agent_tt.model import NewRun, NewStep, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.store import SqliteStore

WORDS: Final = re.findall(
    r"\w+",
    "refund policy order customer shipping delay agent tool search result document answer question invoice account "
    "reset password update status pending approved denied manager escalate ticket number date amount total payment",
)
ASKED: Final = 12
"""Steps that each round asks for."""


def chat(steps: int) -> Iterator[dict[str, Any]]:
    """A conversation that grows."""
    drawn = random.Random(7)
    state: dict[str, Any] = {"messages": [], **{f"scalar_{n}": n for n in range(20)}}
    yield state
    for step in range(1, steps + 1):
        for role in ("user", "assistant"):
            text = " ".join(drawn.choices(WORDS, k=210))
            state["messages"].append({"role": role, "content": text, "id": f"{drawn.getrandbits(64):016x}"})
        for n in range(20):
            state[f"scalar_{n}"] = step * (n + 1)
        yield state


def keys(steps: int) -> Iterator[dict[str, Any]]:
    """Many numbers, of which few change."""
    drawn = random.Random(7)
    state: dict[str, Any] = {
        f"part_{n}": {f"key_{k}": drawn.randrange(1_000_000) for k in range(100)} for n in range(50)
    }
    yield state
    for _ in range(steps):
        for _ in range(5):
            state[f"part_{drawn.randrange(50)}"][f"key_{drawn.randrange(100)}"] = drawn.randrange(1_000_000)
        yield state


def documents(steps: int) -> Iterator[dict[str, Any]]:
    """Large texts that are seldom replaced."""
    drawn = random.Random(7)
    state: dict[str, Any] = {"documents": [], "log": [], "step": 0}
    for step in range(steps + 1):
        if step % 50 == 0:
            state["documents"] = [
                {"id": n, "text": " ".join(drawn.choices(WORDS, k=7_000)), "score": drawn.random()} for n in range(40)
            ]
        state["log"].append(f"step {step} did {drawn.choice(WORDS)}")
        state["step"] = step
        yield state


@dataclass(frozen=True)
class Workload:
    """States to read.

    Attributes:
        states: gives them, one object that changes.
        steps: how many there are beside the input.
        whole: whether the peer keeps all of them.
        scalars: places of scalars in the state of a step.
        written: a place in the last state, of a value that was written in the first half of the run.
    """

    states: Callable[[int], Iterator[dict[str, Any]]]
    steps: int
    whole: bool
    scalars: Callable[[int, random.Random], tuple[str | int, ...]]
    written: Callable[[int, random.Random], tuple[str | int, ...]] | None = None


def _in_chat(step: int, drawn: random.Random) -> tuple[str | int, ...]:
    message = drawn.randrange(2 * step)
    return drawn.choice([(f"scalar_{message % 20}",), ("messages", message, "id"), ("messages", message, "content")])


WORKLOADS: Final = {
    "chat 1,000": Workload(chat, 1_000, True, _in_chat, lambda step, drawn: ("messages", drawn.randrange(step), "id")),
    "chat 5,000": Workload(chat, 5_000, False, _in_chat),
    "keys": Workload(keys, 500, True, lambda _, drawn: (f"part_{drawn.randrange(50)}", f"key_{drawn.randrange(100)}")),
    "documents": Workload(
        documents,
        300,
        True,
        lambda step, drawn: drawn.choice([("step",), ("log", drawn.randrange(step)), ("documents", 7, "id")]),
    ),
}

WARM, FIRST, VALUE, FIRST_VALUE, NEAR, NEAR_WALK, FAR, WRITE, LIST, FIRST_LIST = (
    *("any state, warm", "any state, first", "one scalar, warm", "one scalar, first"),
    *("diff of neighbours: DeepDiff", "diff of neighbours: our walk", "diff of states far apart"),
    *("last write of an old value", "list all steps", "list all steps, first"),
)
LEAST: Final[dict[str, float | None]] = {
    WARM: 1 / 2,
    FIRST: None,
    VALUE: None,
    FIRST_VALUE: None,
    NEAR: 500,
    NEAR_WALK: None,
    FAR: 1,
    WRITE: 10_000,
    LIST: 1_000,
    FIRST_LIST: None,
}
"""What the peer's time divided by ours must reach; None where the row has no such threshold."""

OF_CHATS: Final = frozenset({NEAR, LIST})
"""Rows whose thresholds are those of chats alone."""

MOST_MS: Final = {VALUE: 0.2}
"""What ours alone may take."""


class Pair:
    """One workload in a store of ours, and in SqliteSaver's."""

    def __init__(self, work: Workload, folder: Path, name: str) -> None:
        self.work = work
        self.path, self.peer_path = folder / f"{name} ours.db", folder / f"{name} peer.db"
        drawn = random.Random(11)
        self.asked = sorted(drawn.sample(range(2, work.steps), min(60, work.steps // 4)))
        self.kept = {number for step in self.asked for number in (step - 1, step)} if not work.whole else None
        self.ids_path = folder / f"{name} ids.json"
        if not self.path.exists():
            self._record()
        if not self.ids_path.exists():
            self._record_peer()
        ids = json.loads(self.ids_path.read_text())
        self.ids: dict[int, str] = {int(step): name for step, name in ids.items()}
        self.store = open_store(self.path, read_only=True)
        self.connection, self.saver = self._open_peer()
        self.run = self.store.run("bench").id

    def _record(self) -> None:
        states = self.work.states(self.work.steps)
        with closing(open_store(self.path, create=True, durability="normal")) as store:
            writer = store.begin_run(NewRun("bench"), next(states))
            for state in states:
                number = writer.open_step(NewStep("step"))
                writer.close_step(number, StepEnd("ok", tokens_in=400, tokens_out=380), state)
            writer.finish("succeeded")

    def _record_peer(self) -> None:
        connection, saver = self._open_peer()
        saver.setup()
        connection.execute("PRAGMA synchronous = OFF")
        ids: dict[int, str] = {}
        before = None
        for step, state in enumerate(self.work.states(self.work.steps)):
            if self.kept is not None and step not in self.kept:
                continue
            checkpoint = empty_checkpoint()
            checkpoint["channel_values"] = state
            checkpoint["channel_versions"] = dict.fromkeys(state, step + 1)
            where: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": "", "checkpoint_id": before}}
            saver.put(where, checkpoint, {"source": "loop", "step": step - 1}, {})
            before = ids[step] = checkpoint["id"]
        connection.close()
        self.ids_path.write_text(json.dumps(ids))
        os.sync()

    def _open_peer(self) -> tuple[sqlite3.Connection, SqliteSaver]:
        connection = sqlite3.connect(self.peer_path, check_same_thread=False)
        return connection, SqliteSaver(connection)

    def close(self) -> None:
        self.store.close()
        self.connection.close()

    # what is asked

    def peer_state(self, step: int, saver: SqliteSaver | None = None) -> dict[str, Any]:
        where: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": "", "checkpoint_id": self.ids[step]}}
        found = (saver or self.saver).get_tuple(where)
        assert found is not None
        return found.checkpoint["channel_values"]

    def first(self, ask: Callable[[SqliteStore], object]) -> object:
        with closing(open_store(self.path, read_only=True)) as store:
            return ask(store)

    def peer_first(self, step: int) -> object:
        connection, saver = self._open_peer()
        with closing(connection):
            return self.peer_state(step, saver)

    def peer_value(self, step: int, path: tuple[str | int, ...]) -> object:
        found: Any = self.peer_state(step)
        for key in path:
            found = found[key]
        return found

    def peer_write(self, step: int, path: tuple[str | int, ...]) -> int:
        """The step that wrote a value: states are read backwards until one holds something else there."""
        found = self.peer_value(step, path)
        while step:
            try:
                if self.peer_value(step - 1, path) != found:
                    break
            except LookupError:
                break
            step -= 1
        return step

    def far(self, one: int, other: int) -> object:
        return compare_states(*self.store.states(self.run, one, other))


def taken(action: Callable[[], object]) -> float:
    """Milliseconds of the processor that something takes."""
    begun = time.process_time()
    action()
    return (time.process_time() - begun) * 1e3


def one_round(pair: Pair, number: int, figures: dict[str, tuple[list[float], list[float]]]) -> None:
    """Ask both everything, at steps of this round's own."""
    drawn = random.Random(number)
    store, run, work = pair.store, pair.run, pair.work

    def both(row: str, ours: list[Callable[[], object]], peers: list[Callable[[], object]]) -> None:
        gc.collect()
        sides = [(0, ours), (1, peers)]
        for side, asked in sides if number % 2 else sides[::-1]:
            if asked:
                middle = statistics.median if row == VALUE else statistics.mean
                figures[row][side].append(middle([taken(each) for each in asked]))

    steps = drawn.sample(pair.asked, ASKED)
    assert store.state(run, steps[0]) == pair.peer_state(steps[0])
    both(WARM, [lambda s=s: store.state(run, s) for s in steps], [lambda s=s: pair.peer_state(s) for s in steps])
    both(
        FIRST,
        [lambda s=s: pair.first(lambda opened: opened.state(run, s)) for s in steps],
        [lambda s=s: pair.peer_first(s) for s in steps],
    )
    places = [(s, work.scalars(s, drawn)) for s in steps]
    for s, path in places[:2]:
        assert store.value(run, s, path) == pair.peer_value(s, path)
    both(
        VALUE,
        [lambda s=s, p=p: store.value(run, s, p) for s, p in places],
        [lambda s=s, p=p: pair.peer_value(s, p) for s, p in places],
    )
    both(FIRST_VALUE, [lambda s=s, p=p: pair.first(lambda opened: opened.value(run, s, p)) for s, p in places], [])
    both(
        NEAR,
        [lambda s=s: store.changes(run, s) for s in steps],
        [lambda s=s: DeepDiff(pair.peer_state(s - 1), pair.peer_state(s)) for s in steps[:2]],
    )
    both(
        NEAR_WALK,
        [lambda s=s: store.changes(run, s) for s in steps],
        [lambda s=s: diff(pair.peer_state(s - 1), pair.peer_state(s)) for s in steps[:3]],
    )
    far = [(min(two), max(two)) for two in zip(steps, reversed(steps), strict=True)]
    both(
        FAR,
        [lambda a=a, b=b: pair.far(a, b) for a, b in far],
        [lambda a=a, b=b: compare_states(pair.peer_state(a), pair.peer_state(b)) for a, b in far],  # type: ignore[arg-type]
    )
    if work.written is not None:
        old = [(work.steps, work.written(work.steps, drawn)) for _ in steps]
        assert store.last_write(run, *old[0]) is not None
        both(
            WRITE,
            [lambda s=s, p=p: store.last_write(run, s, p) for s, p in old],
            [lambda: pair.peer_write(*old[0])],
        )
    if work.whole:
        thread: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
        listed = [lambda: list(pair.saver.list(thread))] if number < 2 else []
        both(LIST, [lambda: store.steps(run)] * 3, listed)
        both(FIRST_LIST, [lambda: pair.first(lambda opened: opened.steps(run))] * 3, listed)


def judged(workload: str, row: str, ours: float, peer: float | None) -> tuple[str, bool]:
    """What the table says of a row, and whether its threshold is reached."""
    least, most = LEAST[row], MOST_MS.get(row)
    if row in OF_CHATS and not workload.startswith("chat"):
        least = None
    reached = (least is None or peer is None or peer / ours >= least) and (most is None or ours <= most)
    wanted = f"≤ {most:g} ms" if most is not None else "" if least is None else f"≥ {least:g} ×"
    ratio = "" if peer is None else f"{peer:>12.2f}{peer / ours:>14,.2f} ×"
    return f"  {row:32}{ours:>10.3f}{ratio:28}{wanted:>12}  {'' if reached else 'missed'}", reached


def main() -> int:
    """Measure all of it, print a table, and say whether every threshold is reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="workloads whose names begin so")
    parser.add_argument("--json", type=Path, help="write the figures into this file too")
    parser.add_argument("--keep", type=Path, help="make the files in this folder, or use those that are there")
    given = parser.parse_args()
    missed = 0
    told: dict[str, dict[str, dict[str, float | None]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{'ms of the processor':34}{'agent-tt':>10}{'SqliteSaver':>12}{'':>16}{'wanted':>12}")
        for name, work in WORKLOADS.items():
            if not name.startswith(given.only):
                continue
            pair = Pair(work, folder, name)
            figures: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
            for number in range(given.rounds):
                one_round(pair, number, figures)
            pair.close()
            print(name)
            told[name] = {}
            for row, (ours, peers) in figures.items():
                own, peer = statistics.median(ours), statistics.median(peers) if peers else None
                line, reached = judged(name, row, own, peer)
                missed += not reached
                told[name][row] = {"ours_ms": own, "peer_ms": peer}
                print(line, flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(told, indent=1))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
