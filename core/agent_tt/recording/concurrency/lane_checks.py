"""Whether the installed asyncio, anyio and trio are made the way that telling lanes apart takes for granted.

Looked at when the first recording begins, or when the library is imported. Nothing is run.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from agent_tt.recording.concurrency.worker_threads import ANYIO
from agent_tt.recording.modules.fitness import need_attributes, need_members

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["check_anyio", "check_asyncio", "check_threads", "check_trio_threads"]


def check_threads() -> None:
    """A thread calls its method `run`.

    Raises:
        AttributeError: this Python does it otherwise.
    """
    need_attributes(threading.Thread._bootstrap_inner, "run")  # type: ignore[attr-defined]  # noqa: SLF001


def check_asyncio(module: ModuleType) -> None:
    """Whatever makes a task asks the loop for it, and whatever runs in a pool is submitted.

    Raises:
        AttributeError: this Python does it otherwise.
    """
    need_attributes(module.create_task, "create_task")
    need_attributes(module.TaskGroup.create_task, "create_task")
    need_attributes(module.Runner.run, "create_task")
    need_attributes(getattr(module.tasks, "_ensure_future", module.ensure_future), "create_task")
    need_attributes(module.BaseEventLoop.run_in_executor, "submit")


def check_anyio(module: ModuleType) -> None:
    """Its task groups ask the loop for tasks, and its worker threads are of a class of that module.

    Raises:
        AttributeError: this version does it otherwise.
    """
    need_attributes(module.TaskGroup._spawn, "create_task")  # noqa: SLF001
    if not issubclass(module.WorkerThread, threading.Thread) or module.WorkerThread.__module__ != ANYIO:
        raise AttributeError("WorkerThread is not as we know it")
    handle = getattr(module, "TaskHandle", None)
    if handle is not None:  # since 4.14: what runs the agent's own coroutine
        need_members(handle, "_coro", "_run_coro")


def check_trio_threads(module: ModuleType) -> None:
    """Its worker threads run a method of an object of that module.

    Raises:
        AttributeError: this version does it otherwise.
    """
    need_attributes(module.WorkerThread.__init__, "_work", "Thread", "_worker_lock")
    need_members(module.WorkerThread, "_work", "_worker_lock")
