"""Run a sample agent on a clock that goes on by itself only a little, and else by what its services say they take.

So its run has the times of an agent whose models and tools are real, and nobody waits for them: `build.py` records the
shipped runs this way. Recorded twice, a run has the same times.

`python simulated_time.py BEGINS AGENT.py`, with microseconds since the epoch.
"""

from __future__ import annotations

import asyncio
import math
import random
import runpy
import selectors
import sys
from typing import Any

import sample_model
from agent_tt.store.liveness import as_if

SHORTEST_US, LONGEST_US = 300, 1_200
"""What it takes to write one thing down, and what the agent itself does meanwhile."""


class SimulatedTime(sample_model.Waits):
    """A clock in microseconds since the epoch, and the waiting that moves it on."""

    def __init__(self, begins_us: int) -> None:
        self._begins_us = self._now_us = begins_us
        # One for each: how often the recorder looks at the clock changes nothing about how long services take.
        self._looking = random.Random(begins_us)  # noqa: S311  the same times each time
        self._serving = random.Random(begins_us)  # noqa: S311

    def read(self) -> int:
        """What it shows, which is later each time."""
        self._now_us += self._looking.randint(SHORTEST_US, LONGEST_US)
        return self._now_us

    def since_beginning(self) -> float:
        """Seconds that have passed."""
        return (self._now_us - self._begins_us) / 1e6

    def move(self, seconds: float) -> None:
        """Let at least so much time pass."""
        self._now_us += math.ceil(seconds * 1e6)

    def wait(self, least: float, most: float) -> None:
        """As `Waits.wait`: the time passes."""
        self.move(self._serving.uniform(least, most))

    async def wait_beside(self, least: float, most: float) -> None:
        """As `Waits.wait_beside`: the time passes, for all at once."""
        await asyncio.sleep(self._serving.uniform(least, most))


class _Selector(selectors.DefaultSelector):
    """Where an event loop would rest until its next timer, the clock is moved there."""

    def __init__(self, time: SimulatedTime) -> None:
        super().__init__()
        self._time = time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the agent waits for something that never comes")
        if not ready and timeout:
            self._time.move(timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, time: SimulatedTime) -> None:
        self._simulated = time
        super().__init__(_Selector(time))

    def time(self) -> float:
        return self._simulated.since_beginning()


def run(begins_us: int, file: str) -> None:
    """Run the agent in `file` as `python FILE` does."""
    time = SimulatedTime(begins_us)
    sample_model.WAITS = time

    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> Any:
            return _Loop(time)

    asyncio.set_event_loop_policy(Policy())
    with as_if(time.read, None):
        runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    run(int(sys.argv[1]), sys.argv[2])
