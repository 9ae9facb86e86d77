"""The task that runs in this thread, of asyncio or of trio. Either is asked only where the program has imported it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Hashable

    Task: TypeAlias = Hashable
    """A task of either library; it can be referred to weakly."""

__all__ = [
    "TRIO_RUN",
    "current_task",
    "is_asyncio_future",
    "is_asyncio_loop",
    "running_loop",
    "runs_a_loop",
    "trio_runner",
    "trio_task",
]

TRIO_RUN: Final = "trio._core._run"
"""The module of trio in which its tasks are run."""


def current_task() -> Task | None:
    """The task that this code runs in; None outside any."""
    task: Task | None = trio_task() if TRIO_RUN in sys.modules else None
    if task is not None:
        return task
    loop = running_loop()
    return None if loop is None else sys.modules["asyncio"].current_task(loop)


def running_loop() -> AbstractEventLoop | None:
    """The event loop of asyncio that runs in this thread; None where none does."""
    running = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)
    loop: AbstractEventLoop | None = None if running is None else running()
    return loop


def is_asyncio_future(kind: type) -> bool:
    """Whether a class is asyncio's future or derived from it, as a task is."""
    future = getattr(sys.modules.get("asyncio.futures"), "Future", None)
    return future is not None and issubclass(kind, future)


def is_asyncio_loop(loop: object) -> bool:
    """Whether an event loop is asyncio's own, and not another library's that stands in for it."""
    kind = getattr(sys.modules.get("asyncio.base_events"), "BaseEventLoop", None)
    return kind is not None and isinstance(loop, kind)


def trio_task() -> Any:
    """The task of trio that this code runs in; None outside any. Within asyncio's loop trio may be a guest."""
    here = _trio_here()
    return None if here is None else getattr(here, "task", None)


def trio_runner() -> Any:
    """The run of trio that this thread is in the midst of; None outside any."""
    here = _trio_here()
    return None if here is None else getattr(here, "runner", None)


def runs_a_loop() -> bool:
    """Whether this thread runs an event loop: others wait for it in there."""
    return trio_runner() is not None or running_loop() is not None


def _trio_here() -> object:
    run = sys.modules.get(TRIO_RUN)
    return None if run is None else getattr(run, "GLOBAL_RUN_CONTEXT", None)
