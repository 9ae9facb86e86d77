"""What each safeguard costs a step of a growing chat: this checkout beside itself without one of them, in turns.

    python -m tests.benchmarks.bench_safeguards [--rounds 7] [--steps 1000] [--markdown]

Each round starts one process for each safeguard, and one that has them all, the first of them in turn. Each records the
growing chat of `bench_store` into a file system in memory, and says how much time of the processor each step took; of
every step its quickest round counts. What is left out does nothing: the file that comes of it is worth nothing.
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

from tests.benchmarks.store_ways import Ours, OursTracked
from tests.benchmarks.store_workloads import growing_chat

if TYPE_CHECKING:
    from collections.abc import Callable

_ZEROS: Final = bytes(16)


def _without_redaction() -> None:
    from agent_tt.store import ingest_filter, writer

    vars(ingest_filter).update(admit=lambda value, name="": value, admit_text=lambda words: words)
    writer.SqliteRunWriter._admit = None


def _without_digests() -> None:
    from agent_tt.history.changes import nodes

    for name in ("entry_token", "flat_list_token", "list_token", "polynomial", "scalar_entry_token"):
        vars(nodes)[name] = lambda *_: 0
    for name in ("small_dict_token", "sum_token", "token", "token_of", "replaced"):
        vars(nodes)[name] = lambda *_: 0


def _without_chain() -> None:
    from agent_tt.history.log import append

    vars(append).update(chain=lambda *_: _ZEROS)


def _without_proofs() -> None:
    from agent_tt.store.tables import table

    vars(table).update(hashed=lambda _: _ZEROS)


def _without_index() -> None:
    from agent_tt.history.log.index import PendingMarks

    PendingMarks.add = PendingMarks.flush_in_pieces = lambda *_: None  # type: ignore[method-assign,assignment]


def _without_place() -> None:
    from agent_tt.store.file.connection import Database

    Database._check_in_place = lambda _: None  # type: ignore[method-assign]


def _without_beginning() -> None:
    """Write a step's row with its end: nobody sees the step before, and a crash in it leaves nothing of it."""
    from agent_tt.store.file.connection import Database

    begin, exit_ = Database.begin, Database.committed
    begun: list[Any] = []

    class Part:
        """What stands for the transaction of a step's beginning: it ends with the next one."""

        def __init__(self, tx: Any) -> None:
            self._tx = tx

        def __getattr__(self, name: str) -> Any:
            return getattr(self._tx, name)

        def __exit__(self, *_: object) -> None:
            begun.append(self._tx)

    def one_for_two(database: Any, *, durable: bool) -> Any:
        if begun:
            return begun.pop()
        tx = begin(database, durable=True)
        return tx if durable else Part(tx)

    Database.begin, Database.committed = one_for_two, exit_  # type: ignore[method-assign,assignment]


SAFEGUARDS: Final[dict[str, tuple[str, Callable[[], None]]]] = {
    "redaction": ("what is new is searched for secrets", _without_redaction),
    "digests": ("a digest of each state: equal states are known, wrong ones are noticed", _without_digests),
    "beginning": ("a step is there when it begins: a transaction of its own", _without_beginning),
    "index": ("who wrote a value is found without reading all steps", _without_index),
    "place": ("before each write: the file is still where it was, and ours", _without_place),
    "proofs": ("each row shows that it is as it was written", _without_proofs),
    "chain": ("a checkpoint shows that none before it was changed", _without_chain),
}
_DETECTION: Final = "all of the state is compared: what was changed in place is found"


def measure(way: type[Ours], steps: int) -> list[float]:
    """Milliseconds of the processor that each step takes."""
    took = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        states = growing_chat(steps)(way.wrap)
        kept_in = way(Path(folder), next(states))
        for step, state in enumerate(states, 1):
            begun = time.process_time_ns()
            kept_in.keep(step, state)
            took.append((time.process_time_ns() - begun) / 1e6)
    return took


def _measured_without(name: str, steps: int) -> list[float]:
    command = [sys.executable, str(Path(__file__).resolve()), "--only", name, "--steps", str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--only", help="measure without one safeguard in this process, as JSON")
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    given = parser.parse_args()
    if given.only is not None:
        if given.only in SAFEGUARDS:
            SAFEGUARDS[given.only][1]()
        print(json.dumps(measure(OursTracked if given.only == "tracked" else Ours, given.steps)))
        return
    names = ["all", "tracked", *SAFEGUARDS]
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for number in range(given.rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            found[name].append(_measured_without(name, given.steps))
    quickest = {name: statistics.fmean(map(min, zip(*rounds, strict=True))) for name, rounds in found.items()}
    whole = quickest["all"]
    rows = [("detection", _DETECTION, whole - quickest["tracked"])]
    rows += [(name, what, whole - quickest[name]) for name, (what, _) in SAFEGUARDS.items()]
    rows.sort(key=lambda row: -row[2])
    if given.markdown:
        print("| safeguard | µs a step | of it |\n|---|---|---|")
    for name, what, cost in rows:
        share = f"{100 * cost / whole:.0f} %"
        if given.markdown:
            print(f"| {what} | {1000 * cost:.0f} | {share} |")
        else:
            print(f"{name:12} {1000 * cost:6.0f} µs {share:>5}  {what}")
    print(f"\nA step takes {1000 * whole:.0f} µs with all of them.")


if __name__ == "__main__":
    main()
