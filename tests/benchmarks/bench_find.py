"""Finding as one types in a long run: milliseconds a keystroke, and how long the first index takes.

    python tests/benchmarks/bench_find.py [--steps 100000] [--scan 50] [--store FILE]

The run is that of `bench_ask`: a conversation of two short messages a step. Each question is typed letter by letter,
and each keystroke is asked as the panel asks it, excerpts of what is shown included. All is done several times over: a
keystroke counts with the best of its passes, as what other programs take of the machine says nothing about it, and of
the keystrokes of a question the 95th percentile is to keep below the limit. Beside it stand the same of all passes as
they were, without a verdict, and what the processor worked. Of a pattern of which nothing literal can be looked up all
texts are read: what is found so far is shown meanwhile, so the limit is that of the first answer. Beginnings of
patterns of which that is so, or that cannot be read yet, are left out of the first table. Beside each question stands
what somebody without an index would do: load every state and look through it, by hand and with DeepDiff's `DeepSearch`,
timed over `--scan` steps and multiplied. Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench_ask import record
from deepdiff import DeepSearch

from agent_tt.cache_files import cache_path
from agent_tt.codec.texts import texts
from agent_tt.errors import UsageError
from agent_tt.querying.search.finder import Finder
from agent_tt.querying.search.query import parse
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.querying.search.query import Query
    from agent_tt.store import SqliteStore

MOST_MS = 100.0
MOST_BUILD_S = 60.0
SHOWN = 200
PASSES = 5
SLOW_PASSES = 2

QUESTIONS: tuple[tuple[str, str, bool], ...] = (
    ("rare word", "written once", False),
    ("common word", "answer", False),
    ("a key in every step", "role", False),
    ("two characters, rare", "zq", False),
    ("absent word", "nothing like it", False),
    ("several words", "answer 777", False),
    ("kept to a field", "in:result 5000", False),
    ("kept to a tool", "tool:charge 5000", False),
    ("kept to steps", "step:500-600 user", False),
    ("growing word", "question 77777", False),
    ("pattern", r"question 9\d+7$", True),
    ("pattern, rare", "wri(tten|te) on?ce", True),
)
READ_THROUGH: tuple[tuple[str, str], ...] = (
    ("matches often", r"\d+"),
    ("matches rarely", r"\d\d[3-5]\d\d[.,]"),
    ("matches nowhere", r"[xyz]{4}"),
)
"""Patterns that have no three letters in a row."""


class Pass(NamedTuple):
    """Milliseconds that a keystroke took: until the first answer and the whole one, and the processor's work."""

    first: float
    whole: float
    work: float


def taken(finder: Finder, query: Query, run_id: str) -> Pass:
    """Ask as the panel does."""
    start, begun, first = time.perf_counter(), time.thread_time(), 0.0
    for _ in finder.searching(query, [run_id], limit=SHOWN):
        first = first or time.perf_counter() - start
    whole, work = time.perf_counter() - start, time.thread_time() - begun
    return Pass(first * 1000, whole * 1000, work * 1000)


def typed(finder: Finder, run_id: str, text: str, *, regex: bool) -> list[list[Pass]]:
    """The passes of each keystroke with which a text is typed."""
    queries: list[Query] = []
    for end in range(1, len(text) + 1):
        with suppress(UsageError):
            query = parse(text[:end], regex=regex)
            if not regex or query.needed is not None:
                queries.append(query)
    passes = [[taken(finder, query, run_id) for query in queries] for _ in range(PASSES)]
    return [list(key) for key in zip(*passes, strict=True)]


def p95_of(times: list[float]) -> float:
    """The 95th percentile; of few the largest."""
    return sorted(times)[max(0, math.ceil(0.95 * len(times)) - 1)]


def clocked(work: Callable[[], object]) -> float:
    """Milliseconds that something takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def scans(store: SqliteStore, run_id: str, last: int, steps: int) -> tuple[float, float]:
    """Milliseconds a step for loading states and looking through them: by hand, and with DeepSearch."""
    numbers = range(last, last - steps, -1)
    by_hand = clocked(
        lambda: [any("written" in text for _, text in texts(store.state(run_id, number))) for number in numbers]
    )
    deep = clocked(lambda: [DeepSearch(store.state(run_id, number), "written") for number in numbers])
    return by_hand / steps, deep / steps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--scan", type=int, default=50)
    parser.add_argument("--store", type=Path, help="a store with such a run, made here where it is missing")
    arguments = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.store or Path(folder) / "runs.db"
        store = open_store(path, create=True, durability="normal")
        runs = store.runs()
        run_id = runs[0].id if runs else record(store, arguments.steps)
        steps = store.step_count(run_id)
        finder = Finder(store, use_index=True, folder=Path(folder))
        start, begun = time.perf_counter(), time.process_time()
        first_hits = None
        for _ in finder.update([run_id]):
            if first_hits is None and finder.search(parse("answer"), [run_id], limit=SHOWN).total:
                first_hits = time.perf_counter() - start
        built, worked = time.perf_counter() - start, time.process_time() - begun
        missed |= built >= MOST_BUILD_S
        size = cache_path(path, Path(folder)).stat().st_size / 1e6
        print(f"{steps:,} steps, {path.stat().st_size / 1e6:.1f} MB; index {size:.1f} MB")
        verdict = "PASS" if built < MOST_BUILD_S else "FAIL"
        print(
            f"first index {built:.1f} s (most {MOST_BUILD_S:.0f} s  {verdict}), of which {worked:.1f} s of work;",
            end="",
        )
        print(f" first hits after {first_hits or 0:.2f} s")
        by_hand, deep = scans(store, run_id, steps, arguments.scan)
        print(f"a scan of all states takes {by_hand:.2f} ms a step, with DeepSearch {deep:.2f} ms\n")
        print(f"each keystroke is the best of {PASSES} passes over all that is typed; p95 over its keystrokes\n")
        heads = f"{'question':22}{'keys':>5}{'median':>10}{'p95':>10}{'worst':>10}{'of work':>10}{'all passes':>12}"
        print(f"{heads}{'most':>8}{'':6}{'scan':>13}{'DeepSearch':>14}")
        for name, text, regex in QUESTIONS:
            keys = typed(finder, run_id, text, regex=regex)
            best = [min(each.whole for each in key) for key in keys]
            work = [min(each.work for each in key) for key in keys]
            p95, missed_here = p95_of(best), p95_of(best) >= MOST_MS
            missed |= missed_here
            print(
                f"{name:22}{len(keys):>5}{statistics.median(best):>7.1f} ms{p95:>7.1f} ms{max(best):>7.1f} ms", end=""
            )
            print(f"{p95_of(work):>7.1f} ms{p95_of([each.whole for key in keys for each in key]):>9.1f} ms", end="")
            print(f"{MOST_MS:>5.0f} ms  {'FAIL' if missed_here else 'PASS'}", end="")
            print(f"{by_hand * steps:>10,.0f} ms{deep * steps:>11,.0f} ms")
        print(f"\n{'pattern read through':22}{'first answer':>14}{'most':>8}{'':8}{'whole':>8}{'hits':>12}")
        for name, text in READ_THROUGH:
            query = parse(text, regex=True)
            passes = [taken(finder, query, run_id) for _ in range(SLOW_PASSES)]
            first = min(each.first for each in passes)
            missed |= first >= MOST_MS
            total = finder.search(query, [run_id], limit=SHOWN)
            print(f"{name:22}{first:>11.1f} ms{MOST_MS:>5.0f} ms  {'PASS' if first < MOST_MS else 'FAIL'}", end="")
            print(f"{min(each.whole for each in passes):>9,.0f} ms", end="")
            print(f"{total.total:>9,}{'' if total.is_complete else '+'}")
        finder.close()
        store.close()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
