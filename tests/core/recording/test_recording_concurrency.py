"""Lanes of trio's tasks and of pools' jobs, their labels, what lies below a call, and lanes that are not sure."""

from __future__ import annotations

import asyncio
import functools
import logging
import multiprocessing.pool
import queue
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import anyio
import pytest
import trio
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.recording.concurrency.lane_checks import check_anyio
from agent_tt.recording.concurrency.lane_labels import label_of_task
from agent_tt.recording.concurrency.tasks import TRIO_RUN
from agent_tt.recording.concurrency.trio_tasks import trio_places
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import HOOKS


@agent_tt.tool(effect="read")
def ask(who):
    return who


@agent_tt.tool(effect="read")
async def ask_later(who):
    await anyio.sleep(0)
    return who


def lanes_of(run):
    return {call.new.args["who"]: call.new.lane for call in run.calls}


def unsure(run):
    return {call.new.args["who"]: call.new.meta.get("lane_unsure") for call in run.calls}


def run_recorded(agent, *args):
    with agent_tt.record("x") as run, run.step("s"):
        agent(*args)


# ---------------------------------------------------------------- trio


def test_tasks_of_trio_have_lanes_by_creation_whoever_asks_first(store):
    async def late(number):
        await trio.sleep(0.01 * abs(3 - number))
        ask(f"n{number}")

    async def started(task_status=trio.TASK_STATUS_IGNORED):
        task_status.started()
        ask("started")

    async def nested():
        async with trio.open_nursery() as inner:
            inner.start_soon(late, 7)

    async def main():
        ask("main")
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(late, number)
            await nursery.start(started)
            nursery.start_soon(nested)

    run_recorded(trio.run, main)
    main_lane, inside = f"main/{main.__qualname__}.0", main.__qualname__.removesuffix("main")
    assert lanes_of(store.only) == {
        "main": main_lane,
        **{f"n{number}": f"{main_lane}/{inside}late.{number}" for number in range(3)},
        "started": f"{main_lane}/{inside}started.0",
        "n7": f"{main_lane}/{inside}nested.0/{inside}late.0",
    }
    assert set(unsure(store.only).values()) == {None}


def test_a_thread_of_trio_is_in_the_lane_of_the_task_that_waits_and_what_it_calls_back_below_it(store):
    async def back(who):
        ask(who)

    def work(who):
        ask(f"{who} thread")
        trio.from_thread.run(back, f"{who} host")

    def stranger(token):
        trio.from_thread.run(back, "stranger", trio_token=token)

    async def main():
        async with trio.open_nursery() as nursery:
            for number in range(2):
                nursery.start_soon(trio.to_thread.run_sync, work, f"n{number}")
        thread = threading.Thread(target=stranger, args=(trio.lowlevel.current_trio_token(),))
        thread.start()
        while thread.is_alive():
            await trio.sleep(0.001)

    run_recorded(trio.run, main)
    lanes, main_lane = lanes_of(store.only), f"main/{main.__qualname__}.0"
    assert [lanes[f"n{number} thread"].rpartition(".")[2] for number in range(2)] == ["0", "1"]
    assert all(lanes[f"n{number} host"] == lanes[f"n{number} thread"] for number in range(2))
    assert lanes["stranger"] == f"{main_lane}/thread.0/{back.__qualname__}.0"


def test_trio_runs_its_tasks_in_the_order_in_which_they_became_ready_while_recorded(store):
    def order():
        found = []

        async def one(number):
            found.append(number)

        async def main():
            for _ in range(10):
                async with trio.open_nursery() as nursery:
                    for number in range(3):
                        nursery.start_soon(one, number)

        trio.run(main)
        return found

    with agent_tt.record("x"):
        recorded = order()
    assert recorded == [0, 1, 2] * 10
    assert {tuple(order()) for _ in range(5)} != {tuple(recorded)}, "trio tosses its coin again afterwards"


def test_every_hook_of_trio_is_undone(store):
    module = sys.modules[TRIO_RUN]
    places = [(owner, name) for owner, name, _ in trio_places(module)]
    before = [getattr(owner, name) for owner, name in places]
    with agent_tt.record("x"):
        assert all(getattr(owner, name) != was for (owner, name), was in zip(places, before, strict=True))
    assert [getattr(owner, name) for owner, name in places] == before


def test_a_recording_that_begins_inside_a_run_of_trio_is_in_main(store):
    async def child():
        ask("child")

    async def main():
        with agent_tt.record("x") as run, run.step("s"):
            ask("main")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(child)

    trio.run(main)
    assert lanes_of(store.only) == {"main": "main", "child": f"main/{child.__qualname__}.0"}


def test_an_answer_that_no_task_of_trio_waited_for_came_at_once(store):
    @agent_tt.llm
    async def answer(who, *, waits):
        if waits:
            await trio.sleep(0.001)
        return who

    async def main():
        await answer("quick", waits=False)
        await answer("slow", waits=True)

    run_recorded(trio.run, main)
    assert [call.end.meta.get("pace") for call in store.only.calls] == ["at once", None]


# ---------------------------------------------------------------- labels


async def agents_own(*_args, **_options):
    """What the agent wrote."""


def library(source, **names):
    """Functions of an installed library."""
    found = dict(names)
    exec(compile(source, "/usr/lib/python3/site-packages/library/tasks.py", "exec"), found)
    return SimpleNamespace(**found)


WRAPPERS = library(
    """
async def wrap(func):
    await func()

def closed_over(func):
    async def run():
        await func()
    return run()

async def given(scope, coroutine):
    await coroutine

class Handle:
    __slots__ = ("_coro",)
    def __init__(self, coro):
        self._coro = coro
    async def run(self):
        await self._coro

async def own_work(on_done, retries=3):
    on_done()
"""
)


@pytest.mark.parametrize(
    "make",
    [
        lambda: WRAPPERS.wrap(agents_own),
        lambda: WRAPPERS.wrap(functools.partial(agents_own, 1)),
        lambda: WRAPPERS.closed_over(agents_own),
        lambda: WRAPPERS.given(None, agents_own()),
        lambda: WRAPPERS.Handle(agents_own()).run(),
        lambda: WRAPPERS.given(None, WRAPPERS.Handle(WRAPPERS.wrap(agents_own)).run()),
        lambda: asyncio.wait_for(agents_own(), 1),
        lambda: asyncio.to_thread(agents_own),
    ],
)
def test_a_wrapper_of_a_library_is_labelled_by_the_agents_function_in_it(make):
    coroutine = make()
    try:
        assert label_of_task(coroutine) == "agents_own"
    finally:
        close_all(coroutine)


def test_a_callback_is_no_wrapped_function_and_the_agents_own_wrapper_is_not_looked_through():
    async def own_wrapper(func):
        await func()

    for coroutine, label in [
        (WRAPPERS.own_work(agents_own), "own_work"),
        (own_wrapper(agents_own), own_wrapper.__qualname__),
    ]:
        assert label_of_task(coroutine) == label
        coroutine.close()
    assert label_of_task(object()) == "task"


def close_all(coroutine):
    """Close a coroutine that was never awaited, and those that it was given."""
    inner = dict(coroutine.cr_frame.f_locals)
    coroutine.close()
    for value in [*inner.values(), getattr(inner.get("self"), "_coro", None)]:
        if asyncio.iscoroutine(value) and value.cr_frame is not None:
            close_all(value)


async def test_tasks_of_an_anyio_group_are_labelled_by_the_agents_function(store):
    async def one(who):
        await ask_later(who)

    async with agent_tt.record("x") as run, run.step("s"), anyio.create_task_group() as group:
        group.start_soon(one, "a")
        group.start_soon(functools.partial(one, "b"))
        group.start_soon(one, "c")
    label = one.__qualname__
    assert lanes_of(store.only) == {who: f"main/{label}.{number}" for number, who in enumerate("abc")}


# ---------------------------------------------------------------- below a call


async def test_what_the_network_stack_creates_is_counted_apart_from_the_agents_own(store):
    async def one(who):
        await ask_later(who)

    async with agent_tt.record("x") as run, run.step("s"):
        with passing():  # as around a request
            await asyncio.gather(one("below 0"), asyncio.to_thread(ask, "below 1"))
        await asyncio.gather(one("own"), asyncio.to_thread(ask, "own job"))
    lanes = lanes_of(store.only)
    assert lanes["own"] == f"main/{one.__qualname__}.0"
    assert lanes["below 0"] == f"main/call>{one.__qualname__}.0"
    assert lanes["own job"] == lanes["below 1"].replace("call>", "")


# ---------------------------------------------------------------- pools and loops


def test_jobs_of_a_thread_pool_have_lanes_whichever_thread_works_on_them(store):
    with multiprocessing.pool.ThreadPool(2) as older:
        with agent_tt.record("x") as run, run.step("s"):
            for pool in (older, multiprocessing.pool.ThreadPool(3)):
                name = "older" if pool is older else "newer"
                pool.map(ask, [f"{name} {number}" for number in range(4)], chunksize=1)
                pool.apply(ask, (f"{name} applied",))
                list(pool.imap_unordered(ask, [f"{name} imap {number}" for number in range(2)]))
        pool.terminate()
        pool.join()
    lanes = lanes_of(store.only)
    for base, name in enumerate(("older", "newer")):
        assert [lanes[f"{name} {number}"] for number in range(4)] == [f"main/map.{2 * base}/work.{n}" for n in range(4)]
        assert lanes[f"{name} applied"] == f"main/work.{base}"
        assert lanes[f"{name} imap 1"] == f"main/map.{2 * base + 1}/work.1"


def test_a_coroutine_that_a_job_hands_to_another_threads_loop_is_in_a_lane_below_the_job(store):
    async def one(who):
        await ask_later(who)

    loop = asyncio.new_event_loop()
    with agent_tt.record("x") as run, run.step("s"):
        background = threading.Thread(target=loop.run_forever)
        background.start()
        with ThreadPoolExecutor(4) as pool:
            submitted = [pool.submit(hand_over, one(f"n{number}"), loop) for number in range(4)]
            for future in submitted:
                future.result(PATIENCE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        background.join(PATIENCE_SECONDS)
    loop.close()
    assert lanes_of(store.only) == {f"n{n}": f"main/work.{n}/{one.__qualname__}.0" for n in range(4)}


def hand_over(coroutine, loop):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(PATIENCE_SECONDS)


# ---------------------------------------------------------------- lanes that are not sure


def test_threads_that_share_a_queue_are_not_sure_and_one_that_has_its_own_is(store):
    shared, own = queue.Queue(), queue.Queue()

    def work(waiting, who):
        waiting.get(timeout=PATIENCE_SECONDS)
        ask(who)

    with agent_tt.record("x") as run, run.step("s"):
        for waiting, who in [(own, "own"), (shared, "first of two"), (shared, "second of two")]:
            waiting.put("something")
            thread = threading.Thread(target=work, args=(waiting, who))
            thread.start()
            thread.join(PATIENCE_SECONDS)
    said = unsure(store.only)
    assert said["own"] is None
    assert said["first of two"] is None, "nobody else had taken anything yet"
    assert "queue" in said["second of two"]


def test_a_task_that_no_hook_saw_is_not_sure(store):
    async def main():
        tasks = [asyncio.Task(ask_later(f"n{number}")) for number in range(2)]
        await asyncio.gather(*tasks)
        await asyncio.create_task(ask_later("seen"))

    run_recorded(asyncio.run, main())
    said = unsure(store.only)
    assert "could not be seen" in said["n0"]
    assert said["seen"] is None


def test_a_library_that_is_not_as_we_know_it_is_said_and_makes_no_lane_sure(store, monkeypatch, caplog):
    module = sys.modules[TRIO_RUN]
    monkeypatch.delattr(module.Runner, "task_exited")
    monkeypatch.setattr(HOOKS, "unfit", {})
    with caplog.at_level(logging.WARNING):
        run_recorded(ask, "who")
    assert f"trio {trio.__version__}" in caplog.text
    assert "task_exited" in unsure(store.only)["who"]


def test_the_installed_libraries_are_as_we_know_them(store):
    import anyio._backends._asyncio as backend

    check_anyio(backend)
    with agent_tt.record("x"):
        assert HOOKS.unfit == {}
