"""What the profiles cost beside recording without one, in the same run: CPU time, and what it must not exceed.

    python tests/benchmarks/bench_redaction.py [--steps 200] [--times 7]

A support agent as they are: a conversation that grows by two messages of about 1.5 KB a step, among them ids, times and
prices, a tool that answers with records of customers, and personal data in one message of ten. The ways are recorded by
turns, so that what disturbs the machine disturbs all; the least time of each counts. Exits with 1 if a profile takes
more than a tenth longer than recording without one.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import agent_tt
from agent_tt.redaction.given import GIVEN

MOST: Final = 1.1
"""What recording with a profile may take of the time without one."""
WORDS: Final = (
    *("refund", "policy", "order", "customer", "shipping", "delay", "agent", "tool", "search", "result", "document"),
    *("answer", "question", "invoice", "account", "update", "status", "pending", "approved", "manager", "escalate"),
    *("ticket", "number", "date", "amount", "total", "payment"),
)


@agent_tt.tool(effect="read")
def look_up_order(order: str, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the records of an order."""
    del order
    return records


def message(source: random.Random, number: int) -> str:
    """About 1.5 KB as people and models write them, with what agents have in their texts."""
    words = source.choices(WORDS, k=190)
    for at in range(9, 190, 19):
        words[at] = source.choice(
            [
                f"ord_{source.randrange(10**9)}",
                "2026-11-24T08:21:21Z",
                f"{source.randrange(10**5) / 100:.2f}",
                "https://x.example/a?b=1",
            ]
        )
    if number % 10 == 0:
        words[50] = f"ann{number}@mail.example.com, +49 170 {source.randrange(10**6, 10**7)}"
    return " ".join(words)


def spent(profile: str | None, steps: int) -> float:
    """CPU seconds of recording the agent once."""
    source = random.Random(7)
    messages = [(message(source, 2 * number), message(source, 2 * number + 1)) for number in range(steps)]
    records = [
        [
            {
                "id": source.randrange(10**12),
                "at": "2026-11-24T08:21:21Z",
                "total": 12.5,
                "note": " ".join(source.choices(WORDS, k=12)),
            }
        ]
        * 5
        for _ in range(steps)
    ]
    GIVEN.forget()
    with tempfile.TemporaryDirectory() as folder:
        state: dict[str, Any] = {"messages": [], "step": 0}
        begun = time.process_time()
        with agent_tt.record("bench", state=state, store=Path(folder) / "runs.db", redact=profile) as run:
            for number, (asked, said) in enumerate(messages):
                with run.step("turn", state):
                    look_up_order(f"ord_{number}", records[number])
                    state["messages"] += [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
                    state["step"] = number
        return time.process_time() - begun


def main() -> int:
    """Measure, and print a row for each way."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--times", type=int, default=7)
    told = arguments.parse_args()
    ways: dict[str | None, list[float]] = {None: [], "personal": [], "strict": []}
    for way in ways:
        spent(way, 20)  # libraries are loaded once
    for _ in range(told.times):
        for way, times in ways.items():
            times.append(spent(way, told.steps))
    without = min(ways[None])
    missed = False
    for way, times in ways.items():
        ratio = min(times) / without
        missed |= ratio > MOST
        verdict = "" if way is None else f"at most {MOST:g}: {'reached' if ratio <= MOST else 'MISSED'}"
        print(f"{way or 'no profile':12}{1000 * min(times) / told.steps:8.2f} ms a step{ratio:8.3f}  {verdict}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
