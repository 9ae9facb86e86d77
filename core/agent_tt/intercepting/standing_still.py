"""While a call waits for a person, the agent's own deadlines stand still.

`asyncio.wait_for(pay(), 1)` does not expire because somebody thinks.

What is measured without that time: `time.monotonic`, by which asyncio's loops, `concurrent.futures` and queues measure
their waits; `threading.Condition.wait` with a timeout, on which events, queues and futures are built; and trio's clock.
uvloop's clock, `Lock.acquire(timeout=…)` and the alarms of the system go on.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.lanes.hooks import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.intercepting.asking import Asking

__all__ = ["standing_still"]

_CLOCKS: Final = ((time, "monotonic"), (threading, "_time"), (queue, "time"), (subprocess, "_time"))

_OUR_OWN: Final = "agent-tt "
"""What the names of our own threads begin with."""


@contextmanager
def standing_still(asking: Asking) -> Iterator[None]:
    """Let the deadlines of this process stand still while a question is open, as long as the block lasts."""
    without_held = partial(_without_held, asking)
    patches = [Patch(module, name, without_held) for module, name in _CLOCKS if hasattr(module, name)]
    patches.append(Patch(threading.Condition, "wait", partial(_waiting_on, asking)))
    for patch in patches:
        patch.apply()

    def prepare() -> None:
        """Find trio, which the agent may have loaded meanwhile."""
        clock = getattr(sys.modules.get("trio._core._run"), "SystemClock", None)
        if isinstance(clock, type) and not any(patch.is_on(clock) for patch in patches):
            patches.append(Patch(clock, "current_time", without_held))
            patches[-1].apply()

    asking.prepare = prepare
    try:
        yield
    finally:
        asking.prepare = None
        for patch in reversed(patches):
            patch.undo()


def _without_held(asking: Asking, original: Callable[..., Any]) -> Callable[..., Any]:
    def clock(*args: object) -> float:
        return asking.held.without(original, *args)

    return clock


def _waiting_on(asking: Asking, original: Callable[..., Any]) -> Callable[..., Any]:
    def wait(condition: threading.Condition, timeout: float | None = None) -> bool:
        if timeout is None or timeout <= 0:
            return bool(original(condition, timeout))
        if threading.current_thread().name.startswith(_OUR_OWN):  # heartbeats go on, so that the agent counts as there
            return bool(original(condition, timeout))
        before = asking.held.seconds()
        is_notified = bool(original(condition, timeout))
        while not is_notified:  # nobody can notify between two waits: whoever does needs the lock that we hold
            now = asking.held.seconds()
            if now <= before:
                break
            before, more = now, now - before
            is_notified = bool(original(condition, more))
        return is_notified

    return wait
