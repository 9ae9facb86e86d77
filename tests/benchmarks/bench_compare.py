"""Comparing two long runs that share half of what they did, beside what somebody without it would do.

    python tests/benchmarks/bench_compare.py [--steps 5000] [--scan 60]

"Share half" is measured three ways, each on runs as they lie in a store (a step is one tool call; a message is added to
the state, of which a window is kept):

| pair | what is shared |
|---|---|
| fork | B was forked from A in the middle, and did other things from there on |
| every other | two runs on their own; every second step of B is another one than A's |
| first half | two runs on their own, in two files; the first half is equal, then both go different ways |

What counts is the time on the clock, the best of five, the files being in the system's memory; the CPU time of the
same beside it says what a quiet machine would take where this one is not. Timed is all that `agent-tt compare` does
before it prints: reading both runs, aligning them, finding where they part, why, and whether they meet again. The peer
is a scan: states loaded side by side, step by step, and diffed with DeepDiff, timed over `--scan` steps behind the
place where the runs part and multiplied; of an inserted step it understands nothing. The ratio is that of CPU times.
Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepdiff import DeepDiff

from agent_tt.comparing.runs.comparison import Comparison, compare_runs
from agent_tt.model import CallEnd, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.recording.calls.signature import signature_of_call
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.protocols import RunWriter
    from agent_tt.store import SqliteStore

MOST_SECONDS = 0.5
WINDOW = 20
TIMES = 5

Seconds = tuple[float, float]
"""On the clock, and of CPU time."""

Did = tuple[str, dict[str, Any]]


def common(step: int) -> Did:
    """What a step does in both runs."""
    tools = ("search_docs", "read_file", "run_tests")
    return tools[step % 3], {"query": f"question {step} about refunds", "limit": step % 7}


def other(step: int, run: str) -> Did:
    """What a step does in one run alone; three quarters of its arguments are that run's."""
    tools = ("search_docs", "edit_file", "run_tests")
    return tools[step % 3], {"query": f"{run} asks {step * 7} instead", "limit": step % 5}


def write(writer: RunWriter, did: Sequence[Did], state: dict[str, Any]) -> None:
    """Record steps."""
    for tool, args in did:
        number = writer.open_step(NewStep("work"))
        asked = NewCall("tool", tool, args, signature_of_call("tool", tool, args), effect="read")
        call = writer.begin_call(number, asked)
        answer = {"found": [f"a document on {args['query']}"], "count": 1}
        writer.end_call(number, call, CallEnd("ok", answer))
        state["messages"].append({"role": "tool", "content": answer["found"][0]})
        del state["messages"][:-WINDOW]
        state["count"] += 1
        writer.close_step(number, StepEnd("ok", tokens_in=100, tokens_out=20), state)
    writer.finish("succeeded")


def fresh() -> dict[str, Any]:
    """The state that a run begins with."""
    return {"messages": [], "count": 0, "budget": 1_000}


def record(store: SqliteStore, name: str, did: Sequence[Did]) -> str:
    """Record a run on its own."""
    state = fresh()
    writer = store.begin_run(NewRun(name), state)
    write(writer, did, state)
    return writer.run_id


def fork(store: SqliteStore, parent: str, at: int, did: Sequence[Did]) -> str:
    """Record a fork."""
    state: Any = store.state(parent, at)
    run_id = store.begin_fork(NewFork(parent, at, state=state, new=NewRun("")))
    write(store.adopt_run(run_id, NewRun(""), state), did, state)
    return run_id


def timed(does: Callable[[], object]) -> Seconds:
    """How long something takes."""
    clock, cpu = time.perf_counter(), time.process_time()
    does()
    return time.perf_counter() - clock, time.process_time() - cpu


def compared(a: Path, run_a: str, b: Path, run_b: str) -> tuple[Comparison, Seconds]:
    """The comparison, and how long it takes; nothing is known of the files beforehand."""
    found: list[Comparison] = []
    times = []
    for _ in range(TIMES):
        with closing(open_store(a, read_only=True)) as one, closing(open_store(b, read_only=True)) as two:
            times.append(timed(lambda: found.append(compare_runs(one, one.run(run_a), two, two.run(run_b)))))
    clocks, cpus = zip(*times, strict=True)
    return found[-1], (min(clocks), min(cpus))


def scan(a: SqliteStore, run_a: str, b: SqliteStore, run_b: str, first: int, steps: int) -> Seconds:
    """How long loading two states and diffing them takes, a step."""

    def diffs() -> None:
        for step in range(first, first + steps):
            DeepDiff(a.state(run_a, step), b.state(run_b, step))

    clock, cpu = timed(diffs)
    return clock / steps, cpu / steps


def pairs(folder: Path, steps: int) -> list[tuple[str, Callable[[], tuple[Path, str, Path, str]]]]:
    """The three pairs, each recorded when it is asked for."""
    half = steps // 2
    ours = [common(step) for step in range(half)] + [other(step, "a") for step in range(half, steps)]
    theirs = [*ours[:half], *(other(step, "b") for step in range(half, steps))]
    both = [common(step) for step in range(steps)]
    mixed = [did if step % 2 else other(step, "b") for step, did in enumerate(both)]
    one, two = folder / "one.db", folder / "two.db"

    def forked() -> tuple[Path, str, Path, str]:
        with closing(open_store(one, create=True, durability="normal")) as store:
            parent = record(store, "bench", ours)
            return one, parent, one, fork(store, parent, half, theirs[half:])

    def alone(first: Sequence[Did], second: Sequence[Did]) -> tuple[Path, str, Path, str]:
        with (
            closing(open_store(one, create=True, durability="normal")) as store,
            closing(open_store(two, create=True, durability="normal")) as elsewhere,
        ):
            return one, record(store, "bench", first), two, record(elsewhere, "bench", second)

    return [
        ("fork", forked),
        ("every other", lambda: alone(both, mixed)),
        ("first half", lambda: alone(ours, theirs)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--scan", type=int, default=60)
    arguments = parser.parse_args()
    steps: int = arguments.steps
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        print(f"two runs of {steps:,} steps that share half; seconds, best of {TIMES}, warm files\n")
        heads = ("clock", "cpu", "scan clock", "scan cpu", "ratio", "most")
        print(f"{'pair':13}{'same':>7}{'parted':>8}", *(f"{head:>10}" for head in heads))
        for name, recorded in pairs(Path(folder), steps):
            a, run_a, b, run_b = recorded()
            found, ours = compared(a, run_a, b, run_b)
            with closing(open_store(a)) as one, closing(open_store(b)) as two:
                first = min(found.diverged_at or 1, steps - arguments.scan)
                clock, cpu = (each * steps for each in scan(one, run_a, two, run_b, first, arguments.scan))
            same = sum(row.kind == "same" for row in found.rows)
            slow = ours[0] >= MOST_SECONDS
            missed |= slow
            figures = (
                *(f"{each:>10.3f}" for each in ours),
                f"{clock:>10.1f}",
                f"{cpu:>10.1f}",
                f"{cpu / ours[1]:>10.0f}",
            )
            print(f"{name:13}{same:>7,}{found.diverged_at or 0:>8,}", *figures, f"{MOST_SECONDS:>10}", end="")
            print("  FAIL" if slow else "  PASS")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
