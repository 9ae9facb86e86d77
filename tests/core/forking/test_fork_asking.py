"""A fork that waits for a decision: answered from its handle, stopped, and killed meanwhile."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.errors import Interrupted, QuestionClosed
from agent_tt.forking.policy.policies import ToolPolicy, read_rule
from agent_tt.resuming.plan import plan_resume

if TYPE_CHECKING:
    from conftest import Project

    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.rerunning.handle import RunHandle

pytestmark = pytest.mark.warm

AGENT = """
import asyncio
import agent_tt

@agent_tt.tool(effect="write")
def charge(amount): return {"charged": amount}

def main(state=None):
    with agent_tt.record("shop", state=state) as run, run.step("pay", state):
        state["paid"] = asyncio.run(pay(state["amounts"]))

async def pay(amounts):
    return await asyncio.gather(*(asyncio.to_thread(tried, amount) for amount in amounts))

def tried(amount):
    try:
        return charge(amount)
    except (agent_tt.AgentTTError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"
"""

ASK = ToolPolicy((("charge", read_rule("ask")),))


def fork_shop(project: Project, *amounts: int, **options: object) -> RunHandle:
    project.put("shop.py", AGENT)
    run = project.made("shop.py:main", {"amounts": list(amounts)}, name="shop")
    return project.fork(run, 0, policy=ASK, **options)


def asked(handle: RunHandle, count: int) -> list[CallQuestion]:
    ends = time.monotonic() + PATIENCE_SECONDS
    while len(found := handle.questions()) < count:
        assert time.monotonic() < ends, handle.output()
        time.sleep(0.02)
    return sorted(found, key=lambda question: question.args["amount"])


def test_each_call_that_waits_gets_what_was_decided_of_it(project: Project) -> None:
    handle = fork_shop(project, 1, 2, 3, 4, 5)
    run, edited, given, failed, refused = asked(handle, 5)
    assert {question.run_id for question in (run, refused)} == {handle.run_id}
    handle.answer(refused, refused.refuse("too much"))
    handle.answer(failed, failed.fail("TimeoutError: no answer"))
    handle.answer(given, given.give({"charged": "later"}))
    handle.answer(edited, edited.run(amount=20))
    handle.answer(run, run.run())
    assert handle.result().status == "succeeded"
    assert project.state(handle, 1)["paid"] == [
        {"charged": 1},
        {"charged": 20},
        {"charged": "later"},
        "TimeoutError: no answer",
        "ToolDenied: charge was not run: it was refused: too much",
    ]
    calls = sorted(project.store.calls(handle.run_id, 1), key=lambda call: call.meta["answered"]["word"])
    assert [(call.status, call.meta["answered"]["word"]) for call in calls] == [
        ("ok", "give"),
        ("error", "raise"),
        ("denied", "refuse"),
        ("ok", "run"),
        ("ok", "run"),
    ]
    with pytest.raises(QuestionClosed):
        handle.answer(run, run.run())


def test_a_fork_whose_threads_wait_stops_at_once_and_one_that_is_killed_asks_no_more(project: Project) -> None:
    handle = fork_shop(project, 1, 2)
    asked(handle, 2)
    handle.stop(grace=PATIENCE_SECONDS)
    assert handle.poll() == Interrupted.exit_code, "it ended by itself, and was not killed"
    assert project.store.run(handle.run_id).status == "interrupted"
    handle = fork_shop(project, 1)
    (question,) = asked(handle, 1)
    os.kill(handle.process, signal.SIGKILL)
    handle.wait()
    assert handle.questions() == []
    with pytest.raises(QuestionClosed, match="that process is gone"):
        handle.answer(question, question.run())
    (call,) = project.store.calls(handle.run_id, 1)
    assert call.status == "pending"
    plan = plan_resume(project.store, project.store.run(handle.run_id))
    assert (plan.in_flight, plan.unknown) == ((call,), ()), "it has not gone out, and is asked about again"


def test_who_cannot_decide_refuses(project: Project) -> None:
    def decide(question: CallQuestion) -> Decision:
        raise KeyError(question.name)

    handle = fork_shop(project, 1, asked=decide)
    assert handle.result().status == "succeeded"
    (said,) = project.state(handle, 1)["paid"]
    assert said == "ToolDenied: charge was not run: it was refused: what was to decide failed: KeyError: 'charge'"


PATIENT = """
import asyncio, concurrent.futures, queue, threading, time
import agent_tt, trio

@agent_tt.tool(effect="write")
async def pay(amount): return {"charged": amount}

@agent_tt.tool(effect="write")
def charge(amount): return {"charged": amount}

async def in_asyncio():
    return await asyncio.wait_for(pay(1), 1)

async def in_trio():
    with trio.fail_after(1):
        return await pay(1)

def in_a_pool():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return pool.submit(charge, 1).result(timeout=1)

def in_a_queue():
    answers = queue.Queue()
    threading.Thread(target=lambda: answers.put(charge(1))).start()
    return answers.get(timeout=1)

WAYS = {"asyncio": lambda: asyncio.run(in_asyncio()), "trio": lambda: trio.run(in_trio), "pool": in_a_pool,
        "queue": in_a_queue}

def main(state=None):
    with agent_tt.record("shop", state=state) as run, run.step("pay", state):
        state["paid"] = WAYS[state["way"]]()
        began = time.monotonic()
        try:
            asyncio.run(asyncio.wait_for(asyncio.sleep(60), 0.01))
        except TimeoutError:
            state["later"] = "deadlines expire again"
"""


@pytest.mark.parametrize("way", ["asyncio", "trio", "pool", "queue"])
def test_the_agents_own_deadlines_stand_still_while_somebody_thinks(project: Project, way: str) -> None:
    project.put("shop.py", PATIENT)
    run = project.made("shop.py:main", {"way": way}, name="shop")
    both = ToolPolicy((("pay", read_rule("ask")), ("charge", read_rule("ask"))))
    handle = project.fork(run, 0, policy=both)
    (question,) = asked(handle, 1)
    time.sleep(1.5)  # longer than its deadline: this is what is shown
    handle.answer(question, question.run())
    assert handle.result().status == "succeeded", handle.output()
    assert project.state(handle, 1) == {"way": way, "paid": {"charged": 1}, "later": "deadlines expire again"}
