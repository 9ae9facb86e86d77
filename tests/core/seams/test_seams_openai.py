"""The real OpenAI SDK: what it gave while it was recorded, it gives again with nobody to ask."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from tests.core.seams.runs import recorded, replayed

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.seams.loopback import Loopback
    from tests.core.seams.runs import Kept

    Twice = Callable[[Callable[[], Any]], Kept]

TOOLS: Any = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object", "properties": {}}}}]
ASKED: Any = [{"role": "user", "content": "héllo"}]


def client(server: Loopback, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url + "/v1", api_key="secret-key", **options)


def async_client(server: Loopback, **options: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="secret-key", **options)


def answered(messages: list[Any], completion: Any) -> bool:
    """Add the model's message and its tools' results; whether it asked for none."""
    said = completion.choices[0].message
    messages.append(said.model_dump(exclude_none=True))
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": f"found {call.function.arguments}"}
        for call in said.tool_calls or ()
    ]
    return not said.tool_calls


def test_a_tool_loop(server: Loopback, twice: Twice):
    def agent() -> Any:
        dumps, messages = [], list(ASKED)
        with client(server) as asking:
            while True:
                completion = asking.chat.completions.create(model="m", messages=messages, tools=TOOLS)
                dumps.append(completion.model_dump())
                if answered(messages, completion):
                    return dumps

    kept = twice(agent)
    assert len(kept.calls) == 3
    call, pieces = kept.calls[0]
    assert call.name == f"POST {server.url}/v1/chat/completions"
    assert (call.kind, call.meta["model"]) == ("llm", "m")
    assert (call.meta["tokens_in"], call.meta["tokens_out"], call.meta["finish_reason"]) == (12, 7, "tool_calls")
    assert (kept.steps[0].tokens_in, kept.steps[0].tokens_out) == (12, 7)
    assert call.args["body"]["messages"] == ASKED
    assert call.result["status"] == 200
    assert call.result["body"]["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "lookup"
    assert pieces[0].data["status"] == 200
    assert [piece.kind for piece in pieces][-1] == "end"
    assert "secret-key" not in str(kept.calls)


async def loop_of(server: Loopback) -> Any:
    dumps, messages = [], list(ASKED)
    async with async_client(server) as asking:
        while True:
            completion = await asking.chat.completions.create(model="m", messages=messages, tools=TOOLS)
            dumps.append(completion.model_dump())
            if answered(messages, completion):
                return dumps


def test_an_async_tool_loop(server: Loopback, twice: Twice):
    async def agent() -> Any:
        return await loop_of(server)

    assert len(twice(agent).calls) == 3


def test_async_tool_loops_beside_each_other_with_equal_questions(server: Loopback, twice: Twice):
    async def agent() -> Any:
        return await asyncio.gather(*[loop_of(server) for _ in range(5)])

    assert len(twice(agent).calls) == 15


def test_the_responses_api(server: Loopback, twice: Twice):
    def agent() -> Any:
        with client(server) as asking:
            tools: Any = [{"type": "function", "name": "lookup", "parameters": {}, "strict": True}]
            first = asking.responses.create(model="m", input=[{"role": "user", "content": "x"}], tools=tools)
            call: Any = first.output[-1]
            second = asking.responses.create(
                model="m",
                tools=tools,
                input=[
                    {"role": "user", "content": "x"},
                    call.model_dump(),
                    {"type": "function_call_output", "call_id": call.call_id, "output": "42"},
                ],
            )
            with asking.responses.create(model="m", input="s", stream=True) as stream:
                events = [event.model_dump() for event in stream]
            return [first.model_dump(), second.model_dump(), events]

    assert len(twice(agent).calls) == 3


def test_a_stream(server: Loopback, twice: Twice):
    def agent() -> Any:
        with client(server) as asking:
            return [
                piece.model_dump() for piece in asking.chat.completions.create(model="m", messages=ASKED, stream=True)
            ]

    ((call, pieces),) = twice(agent).calls
    assert len(pieces) >= 8  # head, seven pieces, end
    assert "wörd" in call.result["body"]


def test_an_async_stream(server: Loopback, twice: Twice):
    async def agent() -> Any:
        async with async_client(server) as asking:
            stream = await asking.chat.completions.create(model="m", messages=ASKED, stream=True)
            return [piece.model_dump() async for piece in stream]

    twice(agent)


def test_a_stream_is_handed_out_while_it_arrives(server: Loopback, tmp_path: Path):
    server.taken = threading.Semaphore(0)

    def agent() -> Any:
        with client(server) as asking:
            first = True
            for _ in asking.chat.completions.create(model="m", messages=ASKED, stream=True):
                if first:
                    seen_before_the_rest.append(True)
                    first = False
                server.taken.release()  # only now may the next piece leave the server

    seen_before_the_rest: list[bool] = []
    recorded(agent, tmp_path / "runs.db")
    assert seen_before_the_rest


@pytest.mark.parametrize("pieces_wanted", [0, 1, 3])
def test_a_consumer_that_stops_early(server: Loopback, twice: Twice, pieces_wanted: int):
    def agent() -> Any:
        taken = []
        with client(server) as asking:
            with asking.chat.completions.create(model="m", messages=ASKED, stream=True) as stream:
                for index, piece in enumerate(stream):
                    if index == pieces_wanted:
                        break
                    taken.append(piece.model_dump())
            taken.append(asking.chat.completions.create(model="m", messages=ASKED).model_dump())
        return taken

    kept = twice(agent)
    assert [pieces[-1].kind for _, pieces in kept.calls] == ["closed", "end"]


def test_an_async_consumer_that_stops_early(server: Loopback, twice: Twice):
    async def agent() -> Any:
        taken = []
        async with (
            async_client(server) as asking,
            await asking.chat.completions.create(model="m", messages=ASKED, stream=True) as stream,
        ):
            async for piece in stream:
                taken.append(piece.model_dump())
                if len(taken) == 2:
                    break
        return taken

    kept = twice(agent)
    assert kept.calls[0][1][-1].kind == "closed"


def test_reading_further_than_was_recorded_is_refused(server: Loopback, tmp_path: Path):
    def agent(wanted: int) -> Any:
        with client(server) as asking, asking.chat.completions.create(model="m", messages=ASKED, stream=True) as stream:
            return [next(stream).model_dump() for _ in range(wanted)]

    _, kept = recorded(lambda: agent(2), tmp_path / "runs.db")
    with pytest.raises(Divergence, match="stopped reading here"):
        replayed(lambda: agent(6), kept)


def test_a_connection_that_breaks_in_mid_stream(server: Loopback, twice: Twice):
    def agent() -> Any:
        taken: list[Any] = []
        with client(server, default_headers={"x-probe": "drop"}) as asking:
            try:
                for piece in asking.chat.completions.create(model="m", messages=ASKED, stream=True):
                    taken.append(piece.model_dump())  # noqa: PERF401  what came before the error counts
            except Exception as error:
                taken.append(chain(error))
        return taken

    ((call, pieces),) = twice(agent).calls
    assert pieces[-1].kind == "error"
    assert call.error.class_name == "httpx2:RemoteProtocolError"


def chain(error: BaseException | None) -> list[Any]:
    """An exception and what caused it."""
    found = []
    while error is not None:
        found.append((type(error), str(error)))
        error = error.__cause__
    return found


def test_retries_after_429_take_the_same_number_of_tries(server: Loopback, twice: Twice):
    def agent() -> Any:
        with client(server, default_headers={"x-probe": "429"}) as asking:
            raw = asking.chat.completions.with_raw_response.create(model="m", messages=ASKED)
            return raw.retries_taken, raw.parse().model_dump(), dict(raw.headers)

    kept = twice(agent)
    assert [call.result["status"] for call, _ in kept.calls] == [429, 429, 200]


def test_a_refusal_is_parsed_again_by_the_sdk(server: Loopback, twice: Twice):
    def agent() -> Any:
        with (
            client(server, default_headers={"x-probe": "400"}) as asking,
            pytest.raises(openai.BadRequestError) as info,
        ):
            asking.chat.completions.create(model="m", messages=ASKED)
        error = info.value
        return str(error), error.status_code, error.body, error.code, error.param, error.request_id

    twice(agent)


def test_a_timeout_is_the_same_timeout_at_once(server: Loopback, twice: Twice):
    limits = httpx2.Timeout(20, read=0.05)

    def agent() -> Any:
        asking = client(server, default_headers={"x-probe": "hang"}, timeout=limits, max_retries=0)
        with asking, pytest.raises(openai.APITimeoutError) as info:
            asking.chat.completions.create(model="m", messages=ASKED)
        return chain(info.value)

    ((call, pieces),) = twice(agent).calls
    assert (call.error.class_name, pieces) == ("httpx2:ReadTimeout", [])


def test_nobody_there(server: Loopback, twice: Twice):
    server.stop()

    def agent() -> Any:
        with client(server, max_retries=0) as asking, pytest.raises(openai.APIConnectionError) as info:
            asking.chat.completions.create(model="m", messages=ASKED)
        return chain(info.value)

    ((call, _),) = twice(agent).calls
    assert call.status == "error"


def test_a_call_cancelled_by_the_agent_is_cancelled_again(server: Loopback, twice: Twice):
    async def agent() -> Any:
        async with async_client(server, default_headers={"x-probe": "hang"}) as asking:
            call = asyncio.create_task(asking.chat.completions.create(model="m", messages=ASKED))
            while not server.count:  # recorded once it has arrived; on replay it has
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.005)
            call.cancel()
            return [type(outcome) for outcome in await asyncio.gather(call, return_exceptions=True)]

    twice(agent)


def test_a_stream_cancelled_by_the_agent_is_cancelled_again(server: Loopback, twice: Twice):
    server.taken = threading.Semaphore(2)

    async def agent() -> Any:
        taken: list[Any] = []
        has_two = asyncio.Event()

        async def read(asking: openai.AsyncOpenAI) -> None:
            async for piece in await asking.chat.completions.create(model="m", messages=ASKED, stream=True):
                taken.append(piece.model_dump())
                if len(taken) == 2:
                    has_two.set()

        async with async_client(server) as asking:
            reading = asyncio.create_task(read(asking))
            await has_two.wait()
            reading.cancel()
            (outcome,) = await asyncio.gather(reading, return_exceptions=True)
            return taken, type(outcome)

    ((call, pieces),) = twice(agent).calls
    assert len(pieces) > 2
    assert call.error.class_name.endswith("CancelledError")


def test_raw_and_streaming_responses(server: Loopback, twice: Twice):
    def agent() -> Any:
        with client(server) as asking:
            raw = asking.chat.completions.with_raw_response.create(model="m", messages=ASKED)
            shown = [dict(raw.headers), raw.status_code, raw.content, raw.http_version]
            with asking.chat.completions.with_streaming_response.create(
                model="m", messages=ASKED, stream=True
            ) as streaming:
                return [*shown, list(streaming.iter_bytes())]

    twice(agent)


def test_the_same_question_with_another_key_is_the_same_question(server: Loopback, tmp_path: Path):
    def agent(key: str) -> Any:
        with openai.OpenAI(base_url=server.url + "/v1", api_key=key) as asking:
            return asking.chat.completions.create(model="m", messages=ASKED).model_dump()

    first, kept = recorded(lambda: agent("one"), tmp_path / "runs.db")
    assert replayed(lambda: agent("another"), kept) == first


def test_another_question_is_not_answered(server: Loopback, tmp_path: Path):
    def agent(text: str) -> Any:
        with client(server) as asking:
            return asking.chat.completions.create(model="m", messages=[{"role": "user", "content": text}]).model_dump()

    _, kept = recorded(lambda: agent("one"), tmp_path / "runs.db")
    before = server.count
    with pytest.raises(Divergence):
        replayed(lambda: agent("another"), kept)
    assert server.count == before
