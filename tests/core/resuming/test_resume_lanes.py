"""What was recorded in any lane is given out before anything is made for real, and guarded as long as it lasts."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.core.resuming.support import Project, happened, not_happened

from agent_tt.errors import AgentTTError
from agent_tt.store import open_store

pytestmark = pytest.mark.warm

ASYNC = """
@agent_tt.tool(effect="write")
async def send(word):
    if word == "first":
        await sent_all.wait() if not os.path.exists("broke off") else None
        breaks_off(word)
    else:
        did(word)
    return {"sent": word}


async def first(state):
    state["log"].append((await send("first"))["sent"])


async def others(state):
    for n in range(3):
        state["log"].append((await send(f"other-{n}"))["sent"])
        if n < 2:  # behind the last one the clock is the real one
            await asyncio.sleep(0.001 if not os.path.exists("broke off") else 40)
        BETWEEN
    sent_all.set()


async def work(state):
    global sent_all
    sent_all = asyncio.Event()
    async with agent_tt.record("lanes", state=state) as run:
        async with run.step("all"):
            await asyncio.gather(first(state), others(state))


def main(state=None):
    asyncio.run(work(state or {"log": []}))


if __name__ == "__main__":
    main()
"""

THREADS = """
import threading

sent_all = threading.Event()


@agent_tt.tool(effect="write")
def send(word):
    if word == "first":
        sent_all.wait() if not os.path.exists("broke off") else None
        breaks_off(word)
    else:
        did(word)
    return {"sent": word}


def first(state):
    state["log"].append(send("first")["sent"])


def others(state):
    for n in range(3):
        state["log"].append(send(f"other-{n}")["sent"])
        if n < 2:
            time.sleep(0.001 if not os.path.exists("broke off") else 40)
        BETWEEN
    sent_all.set()


def main(state=None):
    state = state or {"log": []}
    with agent_tt.record("lanes", state=state) as run:
        with run.step("all"):
            threads = [threading.Thread(target=part, args=(state,)) for part in (first, others)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("agent", [ASYNC, THREADS], ids=["tasks", "threads"])
@pytest.mark.parametrize("answer", [not_happened, happened({"sent": "first"})], ids=["made", "said"])
def test_what_had_no_answer_comes_behind_all_that_had_one(project: Project, agent: str, answer):
    project.begin(agent.replace("BETWEEN", "pass"))
    assert project.done() == ["other-0", "other-1", "other-2"]
    run = project.resume(answer).result()
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert store.state(run.id, 1) == {"log": ["other-0", "other-1", "other-2", "first"]}
    made = ["first"] if answer is not_happened else []
    assert project.done() == ["other-0", "other-1", "other-2", *made]
    project.check(*project.done())


@pytest.mark.parametrize("agent", [ASYNC, THREADS], ids=["tasks", "threads"])
def test_a_lane_that_is_still_served_reaches_nothing(project: Project, agent: str):
    project.begin(agent.replace("BETWEEN", "os.system('true') if n == 1 and os.path.exists('broke off') else None"))
    with pytest.raises(AgentTTError, match=r"unrecorded effect: os\.system"):
        project.resume(not_happened).result()
    assert project.done() == ["other-0", "other-1", "other-2"]  # the first was not made
    assert project.read()[0].status == "crashed"


IN_THE_LOOP = """
@agent_tt.tool(effect="write")
def send(word):
    '''A plain function, called in the event loop's own thread: nothing else goes on meanwhile.'''
    if word == "first":
        breaks_off(word)
    else:
        did(word)
    return word


async def first():
    while not os.path.exists("broke off") and len(done) < 2:
        await asyncio.sleep(0)
    send("first")


async def others():
    for n in range(3):
        done.append(send(f"other-{n}"))
        await asyncio.sleep(0)
        REACHES


done = []


async def work():
    async with agent_tt.record("lanes") as run:
        async with run.step("all"):
            await asyncio.gather(first(), others())


def main(state=None):
    asyncio.run(work())


if __name__ == "__main__":
    main()
"""


def test_a_plain_function_in_a_loop_goes_first_and_the_others_are_served_and_guarded(project: Project):
    project.begin(IN_THE_LOOP.replace("REACHES", ""))
    assert project.done() == ["other-0", "other-1"]
    project.write(IN_THE_LOOP.replace("REACHES", "os.system('true') if n == 0 else None"))
    with pytest.raises(AgentTTError, match=r"unrecorded effect: os\.system"):
        project.resume(not_happened).result()
    assert project.done() == ["other-0", "other-1", "first"]
    project.write(IN_THE_LOOP.replace("REACHES", "os.system('true') if n == 2 else None"))
    project.resume(not_happened).result()  # its lane's recorded part was used up
    assert sorted(project.done()) == ["first", "other-0", "other-1", "other-2"]
