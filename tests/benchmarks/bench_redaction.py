"""What taking out secrets and personal data costs of recording: processor time, beside recording all as it is.

    python -m tests.benchmarks.bench_redaction [--times 15] [--only support chat …]

Agents as they are (see `redaction_workloads`) are recorded in four ways by turns, so that what disturbs the machine
disturbs all: without any redaction (no text is searched, no value and no stream is gone through), with the rules that
always hold, and with the profiles `personal` and `strict` beside them. Each round records all ways, in another order
each time; what a way costs is the median of how much longer it took than none in the same round, beside the median of
none. Nothing is known from the run before, so each telephone number is a new one, and each run begins with as much
rubbish to collect. Exits with 1 if a way takes more than a tenth longer than without redaction.
"""

from __future__ import annotations

import argparse
import gc
import sys
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from tests.benchmarks import redaction_workloads as workloads

from agent_tt.redaction import personal, texts, values
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.streams import bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST: Final = 1.1
"""What recording may take of the time without redaction."""
WORKLOADS: Final[dict[str, tuple[Callable[[str | None, int], float], int]]] = {
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

    replaced: list[tuple[Any, Callable[..., Any]]] = [
        (texts.redact_text, text),
        (texts.asked_text, asked),
        (values._Walk.value, value),
        (bodies.Body.feed, feed),
    ]
    before = [function.__code__ for function, _ in replaced]
    for function, other in replaced:  # their code, so that it holds wherever they were imported
        function.__code__ = other.__code__
    try:
        yield
    finally:
        for (function, _), code in zip(replaced, before, strict=True):
            function.__code__ = code


def spent(record: Callable[[str | None, int], float], way: str, steps: int) -> float:
    """Processor seconds of recording an agent once, in one way."""
    GIVEN.forget()
    personal._phone.cache_clear()
    personal.is_personal_number.cache_clear()
    gc.collect()
    if way == NOTHING:
        with _no_redaction():
            return record(None, steps)
    return record(None if way == DEFAULT else way, steps)


def measured(name: str, times: int) -> list[dict[str, float]]:
    """The seconds of each way, in each round."""
    record, steps = WORKLOADS[name]
    for way in WAYS:  # libraries are loaded once
        spent(record, way, max(2, steps // 10))
    gc.collect()
    gc.freeze()
    rounds = []
    for number in range(times * ROUNDS):
        first = number % len(WAYS)
        rounds.append({way: spent(record, way, steps) for way in (*WAYS[first:], *WAYS[:first])})
    gc.unfreeze()
    return rounds


def ratio_of(rounds: list[dict[str, float]], way: str) -> tuple[float, float]:
    """What a way takes of the time without redaction, and how far half of the rounds are from that at most."""
    least = median(each[NOTHING] for each in rounds)
    more = [(each[way] - each[NOTHING]) / least for each in rounds]
    middle = median(more)
    return 1 + middle, median(abs(each - middle) for each in more)


def main() -> int:
    """Measure, and print a row for each workload."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=15, help=f"rounds, by {ROUNDS}")
    arguments.add_argument("--only", nargs="*", choices=[*WORKLOADS], default=[*WORKLOADS])
    told = arguments.parse_args()
    print(f"{'':11}{'ms a step':>10}" + "".join(f"{way:>16}" for way in WAYS[1:]))
    worst = (0.0, "", "")
    for name in told.only:
        rounds = measured(name, told.times)
        ratios = {way: ratio_of(rounds, way) for way in WAYS[1:]}
        worst = max(worst, *((ratio, name, way) for way, (ratio, _) in ratios.items()))
        cells = "".join(f"{ratio:9.3f} ± {spread:.3f}" for ratio, spread in ratios.values())
        alone = median(each[NOTHING] for each in rounds)
        print(f"{name:11}{1000 * alone / WORKLOADS[name][1]:10.2f}{cells}", flush=True)
    is_reached = worst[0] <= MOST
    print("the worst: {1}, {2}, {0:.3f};".format(*worst), f"at most {MOST:g}:", "reached" if is_reached else "MISSED")
    return int(not is_reached)


if __name__ == "__main__":
    sys.exit(main())
