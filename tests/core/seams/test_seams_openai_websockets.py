"""OpenAI's client over WebSockets: Realtime, and Responses, as model calls of a run."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING, Any, Final

import httpx
import openai
import pytest
import websocket
from httpx_ws import connect_ws
from tests.core.seams.certificates import certificate
from tests.core.seams.runs import recorded, replayed
from tests.core.seams.talking import Talking, legacy

from agent_tt.providers.reading import recorded_answer, recorded_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.core.seams.runs import Kept

_CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"order": 7}'}
_SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It is on its way."}],
}


async def realtime(connection: Any, message: str) -> None:
    """Answer as OpenAI's Realtime does: a tool is asked for, until a result was given."""
    event = json.loads(message)
    if event["type"] == "session.update":
        await connection.send(json.dumps({"type": "session.updated", "event_id": "e0", "session": event["session"]}))
    if event["type"] == "conversation.item.create":
        added = {"type": "conversation.item.added", "event_id": "e1", "item": event["item"]}
        connection.is_told = event["item"]["type"] == "function_call_output"
        await connection.send(json.dumps(added))
    if event["type"] == "response.create":
        item = _SAID if connection.is_told else _CALL
        answer = {"id": "resp_2" if connection.is_told else "resp_1", "object": "realtime.response", "output": []}
        usage = {
            "total_tokens": 30,
            "input_tokens": 20,
            "output_tokens": 10,
            "input_token_details": {"cached_tokens": 5},
        }
        for each in (
            {"type": "response.created", "response": {**answer, "status": "in_progress"}},
            {"type": "response.output_item.done", "response_id": answer["id"], "output_index": 0, "item": item},
            {"type": "response.done", "response": {**answer, "status": "completed", "output": [item], "usage": usage}},
            {"type": "rate_limits.updated", "rate_limits": []},
        ):
            await connection.send(json.dumps({"event_id": "e2", **each}))


async def responses(connection: Any, message: str) -> None:
    """Answer as OpenAI's Responses does."""
    event = json.loads(message)
    answer = {"id": "resp_9", "object": "response", "model": event["model"], "output": []}
    usage = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}
    whole = {**answer, "status": "completed", "output": [_SAID], "usage": usage}
    for number, each in enumerate((
        {"type": "response.created", "response": {**answer, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": _SAID},
        {"type": "response.completed", "response": whole},
    )):  # fmt: skip
        await connection.send(json.dumps({"sequence_number": number, **each}))


@pytest.fixture
def served() -> Iterator[Callable[[Any], Talking]]:
    servers: list[Talking] = []

    def serve(answer: Any) -> Talking:
        servers.append(Talking(answer))
        return servers[-1]

    yield serve
    for server in servers:
        server.stop()


def five_times(agent: Callable[[], Any], server: Talking, store: Path) -> tuple[Any, Kept]:
    """Record an agent, stop the server, and replay it five times."""
    first, kept = recorded(agent, store)
    server.stop()
    for _ in range(5):
        assert replayed(agent, kept) == first
    assert server.count == 1
    return first, kept


def at(server: Talking) -> dict[str, Any]:
    return {"api_key": "none", "base_url": server.url.replace("ws:", "http:"), "websocket_base_url": server.url}


def test_a_conversation_of_realtime_is_model_calls(served: Callable[[Any], Talking], tmp_path: Path):
    server = served(realtime)

    async def agent() -> Any:
        seen: list[Any] = []
        async with openai.AsyncOpenAI(**at(server)).realtime.connect(model="gpt-realtime") as connection:
            tool: Any = {"type": "function", "name": "look_up", "parameters": {"type": "object"}}
            await connection.session.update(
                session={
                    "type": "realtime",
                    "instructions": "Be brief.",
                    "tools": [tool],
                    "output_modalities": ["text"],
                }
            )
            words: Any = [{"type": "input_text", "text": "Where is order 7?"}]
            await connection.conversation.item.create(item={"type": "message", "role": "user", "content": words})
            await connection.response.create()
            async for event in connection:
                seen.append(event.type)
                if event.type == "response.done" and event.response.output[0].type == "function_call":
                    told: Any = {"type": "function_call_output", "call_id": "call_1", "output": "sent"}
                    await connection.conversation.item.create(item=told)
                    await connection.response.create()
                elif event.type == "response.done":
                    break
        return seen

    seen, kept = five_times(agent, server, tmp_path / "runs.db")
    assert seen.count("response.done") == 2
    asked = [call for call, _ in kept.calls if call.kind == "llm"]
    assert [call.facts.model for call in asked] == ["gpt-realtime", "gpt-realtime"]
    read = [recorded_call(call.args) for call in asked]
    assert [[(said.role, said.text) for said in call.messages] for call in read] == [
        [("system", "Be brief."), ("user", "Where is order 7?")],
        [("tool", "sent")],
    ]
    assert [tool.name for tool in read[0].tools] == ["look_up"]
    answers = [recorded_answer(call, row.result) for call, row in zip(read, asked, strict=True)]
    assert answers[0].messages[0].calls[0].name == "look_up"
    assert answers[1].messages[0].text == "It is on its way."
    assert (answers[1].tokens.input, answers[1].tokens.output, answers[1].tokens.cached) == (20, 10, 5)
    assert asked[0].meta["tokens_in"] == 20
    assert {call.name.partition(" ")[0]: call.effect for call, _ in kept.calls if call.kind == "http"}["SEND"] == "read"
    pushed = [piece.data for piece in kept.calls[0][1][1:]]
    assert [piece["json"]["type"] for piece in pushed if piece and "json" in piece][-1] == "rate_limits.updated"


def test_responses_over_a_websocket_are_as_over_http(served: Callable[[Any], Talking], tmp_path: Path):
    server = served(responses)

    def agent() -> Any:
        with openai.OpenAI(**at(server)).responses.connect() as connection:
            connection.response.create(model="gpt-5", input="Where is order 7?")
            for event in connection:
                if event.type == "response.completed":
                    return event.response.output_text
        return None

    said, kept = five_times(agent, server, tmp_path / "runs.db")
    assert said == "It is on its way."
    (asked,) = [call for call, _ in kept.calls if call.kind == "llm"]
    assert (asked.facts.model, asked.status) == ("gpt-5", "ok")
    read = recorded_call(asked.args)
    assert read is not None
    assert read.messages[0].text == "Where is order 7?"
    assert recorded_answer(read, asked.result).messages[0].text == said
    assert asked.meta["tokens_out"] == 3


ASKED: Final = (
    {"type": "session.update", "session": {"type": "realtime", "instructions": "Be brief."}},
    {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": []}},
    {"type": "response.create"},
)


def with_websocket_client(url: str) -> list[str]:
    seen: list[str] = []

    def heard(app: Any, message: str) -> None:
        seen.append(json.loads(message)["type"])
        if seen[-1] == "rate_limits.updated":
            app.close()

    app = websocket.WebSocketApp(
        url,
        header=["Authorization: Bearer none"],
        on_open=lambda app: [app.send(json.dumps(event)) for event in ASKED],
        on_message=heard,
    )
    app.run_forever(sslopt={"cert_reqs": ssl.CERT_NONE, "check_hostname": False})
    return seen


def with_httpx_ws(url: str) -> list[str]:
    with httpx.Client(verify=certificate()[1]) as client, connect_ws(url, client) as session:
        for event in ASKED:
            session.send_json(event)
        return [session.receive_json()["type"] for _ in range(6)]


async def with_legacy(url: str) -> list[str]:
    async with legacy.connect(url, ssl=certificate()[1]) as connection:
        for event in ASKED:
            await connection.send(json.dumps(event))
        return [json.loads(await connection.recv())["type"] for _ in range(6)]


@pytest.mark.parametrize("client", [with_websocket_client, with_httpx_ws, with_legacy])
def test_a_conversation_through_other_clients_is_model_calls_over_tls(client: Any, tmp_path: Path):
    server = Talking(realtime, tls=certificate()[0])
    url = server.url + "/v1/realtime?model=gpt-realtime"

    def agent() -> Any:
        return asyncio.run(client(url)) if client is with_legacy else client(url)

    first, kept = five_times(agent, server, tmp_path / "runs.db")
    assert first[-1] == "rate_limits.updated"
    (asked,) = [call for call, _ in kept.calls if call.kind == "llm"]
    assert (asked.facts.model, asked.status, asked.meta["tokens_in"]) == ("gpt-realtime", "ok", 20)
    assert {call.name.partition(" ")[0]: call.effect for call, _ in kept.calls if call.kind == "http"}["SEND"] == "read"
