"""Waiting for what a worker brings: the app's own messages are let through until it is there."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tests.patience import PATIENCE_SECONDS
from textual.worker import WorkerCancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.pilot import Pilot

_FRAMES: Final = 2
"""After how many rounds of every widget's messages what has been changed is drawn: one to ask for it, one to do it."""


async def until(pilot: Pilot[object], condition: Callable[[], object]) -> None:
    """Let the app work until `condition` holds, and then until what changed with it is laid out and drawn.

    What one method shows in several widgets is not drawn in one frame: a row that keeps its size comes first.

    Raises:
        TimeoutError: It never did.
    """
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await pilot.pause(0.01)
    for _ in range(_FRAMES):
        await pilot.pause(0)


async def workers_ended(app: App[object]) -> None:
    """Let the app work until no worker of it runs; one that was cancelled, because its screen closed, has ended too.

    Raises:
        WorkerFailed: One raised an error.
    """
    while running := [worker for worker in app.workers if not worker.is_finished]:
        with suppress(WorkerCancelled):
            await app.workers.wait_for_complete(running)
