"""Agents of trio, and of anyio on trio, in a replay: cancelled as they were, and nobody waits for a timer."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
import time

import anyio
import httpx
import pytest
import trio
from tests.core.replaying.recorded import record
from tests.core.replaying.test_replay_lanes import fresh_answer
from tests.core.web_server import serving

import agent_tt
from agent_tt.replaying.clock.virtual_time import virtual_time

MADE = itertools.count()
REAL = {"monotonic": time.monotonic}  # in a dict: names of modules are bound anew


@agent_tt.llm
async def ask(question):
    await anyio.sleep(question.get("takes", 0.001))
    return next(MADE)


@agent_tt.tool(effect="read")
async def ask_both(question):
    """Its cancellation comes out of a nursery: in a group, where trio makes one."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, question["takes"])
        nursery.start_soon(trio.sleep, question["takes"])


@agent_tt.tool(effect="read")
def wait_in_a_thread(question):
    trio.from_thread.run(trio.sleep, question["takes"])


def on_trio(agent):
    return lambda: trio.run(agent)


def anyio_on_trio(agent):
    return lambda: anyio.run(agent, backend="trio")


async def moves_on():
    with trio.move_on_after(0.03) as scope:
        await ask({"takes": 60})
    return "moved on", scope.cancelled_caught, await ask({})


async def fails_after():
    try:
        with trio.fail_after(0.03):
            await ask({"takes": 60})
    except trio.TooSlowError:
        return "too slow", await ask({})


async def cancels_a_nursery():
    found = []

    async def one(number):
        try:
            found.append(await ask({"takes": 60 if number else 0.01}))
            nursery.cancel_scope.cancel()
        finally:
            found.append(f"{number} is over")

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(one, number)
    return sorted(map(str, found))


async def moves_on_from_a_nursery():
    with trio.move_on_after(0.03) as scope:
        await ask_both({"takes": 60})
    return scope.cancelled_caught


async def moves_on_from_a_thread():
    with trio.move_on_after(0.03) as scope:
        await trio.to_thread.run_sync(wait_in_a_thread, {"takes": 60})
    return scope.cancelled_caught


async def anyio_moves_on():
    with anyio.move_on_after(0.03) as scope:
        await ask({"takes": 60})
    return "moved on", scope.cancelled_caught, await ask({})


CANCELLING = [moves_on, fails_after, cancels_a_nursery, moves_on_from_a_nursery, moves_on_from_a_thread]


@pytest.mark.parametrize(
    "agent",
    [*map(on_trio, CANCELLING), anyio_on_trio(anyio_moves_on)],
    ids=[*(a.__name__ for a in CANCELLING), "anyio"],
)
def test_a_call_that_trio_cancelled_is_cancelled_again(agent, tmp_path):
    recorded = record(tmp_path, agent)
    assert not isinstance(recorded.result, BaseException), recorded.result
    cancelled = [call for call, _ in recorded.calls if call.meta.get("cancelled")]
    assert cancelled
    began = REAL["monotonic"]()
    for _ in range(3):
        result, replay = recorded.replay(agent)
        assert result == recorded.result
        assert (replay.failure, replay.findings, replay.notes.all()) == (None, (), ())
    assert REAL["monotonic"]() - began < 30, "nobody waits for the minute that the call would have taken"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_request_that_was_cancelled_is_cancelled_again(backend, tmp_path):
    async def agent(url):
        async with httpx.AsyncClient() as client:
            with anyio.move_on_after(0.02) as scope:
                await client.get(f"{url}/slow")
            return scope.cancelled_caught, (await client.get(f"{url}/quick")).json()["choices"]

    with serving(fresh_answer) as web:
        url = web.url
        recorded = record(tmp_path, lambda: anyio.run(agent, url, backend=backend))
    assert recorded.result[0] is True
    result, replay = recorded.replay(lambda: anyio.run(agent, url, backend=backend))
    assert result == recorded.result
    assert (replay.findings, replay.notes.all()) == ((), ())


def test_an_agent_of_trio_that_now_waits_for_a_cancelled_call_diverges(tmp_path):
    async def patient():
        return await ask({"takes": 60})

    recorded = record(tmp_path, on_trio(moves_on))
    _, replay = recorded.replay(on_trio(patient))
    assert replay.failure is not None
    assert "stopped waiting" in replay.failure.message


def test_answers_and_timers_of_trio_come_in_the_recorded_order(tmp_path):
    async def agent():
        found = []

        async def sleeps(seconds):
            await trio.sleep(seconds)
            found.append(f"slept {seconds}")

        async def asks():
            for takes in (0.2, 0.05):
                answer = await ask({"takes": takes})
                found.append(answer)

        async with trio.open_nursery() as nursery:
            for seconds in (1.5, 0.02, 0.01):
                nursery.start_soon(sleeps, seconds)
            nursery.start_soon(asks)
        return found

    recorded = record(tmp_path, on_trio(agent))
    for _ in range(5):
        result, replay = recorded.replay(on_trio(agent))
        assert result == recorded.result
        assert (replay.findings, replay.notes.all()) == ((), ())


def test_nobody_waits_on_trios_clock():
    async def main():
        order = []

        async def sleeper(seconds):
            await trio.sleep(seconds)
            order.append(seconds)

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for seconds in (3600, 60, 7200):
                nursery.start_soon(sleeper, seconds)
            await trio.to_thread.run_sync(time.sleep, 30)
            order.append(30)
        return order, trio.current_time() - began

    began = REAL["monotonic"]()
    with virtual_time():
        order, passed = trio.run(main)
    assert order == [30, 60, 3600, 7200]
    assert 7200 <= passed < 7260
    assert REAL["monotonic"]() - began < 30


def test_a_run_of_trio_that_only_hears_from_outside_is_woken():
    async def main():
        event, token = trio.Event(), trio.lowlevel.current_trio_token()
        thread = threading.Thread(target=lambda: (time.sleep(5), token.run_sync_soon(event.set)))
        thread.start()
        with trio.fail_after(math.inf):
            await event.wait()
        here, there = trio.socket.socketpair()
        with here, there:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(there.send, b"heard")
                return await here.recv(5)

    with virtual_time():
        assert trio.run(main) == b"heard"


def test_trio_keeps_its_own_time_afterwards():
    async def current():
        return trio.current_time()

    untouched = trio._core._run.SystemClock.current_time, trio._core._run.TheIOManager.get_events
    with virtual_time():
        trio.run(current)
    assert (trio._core._run.SystemClock.current_time, trio._core._run.TheIOManager.get_events) == untouched


def test_trio_as_a_guest_of_asyncio_has_lanes_and_is_replayed(tmp_path):
    async def guest():
        found = {}

        async def one(number):
            await trio.sleep(0.001 * (3 - number))
            found[number] = await ask({})

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(one, number)
        return found

    async def host():
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        trio.lowlevel.start_guest_run(
            guest, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=done.set_result
        )
        await asyncio.sleep(0.01)
        return (await done).unwrap()

    recorded = record(tmp_path, lambda: asyncio.run(host()))
    assert len(recorded.result) == 3, recorded.result
    assert len({call.lane for call, _ in recorded.calls}) == 3
    for _ in range(3):
        result, replay = recorded.replay(lambda: asyncio.run(host()))
        assert result == recorded.result
        assert (replay.findings, replay.failure) == ((), None)
