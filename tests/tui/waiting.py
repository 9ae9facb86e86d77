"""Waiting for what a worker brings: the app's own messages are let through until it is there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot


async def until(pilot: Pilot[object], condition: Callable[[], object]) -> None:
    """Let the app work until `condition` holds.

    Raises:
        TimeoutError: It never did.
    """
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await pilot.pause(0.01)
