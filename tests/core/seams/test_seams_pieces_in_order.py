"""Answers that arrive piece by piece at the same time: the pieces come in the recorded order, across callers."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2
import pytest
from tests.core.seams.runs import recorded, replayed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.loopback import Loopback

    Note = Callable[[bytes], None]


async def by_aiohttp(url: str, note: Note) -> None:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        async for piece in response.content.iter_any():
            note(piece)


async def by_httpx2(url: str, note: Note) -> None:
    async with httpx2.AsyncClient() as client, client.stream("GET", url) as response:
        async for piece in response.aiter_raw():
            note(piece)


@pytest.mark.parametrize("read", [by_aiohttp, by_httpx2])
def test_pieces_of_streams_beside_each_other(server: Loopback, tmp_path: Path, read: Any):
    server.gate = lambda index: time.sleep(random.random() * 0.005)

    async def agent() -> Any:
        arrived: list[tuple[int, bytes]] = []

        async def one(number: int) -> None:
            await read(server.url + "/stream", lambda piece: arrived.append((number, piece)))

        await asyncio.gather(*[one(number) for number in range(5)])
        return arrived

    first, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    assert [number for number, _ in first] != sorted(number for number, _ in first)
    for _ in range(5):
        assert replayed(agent, kept) == first
