"""What taking out secrets and personal data costs of recording, beside recording all as it is.

    python -m tests.benchmarks.bench_redaction [--times 15] [--only support chat …] [--folder FOLDER]

Agents as they are (see `redaction_workloads`) are recorded in four ways by turns, so that what disturbs the machine
disturbs all: without any redaction (no text is searched, no value and no stream is gone through), with the rules that
always hold, and with the profiles `personal` and `strict` beside them. Each round records all ways, in another order
each time; what a way costs is the median of how much longer it took than none in the same round, beside the median of
none. Nothing is known from the run before, so each telephone number is a new one, and each run begins with as much
rubbish to collect.

Three things are told: instructions of the processor outside of the system, which nothing else on the machine changes
(where `valgrind` is installed); time of the processor, in which the work of the system counts; and the clock, in which
the disk is waited for at each commit, so that the store has to be on a disk (`--folder`). Exits with 1 if a way takes
more than a tenth more instructions than without redaction, or time of the processor where none are counted.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from tests.benchmarks import redaction_workloads as workloads

from agent_tt.redaction import personal, phones, texts, values
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.streams import bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.benchmarks.redaction_workloads import Spent

MOST: Final = 1.1
"""What recording may take of the time without redaction."""
WORKLOADS: Final[dict[str, tuple[Callable[[str | None, int], Spent], int]]] = {
    "support": (workloads.support, 40),
    "chat": (workloads.chat, 40),
    "model": (workloads.model, 15),
    "stream": (workloads.stream, 5),
    "documents": (workloads.documents, 10),
}
"""What is recorded, and how many steps of it."""
ROUNDS: Final = 3
"""How many rounds count as one time."""
NOTHING, DEFAULT = "no redaction", "default"
WAYS: Final = (NOTHING, DEFAULT, "personal", "strict")


@contextmanager
def _no_redaction() -> Iterator[None]:
    """Keep everything as it is: texts, values, and answers that come in pieces."""

    def text(text: str, *, hide: Any = None) -> str:
        return text

    def asked(text: str) -> str:
        return text

    def value(self: Any, value: Any, name: str, beside: Any = None) -> Any:
        return value

    def feed(self: Any, data: bytes, *, is_end: bool = False) -> None:
        self._size += len(data)
        self._read = self._size

    def passes(self: Any, data: bytes) -> bool:
        self._size += len(data)
        self._read = self._size
        return True

    replaced: list[tuple[Any, Callable[..., Any]]] = [
        (texts.redact_text, text),
        (texts.asked_text, asked),
        (values._Walk.value, value),
        (bodies.Body.feed, feed),
        (bodies.Body.passes, passes),
    ]
    before = [function.__code__ for function, _ in replaced]
    for function, other in replaced:  # their code, so that it holds wherever they were imported
        function.__code__ = other.__code__
    try:
        yield
    finally:
        for (function, _), code in zip(replaced, before, strict=True):
            function.__code__ = code


def spent(record: Callable[[str | None, int], Spent], way: str, steps: int) -> Spent:
    """What recording an agent once takes, in one way."""
    GIVEN.forget()
    phones.is_valid.cache_clear()
    personal.is_personal_number.cache_clear()
    gc.collect()
    if way == NOTHING:
        with _no_redaction():
            return record(None, steps)
    return record(None if way == DEFAULT else way, steps)


def measured(name: str, rounds: int) -> list[dict[str, Spent]]:
    """What each way takes, in each round."""
    record, steps = WORKLOADS[name]
    _load(name)
    gc.freeze()
    found = [{way: spent(record, way, steps) for way in ways} for ways in _turns(rounds)]
    gc.unfreeze()
    return found


def _load(name: str) -> None:
    """Have each way's libraries loaded, and what is made once."""
    record, steps = WORKLOADS[name]
    for way in WAYS:
        spent(record, way, steps)
    gc.collect()


def _turns(rounds: int) -> Iterator[tuple[str, ...]]:
    """In which order the ways are recorded, in each round."""
    for first in (number % len(WAYS) for number in range(rounds)):
        yield (*WAYS[first:], *WAYS[:first])


def counted(names: Sequence[str], rounds: int) -> dict[str, list[dict[str, float]]]:
    """The instructions of each way, in each round, by workload.

    They are counted in one process, which begins to count once its libraries are loaded: that would take minutes.
    Numbers are told at both ends of each recording, so every second one is what a recording took.
    """
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", "--dump-before=getpgid"]
        agent = [sys.executable, "-m", "tests.benchmarks.bench_redaction", "--as-counted", "--counts", str(rounds)]
        subprocess.run(
            [*tool, f"--callgrind-out-file={folder}/counts", *agent, "--only", *names],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        parts = sorted(Path(folder).glob("counts.*"), key=lambda part: int(part.suffix[1:]))
        totals = [re.findall(r"^totals: (\d+)", part.read_text(), re.MULTILINE) for part in parts]
    numbers = (int(total[0]) for total in totals[1::2])
    return {name: [{way: next(numbers) for way in ways} for ways in _turns(rounds)] for name in names}


def _be_counted(names: Sequence[str], rounds: int) -> None:
    """What the process does whose instructions are counted."""
    for name in names:
        _load(name)
    gc.freeze()
    subprocess.run(["callgrind_control", "--instr=on", str(os.getpid())], check=True, stdout=subprocess.DEVNULL)
    for name in names:
        record, steps = WORKLOADS[name]
        for ways in _turns(rounds):
            for way in ways:
                spent(record, way, steps)


def ratio_of(rounds: list[dict[str, float]], way: str) -> tuple[float, float]:
    """What a way takes of what none takes, and how far half of the rounds are from that at most."""
    least = median(each[NOTHING] for each in rounds)
    more = [(each[way] - each[NOTHING]) / least for each in rounds]
    middle = median(more)
    return 1 + middle, median(abs(each - middle) for each in more)


def main() -> int:
    """Measure, and print rows for each workload."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=15, help=f"rounds, by {ROUNDS}")
    arguments.add_argument("--only", nargs="*", choices=[*WORKLOADS], default=[*WORKLOADS])
    arguments.add_argument("--folder", help="where the stores are; else where the system has temporary files")
    arguments.add_argument("--counts", type=int, default=2, help="rounds whose instructions are counted")
    arguments.add_argument("--as-counted", action="store_true", help=argparse.SUPPRESS)
    told = arguments.parse_args()
    if told.folder:
        os.environ["TMPDIR"] = tempfile.tempdir = told.folder
    if told.as_counted:
        _be_counted(told.only, told.counts)
        return 0
    counts = counted(told.only, told.counts) if told.counts and shutil.which("valgrind") else {}
    print(f"{'':11}{'':14}{'a step':>10}" + "".join(f"{way:>16}" for way in WAYS[1:]))
    worst = (0.0, "", "")
    for name in told.only:
        rounds = measured(name, told.times * ROUNDS) if told.times else []
        by_measure: dict[str, list[dict[str, float]]] = {
            "instructions": counts.get(name, []),
            "processor": [{way: each[way].processor for way in WAYS} for each in rounds],
            "clock": [{way: each[way].clock for way in WAYS} for each in rounds],
        }
        judged = next(measure for measure, found in by_measure.items() if found)
        for measure, found in by_measure.items():
            if not found:
                continue
            ratios = {way: ratio_of(found, way) for way in WAYS[1:]}
            if measure == judged:
                worst = max(worst, *((ratio, name, way) for way, (ratio, _) in ratios.items()))
            alone = median(each[NOTHING] for each in found) / WORKLOADS[name][1]
            size = f"{alone / 1e6:.1f} M" if measure == "instructions" else f"{1000 * alone:.2f} ms"
            cells = "".join(f"{ratio:9.3f} ± {spread:.3f}" for ratio, spread in ratios.values())
            print(f"{name:11}{measure:14}{size:>10}{cells}", flush=True)
    is_reached = worst[0] <= MOST
    print("the worst: {1}, {2}, {0:.3f};".format(*worst), f"at most {MOST:g}:", "reached" if is_reached else "MISSED")
    return int(not is_reached)


if __name__ == "__main__":
    sys.exit(main())
