"""The task that runs in this thread, of asyncio or of trio. trio is asked only where the program has imported it."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable

    Task: TypeAlias = Hashable
    """A task of either library; it can be referred to weakly."""

__all__ = ["TRIO_RUN", "current_task", "runs_a_callback", "runs_a_loop", "trio_runner", "trio_task"]

TRIO_RUN: Final = "trio._core._run"
"""The module of trio in which its tasks are run."""


def current_task() -> Task | None:
    """The task that this code runs in; None outside any."""
    task: Task | None = trio_task() if TRIO_RUN in sys.modules else None
    if task is not None:
        return task
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return None


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
    if trio_runner() is not None:
        return True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def runs_a_callback() -> bool:
    """Whether this code is called by an event loop, outside any task."""
    return current_task() is None and runs_a_loop()


def _trio_here() -> object:
    run = sys.modules.get(TRIO_RUN)
    return None if run is None else getattr(run, "GLOBAL_RUN_CONTEXT", None)
