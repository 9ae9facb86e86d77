"""The interception chain: links stand in their order whenever they join, and decide what becomes of steps and calls."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import agent_tt
from agent_tt.errors import ToolDenied
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.intercepting.rules import read_rule
from agent_tt.model import Call
from agent_tt.recording.links import Chain, Link, Place, Reply
from agent_tt.recording.session import SESSION, Session

if TYPE_CHECKING:
    from fake_store import FakeStore

SENT: list[int] = []


@agent_tt.tool(effect="write")
def send(amount: int) -> int:
    SENT.append(amount)
    return amount


@agent_tt.tool(effect="write")
async def send_soon(amount: int) -> int:
    SENT.append(amount)
    return amount


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


class Told(Link):
    """Says which of its hooks were called."""

    place = Place.WATCH

    def __init__(self, name: str, said: list[str]) -> None:
        self.name = name
        self.said = said

    def before_step(self, recording: object) -> None:
        self.said.append(f"{self.name} before step")

    def after_step(self, step: object) -> None:
        self.said.append(f"{self.name} after step")

    def before_call(self, call: object, facts: object) -> None:
        self.said.append(f"{self.name} before call")


class ToldLater(Told):
    place = Place.POLICY


@dataclass(eq=False)
class Replies(Link):
    """Makes one reply to every call."""

    reply: Reply
    place = Place.RECORDED

    def answer_call(self, call: object, new: object) -> Reply:
        return self.reply


@dataclass
class Answer:
    """What answers a call at once."""

    call: Call

    def wait(self, index: int = 0) -> None:
        """It is there."""

    async def turn(self, index: int = 0) -> None:
        """It is there."""

    def value(self, recorded: object) -> object:
        return recorded


def answer(result: int) -> Any:
    return Answer(Call(step=1, number=1, kind="tool", name="send", status="ok", result=result))


# ---------------------------------------------------------------- the order


def test_links_stand_in_their_places_whichever_joins_first(store: FakeStore) -> None:
    said: list[str] = []
    outer, inner = Told("outer", said), ToldLater("inner", said)
    for links in ((outer, inner), (inner, outer)):
        said.clear()
        with SESSION.joined(*links), agent_tt.record("agent") as run, run.step("go"):
            send(1)
        befores = ["outer before step", "inner before step", "outer before call", "inner before call"]
        assert said == [*befores, "inner after step", "outer after step"]


def test_links_of_one_place_stand_as_they_joined_and_the_innermost_is_found() -> None:
    session, said = Session(), list[str]()
    first, second = Told("first", said), Told("second", said)
    session.join(first)
    session.join(second)
    assert session.chain.links == (first, second)
    assert session.link(Told) is second
    session.leave(second)
    assert session.link(Told) is first
    assert session.link(ToldLater) is None


def test_a_hook_that_a_link_leaves_alone_is_not_called() -> None:
    chain = Chain([Told("only", [])])
    assert len(chain.before_call) == len(chain.before_step) == len(chain.after_step) == 1
    assert chain.answer_call == chain.reach == chain.unrecorded_call == chain.run_ends == ()
    assert not chain.watches


def test_a_link_leaves_with_its_block_also_when_that_fails() -> None:
    with pytest.raises(ZeroDivisionError), SESSION.joined(Told("gone", [])):
        raise ZeroDivisionError
    assert SESSION.chain.links == ()


def test_who_walks_through_a_chain_does_not_see_it_change() -> None:
    session = Session()
    session.join(Told("first", []))
    seen = session.chain
    session.start()
    assert (len(seen.links), len(session.chain.links)) == (1, 0)


# ---------------------------------------------------------------- what a link decides


def test_a_link_that_no_recorder_knows_refuses_a_call_and_its_row_says_so(store: FakeStore) -> None:
    refusal = ToolDenied("not today", tool="send")
    replies = Replies(Reply(refusal=refusal))
    denied = pytest.raises(ToolDenied, match="not today")
    with agent_tt.record("agent") as run, run.step("go"), SESSION.joined(replies), denied:
        send(1)
    (call,) = store.only.calls
    assert (SENT, call.end.status, call.end.error.message) == ([], "denied", "not today")


def test_the_first_link_that_answers_is_the_last_that_is_asked(store: FakeStore) -> None:
    first, second = Replies(Reply(answer(7))), Replies(Reply(answer(8)))
    with SESSION.joined(first, second), agent_tt.record("agent") as run, run.step("go"):
        assert send(1) == 7
    assert SENT == []


def test_a_reply_that_decides_nothing_lets_the_call_go_on_with_what_it_says(store: FakeStore) -> None:
    changed = Replies(Reply(sent=((5,), {})))
    with SESSION.joined(changed), agent_tt.record("agent") as run, run.step("go"):
        assert send(1) == 5
    assert SENT == [5]


def test_a_coroutine_awaits_what_a_link_says_later_and_its_loop_goes_on(store: FakeStore) -> None:
    went_on = asyncio.Event()

    async def later() -> Reply:
        await went_on.wait()  # set by another task of the loop
        return Reply(answer(9))

    async def agent() -> int:
        call = asyncio.create_task(send_soon(1))
        await asyncio.sleep(0)
        went_on.set()
        return await call

    with SESSION.joined(Replies(Reply(later=later))), agent_tt.record("agent") as run, run.step("go"):
        assert asyncio.run(agent()) == 9
    assert SENT == []


def test_the_chain_holds_in_a_thread_whose_context_is_empty(store: FakeStore) -> None:
    met: list[type[BaseException]] = []

    def work() -> None:
        try:
            send(1)
        except ToolDenied as error:
            met.append(type(error))

    with SESSION.joined(PolicyEnforcement(ToolPolicy((("send", read_rule("deny")),)))):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert (met, SENT) == ([ToolDenied], [])


def test_the_example_of_a_link_lets_three_calls_go(store: FakeStore) -> None:
    shown = re.search(r"```python\n(.*?)```", inspect.getdoc(Link) or "", re.DOTALL)
    assert shown

    def run_agent() -> None:
        with agent_tt.record("run") as run, run.step("pay"):
            for amount in range(9):
                send(amount)

    names = {"Link": Link, "Place": Place, "SESSION": SESSION, "ToolDenied": ToolDenied, "run_agent": run_agent}
    with pytest.raises(ToolDenied, match="one call too many"):
        exec(compile(shown[1], "Link", "exec"), names)
    assert SENT == [0, 1, 2]
    assert len(store.only.calls) == 3
    assert not any(type(link).__name__ == "AtMost" for link in SESSION.chain.links)
