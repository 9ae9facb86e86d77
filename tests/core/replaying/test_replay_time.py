"""What came first when it was recorded, an answer or a timer, comes first again; nobody waits for it."""

from __future__ import annotations

import asyncio
import concurrent.futures as cf
import queue
import random
import threading
import time
from itertools import count

import pytest
from tests.core.replaying.recorded import record

import agent_tt

REAL = {"monotonic": time.monotonic}  # in a dict: names of modules are bound anew
MADE = count()
LONG = 0.5  # far beyond a timeout of 0.05: until the thread comes to wait, the time of a busy machine passes too


@agent_tt.llm
def ask(question):
    time.sleep(question.get("takes") or random.random() * 0.02)
    return next(MADE)


@agent_tt.llm
async def ask_later(question):
    await asyncio.sleep(question.get("takes") or random.random() * 0.02)
    return next(MADE)


@agent_tt.llm
def pieces(number):
    for _ in range(3):
        time.sleep(0.004)
        yield next(MADE)


def deadline_of_calls():
    end, found = time.monotonic() + 0.5, []
    while time.monotonic() < end:
        found.append(ask({"takes": 0.2}))
    return found


async def deadline_of_a_loop():
    loop, found = asyncio.get_running_loop(), []
    end = loop.time() + 0.5
    while loop.time() < end:
        found.append(await ask_later({"takes": 0.2}))
    return found


async def heartbeat(in_thread=False):
    beats, found = [], []

    async def beat():
        while True:
            beats.append(None)
            await asyncio.sleep(0.01)

    beating = asyncio.create_task(beat())
    for number in range(3):
        question = {"takes": 0.05, "number": number}
        answer = await (asyncio.to_thread(ask, question) if in_thread else ask_later(question))
        found.append((answer, len(beats)))
    beating.cancel()
    return found


async def timer_before_an_answer():
    log = []

    async def sleeps():
        await asyncio.sleep(0.03)
        log.append("slept")

    async def asks():
        log.append(await ask_later({"takes": 0.15}))

    await asyncio.gather(asks(), sleeps())
    return log


async def given_up_and_then_early():
    """What is given up at a timeout is no answer that comes, but what fired until then has fired before the next."""
    found = []
    try:
        await asyncio.wait_for(ask_later({"takes": 60}), 0.02)
    except TimeoutError:
        found.append("given up")
    answer = asyncio.ensure_future(ask_later({"takes": 0.06}))
    try:
        found.append(await asyncio.wait_for(asyncio.shield(answer), 0.01))
    except TimeoutError:
        found += ["early", await answer]
    return found


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def event_in_vain():
    done, found = threading.Event(), []
    thread = in_thread(lambda: (found.append(ask({"takes": LONG})), done.set()))
    is_done = done.wait(0.05)
    thread.join()
    return is_done, found


def event_in_time():
    done = threading.Event()
    thread = in_thread(lambda: (ask({"takes": 0.03}), done.set()))
    is_done = done.wait(60)
    thread.join()
    return is_done


def future_in_vain():
    with cf.ThreadPoolExecutor(1) as pool:
        future = pool.submit(ask, {"takes": LONG})
        with pytest.raises(TimeoutError):
            future.result(timeout=0.05)
        return ask({"instead": True}), future.result()


def join_in_vain():
    thread = in_thread(lambda: ask({"takes": LONG}))
    thread.join(0.05)
    was_alive = thread.is_alive()
    thread.join()
    return was_alive


def queue_in_vain():
    items = queue.Queue()
    thread = in_thread(lambda: items.put(ask({"takes": 0.2})))
    found = []
    while not found:
        try:
            found.append(items.get(timeout=0.13))
        except queue.Empty:
            found.append("empty")
    thread.join()
    return found


def jobs_as_they_end():
    with cf.ThreadPoolExecutor(24) as pool:
        jobs = {pool.submit(ask, {"the": "same"}): number for number in range(24)}
        return [(jobs[job], job.result()) for job in cf.as_completed(jobs)]


def take_time():
    """As an SDK does that makes objects of an answer: long enough for others to get theirs meanwhile."""
    sum(range(random.randrange(30_000)))


def jobs_that_tell_when_they_end():
    told, all_added = [], threading.Event()  # who is done before it is asked to tell does so at once, in this thread

    def work(number):
        all_added.wait()
        answer = ask({"the": "same", "takes": 0.01})
        take_time()
        return number, answer

    with cf.ThreadPoolExecutor(12) as pool:
        for number in range(24):
            pool.submit(work, number).add_done_callback(lambda job: told.append(job.result()))
        all_added.set()
    return told


def threads_that_put_into_a_queue():
    items = queue.Queue()

    def work(number):
        answers = list(pieces(number))
        take_time()
        items.put((number, answers))

    threads = [in_thread(lambda number=number: work(number)) for number in range(12)]
    found = [items.get() for _ in threads]
    for thread in threads:
        thread.join()
    return found


AGENTS = [
    deadline_of_calls,
    deadline_of_a_loop,
    heartbeat,
    timer_before_an_answer,
    given_up_and_then_early,
    event_in_vain,
    event_in_time,
    future_in_vain,
    join_in_vain,
    queue_in_vain,
    jobs_as_they_end,
    jobs_that_tell_when_they_end,
    threads_that_put_into_a_queue,
]


def test_a_heart_beats_beside_a_thread_as_it_did(tmp_path):
    """A thread's answer is there a moment before the loop hears of it, in which the heart may beat once more."""

    async def agent():
        return await heartbeat(in_thread=True)

    recorded = record(tmp_path, agent)
    for _ in range(4):
        result, replay = recorded.replay(agent)
        assert replay.findings == ()
        for number, (now, then) in enumerate(zip(result, recorded.result, strict=True)):
            assert now[0] == then[0]
            assert abs(now[1] - then[1]) <= number + 1


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_time_passes_as_it_did(agent, tmp_path, monkeypatch):
    if agent in (jobs_as_they_end, jobs_that_tell_when_they_end, threads_that_put_into_a_queue):
        # A machine that is busy elsewhere may keep a thread from its answer for longer.
        monkeypatch.setattr("agent_tt.recording.lanes.thread_ordering._MOMENT", 5.0)
    recorded = record(tmp_path, agent)
    for _ in range(4):
        result, replay = recorded.replay(agent)
        assert replay.findings == ()
        assert result == recorded.result
        assert replay.notes.all() == ()


def test_a_wait_of_an_hour_takes_no_time(tmp_path):
    hours = iter([0.001, 3600.0, 3600.0])

    def agent():
        seconds = next(hours)
        threading.Event().wait(seconds)
        with pytest.raises(queue.Empty):
            queue.Queue().get(timeout=seconds)
        time.sleep(seconds)
        return ask({"takes": 0.001})

    recorded = record(tmp_path, agent)
    before = REAL["monotonic"]()
    for _ in range(2):
        assert recorded.replay(agent)[0] == recorded.result
    assert REAL["monotonic"]() - before < 600
