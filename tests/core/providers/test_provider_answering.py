"""Answers and requests that a person changed, read back by the reader of each language and by the real clients."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_tt.providers import read_answer, recognise
from agent_tt.providers.anthropic import Anthropic
from agent_tt.providers.openai_completions import OpenAICompletions
from agent_tt.providers.reading import provider_of
from agent_tt.providers.replies import read_reply, written_answer
from agent_tt.providers.shapes import ModelAnswer, Reply, Tokens

TURNS = [{"role": "user", "content": "hello"}]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("https://host/v1/chat/completions", {"model": "m", "messages": TURNS}),
    "responses": ("https://host/v1/responses", {"model": "m", "input": "hello"}),
    "anthropic": ("https://host/v1/messages", {"model": "m", "max_tokens": 9, "messages": TURNS}),
    "gemini": ("https://host/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "hello"}]}]}),
    "bedrock": ("https://host/model/m/converse", {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}),
    "completions": ("https://host/v1/completions", {"model": "m", "prompt": "hello"}),
}
BEFORE = ModelAnswer(id="x", model="m-1", tokens=Tokens(input=7, output=3))
REPLY = Reply("Let me look.", (("call_7", "look", {"n": 7}), ("call_8", "look", {"n": 8})))


def written(language: str, reply: Reply, *, streamed: bool) -> tuple[Any, str, bytes]:
    url, body = REQUESTS[language]
    if streamed and language == "gemini":
        url = url.replace("generateContent", "streamGenerateContent")
    call = recognise("POST", url, {}, {**body, "stream": True} if streamed and language != "gemini" else body)
    assert call is not None
    made = written_answer(call, {}, BEFORE, reply, "text/event-stream" if streamed else "application/json")
    assert made is not None
    return call, *made


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("language", [name for name in REQUESTS if name != "completions"])
def test_what_was_written_is_read_back(language: str, streamed: bool) -> None:
    if streamed and language == "bedrock":
        call = recognise("POST", REQUESTS[language][0] + "-stream", {}, REQUESTS[language][1])
        assert call is not None
        assert written_answer(call, None, BEFORE, REPLY, "application/vnd.amazon.eventstream") is None
        return
    call, kind, body = written(language, REPLY, streamed=streamed)
    answer = read_answer(call, 200, {"content-type": kind}, body)
    (message,) = answer.messages
    assert message.text == "Let me look."
    assert [(asked.name, asked.arguments) for asked in message.calls] == [("look", {"n": 7}), ("look", {"n": 8})]
    if language != "gemini":  # its calls have no ids
        assert [asked.id for asked in message.calls] == ["call_7", "call_8"]
    call, kind, body = written(language, Reply("Done."), streamed=streamed)
    (message,) = read_answer(call, 200, {"content-type": kind}, body).messages
    assert (message.text, message.calls) == ("Done.", ())


@pytest.mark.parametrize("streamed", [False, True])
def test_the_openai_client_takes_it_for_a_real_answer(streamed: bool) -> None:
    openai, httpx2 = pytest.importorskip("openai"), pytest.importorskip("httpx2")
    for language in ("chat", "responses"):
        _, kind, body = written(language, REPLY, streamed=streamed)
        transport = httpx2.MockTransport(
            lambda request, body=body, kind=kind: httpx2.Response(200, content=body, headers={"content-type": kind})
        )
        with openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=transport)) as client:
            if language == "chat":
                answer = client.chat.completions.create(model="m", messages=TURNS, stream=streamed)
                if streamed:
                    deltas = [choice.delta for chunk in answer for choice in chunk.choices]
                    assert deltas[0].content == "Let me look."
                    assert [call.function.arguments for call in deltas[0].tool_calls] == ['{"n": 7}', '{"n": 8}']
                else:
                    assert [call.id for call in answer.choices[0].message.tool_calls] == ["call_7", "call_8"]
            elif streamed:
                events = list(client.responses.create(model="m", input="hello", stream=True))
                assert [event.sequence_number for event in events] == list(range(len(events)))
                assert events[-1].response.output_text == "Let me look."
            else:
                answer = client.responses.create(model="m", input="hello")
                assert [item.type for item in answer.output] == ["message", "function_call", "function_call"]


@pytest.mark.parametrize("streamed", [False, True])
def test_the_anthropic_client_takes_it_for_a_real_answer(streamed: bool) -> None:
    anthropic, httpx2 = pytest.importorskip("anthropic"), pytest.importorskip("httpx2")
    _, kind, body = written("anthropic", REPLY, streamed=streamed)
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=body, headers={"content-type": kind}))
    with anthropic.Anthropic(api_key="k", http_client=httpx2.Client(transport=transport)) as client:
        asked: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": TURNS}
        if streamed:
            with client.messages.stream(**asked) as stream:
                answer = stream.get_final_message()
        else:
            answer = client.messages.create(**asked)
    assert [block.type for block in answer.content] == ["text", "tool_use", "tool_use"]
    assert [block.input for block in answer.content[1:]] == [{"n": 7}, {"n": 8}]
    assert answer.stop_reason == "tool_use"


def test_what_people_write_for_an_answer_is_read() -> None:
    assert read_reply("hello") == Reply("hello")
    first = read_reply([{"name": "look", "arguments": {"n": 1}}])
    assert first is not None
    assert [(name, given) for _, name, given in first.calls] == [("look", {"n": 1})]
    both = read_reply({"content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]})
    assert both == Reply("", (("a", "f", {}),))
    for wrong in (1, None, {"n": 1}, [1], [{"arguments": {}}], {"text": 3}, [{"name": "f", "arguments": [1]}]):
        assert read_reply(wrong) is None  # type: ignore[arg-type]


def changed(language: str, **edits: Any) -> tuple[str, dict[str, Any]]:
    url, body = REQUESTS[language]
    call = recognise("POST", url, {}, body)
    assert call is not None
    before = json.dumps(body)
    told = dict(body)
    if "system" in edits:
        told = provider_of(call).with_system(told, edits["system"])  # type: ignore[assignment]
    if "model" in edits:
        url, told = provider_of(call).with_model(url, told, edits["model"])
    for name, value in edits.get("parameters", {}).items():
        told = provider_of(call).with_parameter(told, name, value)
    assert json.dumps(body) == before  # what is given stays as it is
    return url, told


@pytest.mark.parametrize("language", [name for name in REQUESTS if name != "completions"])
def test_a_request_is_changed_in_its_own_language(language: str) -> None:
    url, body = changed(language, system="Be brief.", model="other", parameters={"temperature": 0, "max_tokens": 5})
    call = recognise("POST", url, {}, body)
    assert call is not None
    assert call.model == "other"
    assert (call.messages[0].role, call.messages[0].text) == ("system", "Be brief.")
    assert [message.text for message in call.messages[1:]] == ["hello"]
    again = recognise("POST", url, {}, provider_of(call).with_system(body, "Be long.") or {})
    assert again is not None
    assert [message.text for message in again.messages] == ["Be long.", "hello"]


def test_parameters_lie_where_each_language_has_them() -> None:
    assert changed("gemini", parameters={"max_tokens": 5, "top_p": 1})[1]["generationConfig"] == {
        "maxOutputTokens": 5,
        "topP": 1,
    }
    assert changed("bedrock", parameters={"temperature": 0})[1]["inferenceConfig"] == {"temperature": 0}
    assert changed("responses", parameters={"max_tokens": 5})[1]["max_output_tokens"] == 5
    assert changed("responses", parameters={"reasoning.effort": "low"})[1]["reasoning"] == {"effort": "low"}
    assert "max_tokens" not in changed("anthropic", parameters={"max_tokens": None})[1]
    assert changed("gemini", model="a b")[0] == "https://host/v1beta/models/a%20b:generateContent"
    assert OpenAICompletions().with_system(REQUESTS["completions"][1], "x") is None


def test_a_conversation_is_exchanged_and_nothing_else() -> None:
    body = {"model": "m", "system": "s", "messages": TURNS, "max_tokens": 9}
    before = {"system": "s", "messages": TURNS}
    assert Anthropic().with_conversation(body, before, {"messages": []}) == {
        "model": "m",
        "messages": [],
        "max_tokens": 9,
    }
