"""How awaited answers came: what a replay needs to decide races as they were decided."""

from __future__ import annotations

import asyncio

import agent_tt


@agent_tt.llm
async def at_once(number):
    return number


@agent_tt.llm
async def when(event):
    await event.wait()


def paces(store):
    calls = sorted((call for call in store.only.calls if call.end), key=lambda call: call.delivered[0][0])
    return [call.end.meta.get("pace") for call in calls]


def test_an_answer_that_nobody_waited_for_came_at_once(store):
    async def agent():
        with agent_tt.record("x"):
            return [await at_once(number) for number in range(3)]

    assert asyncio.run(agent()) == [0, 1, 2]
    assert paces(store) == ["at once"] * 3


def test_answers_in_one_pass_of_the_loop_came_right_behind_one_another(store):
    async def agent():
        event = asyncio.Event()
        with agent_tt.record("x"):
            tasks = [asyncio.create_task(when(event)) for _ in range(3)]
            await asyncio.sleep(0.001)
            event.set()
            await asyncio.gather(*tasks)

    asyncio.run(agent())
    assert paces(store) == [None, 0, 0]


def test_an_answer_after_a_pause_comes_to_a_loop_at_rest(store):
    @agent_tt.llm
    async def later(number):
        await asyncio.sleep(0.002 * number)

    async def agent():
        with agent_tt.record("x"):
            for number in (1, 2):
                await later(number)

    asyncio.run(agent())
    assert paces(store) == [None, None]


def test_plain_functions_have_no_pace(store):
    @agent_tt.tool
    def plain():
        return 1

    async def agent():
        with agent_tt.record("x"):
            return [plain(), await asyncio.to_thread(plain)]

    assert asyncio.run(agent()) == [1, 1]
    assert paces(store) == [None, None]


def test_what_a_plain_function_gave_in_place_of_its_answer_is_kept(store):
    give = agent_tt.tool(lambda: at_once.__wrapped__(7))

    async def agent():
        with agent_tt.record("x"):
            return await give()

    assert asyncio.run(agent()) == 7
    (call,) = store.only.calls
    assert call.end.meta["returned_as"] == "coroutine"


def test_lanes_that_a_call_creates_do_not_count_among_the_agents_own(store):
    @agent_tt.tool
    async def both():
        return await asyncio.gather(asyncio.create_task(at_once(1)), asyncio.create_task(at_once(2)))

    async def agent():
        with agent_tt.record("x"):
            await both()
            await asyncio.create_task(at_once(3))

    asyncio.run(agent())
    lanes = [call.new.lane for call in store.only.calls if call.name == "at_once"]
    assert lanes == ["main/call>at_once.0", "main/call>at_once.1", "main/at_once.0"]
