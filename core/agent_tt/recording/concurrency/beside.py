"""Waiting in a thread of ours for what a coroutine awaits, so that its event loop goes on."""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from agent_tt.recording.concurrency.tasks import running_loop
from agent_tt.recording.scope import nowhere

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable

__all__ = ["beside"]

T = TypeVar("T")


async def beside(look: Callable[[threading.Event], T]) -> T:
    """Give what `look` gives, which blocks; under an event loop that is not asyncio's it blocks that.

    Args:
        look: told by its event that nobody waits for it any more.
    """
    is_left = threading.Event()
    loop = running_loop()
    if loop is None:  # another kind of event loop: nothing is known of it
        return look(is_left)
    future: Future[T] = loop.create_future()

    def run() -> None:
        try:
            found = look(is_left)
            settle = partial(_settle, future, future.set_result, found)
        except BaseException as error:  # noqa: BLE001  it is raised where the answer is awaited
            settle = partial(_settle, future, future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(settle)

    with nowhere():  # the thread is ours: it makes no lane
        threading.Thread(target=run, name="agent-tt waits", daemon=True).start()
    try:
        return await future
    finally:
        is_left.set()


def _settle(future: Future[Any], settle: Callable[[Any], None], outcome: object) -> None:
    if not future.done():  # else whoever waited was cancelled
        settle(outcome)
