"""The public interface as its users call it. Checked by mypy, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, assert_type

import agent_tt
from agent_tt.codec.wire import Wire
from agent_tt.model import RunStatus
from agent_tt.replaying import given, in_order, served
from agent_tt.resuming import Happened


@agent_tt.tool(effect="read")
def search_docs(query: str, *, limit: int = 5) -> dict[str, int]:
    return {query: limit}


@agent_tt.tool
def undeclared(query: str) -> str:
    return query


@agent_tt.tool(effect="write", name="charge", once="charge-{key}", idempotency_key="key")
async def charge_card(amount: float, key: str) -> bool:
    return bool(amount and key)


@agent_tt.tool(effect="read")
def pages(start: int) -> Iterator[str]:
    yield str(start)


@agent_tt.llm(model="rules-1")
async def stream(prompt: str) -> AsyncIterator[str]:
    yield prompt


@agent_tt.llm
def policy(messages: list[str]) -> str:
    return messages[-1]


@dataclass
class Trip:
    city: str = "Lyon"

    @agent_tt.tool(effect="read")
    def weather(self, day: int) -> str:
        return f"{self.city} {day}"


def ask(prompt: str) -> int:
    return len(prompt)


async def ask_later(prompt: str) -> int:
    return len(prompt)


agent_tt.register("my_app.api.charge", effect="write")
agent_tt.register("my_app.llm.invoke", "llm")
agent_tt.register(ask, effect="read", name="question")

assert_type(search_docs("x", limit=3), dict[str, int])
assert_type(undeclared("x"), str)
charging: Coroutine[Any, Any, bool] = charge_card(1.0, "k")
assert_type(pages(1), Iterator[str])
assert_type(stream("x"), AsyncIterator[str])
assert_type(policy(["x"]), str)
assert_type(Trip().weather(1), str)
search_docs(1)  # type: ignore[arg-type]
agent_tt.tool(effect="delete")  # type: ignore[call-overload]
agent_tt.record()  # type: ignore[call-arg]
agent_tt.record("x", durability="none")  # type: ignore[arg-type]


def main(state: dict[str, list[str]] | None = None) -> None:
    state = state or {"messages": []}
    with agent_tt.record(
        "refund-loop", state=state, model={"model": "rules-1", "temperature": 0.0}, version="1", store=Path("runs.db")
    ) as run:
        assert_type(run.id, str)
        with run.step("plan", state, agent="web") as step:
            step.decision = "search first"
            step.add_usage(tokens_in=1, cost_usd=0.1)
            step.state = {"messages": []}
            assert_type(step.number, int)
            assert_type(run.llm(ask, "x", model="m"), int)
        run.note("odd")
        run.tag("a", "b")
        with agent_tt.lane(3):
            pass


def again() -> None:
    report = agent_tt.replay("refund-loop", store=Path("runs.db"), observe=True, arguments=["--fast"], timeout=10)
    assert_type(report.is_faithful, bool)
    assert_type(report.verdict, Literal["as_recorded", "reserved", "diverged"])
    assert_type([note.text for note in report.reservations], list[str])
    agent_tt.replay("refund-loop", agent="src/refunds.py:main")
    for divergence in report.divergences:
        assert_type(divergence.step, int | None)
        assert_type([change.path for change in divergence.changes], list[str])
    with served("refund-loop", from_step=2, whole=False) as replay:
        assert_type(replay.served, int)
    with given({"my_app.api.charge": {"id": 7}, "my_app.api.refund": in_order(1, OSError("no"))}):
        pass


def ask_the_past() -> None:
    found = agent_tt.blame("refund-loop", "answer", step="~1")
    assert_type(found.step, int)
    assert_type([link.step for link in found.trail.links], list[int])
    hits = agent_tt.find("not found", ["refund-loop", "latest"], fields=["result"], by="step", limit=5)
    assert_type([(hit.run, hit.step, hit.call) for hit in hits.hits], list[tuple[str, int, int | None]])
    assert_type((hits.total, hits.is_complete), tuple[int, bool])
    assert_type(agent_tt.find_steps("refund-loop", "error"), list[int])
    assert_type(found.to_json(), dict[str, Wire])
    assert_type([(write.step, write.path) for write in found.writes], list[tuple[int, str]])
    bisected = agent_tt.bisect("refund-loop", "error", live=True, changes={"a": 1}, most_forks=3)
    assert_type(bisected.first, int | None)
    assert_type([probe.holds for probe in bisected.probes], list[bool])
    assert_type(bisected.to_json(), dict[str, Wire])
    agent_tt.find_steps("refund-loop", 3)  # type: ignore[arg-type]


def what_differs() -> None:
    for change in agent_tt.diff("refund-loop@1", "other.db:refund-loop@~1", store=Path("runs.db")):
        assert_type(change.path, str)
        assert_type(change.old_path, str | None)
        assert_type(change.makes_a_difference, bool)
    found = agent_tt.diff("a@1", "a@2", ignore_order=True, ignore=["messages[*].id"], tolerance=0.01, ignore_type=True)
    assert_type(found.differ, bool)
    assert_type([one.path for one in found.ignored], list[str])
    assert_type(found.to_delta()["values_changed"], Wire)
    agent_tt.diff("refund-loop@1")  # type: ignore[call-arg]
    assert_type(agent_tt.compare("a", "b").diverged_at, int | None)


def go_on() -> None:
    handle = agent_tt.resume("refund-loop", in_flight=lambda call: Happened({"id": 7}) if call.args else None)
    assert_type(handle.result().status, RunStatus)


def vary() -> None:
    matrix = agent_tt.sweep("refund-loop", 1, {"temperature": [0, 0.5]}, samples=5, jobs=2, outcomes=["budget < 0"])
    assert_type(matrix.total.succeeded.interval, tuple[float, float])
    for cell in matrix.cells:
        assert_type(cell.labels, tuple[str, ...])


def compare_with_many() -> None:
    table = agent_tt.compare_many("refund-loop")
    assert_type(table.rows[0].diverged_at, int | None)
    assert_type(table.ordered("answer")[0].changed, tuple[str, ...])
    agent_tt.compare_many("refund-loop", ["other"], archived=True, store="runs.db")
    agent_tt.compare_many(1)  # type: ignore[arg-type]


async def async_main() -> None:
    async with agent_tt.record("x") as run, run.step("s") as step:
        assert_type(await run.llm(ask_later, "x"), int)
        assert_type(step.agent, str | None)


decorate: Callable[[Callable[[int], str]], Callable[[int], str]] = agent_tt.tool(effect="read")
error: type[Exception] = agent_tt.AgentTTError
version: str = agent_tt.__version__
