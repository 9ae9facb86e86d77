"""Worker threads of pools: of `concurrent.futures`, `multiprocessing.pool`, anyio and trio."""

from __future__ import annotations

from concurrent.futures import thread as _executor_threads
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import threading

__all__ = ["ANYIO", "EXECUTOR_WORKER", "GIVES_ANSWERS", "PROCESS_POOLS", "THREAD_POOLS", "TRIO_THREADS", "serves_jobs"]

ANYIO: Final = "anyio._backends._asyncio"
"""The module of anyio's worker threads, and of its task groups on asyncio."""

TRIO_THREADS: Final = "trio._core._thread_cache"
"""The module of trio's worker threads."""

PROCESS_POOLS: Final = "concurrent.futures.process"
"""The module of `ProcessPoolExecutor`, whose jobs worker processes do."""

THREAD_POOLS: Final = "multiprocessing.pool"
"""The module of `ThreadPool`, whose threads run its function `worker`."""

EXECUTOR_WORKER: Final = getattr(_executor_threads, "_worker", None)
"""What the threads of a `ThreadPoolExecutor` run."""

GIVES_ANSWERS: Final = "agent-tt gives answers"
"""The name of a thread of ours that gives a thread of the agent what was recorded: while it works, the agent waits."""


def serves_jobs(thread: threading.Thread) -> bool:
    """Whether a thread is a pool's own: what it works on has lanes of its own, and it outlives its creator."""
    target = getattr(thread, "_target", None)
    if type(thread).__module__ == ANYIO or type(getattr(target, "__self__", None)).__module__ == TRIO_THREADS:
        return True
    if getattr(target, "__module__", None) == THREAD_POOLS and getattr(target, "__name__", None) == "worker":
        return True
    return EXECUTOR_WORKER is not None and target is EXECUTOR_WORKER
