"""What taking out secrets and personal data costs of recording: processor time, beside recording all as it is.

    python -m tests.benchmarks.bench_redaction [--times 15] [--only support chat …]

Agents as they are (see `redaction_workloads`) are recorded in four ways by turns, so that what disturbs the machine
disturbs all: without any redaction (no text is searched, no value and no stream is gone through), with the rules that
always hold, and with the profiles `personal` and `strict` beside them. The least time of each way counts. What is
recorded all day is judged: a support agent, a chat, a loop that asks a model; not answers that come as many events, and
megabytes of documents that are replaced. Exits with 1 if a way takes more than a tenth longer than without redaction.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tests.benchmarks import redaction_workloads as workloads

from agent_tt.redaction import texts, values
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
TYPICAL: Final = ("support", "chat", "model")
"""What is judged."""
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
    if way == NOTHING:
        with _no_redaction():
            return record(None, steps)
    return record(None if way == DEFAULT else way, steps)


def measured(name: str, times: int) -> dict[str, float]:
    """The least seconds of each way, in rounds of all of them."""
    record, steps = WORKLOADS[name]
    least = {way: spent(record, way, max(2, steps // 10)) for way in WAYS}  # libraries are loaded once
    least = dict.fromkeys(WAYS, float("inf"))
    for _ in range(times):
        for way in WAYS:
            least[way] = min(least[way], spent(record, way, steps))
    return least


def main() -> int:
    """Measure, and print a row for each workload."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=15)
    arguments.add_argument("--only", nargs="*", choices=[*WORKLOADS], default=[*WORKLOADS])
    told = arguments.parse_args()
    print(f"{'':11}{'ms a step':>10}" + "".join(f"{way:>10}" for way in WAYS[1:]))
    worst: dict[bool, tuple[float, str, str]] = {}
    for name in told.only:
        least = measured(name, told.times)
        ratios = {way: least[way] / least[NOTHING] for way in WAYS[1:]}
        is_typical = name in TYPICAL
        for way, ratio in ratios.items():
            worst[is_typical] = max(worst.get(is_typical, (0.0, "", "")), (ratio, name, way))
        cells = "".join(f"{ratio:10.3f}" for ratio in ratios.values())
        print(f"{name:11}{1000 * least[NOTHING] / WORKLOADS[name][1]:10.2f}{cells}", flush=True)
    if False in worst:
        print("the worst that is not judged: {1}, {2}, {0:.3f}".format(*worst[False]))
    if True not in worst:
        return 0
    is_reached = worst[True][0] <= MOST
    print(
        "the worst: {1}, {2}, {0:.3f};".format(*worst[True]),
        f"at most {MOST:g}:",
        "reached" if is_reached else "MISSED",
    )
    return int(not is_reached)


if __name__ == "__main__":
    sys.exit(main())
