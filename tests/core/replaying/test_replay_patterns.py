"""Every way in which agents make calls at the same time, with distinct and with equal questions, 50 times each."""

from __future__ import annotations

import asyncio
import concurrent.futures as cf
import contextvars
import itertools
import queue
import random
import threading
import time
from asyncio import as_completed as imported_as_completed

import anyio
import anyio.to_thread
import pytest
from tests.core.replaying.recorded import record

import agent_tt

REPLAYS = 50
CALLERS = 10  # each makes two calls, the second asks for what the first one answered
MADE = itertools.count()


def delay() -> float:
    return random.random() * 0.004


@agent_tt.llm
async def ask(question, before=None):
    await asyncio.sleep(delay())
    return {"answer": f"answer {next(MADE)}"}


@agent_tt.llm
def ask_plainly(question, before=None):
    time.sleep(delay())
    return {"answer": f"answer {next(MADE)}"}


def question(number, same):
    return "the same for all" if same else f"question {number}"


async def caller(number, same):
    first = await ask(question(number, same))
    second = await ask(question(number, same), before=first["answer"])
    return number, first, second


def plain_caller(number, same):
    first = ask_plainly(question(number, same))
    second = ask_plainly(question(number, same), before=first["answer"])
    return number, first, second


async def gather(same):
    return await asyncio.gather(*(caller(n, same) for n in range(CALLERS)))


async def task_group(same):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(caller(n, same)) for n in range(CALLERS)]
    return [task.result() for task in tasks]


async def anyio_group(same):
    found = {}

    async def one(number):
        found[number] = await caller(number, same)

    async with anyio.create_task_group() as group:
        for number in range(CALLERS):
            group.start_soon(one, number)
    return sorted(found.items())


async def as_completed(same):
    found = []
    for done in asyncio.as_completed([asyncio.create_task(caller(n, same)) for n in range(6)]):
        answer = await done
        found += [answer, await asyncio.create_task(caller(answer[0], same))]
    return found


async def as_completed_of_coroutines(same):
    """Python 3.11 puts them into a set: their addresses, which differ in each process, would number the tasks."""
    callers = [None] * CALLERS
    for number in random.sample(range(CALLERS), CALLERS):
        callers[number] = caller(number, same)
    found = [await done for done in imported_as_completed(callers)]
    tasks = [asyncio.create_task(caller(number, same)) for number in range(6)]
    await asyncio.wait(tasks[:3])
    return found + [await done for done in asyncio.as_completed(tasks)]


async def first_wins(same):
    found = []
    for _ in range(3):
        racing = [asyncio.create_task(caller(n, same)) for n in range(5)]
        done, losing = await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
        found.append(sorted(task.result() for task in done))
        for task in losing:
            task.cancel()
        await asyncio.gather(*losing, return_exceptions=True)
    return found


async def asyncio_queue(same):
    waiting, found = asyncio.Queue(), {}
    for number in range(CALLERS):
        waiting.put_nowait(number)

    async def worker():
        while not waiting.empty():
            number = waiting.get_nowait()
            found[number] = await caller(number, same)

    await asyncio.gather(*(worker() for _ in range(4)))
    return sorted(found.items())


async def to_thread(same):
    return await asyncio.gather(*(asyncio.to_thread(plain_caller, n, same) for n in range(CALLERS)))


async def run_in_executor(same):
    loop = asyncio.get_running_loop()
    return await asyncio.gather(*(loop.run_in_executor(None, plain_caller, n, same) for n in range(CALLERS)))


async def copied_context(same):
    loop = asyncio.get_running_loop()
    runs = (contextvars.copy_context().run for _ in range(CALLERS))
    return await asyncio.gather(*(loop.run_in_executor(None, run, plain_caller, n, same) for n, run in enumerate(runs)))


async def anyio_threads(same):
    found = {}

    async def one(number):
        found[number] = await anyio.to_thread.run_sync(plain_caller, number, same)

    async with anyio.create_task_group() as group:
        for number in range(CALLERS):
            group.start_soon(one, number)
    return sorted(found.items())


def pool_map(same):
    with cf.ThreadPoolExecutor(6) as pool:
        return list(pool.map(lambda number: plain_caller(number, same), range(CALLERS)))


def plain_threads(same):
    found = {}

    def work(number):
        found[number] = plain_caller(number, same)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found.items())


def thread_queue(same, *, named=False):
    """Which worker takes what is a race outside every call."""
    waiting, found = queue.Queue(), {}
    for number in range(CALLERS):
        waiting.put(number)

    def worker():
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            if named:
                with agent_tt.lane(number):
                    found[number] = plain_caller(number, same)
            else:
                found[number] = plain_caller(number, same)

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found.items())


def thread_queue_with_named_lanes(same):
    return thread_queue(same, named=True)


EXACT = [
    gather,
    task_group,
    anyio_group,
    as_completed,
    as_completed_of_coroutines,
    first_wins,
    asyncio_queue,
    to_thread,
    run_in_executor,
    copied_context,
    anyio_threads,
    pool_map,
    plain_threads,
    thread_queue_with_named_lanes,
]


@pytest.mark.parametrize("same", [False, True], ids=["distinct questions", "equal questions"])
@pytest.mark.parametrize("pattern", EXACT, ids=lambda pattern: pattern.__name__)
def test_every_caller_gets_its_own_answer_each_time(pattern, same, tmp_path):
    recorded = record(tmp_path, lambda: pattern(same))
    assert len(recorded.calls) >= 20
    made = next(MADE)
    for _ in range(REPLAYS):
        result, replay = recorded.replay(lambda: pattern(same))
        assert replay.findings == ()
        assert result == recorded.result
        assert replay.failure is None
    assert next(MADE) == made + 1, "a function really ran"


def test_threads_that_share_a_queue_of_distinct_questions_are_exact(tmp_path):
    recorded = record(tmp_path, lambda: thread_queue(same=False))
    for _ in range(REPLAYS // 2):
        result, replay = recorded.replay(lambda: thread_queue(same=False))
        assert replay.findings == ()
        assert result == recorded.result


def test_threads_that_share_a_queue_of_equal_questions_say_that_they_are_unreliable(tmp_path):
    recorded = record(tmp_path, lambda: thread_queue(same=True))

    def one_worker_takes_it_all():
        """A way in which the race did not go: the queue gave the first number first."""
        return sorted((number, plain_caller(number, same=True)) for number in reversed(range(CALLERS)))

    def agent():
        found = []
        thread = threading.Thread(target=lambda: found.extend(one_worker_takes_it_all()))
        thread.start()
        thread.join()
        return found

    result, replay = recorded.replay(agent)
    unreliable = [note for note in replay.notes.all() if note.kind == "unreliable"]
    assert unreliable
    assert "agent_tt.lane(key)" in unreliable[0].text
    assert isinstance(result, BaseException) or result != recorded.result
