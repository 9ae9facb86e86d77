"""What adapters of tools that are methods are made of; and versions of frameworks that none of ours knows."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.replaying.recorded import record

from agent_tt.frameworks.adapters import ADAPTERS
from agent_tt.frameworks.tool_calls import ToolCall, calling
from agent_tt.model.facts import CallFacts
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.links import Link, Place, Reply
from agent_tt.recording.session import SESSION
from agent_tt.recording.steps.agent_names import acting_as, agent_here
from agent_tt.seams.install import Seams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.core.replaying.recorded import Recorded

    from agent_tt.model import Call

did: list[str] = []


class Model:
    """What a tool keeps its function in."""

    async def solve(self, order: str, amount: int) -> str:
        did.append(order)
        return f"charged {amount} for {order}"


class Tool:
    """A tool as frameworks have them."""

    name = "charge"

    def __init__(self) -> None:
        self.model = Model()
        self.calls = 0

    def function(self, order: str, amount: int) -> str:
        did.append(order)
        return f"charged {amount} for {order}"

    def run(self, *args: Any, **named: Any) -> str:
        self.calls += 1
        return f"<{self.function(*args, **named)}>"

    async def arun(self, **named: Any) -> str:
        return f"<{await self.model.solve(**named)}>"


def describe(tool: Tool, *args: Any, **named: Any) -> ToolCall:
    return ToolCall(tool.name, {**dict(zip(("order", "amount"), args, strict=False)), **named})


@pytest.fixture(autouse=True)
def _patched() -> Iterator[None]:
    did.clear()
    patches = (
        Patch(Tool, "run", calling("Hello", "function", describe)),
        Patch(Tool, "arun", calling("Hello", "model.solve", describe)),
    )
    for patch in patches:
        patch.apply()
    yield
    for patch in patches:
        patch.undo()


def only(recorded: Recorded) -> Call:
    ((call, *_),) = recorded.calls
    return call


def by_position() -> Any:
    tool = Tool()
    return tool.run("A-7", 30), tool.calls


def by_name() -> Any:
    tool = Tool()
    return tool.run("A-7", amount=30), tool.calls


def in_a_coroutine() -> Any:
    return asyncio.run(Tool().arun(order="A-7", amount=30)), 1


@pytest.mark.parametrize("agent", [by_position, by_name, in_a_coroutine])
def test_what_a_method_calls_in_its_middle_is_recorded_plain_and_replayed(agent: Any, tmp_path: Path):
    assert agent() == ("<charged 30 for A-7>", 1)
    recorded = record(tmp_path, agent)
    call = only(recorded)
    assert (call.name, call.args, call.result) == ("charge", {"order": "A-7", "amount": 30}, "charged 30 for A-7")
    assert did == ["A-7", "A-7"]
    result, replay = recorded.replay(agent)
    assert (replay.failure, result, did) == (None, ("<charged 30 for A-7>", 1), ["A-7", "A-7"])


class Answers(Link):
    """Answers every call as it was told."""

    place = Place.POLICY

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def answer_call(self, call: object, new: object) -> Reply:
        return self._reply


@pytest.mark.parametrize("agent", [by_position, by_name, in_a_coroutine])
def test_an_argument_that_a_person_changed_goes_to_the_function(agent: Any, tmp_path: Path):
    changed = {"order": "B-8", "amount": 30}
    reply = Reply(sent=((), changed), edited=changed, facts={CallFacts.args_asked.key: {"order": "A-7", "amount": 30}})
    with SESSION.joined(Answers(reply)):
        recorded = record(tmp_path, agent)
    assert (recorded.result[0], did) == ("<charged 30 for B-8>", ["B-8"])


class Actor:
    """An agent with a method of each kind, that tells who acts."""

    def __init__(self, name: object) -> None:
        self.name = name

    def plain(self) -> str | None:
        return agent_here()

    async def coroutine(self) -> str | None:
        await asyncio.sleep(0)
        return agent_here()

    def pieces(self) -> Iterator[str | None]:
        yield agent_here()
        yield agent_here()

    async def stream(self) -> AsyncIterator[str | None]:
        yield agent_here()
        await asyncio.sleep(0)
        yield agent_here()


def test_a_method_of_any_kind_acts_in_its_agents_name_and_nobody_else_does():
    patches = [Patch(Actor, name, acting_as("name")) for name in ("plain", "coroutine", "pieces", "stream")]
    for patch in patches:
        patch.apply()

    async def read(clerk: Actor) -> list[Any]:
        return [await clerk.coroutine(), *[(each, agent_here()) async for each in clerk.stream()]]

    try:
        clerk = Actor("clerk")
        assert (clerk.plain(), agent_here()) == ("clerk", None)
        assert [(each, agent_here()) for each in clerk.pieces()] == [("clerk", None)] * 2
        assert asyncio.run(read(clerk)) == ["clerk", ("clerk", None), ("clerk", None)]
        assert Actor(7).plain() is None, "what is no text is no name"
    finally:
        for patch in patches:
            patch.undo()


@pytest.mark.parametrize("name", sorted(ADAPTERS.declared()))
def test_a_version_that_is_made_otherwise_is_told_in_one_warning_at_most(name: str, caplog: pytest.LogCaptureFixture):
    seams = Seams()
    seams.acquire()
    try:
        seams.patch(name, ModuleType(name))
    finally:
        seams.release()
    assert len(caplog.records) <= 1
    assert all("cannot be recorded" in each.getMessage() for each in caplog.records)
