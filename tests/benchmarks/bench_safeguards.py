"""What each safeguard costs a step of a growing chat: the time of the processor that goes into what it is made of.

    python -m tests.benchmarks.bench_safeguards [--rounds 5] [--steps 1000] [--markdown]

Each round starts one process for each safeguard, and one without any timers, the first of them in turn. Each records
the growing chat of `bench_store` into a file in memory; of every step its quickest round counts. What the timers take
themselves is measured, and taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.store_ways import Ours
from tests.benchmarks.store_workloads import growing_chat

if TYPE_CHECKING:
    from collections.abc import Callable

CLOCK: Final = time.thread_time_ns
spent = 0
calls = 0
depth = 0


def timed(owner: Any, *names: str) -> None:
    """Count what these functions take, those that they call included."""
    for name in names:
        given = vars(owner)[name]
        function = given.__func__ if isinstance(given, staticmethod) else given

        def around(*args: Any, function: Any = function, **kwargs: Any) -> Any:
            global spent, calls, depth
            if depth:
                return function(*args, **kwargs)
            depth += 1
            calls += 1
            begun = CLOCK()
            try:
                return function(*args, **kwargs)
            finally:
                spent += CLOCK() - begun
                depth -= 1

        wrapped: Any = staticmethod(around) if isinstance(given, staticmethod) else around
        setattr(owner, name, wrapped)


def _redaction() -> None:
    from agent_tt.store import ingest_filter, writer

    timed(ingest_filter, "admit_text", "admit_mapping", "admit_error")
    timed(writer.SqliteRunWriter, "_admit")


def _detection() -> None:
    from agent_tt.history.changes.walk import Walk

    timed(Walk, "_counted_front", "_next_census", "_equal_front", "_known_entries")


def _digests() -> None:
    from agent_tt.history.changes import nodes

    timed(nodes, "entry_token", "flat_list_token", "list_token", "polynomial", "scalar_entry_token")
    timed(nodes, "small_dict_token", "sum_token", "token", "token_of", "replaced")


def _beginning() -> None:
    from agent_tt.store.writer import SqliteRunWriter

    timed(SqliteRunWriter, "open_step")


def _index() -> None:
    from agent_tt.history.log.index import PendingMarks

    timed(PendingMarks, "add", "flush_in_pieces")


def _place() -> None:
    from agent_tt.store.file.connection import Database

    timed(Database, "_check_in_place")


def _proofs() -> None:
    from agent_tt.store.tables.table import Table

    timed(Table, "with_digests", "_of_digests")


def _chain() -> None:
    from agent_tt.history.log import append

    timed(append, "chain")


SAFEGUARDS: Final[dict[str, tuple[str, Callable[[], None]]]] = {
    "redaction": ("what is new is searched for secrets", _redaction),
    "detection": ("all of a plain state is compared: what was changed in place is found", _detection),
    "digests": ("a digest of each state: equal states are known, wrong ones are noticed", _digests),
    "beginning": ("a step is in the file when it begins", _beginning),
    "index": ("who wrote a value is found without reading all steps", _index),
    "place": ("before each write: the file is still where it was, and ours", _place),
    "proofs": ("each row shows that it is as it was written", _proofs),
    "chain": ("a checkpoint shows that none before it was changed", _chain),
}


def measure(steps: int, *, is_part: bool) -> list[float]:
    """Microseconds of the processor that each step takes, or what is timed in it."""
    global spent, calls
    took = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        states = growing_chat(steps)(Ours.wrap)
        kept_in = Ours(Path(folder), next(states))
        for step, state in enumerate(states, 1):
            spent = calls = 0
            begun = CLOCK()
            kept_in.keep(step, state)
            whole = CLOCK() - begun
            took.append((spent - calls * _OWN_NS if is_part else whole) / 1e3)
        kept_in.end()
    return took


def _own() -> float:
    """What a timer counts of itself, in ns."""
    return min(-(CLOCK() - CLOCK()) for _ in range(2000))


_OWN_NS: Final = _own()


def _measured(name: str, steps: int) -> list[float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--only", name, "--steps", str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--only", help="time one safeguard in this process, as JSON")
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    given = parser.parse_args()
    if given.only is not None:
        if given.only in SAFEGUARDS:
            SAFEGUARDS[given.only][1]()
        print(json.dumps(measure(given.steps, is_part=given.only in SAFEGUARDS)))
        return
    names = ["all", *SAFEGUARDS]
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for number in range(given.rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            found[name].append(_measured(name, given.steps))
    quickest = {name: statistics.fmean(map(min, zip(*rounds, strict=True))) for name, rounds in found.items()}
    whole = quickest.pop("all")
    if given.markdown:
        print("| safeguard | µs a step | of it |\n|---|---|---|")
    for name, cost in sorted(quickest.items(), key=lambda each: -each[1]):
        share = f"{100 * cost / whole:.0f} %"
        if given.markdown:
            print(f"| {SAFEGUARDS[name][0]} | {cost:.0f} | {share} |")
        else:
            print(f"{name:12} {cost:6.0f} µs {share:>5}  {SAFEGUARDS[name][0]}")
    print(f"\nA step takes {whole:.0f} µs with all of them.")


if __name__ == "__main__":
    main()
