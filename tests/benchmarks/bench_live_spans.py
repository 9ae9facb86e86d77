"""How soon what an instrumented program sends is on the screen of the app, which follows the server that takes it.

    python -m tests.benchmarks.bench_live_spans [--rounds 10]

Server, program and app are three processes; the app runs without a terminal, at 120 columns and 40 rows. A program asks
a fake of OpenAI on loopback, and sends the span of it before it goes on: the time is from then, when the server has
acknowledged it, until the list of runs shows the step, and of the second span until the debugger does. A round is a new
program with a new trace. For each instrumentation: median and longest of both, in milliseconds. Exits with 1 where a
median is more than a second.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.core.serving.otlp.instrumented import MODULES, instrumented
from tests.core.serving.rest.served import TOKEN, serving
from tests.tui.debugger_app import settled
from tests.tui.waiting import until

from agent_tt.marking import marked
from agent_tt.remote import open_server
from agent_tt_tui.app import AgentTT
from agent_tt_tui.look import Look
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.widgets.runs.run_list import RunList

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

MOST_MS: Final = 1_000


async def _shown(pilot: Pilot[None], asked: Callable[[], None], is_shown: Callable[[], bool]) -> float:
    """Milliseconds from when something was taken until it is shown."""
    taken: list[float] = []

    def wait() -> None:
        asked()
        taken.append(time.perf_counter())

    waiting = asyncio.create_task(asyncio.to_thread(wait))
    await until(pilot, is_shown)
    shown = time.perf_counter()
    await waiting
    return max(0.0, shown - taken[0]) * 1000


async def _round(kind: str, folder: Path) -> tuple[float, float]:
    with serving(folder / "runs.db", folder) as address, closing(marked(open_server(address, TOKEN))) as source:
        app = AgentTT(lambda: RunsScreen(source), look=Look())
        async with app.run_test(size=(120, 40)) as pilot:
            listed = app.screen.query_one(RunList)
            await until(pilot, lambda: listed.is_mounted)
            with instrumented(kind, address, folder) as program:
                first = await _shown(pilot, program.asked, lambda: [row.run.steps for row in listed.rows] == [1])
                await pilot.press("enter")
                await until(pilot, lambda: isinstance(app.screen, DebuggerScreen))
                screen = await settled(pilot)
                program.goes_on()
                second = await _shown(pilot, program.asked, lambda: screen.model.last == 2)
                await asyncio.to_thread(program.ends)
            return first, second


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    is_well = True
    for kind in MODULES:
        found: list[tuple[float, float]] = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                found.append(asyncio.run(_round(kind, Path(folder))))
        for what, times in zip(
            ("the list, first step", "the debugger, second step"), zip(*found, strict=True), strict=True
        ):
            median = statistics.median(times)
            is_well = is_well and median <= MOST_MS
            print(f"{kind:<14}  {what:<26}  median {median:5.0f} ms  longest {max(times):5.0f} ms")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
