"""Many requests at once, answered in no particular order: on replay everybody gets their own answer again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2
import httpx2._transports.default as _default
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


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy elsewhere may keep a thread from its answer for longer than others wait for it."""
    monkeypatch.setattr("agent_tt.recording.lanes.thread_ordering._MOMENT", 5.0)


@pytest.mark.usefixtures("patient")
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
    for _ in range(REPLAYS):
        assert replayed(agent, kept) == first


def test_the_end_of_a_close_keeps_its_place(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """How long a connection takes to close is decided outside; others go on meanwhile."""
    passes = iter([40, 1, 25, 0, 12, 3])
    close = _default.AsyncResponseStream.aclose

    async def slow_close(stream: Any) -> None:
        for _ in range(next(passes, 0)):
            await asyncio.sleep(0)
        await close(stream)

    async def agent() -> Any:
        ended = []
        async with httpx2.AsyncClient() as client:

            async def one(number: int) -> None:
                async with client.stream("GET", f"{server.url}/stream?number={number}") as response:
                    async for _ in response.aiter_bytes():
                        await started.wait()
                        break
                ended.append(number)

            started = asyncio.Barrier(6)
            await asyncio.gather(*(one(number) for number in range(6)))
        return ended

    with monkeypatch.context() as patch:
        patch.setattr(_default.AsyncResponseStream, "aclose", slow_close)
        first, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    for _ in range(3):
        assert replayed(agent, kept) == first
