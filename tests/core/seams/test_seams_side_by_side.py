"""Many requests at once, answered in no particular order: on replay everybody gets their own answer again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2
import openai
import pytest
import requests
from tests.core.seams.runs import recorded, replayed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.core.seams.loopback import Loopback

COUNT = 24
REPLAYS = 8

Ask = Callable[[int], Awaitable[Any]]
AskNow = Callable[[int], Any]


async def gathered(ask: Ask) -> Any:
    return await asyncio.gather(*[ask(number) for number in range(COUNT)])


async def as_they_come(ask: Ask) -> Any:
    return [await answer for answer in asyncio.as_completed([ask(number) for number in range(COUNT)])]


async def first_wins(ask: Ask) -> Any:
    tasks = [asyncio.ensure_future(ask(number)) for number in range(COUNT)]
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    return [tasks.index(task) for task in tasks if task in done], [task.result() for task in tasks if task in done]


async def from_a_queue(ask: Ask) -> Any:
    queue: asyncio.Queue[int] = asyncio.Queue()
    for number in range(COUNT):
        queue.put_nowait(number)
    answers: dict[int, Any] = {}

    async def work() -> None:
        while not queue.empty():
            number = queue.get_nowait()
            answers[number] = await ask(number)

    await asyncio.gather(*[work() for _ in range(4)])
    return answers


async def one_after_another_in_each(ask: Ask) -> Any:
    async def three(number: int) -> Any:
        return [await ask(number) for _ in range(3)]

    return await asyncio.gather(*[three(number) for number in range(4)])


@pytest.mark.parametrize(
    ("library", "same"), [("httpx2", True), ("httpx2", False), ("aiohttp", True), ("openai", True), ("openai", False)]
)
@pytest.mark.parametrize("pattern", [gathered, as_they_come, first_wins, from_a_queue, one_after_another_in_each])
def test_in_tasks(server: Loopback, tmp_path: Path, pattern: Callable[[Ask], Any], library: str, same: bool):
    async def agent() -> Any:
        limits = httpx2.Limits(max_connections=100)
        async with (
            httpx2.AsyncClient(limits=limits, timeout=30) as client,
            aiohttp.ClientSession() as session,
            openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="key", default_query={"jitter": "1"}) as model,
        ):

            async def ask(number: int) -> Any:
                url = f"{server.url}/echo?jitter={1 if same else number}"
                if library == "openai":
                    content = "the same" if same else f"question {number}"
                    answer = await model.chat.completions.create(
                        model="gpt-4o-mini", messages=[{"role": "user", "content": content}]
                    )
                    return answer.model_dump()
                if library == "httpx2":
                    return (await client.get(url)).json()["id"]
                async with session.get(url) as response:
                    return (await response.json())["id"]

            return await pattern(ask)

    first, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    for _ in range(REPLAYS):
        assert replayed(agent, kept) == first


def in_a_pool(ask: AskNow) -> Any:
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(ask, range(COUNT)))


def in_a_pool_as_they_come(ask: AskNow) -> Any:
    with ThreadPoolExecutor(COUNT) as pool:
        return [job.result() for job in as_completed([pool.submit(ask, number) for number in range(COUNT)])]


def in_threads(ask: AskNow) -> Any:
    answers: dict[int, Any] = {}

    def work(number: int) -> None:
        answers[number] = [ask(number) for _ in range(2)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def in_threads_of_a_loop(ask: AskNow) -> Any:
    async def all_of_them() -> Any:
        return await asyncio.gather(*[asyncio.to_thread(ask, number) for number in range(COUNT)])

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(("library", "same"), [("httpx2", True), ("httpx2", False), ("requests", True)])
@pytest.mark.parametrize("pattern", [in_a_pool, in_a_pool_as_they_come, in_threads, in_threads_of_a_loop])
def test_in_threads(server: Loopback, tmp_path: Path, pattern: Callable[[AskNow], Any], library: str, same: bool):
    def agent() -> Any:
        with httpx2.Client(timeout=30) as client, requests.Session() as session:

            def ask(number: int) -> Any:
                url = f"{server.url}/echo?jitter={1 if same else number}"
                return (client if library == "httpx2" else session).get(url).json()["id"]

            return pattern(ask)

    first, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    if pattern is in_a_pool_as_they_come:  # which of two jobs that end together is seen first is a race of the pool
        first = sorted(first)
        assert all(sorted(replayed(agent, kept)) == first for _ in range(REPLAYS))
        return
    for _ in range(REPLAYS):
        assert replayed(agent, kept) == first
