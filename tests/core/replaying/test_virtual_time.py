"""Nobody waits in a replay, and whatever waited comes in the same order as if it had."""

from __future__ import annotations

import asyncio
import gc
import queue
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from time import sleep as sleep_by_name

import anyio
import anyio.to_thread
import pytest
import uvloop

from agent_tt.errors import AgentTTError
from agent_tt.patching.clock import moved_on
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.replaying.clock import virtual_time as module
from agent_tt.replaying.clock.busy_threads import BusyThreads
from agent_tt.replaying.clock.virtual_time import check_event_loop, virtual_time

REAL = {"sleep": time.sleep, "monotonic": time.monotonic}  # in a dict: names of modules are bound anew
UNTOUCHED = (
    asyncio.BaseEventLoop._run_once,
    ThreadPoolExecutor.submit,
    threading.Condition.wait,
    threading.Thread.join,
    time.monotonic,
    time.sleep,
    sleep_by_name,
)


@pytest.fixture(autouse=True)
def _everything_is_undone_and_nobody_waited():
    before = REAL["monotonic"]()
    yield
    assert REAL["monotonic"]() - before < 30  # every test here sleeps for minutes; machines may be busy
    now = (
        asyncio.BaseEventLoop._run_once,
        ThreadPoolExecutor.submit,
        threading.Condition.wait,
        threading.Thread.join,
        time.monotonic,
        time.sleep,
        sleep_by_name,
    )
    assert all(one is other for one, other in zip(now, UNTOUCHED, strict=True))
    assert moved_on() == 0


def run(agent, waiting=None):
    with virtual_time(waiting):
        return asyncio.run(agent())


def test_timers_keep_their_order():
    async def agent():
        log = []

        async def beat():
            while True:
                await asyncio.sleep(10)
                log.append("beat")

        async def work(name, seconds):
            await asyncio.sleep(seconds)
            log.append(name)

        beating = asyncio.create_task(beat())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 35)
        log.append("timeout")
        async with asyncio.timeout(100):
            await asyncio.gather(work("a", 26), work("b", 6), work("c", 16))
        beating.cancel()
        return log

    expected = ["beat", "beat", "beat", "timeout", "beat", "b", "beat", "c", "beat", "a"]
    assert run(agent) == expected


def test_the_clock_shows_what_was_slept():
    async def agent():
        loop = asyncio.get_running_loop()
        before, real = loop.time(), REAL["monotonic"]()
        await asyncio.sleep(3600)
        await anyio.sleep(60)
        assert 3660 <= loop.time() - before < 3661
        assert moved_on() >= 3659
        return REAL["monotonic"]() - real

    assert run(agent) < 1


def test_two_hundred_sleepers_wake_in_order():
    async def agent():
        log = []

        async def one(number):
            await asyncio.sleep((number * 7919) % 200)
            log.append((number * 7919) % 200)

        await asyncio.gather(*[one(number) for number in range(200)])
        return log

    assert run(agent) == list(range(200))


def test_a_deadline_loop_of_the_loops_clock_ends():
    async def agent():
        loop, rounds = asyncio.get_running_loop(), 0
        deadline = loop.time() + 60
        while loop.time() < deadline:
            await asyncio.sleep(7)
            rounds += 1
        return rounds

    assert run(agent) == 9


def test_a_thread_that_works_is_waited_for_however_late_the_timer():
    gate = threading.Event()

    def work():
        total = 0
        for number in range(300_000):
            total += number
        gate.set()
        return total

    async def agent():
        async with asyncio.timeout(5):
            first = await asyncio.to_thread(work)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(5):
            second = await loop.run_in_executor(None, work)
        return first == second

    assert run(agent)
    assert gate.is_set()


def test_more_jobs_than_workers_are_all_waited_for():
    async def agent():
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(2) as pool:
            async with asyncio.timeout(5):
                jobs = [loop.run_in_executor(pool, lambda n=n: sum(range(20_000)) + n) for n in range(30)]
                return await asyncio.gather(*jobs)

    assert run(agent) == [sum(range(20_000)) + n for n in range(30)]


def test_threads_that_sleep_beside_a_loop_are_among_its_timers():
    async def agent():
        log = []

        def thread(name, seconds):
            time.sleep(seconds)
            log.append(name)

        async def task(name, seconds):
            await asyncio.sleep(seconds)
            log.append(name)

        await asyncio.gather(
            asyncio.to_thread(thread, "thread 20", 20),
            task("task 10", 10),
            asyncio.to_thread(thread, "thread 5", 5),
            task("task 30", 30),
            anyio.to_thread.run_sync(thread, "anyio 25", 25),
        )
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await asyncio.to_thread(thread, "late", 4)
        await asyncio.sleep(2)
        return log

    assert run(agent) == ["thread 5", "task 10", "thread 20", "anyio 25", "task 30", "late"]


def test_threads_that_sleep_at_the_same_time_do_not_add_up():
    async def agent():
        loop = asyncio.get_running_loop()
        before = loop.time()
        await asyncio.gather(*[asyncio.to_thread(time.sleep, 10) for _ in range(4)])
        return loop.time() - before

    assert 10 <= run(agent) < 11


def test_threads_without_a_loop_sleep_side_by_side():
    with virtual_time() as virtual:
        before = virtual.offset
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(time.sleep, [10, 30, 20, 10]))
        assert 29 < virtual.offset - before < 61  # a worker that takes two jobs begins the second where it was given
        thread = threading.Thread(target=time.sleep, args=(100,))
        thread.start()
        thread.join()
        assert virtual.offset - before > 100


def test_time_sleep_returns_at_once_under_every_name():
    late = types.ModuleType("late_for_virtual_time")
    with virtual_time() as virtual:
        time.sleep(60)
        sleep_by_name(60)
        exec("from time import sleep\nsleep(60)", late.__dict__)
        sys.modules["late_for_virtual_time"] = late
        assert 179.9 < virtual.offset < 181
        assert time.sleep is not REAL["sleep"]
        with pytest.raises(ValueError, match="non-negative"):
            time.sleep(-1)
        with pytest.raises(TypeError):
            time.sleep("x")
        held = time.sleep
    with pytest.raises(ValueError, match="non-negative"):
        held(-1)
    assert held(0) is None
    assert late.sleep is REAL["sleep"]
    del sys.modules["late_for_virtual_time"]


def test_a_sleep_that_blocks_the_loop_moves_it():
    async def agent():
        loop = asyncio.get_running_loop()
        log = []
        loop.call_later(5, log.append, "timer")
        time.sleep(60)
        assert log == []
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return log

    assert run(agent) == ["timer"]


def test_a_loop_that_waits_for_a_sleeping_thread_goes_on():
    async def agent():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: time.sleep(60) or "slept").result()

    assert run(agent) == "slept"


def test_a_thread_that_is_only_waited_for_does_not_hold_the_loop_up():
    """The thread can go on only after the timer: a lock is waited for, not worked at."""

    async def agent():
        released, log = threading.Event(), []

        def wait():
            released.wait()
            log.append("thread")

        waiting = asyncio.create_task(asyncio.to_thread(wait))
        await asyncio.sleep(600)
        log.append("timer")
        released.set()
        await waiting
        return log

    assert run(agent) == ["timer", "thread"]


def test_a_plain_thread_that_hands_over_by_queue_is_in_time():
    """Like the threads of database drivers: not of an executor, and idle in a place that tells nothing."""
    items: queue.SimpleQueue[object] = queue.SimpleQueue()

    def serve():
        while True:
            item = items.get()
            if item is None:
                return
            loop, future, number = item
            loop.call_soon_threadsafe(future.set_result, sum(range(number)))

    async def agent():
        thread = threading.Thread(target=serve)
        thread.start()
        loop = asyncio.get_running_loop()
        try:
            for number in range(100_000, 120_000, 1_000):
                future = loop.create_future()
                items.put((loop, future, number))
                async with asyncio.timeout(30):
                    assert await future == sum(range(number))
                await asyncio.sleep(60)
        finally:
            items.put(None)
            thread.join()

    run(agent)


def test_a_first_thread_that_works_while_the_loop_is_elsewhere_is_waited_for():
    with virtual_time() as virtual:
        beats = []
        loop = asyncio.new_event_loop()

        async def beat():
            while True:
                await asyncio.sleep(10)
                beats.append(virtual.offset)

        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        task = asyncio.run_coroutine_threadsafe(beat(), loop)
        total = 0
        for number in range(200_000):
            total += number
        assert len(beats) < 3
        task.cancel()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def test_anyio_and_task_groups_keep_their_order():
    async def agent():
        log = []

        async def one(name, seconds):
            with anyio.move_on_after(20):
                await anyio.sleep(seconds)
                log.append(name)
                return
            log.append(f"{name} too late")

        async with anyio.create_task_group() as group:
            for name, seconds in (("a", 15), ("b", 5), ("c", 50)):
                group.start_soon(one, name, seconds)
        return log

    assert run(agent) == ["b", "a", "c too late"]


class Turns:
    """Somebody who waits for a turn that never comes."""

    def __init__(self):
        self.progress = 0
        self.futures = []
        self.relaxed = 0

    @property
    def is_waited_for(self):
        return any(not future.done() for future in self.futures)

    async def wait(self):
        self.futures.append(asyncio.get_running_loop().create_future())
        await self.futures[-1]

    def follow(self, line):
        """Nothing is given out by time."""

    def upcoming(self):
        return None

    def relax(self):
        for future in self.futures:
            if not future.done():
                future.set_result(None)
                self.relaxed += 1
                self.progress += 1
                return True
        return False


def test_who_waits_for_an_answer_is_released_when_nothing_else_can_happen():
    turns = Turns()

    async def agent():
        await asyncio.gather(turns.wait(), turns.wait(), asyncio.sleep(60))

    run(agent, turns)
    assert turns.relaxed == 2


def test_timers_come_before_who_waits_out_of_turn():
    turns, log = Turns(), []

    async def waiter():
        await turns.wait()
        log.append("released")

    async def other():
        await asyncio.sleep(3000)
        log.append("slept")

    async def agent():
        await asyncio.gather(waiter(), other())

    run(agent, turns)
    assert log == ["slept", "released"]


def test_a_heartbeat_does_not_keep_the_last_waiter_for_ever():
    turns = Turns()

    async def agent():
        async def beat():
            while True:
                await asyncio.sleep(5)

        beating = asyncio.create_task(beat())
        await turns.wait()
        beating.cancel()

    run(agent, turns)
    assert turns.relaxed == 1


def test_everything_is_undone_after_an_exception_and_beneath_recordings():
    def fail():
        with virtual_time():
            threading.Thread(target=int).start()
            raise ZeroDivisionError

    HOOKS.acquire()
    try:
        with pytest.raises(ZeroDivisionError):
            fail()
    finally:
        HOOKS.release()


def test_hooks_of_recordings_and_clocks_nest_either_way():
    for outer, inner in ((True, False), (False, True)):
        if outer:
            HOOKS.acquire()
        with virtual_time() as virtual:
            if inner:
                HOOKS.acquire()
            thread = threading.Thread(target=time.sleep, args=(60,))
            thread.start()
            thread.join()
            assert virtual.offset > 59.9
            if inner:
                HOOKS.release()
        if outer:
            HOOKS.release()


def test_one_at_a_time():
    with virtual_time(), pytest.raises(AgentTTError, match="already"), virtual_time():
        pass


def test_a_loop_of_another_shape_is_refused(monkeypatch):
    check_event_loop()
    monkeypatch.setattr(module.LoopInside, "next_timer", lambda self: self._loop._no_such_thing)
    with pytest.raises(AgentTTError, match=sys.version.split()[0]), virtual_time():
        pass


@pytest.mark.parametrize("way", ["run", "runner", "policy", "made"])
def test_loops_of_uvloop_are_made_asyncios_own_and_that_is_said(way):
    async def agent():
        await asyncio.sleep(600)
        return type(asyncio.get_running_loop())

    def outcome():
        if way == "run":
            return uvloop.run(agent())
        if way == "runner":
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(agent())
        loop = uvloop.Loop() if way == "made" else uvloop.EventLoopPolicy().new_event_loop()
        try:
            return loop.run_until_complete(agent())
        finally:
            loop.close()

    with virtual_time() as virtual:
        assert virtual.limits == ()
        assert issubclass(outcome(), asyncio.SelectorEventLoop)
        assert "uvloop" in virtual.limits[0]
    own = uvloop.new_event_loop()
    assert type(own) is uvloop.Loop
    own.close()


def test_closing_a_loop_does_not_run_into_its_own_timeout():
    """Workers that were told to end are not idle: the loop gives them 300 seconds, of its clock."""

    async def agent():
        await asyncio.gather(*[asyncio.to_thread(time.sleep, 10) for _ in range(8)])

    for _ in range(15):
        run(agent)


def test_no_garbage_is_collected_while_threads_are_looked_at(monkeypatch):
    """A `threading.local` that is freed in there takes the lock that CPython holds: it would stand still."""
    real, seen = sys._current_frames, []

    def frames():
        seen.append(gc.isenabled())
        return real()

    monkeypatch.setattr(sys, "_current_frames", frames)
    busy, may_end = BusyThreads(), threading.Event()
    thread = threading.Thread(target=may_end.wait)
    thread.start()
    busy.works({}, is_first=True)
    may_end.set()
    thread.join()
    assert seen == [False]
    assert gc.isenabled()


def test_a_thread_that_is_started_meanwhile_counts_as_working(monkeypatch):
    """Who starts it waits until it runs: of that one alone it would seem that nobody does anything."""
    real, go, may_end, starts = sys._current_frames, threading.Event(), threading.Event(), threading.Event()
    started = threading.Thread(target=may_end.wait)

    def start():
        go.wait()
        started.start()
        starts.set()
        may_end.wait()

    busy = BusyThreads()
    starter = threading.Thread(target=start)
    starter.start()

    def frames():
        if not go.is_set():
            go.set()
            starts.wait()
        return real()

    monkeypatch.setattr(sys, "_current_frames", frames)
    works = busy.works({}, is_first=True)
    may_end.set()
    started.join()
    starter.join()
    assert works
