"""What the last steps of a long conversation, its opening and `verify` cost, in time of the processor."""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from agent_tt.model import NewRun, NewStep, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["MOST", "long_conversation"]

MOST: Final = {
    "record all of it, s": 20.0,
    "a checkpoint at its end, ms": 5.0,
    "open: list, page, last state, ms": 250.0,
    "a page of 100 steps, ms": 2.0,
    "one step back, ms": 1.0,
    "verify, s": 3.0,
}
"""What each may take."""


def long_conversation(path: Path, steps: int) -> dict[str, float]:
    """Two small messages a step, recorded without waiting for the disk."""
    state: dict[str, Any] = {"messages": [], "hour": 0}
    times: list[float] = []
    start = time.process_time()
    with closing(open_store(path, create=True, durability="normal")) as store:
        writer = store.begin_run(NewRun("long"), state)
        for step in range(1, steps + 1):
            state["messages"] += [
                {"role": "user", "content": f"{step} litres"},
                {"role": "assistant", "content": "fine"},
            ]
            state["hour"] = step
            number = writer.open_step(NewStep("watch"))
            before = time.process_time()
            writer.close_step(number, StepEnd("ok"), state)
            times.append(time.process_time() - before)
        writer.finish("succeeded")
        recorded = time.process_time() - start
    start = time.process_time()
    with closing(open_store(path, read_only=True)) as store:
        run = store.runs()[0]
        store.steps(run.id, max(1, steps - 50))
        store.state(run.id, steps)
        opened = time.process_time() - start
        cursor = store.cursor(run.id, steps)
        back = _best_ms(lambda: cursor.seek(cursor.step - 1), 50)
        page = _best_ms(lambda: store.steps(run.id, steps // 2, steps // 2 + 100), 7)
        start = time.process_time()
        assert store.verify(run.id) == []
        verified = time.process_time() - start
    figures = (recorded, statistics.median(times[-100:]) * 1e3, opened * 1e3, page, back, verified)
    return dict(zip(MOST, figures, strict=True))


def _best_ms(action: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3
