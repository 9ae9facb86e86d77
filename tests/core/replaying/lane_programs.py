"""Agents that ask one and the same question at the same time, in all the ways in which tasks and threads are made.

Each prints who got which answer. `python lane_programs.py NAME URL` runs one as a program of its own. Certificates are
not read (`verify=False`), which would take longer than all the rest: nothing here is encrypted. No machine is too slow.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing.pool
import sys
import threading
from functools import partial

import anyio
import anyio.from_thread
import anyio.to_thread
import httpx
import openai
import trio

SAME = {"model": "m", "messages": [{"role": "user", "content": "the same for all"}]}
OTHER = {"model": "m", "messages": [{"role": "user", "content": "make a plan"}]}


class Board:
    """Who got which answer."""

    def __init__(self, url):
        self.url = url
        self.got = {}

    def said(self, who, answer):
        self.got[who] = answer["choices"][0]["message"]["content"]

    async def ask(self, client, who, body=SAME):
        self.said(who, (await client.post(f"{self.url}/v1/chat/completions", json=body)).json())

    async def ask_alone(self, who):
        async with httpx.AsyncClient(verify=False, timeout=None) as client:
            await self.ask(client, who)

    def ask_plainly(self, who):
        self.said(who, httpx.post(f"{self.url}/v1/chat/completions", json=SAME, verify=False, timeout=None).json())

    def lines(self):
        return [f"{who}: {answer}" for who, answer in sorted(self.got.items())]


async def anyio_groups(board):
    async with httpx.AsyncClient(verify=False, timeout=None) as client:
        await board.ask(client, "plan", OTHER)  # what the connection takes makes tasks of its own

        async def late(name, wait):
            await anyio.sleep(wait)
            await board.ask(client, name)

        async def ready(name, *, task_status):
            task_status.started()
            await board.ask(client, name)

        async def nested(name):
            async with anyio.create_task_group() as inner:
                for number in range(2):
                    inner.start_soon(late, f"{name} {number}", 0.01 * (2 - number))

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(late, f"late {number}", 0.02 * (4 - number))
            group.start_soon(partial(late, wait=0), "partial")
            await group.start(ready, "started")
            for number in range(2):
                group.start_soon(nested, f"nested {number}")
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(late, f"again {number}", 0.01 * (3 - number))


async def anyio_threads(board):
    def work(name):
        board.ask_plainly(f"{name} in its thread")
        anyio.from_thread.run(board.ask_alone, f"{name} called back")

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(anyio.to_thread.run_sync, work, f"worker {number}")


async def asyncio_tasks(board):
    async with httpx.AsyncClient(verify=False, timeout=None) as client:
        await board.ask(client, "plan", OTHER)
        ask = partial(board.ask, client)
        await asyncio.gather(*(ask(f"gathered {number}") for number in range(3)))
        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(ask(f"grouped {number}"))
        for done in asyncio.as_completed([ask(f"completed {number}") for number in range(3)]):
            await done
        await asyncio.gather(*(asyncio.wait_for(ask(f"waited {number}"), 20) for number in range(3)))
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(None, board.ask_plainly, f"job {number}") for number in range(3)))
        await asyncio.gather(*(asyncio.to_thread(board.ask_plainly, f"thread {number}") for number in range(3)))


async def trio_nurseries(board):
    async with httpx.AsyncClient(verify=False, timeout=None) as client:
        await board.ask(client, "plan", OTHER)

        async def late(name, wait):
            await trio.sleep(wait)
            await board.ask(client, name)

        async def ready(name, task_status=trio.TASK_STATUS_IGNORED):
            task_status.started()
            await board.ask(client, name)

        async def nested(name):
            async with trio.open_nursery() as inner:
                for number in range(2):
                    inner.start_soon(late, f"{name} {number}", 0)

        async def left(name):
            with trio.move_on_after(0.01) as scope:
                await client.post(f"{board.url}/slow", json=SAME)
            board.got[name] = f"left {scope.cancelled_caught}"

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(late, f"late {number}", 0.02 * (4 - number))
            await nursery.start(ready, "started")
            for number in range(2):
                nursery.start_soon(nested, f"nested {number}")
            nursery.start_soon(left, "impatient")
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(board.ask, client, f"again {number}")


async def trio_threads(board):
    def work(name):
        board.ask_plainly(f"{name} in its thread")
        trio.from_thread.run(board.ask_alone, f"{name} called back")

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(trio.to_thread.run_sync, work, f"worker {number}")


def threads(board):
    plain = [threading.Thread(target=board.ask_plainly, args=(f"thread {number}",)) for number in range(4)]
    for thread in plain:
        thread.start()
    for thread in plain:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(board.ask_plainly, [f"job {number}" for number in range(6)]))
    with multiprocessing.pool.ThreadPool(3) as pool:
        pool.map(board.ask_plainly, [f"item {number}" for number in range(6)], chunksize=1)
        for got in [pool.apply_async(board.ask_plainly, (f"applied {number}",)) for number in range(3)]:
            got.get()


def loop_in_a_thread(board):
    """Jobs hand coroutines to an event loop that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    background = threading.Thread(target=loop.run_forever)
    background.start()

    def work(name):
        asyncio.run_coroutine_threadsafe(board.ask_alone(name), loop).result()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [f"job {number}" for number in range(4)]))
    loop.call_soon_threadsafe(loop.stop)
    background.join()
    loop.close()


async def sdk(board):
    async with openai.AsyncOpenAI(base_url=f"{board.url}/v1", api_key="k", max_retries=0) as client:

        async def ask(name):
            completion = await client.chat.completions.create(**SAME)
            board.got[name] = completion.choices[0].message.content

        await ask("plan")
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(ask, f"anyio {number}")
        await asyncio.gather(*(ask(f"gathered {number}") for number in range(3)))
    with openai.OpenAI(base_url=f"{board.url}/v1", api_key="k", max_retries=0) as plain:

        def ask_plainly(name):
            board.got[name] = plain.chat.completions.create(**SAME).choices[0].message.content

        await asyncio.gather(*(asyncio.to_thread(ask_plainly, f"thread {number}") for number in range(3)))


def on_asyncio(agent):
    return lambda board: anyio.run(agent, board)


def on_trio(agent):
    return lambda board: anyio.run(agent, board, backend="trio")


PROGRAMS = {
    "anyio": on_asyncio(anyio_groups),
    "anyio-trio": on_trio(anyio_groups),
    "anyio-threads": on_asyncio(anyio_threads),
    "anyio-trio-threads": on_trio(anyio_threads),
    "asyncio": lambda board: asyncio.run(asyncio_tasks(board)),
    "trio": lambda board: trio.run(trio_nurseries, board),
    "trio-threads": lambda board: trio.run(trio_threads, board),
    "threads": threads,
    "loop-in-a-thread": loop_in_a_thread,
    "sdk": on_asyncio(sdk),
}


def run(name, url):
    """What a program prints."""
    board = Board(url)
    PROGRAMS[name](board)
    return board.lines()


if __name__ == "__main__":
    print("\n".join(run(sys.argv[1], sys.argv[2])))
