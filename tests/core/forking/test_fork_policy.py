"""What becomes of calls in a fork by the words of its policy: tools of every nature, model calls, requests."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx
import pytest
import requests
from tests.core.web_server import Web, serving

import agent_tt
import agent_tt.seams.install
from agent_tt.errors import ToolDenied, UsageError
from agent_tt.forking.policy.boundary import boundary_of
from agent_tt.forking.policy.policies import ToolPolicy, read_rule
from agent_tt.forking.policy.prepared import given_answer
from agent_tt.forking.policy.stand_ins import ParentStandIns
from agent_tt.forking.under_terms import links_of_run
from agent_tt.intercepting.policy_enforcement import NotRecorded
from agent_tt.model import NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.recording.calls.answers import Question
from agent_tt.recording.session import SESSION
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from agent_tt.model import Call, WayBackIn
    from agent_tt.protocols import Store

RAN: list[str] = []


@agent_tt.tool(effect="read")
def look(city: str, log: list[str] | None = None) -> dict[str, object]:
    RAN.append(f"look {city}")
    if log is not None:
        log.append(city)
    if city == "Atlantis":
        raise LookupError("no such city")
    return {"city": city, "price": len(city)}


@agent_tt.tool(effect="write")
async def book(city: str) -> str:
    RAN.append(f"book {city}")
    await asyncio.sleep(0)
    return f"booked {city}"


@agent_tt.tool(effect="read")
def pages(count: int) -> Iterator[str]:
    RAN.append(f"pages {count}")
    for number in range(count):
        yield f"page {number}"


@agent_tt.tool(effect="read")
async def news(count: int) -> AsyncIterator[str]:
    RAN.append(f"news {count}")
    for number in range(count):
        yield f"news {number}"


@agent_tt.llm(model="rules-1")
def answer(text: str) -> dict[str, object]:
    RAN.append(f"answer {text}")
    message = {"role": "assistant", "content": text.upper()}
    return {"message": message, "usage": {"tokens_in": 10, "tokens_out": 5, "cost_usd": 0.5}}


async def read_news(count: int) -> list[str]:
    return [item async for item in news(count)]


def everything(city: str = "Rome") -> list[object]:
    log: list[str] = []
    said = [look(city, log), asyncio.run(book(city)), list(pages(2)), asyncio.run(read_news(2))]
    return [*said, answer(city)["message"], log]


class Forks:
    """A store with one run, and forks of it in this process."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.db"
        self.store: Store = open_store(self.path, create=True)

    def record(self, agent: Callable[[], Any]) -> Any:
        with agent_tt.record("agent", state={}, store=self.path) as run:
            with run.step("before"):
                look("Bern")
            with run.step("work"):
                result = agent()
        self.run = self.store.run(run.id)
        RAN.clear()
        return result

    @contextmanager
    def fork(self, way: WayBackIn = "restore", **words: str) -> Iterator[None]:
        policy = ToolPolicy(tuple((name.replace("all_", "*"), read_rule(word)) for name, word in words.items()))
        self.fork_id = self.store.begin_fork(
            NewFork(self.run.id, 1, state={}, new=NewRun(name=""), policy=policy.to_mapping(), way_back_in=way)
        )
        fork = self.store.run(self.fork_id)
        SESSION.start(*links_of_run(self.store, self.store, fork, ToolPolicy.from_mapping(fork.policy)))
        try:
            with agent_tt.record("agent", state={}) as run, run.step("work"):
                yield
        finally:
            SESSION.start()

    def calls(self) -> list[Call]:
        return self.store.calls(self.fork_id, 2)


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[Forks]:
    made = Forks(tmp_path)
    yield made
    made.store.close()
    RAN.clear()


def test_everything_is_answered_as_it_was_recorded_and_costs_nothing(forks: Forks) -> None:
    first = forks.record(everything)
    with forks.fork(all_llm="recorded", all_read="recorded", all_write="recorded"):
        assert everything() == first
    assert RAN == []
    calls = forks.calls()
    assert [call.status for call in calls] == ["ok"] * 5
    assert calls[0].meta["policy"] == {
        "word": "recorded",
        "source": "you",
        "from": {"run": forks.run.id, "step": 2, "call": 1},
    }
    (step,) = forks.store.steps(forks.fork_id, 2)
    assert (step.tokens_in, step.tokens_out, step.cost_usd) == (None, None, None)
    assert "tokens_in" not in calls[4].meta


def test_each_recorded_answer_is_given_once_in_order_those_of_kept_steps_last(forks: Forks) -> None:
    numbers = iter(range(10))

    @agent_tt.tool(effect="read")
    def draw() -> int:
        return next(numbers)

    forks.record(lambda: [draw(), look("Bern"), draw()])
    with forks.fork(draw="recorded", look="recorded"):
        assert [draw(), look("Bern")["price"], draw(), look("Bern")["price"]] == [0, 4, 1, 4]
    calls = [call for call in forks.calls() if call.name == "look"]
    assert [call.meta["policy"]["from"]["step"] for call in calls] == [2, 1]  # type: ignore[index, call-overload]
    with pytest.raises(NotRecorded), forks.fork(way="replay", look="recorded"):
        [look("Bern") for _ in range(2)]
    with pytest.raises(NotRecorded, match="called it only 2 times"), forks.fork(draw="recorded"):
        [draw() for _ in range(3)]


def test_what_was_not_recorded_halts_and_names_the_nearest(forks: Forks) -> None:
    forks.record(lambda: [look("Rome"), look("Paris, France")])

    def agent() -> None:
        try:
            look("Paris, Texas")
        except Exception:
            pytest.fail("the halt was taken for an ordinary error")
        except BaseException:
            look("Rome")  # recorded, but it is too late

    with pytest.raises(NotRecorded) as halted, forks.fork(look="recorded"):
        agent()
    assert "look(city=" in halted.value.message
    assert "Paris, Texas" in halted.value.message
    assert "nearest is step 2" in halted.value.message
    assert "Paris, France" in halted.value.message.partition("nearest")[2]
    assert RAN == []
    fork = forks.store.run(forks.fork_id)
    assert (fork.status, forks.calls()[0].status) == ("failed", "denied")
    assert fork.error is not None
    assert "nearest is step 2" in fork.error.message


def test_what_was_asked_less_often_is_not_said_to_have_not_been_asked(forks: Forks) -> None:
    forks.record(lambda: [look("Rome"), look("Oslo")])
    with pytest.raises(NotRecorded, match="agent asked that only once; nearest is step 2"), forks.fork(look="recorded"):
        [look("Rome") for _ in range(2)]
    with pytest.raises(NotRecorded, match="agent did not ask that; nearest"), forks.fork(look="recorded"):
        look("Lima")


def test_a_call_that_got_no_answer_is_not_said_to_have_never_been_made(forks: Forks) -> None:
    forks.record(lambda: None)
    with pytest.raises(NotRecorded, match="agent never called it after the fork's step"), forks.fork(book="recorded"):
        asyncio.run(book("Rome"))
    writer = forks.store.begin_run(NewRun(name="broken"), {})
    for name in ("before", "work"):
        number = writer.open_step(NewStep(name))
        if name == "work":
            writer.begin_call(number, NewCall("tool", "book", {"city": "Rome"}, "ab" * 16, effect="write"))
        writer.close_step(number, StepEnd("interrupted"), {})
    writer.finish("interrupted")
    forks.run = forks.store.run("broken")
    with pytest.raises(NotRecorded, match="broken got no answer of it"), forks.fork(book="recorded"):
        asyncio.run(book("Rome"))


def test_what_the_original_was_denied_is_said_to_have_no_answer(forks: Forks) -> None:
    forks.record(lambda: look("Rome"))
    with forks.fork(look="deny"), suppress(ToolDenied):
        look("Rome")
    forks.run = forks.store.run(forks.fork_id)
    with pytest.raises(NotRecorded, match="agent/fork-1 was not let call it either"), forks.fork(look="recorded"):
        look("Rome")


def test_a_run_whose_agent_swallowed_the_halt_has_failed(forks: Forks) -> None:
    forks.record(lambda: look("Rome"))
    with forks.fork(look="recorded"), suppress(BaseException):
        look("Oslo")
    assert forks.store.run(forks.fork_id).status == "failed"


def test_a_fork_that_goes_on_is_not_given_an_answer_again(forks: Forks) -> None:
    forks.record(lambda: [look("Rome"), look("Rome")])
    with forks.fork(look="recorded"):
        look("Rome")
    question = replace(question_of_call(forks.calls()[0]), step=None)
    stand_ins = ParentStandIns(forks.store, forks.store.run(forks.fork_id))
    found = stand_ins.recorded(question)
    assert found is not None
    assert found[1]["call"] == 2
    assert stand_ins.recorded(question) is None


def test_a_function_that_asks_a_model_is_asked_about_once(forks: Forks, shop: Web) -> None:
    @agent_tt.llm
    def think() -> object:
        request = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        return httpx.post(f"{shop.url}/v1/chat/completions", json=request).json()

    forks.record(think)
    with forks.fork(think="live", all_llm="deny"):
        think()
    assert [(call.kind, call.status) for call in forks.calls()] == [("llm", "ok"), ("llm", "ok")]
    rows = boundary_of(forks.store, forks.store.run(forks.run.id), after=1, policy=ToolPolicy())
    assert [row.is_inside for row in rows if row.kind == "llm"] == [False, True]


def question_of_call(call: Call) -> Question:
    return Question(call.kind, call.name, call.args, call.signature or "", call.effect, call.lane, call.lane_seq)


def test_a_recorded_error_and_what_was_done_to_arguments_come_again(forks: Forks) -> None:
    def agent() -> tuple[str, list[str]]:
        log: list[str] = []
        with pytest.raises(LookupError) as raised:
            look("Atlantis", log)
        return str(raised.value), log

    first = forks.record(agent)
    with forks.fork(look="recorded"):
        assert agent() == first
    assert RAN == []


@agent_tt.tool(effect="read")
async def slow(seconds: float) -> float:
    RAN.append(f"slow {seconds}")
    await asyncio.sleep(seconds)
    return seconds


def test_a_recorded_call_that_was_given_up_is_given_up_again_by_who_asked(
    forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def patient(seconds: float) -> str:
        try:
            await asyncio.wait_for(slow(60), seconds)
        except TimeoutError:
            return "given up"
        return "answered"

    assert forks.record(lambda: asyncio.run(patient(0.02))) == "given up"
    with forks.fork(slow="recorded"):
        assert asyncio.run(patient(0.02)) == "given up"
    monkeypatch.setattr("agent_tt.forking.policy.prepared._PATIENCE_SECONDS", 0.1)
    with pytest.raises(NotRecorded, match="given up before it answered"), forks.fork(slow="recorded"):
        asyncio.run(patient(60))
    assert RAN == []


@agent_tt.tool(effect="read")
async def feed() -> AsyncIterator[int]:
    RAN.append("feed")
    yield 1
    yield 2
    await asyncio.sleep(60)


def test_a_recorded_stream_that_was_given_up_is_given_up_again_where_it_was(forks: Forks) -> None:
    async def listens() -> list[int]:
        heard: list[int] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                async for item in feed():
                    heard.append(item)  # noqa: PERF401  what came before the timeout counts
        return heard

    assert forks.record(lambda: asyncio.run(listens())) == [1, 2]
    with forks.fork(feed="recorded"):
        assert asyncio.run(listens()) == [1, 2]
    assert RAN == []


def test_stubs_give_values_and_errors_to_tools_of_every_nature(forks: Forks) -> None:
    forks.record(everything)
    words = {
        "look": 'stub:{"city": "Oslo", "price": {"$type": "Decimal", "$v": "1.50"}}',
        "book": 'stub:"no room"',
        "pages": 'stub:["one"]',
        "news": 'stub:{"yielded": ["a", "b"], "returned": null}',
        "answer": 'stub:"NO"',
    }
    with forks.fork(**words):
        said = everything("Oslo")
    assert RAN == []
    assert str(said[0]["price"]) == "1.50"  # type: ignore[index]
    assert said[1:4] == ["no room", ["one"], ["a", "b"]]
    assert said[4] == {"role": "assistant", "content": "NO"}
    (step,) = forks.store.steps(forks.fork_id, 2)
    assert (step.tokens_in, step.cost_usd) == (None, None)
    with forks.fork(look="error:LookupError: gone", pages="error:OSError: gone", book="error:TimeoutError: late"):
        with pytest.raises(LookupError, match="gone"):
            look("Rome")
        with pytest.raises(OSError, match="gone"):
            list(pages(2))
        with pytest.raises(TimeoutError, match="late"):
            asyncio.run(book("Rome"))
    assert [call.status for call in forks.calls()] == ["error"] * 3
    assert RAN == []


def test_a_model_is_denied_and_a_tool_inside_an_allowed_one_is_not_free(forks: Forks) -> None:
    @agent_tt.tool(effect="write")
    def outer() -> str:
        return asyncio.run(book("Rome"))

    forks.record(outer)
    with forks.fork(outer="live", all_llm="deny"):
        with pytest.raises(ToolDenied, match="book was not run"):
            outer()
        with pytest.raises(ToolDenied, match="answer was not run"):
            answer("hello")
    assert RAN == []


def test_an_mcp_tool_is_stubbed_with_a_text_or_a_result() -> None:
    args: Any = {"server": ["s"], "method": "tools/call", "params": {"name": "add", "arguments": {}}}
    question = Question("tool", "add", args, "", "write", "main", 0)
    text = {"content": [{"type": "text", "text": "3"}], "isError": False}
    assert given_answer(question, "3", None).call.result == {"result": text}
    assert given_answer(question, text, None).call.result == {"result": text}
    with pytest.raises(UsageError, match="cannot be given an answer"):
        given_answer(replace(question, kind="subprocess"), "3", None)


# ---------------------------------------------------------------- requests


@pytest.fixture
def shop() -> Iterator[Web]:
    """Gives back what it was sent."""
    with serving(lambda _path, sent: sent, status=201) as server:
        yield server


async def by_aiohttp(url: str, amount: int) -> tuple[int, object]:
    async with aiohttp.ClientSession() as session, session.post(url, json={"amount": amount}) as response:
        return response.status, await response.json()


async def by_async_httpx(url: str, amount: int) -> tuple[int, object]:
    async with httpx.AsyncClient() as client:
        response = await client.post(url, json={"amount": amount})
        return response.status_code, response.json()


def by_every_client(url: str, amount: int = 5) -> list[tuple[int, object]]:
    bodies: dict[str, Any] = {"json": {"amount": amount}}
    answers = [httpx.post(f"{url}/httpx", **bodies), requests.post(f"{url}/requests", **bodies)]
    said = [(each.status_code, each.json()) for each in answers]
    said.append(asyncio.run(by_aiohttp(f"{url}/aiohttp", amount)))
    return [*said, asyncio.run(by_async_httpx(f"{url}/async", amount))]


def test_requests_of_every_client_are_answered_as_recorded_or_stubbed(forks: Forks, shop: Web) -> None:
    first = forks.record(lambda: by_every_client(shop.url))
    assert first == [(201, {"amount": 5})] * 4
    shop.forget()
    with forks.fork(all_http="recorded"):
        assert by_every_client(shop.url) == first
    with forks.fork(all_http='stub:{"status": 402, "body": {"paid": false}}'):
        assert by_every_client(shop.url, 7) == [(402, {"paid": False})] * 4
    with forks.fork(all_http='stub:{"paid": true}'):
        assert by_every_client(shop.url, 7) == [(200, {"paid": True})] * 4
    with forks.fork(all_http="error:ConnectionResetError: gone"), pytest.raises(ConnectionResetError, match="gone"):
        httpx.get(shop.url)
    assert shop.asked == []


def test_vectors_are_asked_for_as_models_are_and_what_only_looks_like_it_is_denied(forks: Forks, shop: Web) -> None:
    def agent() -> None:
        requests.post(f"{shop.url}/v1/embeddings", json={"model": "m", "input": "hi"})
        with suppress(ToolDenied):
            requests.post(f"{shop.url}/embeddings", json={"vector": [1]})

    forks.record(agent)
    shop.forget()
    with forks.fork():
        agent()
    assert shop.asked == ["POST /v1/embeddings"]
    assert [(call.effect, call.status) for call in forks.calls()] == [("read", "ok"), (None, "denied")]


def test_a_providers_answer_is_stubbed_with_words_or_calls_of_tools(forks: Forks, shop: Web) -> None:
    def ask() -> dict[str, Any]:
        request = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        message = httpx.post(f"{shop.url}/v1/chat/completions", json=request).json()["choices"][0]["message"]
        assert isinstance(message, dict)
        return message

    forks.record(lambda: None)
    with forks.fork(m='stub:"Hello."'):
        assert ask()["content"] == "Hello."
    with forks.fork(all_llm='stub:[{"name": "pay", "arguments": {"amount": 5}}]'):
        (call,) = ask()["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("pay", {"amount": 5})
    assert shop.asked == []
