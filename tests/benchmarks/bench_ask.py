"""Asking a long run: who wrote it, what comes next, where something holds; beside a scan of states with DeepDiff.

    python tests/benchmarks/bench_ask.py [--steps 100000] [--scan 200]

One run of a growing conversation: two short messages a step, a counter that changes every step, a budget that changes
every thousandth, a note that is written once. The scan is what somebody without an index would do: load neighbouring
states and diff them until the path shows up. It is timed over `--scan` steps at the end of the run, and given per step
and, by multiplication, for the steps that the question is about. Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepdiff import DeepDiff

from agent_tt.model import CallEnd, NewCall, NewRun, NewStep, StepEnd
from agent_tt.querying.oddities import find_oddities
from agent_tt.querying.provenance.blaming import blame_value
from agent_tt.querying.watches.step_search import Watch
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.store import SqliteStore

MOST_MS = 5.0


def record(store: SqliteStore, steps: int) -> str:
    """Record the run; messages are kept in a window, so that recording takes minutes and not hours."""
    state: dict[str, Any] = {"messages": [], "count": 0, "budget": 1_000, "note": None, "done": []}
    writer = store.begin_run(NewRun("bench"), state)
    for step in range(1, steps + 1):
        state["messages"].append({"role": "user", "content": f"question {step}"})
        state["messages"].append({"role": "assistant", "content": f"answer {step}"})
        del state["messages"][:-40]
        state["count"] = step
        if step % 1_000 == 0:
            state["budget"] -= 25
        if step == steps // 10:
            state["note"] = "written once"
        number = writer.open_step(NewStep("chat"))
        if step % 50 == 0:
            call = writer.begin_call(
                number, NewCall("tool", "charge", {"amount": step}, f"{step:032x}", effect="write")
            )
            writer.end_call(number, call, CallEnd("ok", {"paid": step}))
        writer.close_step(number, StepEnd("ok", tokens_in=100, tokens_out=20), state)
    writer.finish("succeeded")
    return writer.run_id


def timed(question: Callable[[], object], times: int = 9) -> float:
    """Milliseconds, the median of several."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        question()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


def scan(store: SqliteStore, run_id: str, last: int, steps: int) -> float:
    """Milliseconds a step for loading neighbours and diffing them."""
    start = time.perf_counter()
    for number in range(last, last - steps, -1):
        DeepDiff(store.state(run_id, number - 1), store.state(run_id, number))
    return (time.perf_counter() - start) * 1000 / steps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--scan", type=int, default=100)
    arguments = parser.parse_args()
    steps = arguments.steps
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "runs.db", create=True, durability="normal")
        run_id = record(store, steps)
        per_step = scan(store, run_id, steps, arguments.scan)
        middle, written = steps // 2, steps // 10
        rows: list[tuple[str, Callable[[], object], int, float | None]] = [
            ("last write of budget", lambda: store.last_write(run_id, steps - 1, ("budget",)), 999, MOST_MS),
            ("last write of note", lambda: store.last_write(run_id, steps, ("note",)), steps - written, MOST_MS),
            ("next change of budget", lambda: store.next_write(run_id, middle, ("budget",)), 1_000, MOST_MS),
            ("next change of note", lambda: store.next_write(run_id, 1, ("note",)), written, MOST_MS),
            (
                "next step: changed(budget)",
                lambda: Watch(store, run_id, "changed(state.budget)").next(middle),
                1_000,
                None,
            ),
            ("next step: charge > amount", lambda: Watch(store, run_id, _charge(middle)).next(0), middle, None),
            (
                "where state.budget < 0",
                lambda: next(Watch(store, run_id, "state.budget < 0").spans(), None),
                steps,
                None,
            ),
            ("blame note", lambda: blame_value(store, run_id, "note", steps), steps - written, None),
            ("oddities", lambda: find_oddities(store, store.run(run_id)), steps, None),
        ]
        print(f"{steps:,} steps; a scan with DeepDiff takes {per_step:.2f} ms a step\n")
        print(f"{'question':30}{'ours':>12}{'scan':>16}{'ratio':>14}{'most':>10}")
        missed = False
        for name, question, looked_at, most in rows:
            ours = timed(question, 9 if most else 3)
            peer = per_step * looked_at
            verdict = "" if most is None else f"{most:>8.0f} ms  {'PASS' if ours < most else 'FAIL'}"
            missed |= most is not None and ours >= most
            print(f"{name:30}{ours:>9.2f} ms{peer:>13,.0f} ms{peer / ours:>14,.0f}{verdict:>16}")
        store.close()
    return 1 if missed else 0


def _charge(amount: int) -> str:
    return f'tool == "charge" and args.amount > {amount}'


if __name__ == "__main__":
    sys.exit(main())
