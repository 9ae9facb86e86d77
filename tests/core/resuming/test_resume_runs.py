"""Runs that broke off and go on, in processes of their own as the command and `agent_tt.resume` start them."""

from __future__ import annotations

import signal
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.resuming.support import Project, happened, not_happened

from agent_tt.errors import AgentFailed, AgentTTError, Interrupted, InvalidEntryPoint, UsageError
from agent_tt.store import open_store

if TYPE_CHECKING:
    from agent_tt.model import Call

pytestmark = pytest.mark.warm

SHOP = """
@agent_tt.tool(effect="read")
def find(order):
    did(f"find-{order}")
    return {"order": order, "amount": 3}


@agent_tt.tool(effect="write")
def charge(order):
    WHERE
    return {"charged": order["amount"]}


def main(state=None):
    state = state or {"charged": 0}
    with agent_tt.record("shop", state=state) as run:
        for n in range(3):
            with run.step("order"):
                order = find(n)
                time.sleep(40 if n == 0 and os.path.exists("slow") else 0)
                state["charged"] += charge(order)["charged"]
            run.note("one more")


if __name__ == "__main__":
    main()
"""
IN_FLIGHT = SHOP.replace("WHERE", "breaks_off(f'charge-{order[\"order\"]}') if order['order'] == 1 else did('charge')")


def test_a_write_in_flight_is_asked_about_before_anything_runs(project: Project):
    project.begin(IN_FLIGHT)
    before, calls = project.read()
    with pytest.raises(UsageError, match=r"whether charge happened \(step 2\) is not known"):
        project.resume()
    assert project.read() == (before, calls)
    asked: list[Call] = []
    project.resume(lambda call: asked.append(call)).result()  # None: it did not happen
    assert [(call.name, call.args) for call in asked] == [("charge", {"order": {"order": 1, "amount": 3}})]
    run = project.check("find-0", "charge", "find-1", "charge-1", "find-2", "charge")
    assert run.steps == 3
    _, calls = project.read()
    assert [(call.step, call.name, call.status) for call in calls] == [
        (1, "find", "ok"),
        (1, "charge", "ok"),
        (2, "find", "ok"),
        (2, "charge", "pending"),
        (2, "charge", "ok"),
        (3, "find", "ok"),
        (3, "charge", "ok"),
    ]
    assert calls[4].meta["again"] == {"step": 2, "call": 2}
    with closing(open_store(project.store_path, read_only=True)) as store:
        notes = [(note.step, note.body) for note in store.notes(run.id)]
    assert [step for step, body in notes if body.startswith("resumed")] == [2]
    assert len([body for _, body in notes if body == "one more"]) == 3


def test_a_write_that_happened_is_not_made_again(project: Project):
    project.begin(IN_FLIGHT)
    run = project.resume(happened({"charged": 5})).result()
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert store.state(run.id, 3) == {"charged": 11}
    project.check("find-0", "charge", "find-1", "find-2", "charge")


def test_sleeps_before_the_break_are_not_waited_for(project: Project):
    project.begin(IN_FLIGHT)
    (project.folder / "slow").touch()
    project.resume(not_happened).result()


def test_a_run_that_broke_off_between_calls_asks_nothing(project: Project):
    project.begin(
        SHOP.replace("WHERE", "did('charge')").replace("run.note", "if n: breaks_off('')\n            run.note")
    )
    project.resume().result()
    project.check(*(f"find-{n}" for n in range(3)), *["charge"] * 3)


def test_an_agent_that_asks_something_else_is_halted_and_can_be_resumed_later(project: Project):
    project.begin(IN_FLIGHT)
    project.write(IN_FLIGHT.replace("find(n)", "find(n + 10)"))
    handle = project.resume(not_happened)
    with pytest.raises(AgentTTError, match=r"could not be resumed: changed request: find is asked something else"):
        handle.result()
    run, calls = project.read()
    assert run.status == "crashed"
    assert len(calls) == 4
    assert project.done() == ["find-0", "charge", "find-1"]
    project.write(IN_FLIGHT)
    project.resume(not_happened).result()
    project.check("find-0", "charge", "find-1", "charge-1", "find-2", "charge")


def test_an_agent_that_leaves_calls_out_is_not_done(project: Project):
    project.begin(IN_FLIGHT)
    project.write(IN_FLIGHT.replace("range(3)", "range(1)"))
    with pytest.raises(AgentTTError, match="missing call"):
        project.resume(not_happened).result()
    assert project.read()[0].status == "crashed"


def test_an_agent_that_fails_after_the_break_has_failed(project: Project):
    project.begin(IN_FLIGHT)
    project.write(IN_FLIGHT.replace('return {"charged"', "order['nothing']; return {\"charged\""))
    with pytest.raises(AgentFailed, match="KeyError"):
        project.resume(not_happened).result()
    with pytest.raises(UsageError, match="has failed: only a run that broke off"):
        project.resume()


def test_what_is_not_recorded_halts_before_the_break(project: Project):
    agent = IN_FLIGHT.replace("order = find(n)", "order = find(n)\n                os.system('true')")
    project.begin(agent)
    with pytest.raises(AgentTTError, match="unrecorded effect") as halted:
        project.resume(not_happened).result()
    assert "--redo-unrecorded" in halted.value.hint
    assert project.read()[0].status == "crashed"
    project.resume(not_happened, redo_unrecorded=True).result()
    assert sorted(project.done()) == sorted(["find-0", "charge", "find-1", "charge-1", "find-2", "charge"])


KEYS = """
import uuid

@agent_tt.tool(effect="write", idempotency_key="key")
def charge(order, key):
    did(key)
    breaks_off(f"charge-{order}") if order == 1 else None


def main(state=None):
    with agent_tt.record("keys", state=state or {}) as run:
        for n in range(3):
            with run.step("order"):
                charge(n, f"key-{n}")


if __name__ == "__main__":
    main()
"""


def test_a_write_with_an_idempotency_key_is_sent_again_with_the_same_key(project: Project):
    project.begin(KEYS.replace('f"key-{n}"', "str(uuid.uuid4())"))
    keys = project.done()
    project.resume().result()
    run, calls = project.read()
    assert run.status == "succeeded"
    assert [call.status for call in calls] == ["ok", "pending", "ok", "ok"]
    assert [call.args["key"] for call in calls] == [keys[0], keys[1], keys[1], project.done()[-1]]
    assert project.done()[:4] == [*keys, keys[1], "charge-1"]


def test_a_key_that_the_agent_makes_from_the_order_stays_as_it_is(project: Project):
    project.begin(KEYS)
    project.resume().result()
    project.check("key-0", "key-1", "key-1", "charge-1", "key-2")


STREAMED = """
@agent_tt.llm
def think(messages):
    did("think")
    yield "one "
    yield "two "
    if len(messages) == 2:
        breaks_off("three")
    yield "three"


def main(state=None):
    state = state or {"said": []}
    with agent_tt.record("streamed", state=state) as run:
        for n in range(1, 4):
            with run.step("think"):
                state["said"].append("".join(think([{}] * n)))


if __name__ == "__main__":
    main()
"""


def test_a_half_received_stream_is_asked_again_from_its_beginning(project: Project):
    project.begin(STREAMED)
    run = project.resume().result()
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert store.state(run.id, 3) == {"said": ["one two three"] * 3}
    project.check("think", "think", "think", "three", "think")


LANES = """
@agent_tt.tool(effect="write")
async def send(n):
    await asyncio.sleep(0.001 * (n % 3))
    if n == 5:
        await asyncio.sleep(0.05)
        breaks_off(f"sent-{n}")
    else:
        did(f"sent-{n}")
    return n


async def both(n):
    await send(n)
    if n == 6:
        await asyncio.sleep(1000 if not os.path.exists("broke off") else 0)
    await send(n + 100)


async def work():
    async with agent_tt.record("lanes") as run:
        async with run.step("send"):
            await asyncio.gather(*(both(n) for n in range(8)))


def main(state=None):
    asyncio.run(work())


if __name__ == "__main__":
    main()
"""


def test_each_lane_goes_on_where_it_was(project: Project):
    project.begin(LANES)
    before = project.done()
    assert 0 < len(before) < 16
    project.resume(not_happened).result()
    project.check(*(f"sent-{n}" for n in range(8)), *(f"sent-{n + 100}" for n in range(8)))


NESTED = """
@agent_tt.tool(effect="write")
def write(n):
    did(f"write-{n}")
    return n


@agent_tt.tool(effect="read")
def outer():
    total = write(1)
    breaks_off("broke")
    return total + write(2)


def main(state=None):
    state = state or {"total": 0}
    with agent_tt.record("nested", state=state) as run:
        with run.step("outer"):
            write(0)
            state["total"] = outer()
        with run.step("last"):
            write(3)


if __name__ == "__main__":
    main()
"""


def test_what_a_function_had_done_before_it_broke_off_is_not_done_again(project: Project):
    project.begin(NESTED)
    run = project.resume().result()
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert store.state(run.id, 2) == {"total": 3}
    project.check("write-0", "write-1", "broke", "write-2", "write-3")


CLEANS_UP = """
@agent_tt.tool(effect="write")
def charge(n):
    breaks_off(f"charge-{n}", "SIGINT") if n == 1 else did(f"charge-{n}")
    return n


@agent_tt.tool(effect="write")
def report(total):
    did("report")


def main(state=None):
    state = state or {"total": 0}
    with agent_tt.record("cleans-up", state=state) as run:
        with run.step("all"):
            try:
                for n in range(3):
                    with run.step("order"):
                        state["total"] += charge(n)
            finally:
                with run.step("report"):
                    report(state["total"])


if __name__ == "__main__":
    main()
"""


def test_an_interrupted_run_goes_on_before_what_it_did_because_of_that(project: Project):
    project.begin(CLEANS_UP, exit_code=-signal.SIGINT)
    run, _ = project.read()
    assert run.status == "interrupted"
    recorded = project.done()
    assert recorded == ["charge-0", "report"]
    run = project.resume(not_happened).result()
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert store.state(run.id, run.steps) == {"total": 3}
    project.check("charge-0", "report", "charge-1", "charge-2", "report")


INTERRUPTED = """
@agent_tt.tool(effect="read")
async def look(n):
    await asyncio.sleep(0)
    breaks_off(f"look-{n}", "SIGINT") if n == 1 else did(f"look-{n}")
    await asyncio.sleep(0)
    return n


async def work(state):
    async with agent_tt.record("looks", state=state) as run:
        for n in range(3):
            async with run.step("look"):
                state["total"] += await look(n)


def main(state=None):
    asyncio.run(work(state or {"total": 0}))


if __name__ == "__main__":
    main()
"""


def test_an_interrupted_async_run_goes_on(project: Project):
    project.begin(INTERRUPTED, exit_code=-signal.SIGINT)
    assert project.read()[0].status == "interrupted"
    project.resume().result()
    project.check("look-0", "look-1", "look-1", "look-2")


OUTSIDE = """
def charge(n):
    breaks_off(f"charge-{n}") if n == 1 else did(f"charge-{n}")
    return n


print("arguments", *sys.argv[1:])
total = sum(charge(n) for n in range(3))
did(f"total-{total}")
"""


def test_a_program_recorded_without_change_goes_on(project: Project):
    record = ("-m", "agent_tt_tui", "record", "--call", "agent.charge=write", "--", sys.executable, "agent.py", "a b")
    project.begin(OUTSIDE, *record, exit_code=128 + signal.SIGKILL)
    assert project.read()[0].status == "crashed"
    handle = project.resume(not_happened)
    handle.result()
    assert "arguments a b" in handle.output()
    run, calls = project.read()
    assert run.status == "succeeded"
    assert sorted(project.done()) == ["charge-0", "charge-1", "charge-2", "total-3"]
    assert [call.status for call in calls] == ["ok", "pending", "ok", "ok"]


def test_a_run_is_resumed_once_at_a_time(project: Project):
    project.begin(IN_FLIGHT)
    with closing(open_store(project.store_path)) as store:
        run = store.run("latest")
        store.reopen_run(run.id)
        assert store.run(run.id).status == "running"
        with pytest.raises(UsageError, match="it is running"):
            store.reopen_run(run.id)
        with pytest.raises(UsageError, match="is running: only a run that broke off"):
            project.resume(not_happened)


def test_stopped_before_it_came_to_the_break_it_can_be_resumed_again(project: Project):

    project.begin(IN_FLIGHT)
    project.write(
        IN_FLIGHT.replace("order = find(n)", "order = find(n)\n                if n: os.kill(os.getpid(), 2)")
    )
    with pytest.raises(Interrupted):
        project.resume(not_happened).result()
    assert project.read()[0].status == "interrupted"
    project.write(IN_FLIGHT)
    project.resume(not_happened).result()
    project.check("find-0", "charge", "find-1", "charge-1", "find-2", "charge")


def test_an_agent_that_cannot_be_found_leaves_the_run_as_it_was(project: Project):
    project.begin(IN_FLIGHT)
    (project.folder / "agent.py").rename(project.folder / "moved.py")
    handle = project.resume(not_happened)
    assert handle.poll() == InvalidEntryPoint.exit_code
    with pytest.raises(InvalidEntryPoint, match=r"there is no file agent\.py"):
        handle.result()
    assert project.read()[0].status == "crashed"


CLEANS_UP_ASYNC = """
@agent_tt.llm
async def think(n):
    await asyncio.sleep(0)
    did(f"think-{n}")
    return {"usage": {"input_tokens": 10, "output_tokens": 1}}


@agent_tt.tool(effect="write")
async def send(n):
    await asyncio.sleep(0)
    did(f"send-{n}")
    return n


@agent_tt.tool(effect="write")
async def close(n):
    await asyncio.sleep(0)
    did(f"close-{n}")


async def stopped_here():
    breaks_off("", "SIGINT")
    await asyncio.sleep(0)


async def in_a_row(run, state):
    try:
        for n in range(3):
            async with run.step("one"):
                await think(n)
                await stopped_here() if n == 1 else None
                state["sent"].append(await send(n))
    finally:
        async with run.step("clean up"):
            await close(len(state["sent"]))


async def at_once(run, state):
    async def one(n):
        try:
            await think(n)
            await stopped_here() if n == 1 else None
            await asyncio.sleep(0.001)
            state["sent"].append(await send(n))
        finally:
            await close(n)

    async with run.step("all"):
        await asyncio.gather(*(one(n) for n in range(3)))


async def work(state):
    async with agent_tt.record("cleans-up", state=state) as run:
        await WORK(run, state)


def main(state=None):
    asyncio.run(work(state or {"sent": []}))


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("work", "cleaned_up"), [("in_a_row", 1), ("at_once", 3)])
def test_an_async_run_goes_on_before_what_it_cleaned_up(project: Project, work: str, cleaned_up: int):
    project.begin(CLEANS_UP_ASYNC.replace("WORK", work), exit_code=-signal.SIGINT)
    before = project.done()
    assert project.read()[0].status == "interrupted"
    assert len([word for word in before if word.startswith("close")]) == cleaned_up
    run = project.resume().result()
    after = project.done()[len(before) :]
    closes = ["close-3"] if work == "in_a_row" else ["close-0", "close-1", "close-2"]
    assert sorted(word for word in after if word.startswith("close")) == closes
    rest = [word for word in before + after if not word.startswith("close")]
    assert sorted(rest) == [f"{what}-{n}" for what in ("send", "think") for n in range(3)]
    assert (run.tokens_in, run.tokens_out) == (30, 3)  # a step that is taken again counts once
    with closing(open_store(project.store_path, read_only=True)) as store:
        assert sorted(store.state(run.id, run.steps)["sent"]) == [0, 1, 2]
    project.check(*project.done())
