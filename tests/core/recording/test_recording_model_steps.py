"""Steps of runs whose agents name none."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

import agent_tt
from agent_tt.history.digest import digest
from agent_tt.model.facts import StepFacts
from agent_tt.recording.calls.exchange import Asked, begin_exchange
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import Store

URL = "http://127.0.0.1/v1/chat/completions"


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def begin(*messages: object) -> RecordedCall:
    args = {"method": "POST", "url": URL, "headers": {}, "body": {"model": "gpt-4o", "messages": list(messages)}}
    asked = Asked("llm", f"POST {URL}", args, digest(args).hex(), model="gpt-4o")
    call = begin_exchange(asked)
    assert isinstance(call, RecordedCall)
    return call


def end(call: RecordedCall, said: dict[str, object] | str, status: int = 200) -> dict[str, object]:
    message = {"role": "assistant", "content": said} if isinstance(said, str) else said
    body = {"model": "gpt-4o", "choices": [{"message": message, "finish_reason": "stop"}]}
    if status != 200:
        body = {"error": {"message": said}}
    headers = {"content-type": "application/json"}
    call.gave({"status": status})
    call.stream_ended("end", {"status": status, "headers": headers, "body": body})
    return message


def ask(*messages: object, said: str = "yes") -> dict[str, object]:
    return end(begin(*messages), said)


@agent_tt.tool(effect="read")
def look(what: str) -> str:
    return f"saw {what}"


class Runs:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: Store = open_store(path, create=True)
        self.id = ""

    @contextmanager
    def record(self, **options: object):
        with agent_tt.record("agent", store=self.path, steps="model calls", **options) as run:
            self.id = run.id
            yield run

    def outline(self) -> list[str]:
        """One line for each step: number, name, status, its calls, and what its state says last."""
        lines = []
        for step in self.store.steps(self.id):
            calls = " ".join(call.name.rpartition("/")[2] for call in self.store.calls(self.id, step.number))
            lines.append(f"{step.number} {step.name} {step.status}: {calls}")
        return lines

    def state(self, step: int) -> object:
        return self.store.state(self.id, step)

    def steps(self):
        return self.store.steps(self.id)


@pytest.fixture
def runs(tmp_path: Path):
    made = Runs(tmp_path / "runs.db")
    with closing(made.store):
        yield made


def test_each_model_call_opens_a_step_and_tools_belong_to_the_one_that_asked(runs: Runs) -> None:
    with runs.record():
        look("the room")
        messages = [user("hi")]
        messages.append(ask(*messages, said="look there"))
        look("there")
        look("and there")
        messages.append(user("well?"))
        messages.append(ask(*messages, said="done"))
    assert runs.outline() == [
        "1 start ok: look",
        "2 gpt-4o ok: completions look look",
        "3 gpt-4o ok: completions",
    ]
    assert runs.state(2) == {"messages": messages[:2]}
    assert runs.state(3) == {"messages": messages}
    assert [step.decision for step in runs.steps()] == [None, "look there", "done"]


def test_the_state_of_a_step_holds_what_was_sent_even_where_there_was_no_answer(runs: Runs) -> None:
    def fail() -> None:
        error = ConnectionError("gone")
        begin(user("hi")).failed(error)
        raise error

    with pytest.raises(ConnectionError), runs.record():
        fail()
    assert runs.outline() == ["1 gpt-4o error: completions"]
    assert runs.state(1) == {"messages": [user("hi")]}
    assert runs.steps()[0].error.short == "ConnectionError: gone"


def test_a_failed_call_and_its_retries_are_one_step(runs: Runs) -> None:
    with runs.record():
        end(begin(user("hi")), "Slow down", status=429)
        begin(user("hi")).failed(TimeoutError("slow"))
        ask(user("hi"), said="hello")
        ask(user("hi"), said="hello")  # asked again after an answer: that is another move
        end(begin(user("bad")), "No such model", status=404)
    assert runs.outline() == [
        "1 gpt-4o ok: completions completions completions",
        "2 gpt-4o ok: completions",
        "3 gpt-4o error: completions",
    ]
    assert runs.state(1) == {"messages": [user("hi"), {"role": "assistant", "content": "hello"}]}
    assert runs.steps()[2].error.message == "404 No such model"


def test_an_exception_that_leaves_the_run_ends_its_last_step(runs: Runs) -> None:
    def fail() -> None:
        ask(user("hi"))
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"), runs.record():
        fail()
    assert [step.status for step in runs.steps()] == ["error"]


def test_steps_are_numbered_by_start_over_all_lanes(runs: Runs) -> None:
    async def worker(name: str, before: asyncio.Event | None, ready: asyncio.Event) -> None:
        if before is not None:
            await before.wait()
        call = begin(user(name))
        ready.set()
        await asyncio.sleep(0)
        end(call, f"to {name}")
        look(name)

    async def main() -> None:
        events = [asyncio.Event() for _ in range(3)]
        await asyncio.gather(*(worker(f"w{n}", events[n - 1] if n else None, events[n]) for n in range(3)))
        look("everything")

    with runs.record():
        asyncio.run(main())
    assert runs.outline() == [
        "1 gpt-4o ok: completions look",
        "2 gpt-4o ok: completions look",
        "3 gpt-4o ok: completions look look",
    ]
    assert [runs.state(step.number)["messages"][1]["content"] for step in runs.steps()] == ["to w0", "to w1", "to w2"]
    assert [step.lane.rpartition("/")[2][-8:] for step in runs.steps()] == ["worker.0", "worker.1", "worker.2"]


@pytest.mark.parametrize("how", ["asyncio.run", "executor", "thread"])
def test_a_call_made_in_a_lane_of_its_own_goes_on_in_the_lane_around_it(runs: Runs, how: str) -> None:
    def elsewhere(*messages: object) -> dict[str, object]:
        if how == "asyncio.run":

            async def call() -> dict[str, object]:
                return ask(*messages)

            return asyncio.run(call())
        if how == "executor":
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(ask, *messages).result()
        found: list[dict[str, object]] = []
        thread = threading.Thread(target=lambda: found.append(ask(*messages)))
        thread.start()
        thread.join()
        return found[0]

    with runs.record():
        messages = [user("hi")]
        for _ in range(3):
            messages.append(elsewhere(*messages))
            look("there")
            messages.append(user("more"))
    assert runs.outline() == [f"{k} gpt-4o ok: completions look" for k in (1, 2, 3)]
    assert [step.track for step in runs.steps()] == ["main"] * 3
    assert not any(set(step.extra) - {StepFacts.unpriced.key} for step in runs.steps())


def test_a_named_lane_ends_with_its_block(runs: Runs) -> None:
    with runs.record():
        for item in ("a", "b"):
            with agent_tt.lane(item):
                ask(user(item))
                look(item)
            look("after it")
    assert runs.outline() == [f"{k} gpt-4o ok: completions look look" for k in (1, 2)]
    assert [step.lane for step in runs.steps()] == ["main/@a", "main/@b"]


def test_a_task_started_by_a_step_belongs_to_it(runs: Runs) -> None:
    async def tool_task(name: str) -> None:
        look(name)

    async def main() -> None:
        ask(user("hi"))
        await asyncio.gather(tool_task("a"), tool_task("b"))
        ask(user("hi"), {"role": "assistant", "content": "yes"}, user("more"))

    with runs.record():
        asyncio.run(main())
    assert runs.outline() == ["1 gpt-4o ok: completions look look", "2 gpt-4o ok: completions"]


def test_an_agent_inside_a_tool_has_steps_of_its_own_inside_that_of_the_tool(runs: Runs) -> None:
    @agent_tt.tool(effect="read")
    def research(topic: str) -> str:
        ask({"role": "system", "content": "You research."}, user(topic), said="found")
        look("library")
        return "found"

    with runs.record():
        ask(user("hi"))
        research("x")
        look("desk")
        ask(user("hi"), {"role": "assistant", "content": "yes"}, user("thanks"))
    assert runs.outline() == [
        "1 gpt-4o ok: completions research look",
        "2 gpt-4o ok: completions look",
        "3 gpt-4o ok: completions",
    ]
    assert [step.parent for step in runs.steps()] == [None, 1, None]
    assert [step.track for step in runs.steps()] == ["main", "conversation 2", "main"]


def test_a_function_that_asks_a_model_is_one_step_with_what_it_sends(runs: Runs) -> None:
    @agent_tt.llm(model="gpt-4o")
    def invoke(prompt: str) -> dict[str, object]:
        return {"text": ask(user(prompt), said="hello")["content"], "usage": {"tokens_in": 3, "tokens_out": 2}}

    with runs.record():
        invoke("hi")
        look("there")
    assert runs.outline() == ["1 gpt-4o ok: invoke completions look"]
    assert runs.state(1) == {"messages": [user("hi"), {"role": "assistant", "content": "hello"}]}
    assert (runs.steps()[0].tokens_in, runs.steps()[0].tokens_out) == (3, 2)


def test_a_function_without_a_provider_shows_its_arguments_and_its_answer(runs: Runs) -> None:
    @agent_tt.llm
    def rules(question: str, temperature: float = 0.0) -> str:
        return f"no {question}"

    @agent_tt.llm
    def chat(messages: list[object]) -> str:
        return "hello"

    with runs.record():
        rules("way")
        chat([user("hi")])
    assert runs.state(1) == {"question": "way", "temperature": 0.0, "answer": "no way"}
    assert runs.state(2) == {"messages": [user("hi"), {"role": "assistant", "content": "hello"}]}
    assert [step.decision for step in runs.steps()] == ["no way", "hello"]


def test_steps_that_the_agent_names_hold_their_calls(runs: Runs) -> None:
    with runs.record() as run:
        ask(user("hi"))
        with run.step("plan", {"plan": 1}):
            ask(user("plan"))
            look("there")
        look("after")
    assert runs.outline() == ["1 gpt-4o ok: completions look", "2 plan ok: completions look"]
    assert runs.state(2) == {"plan": 1}


def test_conversations_beside_each_other_have_histories_of_their_own(runs: Runs) -> None:
    planner = [{"role": "system", "content": "You plan."}, user("go")]
    writer = [{"role": "system", "content": "You write."}, user("go")]
    with runs.record():
        for _ in range(3):
            planner += [ask(*planner), user("next")]
            writer += [ask(*writer), user("next")]
    assert [step.track for step in runs.steps()] == ["main", "conversation 2"] * 3
    assert runs.state(6) == {"messages": writer[:-1]}
    assert runs.store.base_step(runs.id, 6) == 4


def test_many_questions_one_after_another_share_one_history(runs: Runs) -> None:
    with runs.record():
        for number in range(20):
            ask(user(f"question {number}"))
    assert {step.track for step in runs.steps()} == {"main"}


def test_the_answer_of_a_stream_is_put_together(runs: Runs) -> None:
    chunks = [{"choices": [{"delta": {"role": "assistant", "content": part}}]} for part in ("he", "llo")]
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    with runs.record():
        call = begin(user("hi"))
        call.stream_ended("closed", {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": text})
    assert runs.state(1) == {"messages": [user("hi"), {"role": "assistant", "content": "hello"}]}
