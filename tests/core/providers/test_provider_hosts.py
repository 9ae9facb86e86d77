"""What other hosts add to the languages of the large providers, or leave out of them."""

from __future__ import annotations

import json

import pytest

from agent_tt.providers import recognise
from agent_tt.providers.reading import read_answer
from agent_tt.providers.shapes import Asked, Message

HI = {"role": "user", "content": "Hi"}
CHAT = {"model": "m", "messages": [HI]}
CLAUDE = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [HI]}
SAID = {"choices": [{"message": {"role": "assistant", "content": "yo"}, "finish_reason": "stop"}]}
USED = {"usage": {"prompt_tokens": 3, "completion_tokens": 5}}


def asked(path, body):
    return recognise("POST", f"http://127.0.0.1:1{path}", {}, json.dumps(body).encode())


def answered(path, body, *values, kind="application/json", status=200):
    """The answer to a request; several values are the events of a stream."""
    events = "".join(f"event: {value.get('type', 'message')}\ndata: {json.dumps(value)}\n\n" for value in values)
    kind, data = ("text/event-stream", events) if len(values) > 1 else (kind, json.dumps(values[0]))
    return read_answer(asked(path, body), status, {"content-type": kind}, data.encode())


def lines(path, body, *values):
    """The answer of a host that streams JSON by the line."""
    data = "".join(json.dumps(value) + "\n" for value in values).encode()
    return read_answer(asked(path, body), 200, {"content-type": "application/x-ndjson"}, data)


@pytest.mark.parametrize(
    ("path", "body", "api", "model", "streamed"),
    [
        ("/v1/agents/completions", {"agent_id": "ag1", "messages": [HI]}, "openai-chat", "ag1", False),
        ("/v1/fim/completions", {"model": "codestral", "prompt": "def f("}, "openai-completions", "codestral", False),
        ("/api/generate", {"model": "llama3", "prompt": "Hi"}, "openai-completions", "llama3", True),
        ("/api/chat", CHAT, "openai-chat", "m", True),
        ("/v2/chat", CHAT, "cohere", "m", False),
        ("/ml/v1/text/chat", {"model_id": "granite", "messages": [HI]}, "openai-chat", "granite", False),
        ("/serving-endpoints/mine/invocations", {"messages": [HI]}, "openai-chat", "mine", False),
        ("/endpoints/mine/invocations", {"messages": [HI]}, "openai-chat", "mine", False),
        ("/v1/publishers/mistralai/models/mistral-large:rawPredict", CHAT, "openai-chat", "mistral-large", False),
        ("/model/amazon.nova-micro-v1%3A0/invoke", {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
         "bedrock", "amazon.nova-micro-v1:0", False),
        ("/model/meta.llama3/invoke-with-response-stream", {"prompt": "Hi"}, "openai-completions", "meta.llama3", True),
        ("/model/openai.gpt-oss/invoke", {"messages": [HI]}, "openai-chat", "openai.gpt-oss", False),
    ],
)  # fmt: skip
def test_a_host_is_recognised_by_the_shape_of_what_it_is_asked(path, body, api, model, streamed):
    call = asked(path, body)
    assert (call.api, call.model, call.streamed) == (api, model, streamed)
    assert call.messages[-1].role == "user"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/publishers/anthropic/models/count-tokens:rawPredict", {**CLAUDE, "anthropic_version": "v"}),
        ("/generate", {"inputs": "Hi"}),
        ("/invocations", {"inputs": [1, 2]}),
        ("/jobs/x/invocations", {"messages": [HI]}),
        ("/model/amazon.titan-embed-text-v2/invoke", {"inputText": "Hi"}),
        ("/support/chat", {"messages": [HI]}),
    ],
)
def test_what_only_looks_alike_is_none(path, body):
    assert asked(path, body) is None


def test_groq_counts_a_stream_in_a_place_of_its_own():
    found = answered(
        "/openai/v1/chat/completions", CHAT,
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "yo"}}], "x_groq": {"id": "r"}},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
         "x_groq": {"usage": {"prompt_tokens": 36, "completion_tokens": 2}}},
    )  # fmt: skip
    assert (found.tokens.input, found.tokens.output, found.messages[0].text) == (36, 2, "yo")


def test_mistral_puts_its_thoughts_among_the_parts_whole_and_streamed():
    def part(words):
        return {"type": "thinking", "thinking": [{"type": "text", "text": words}]}

    content = [part("hm hm"), {"type": "text", "text": "yo"}]
    whole = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    deltas = [
        {"role": "assistant", "content": [part("hm")]},
        {"content": [part(" hm")]},
        {"content": "y"},
        {"content": "o"},
    ]
    pieces = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    expected = (Message("assistant", "yo", "hm hm"),)
    assert answered("/v1/chat/completions", CHAT, whole).messages == expected
    assert answered("/v1/chat/completions", CHAT, *pieces).messages == expected


def test_cohere_whole_and_streamed():
    call = {"id": "t", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    message = {
        "role": "assistant", "tool_plan": "I will", "tool_calls": [call], "content": [{"type": "text", "text": "yo"}]
    }  # fmt: skip
    usage = {
        "billed_units": {"input_tokens": 5, "output_tokens": 4},
        "tokens": {"input_tokens": 71, "output_tokens": 418},
    }
    end = {"finish_reason": "TOOL_CALL", "usage": usage}
    opened = {**call, "function": {"name": "f", "arguments": ""}}
    events = [
        ("message-start", {"message": {"role": "assistant", "content": [], "tool_plan": ""}}),
        ("tool-plan-delta", {"message": {"tool_plan": "I "}}),
        ("tool-plan-delta", {"message": {"tool_plan": "will"}}),
        ("content-start", {"message": {"content": {"type": "text", "text": ""}}}),
        ("content-delta", {"message": {"content": {"text": "y"}}}),
        ("content-delta", {"message": {"content": {"text": "o"}}}),
        ("tool-call-start", {"message": {"tool_calls": opened}}),
        ("tool-call-delta", {"message": {"tool_calls": {"function": {"arguments": '{"a":'}}}}),
        ("tool-call-delta", {"message": {"tool_calls": {"function": {"arguments": "1}"}}}}),
        ("message-end", end),
    ]
    whole = answered("/v2/chat", CHAT, {"id": "x", "message": message, **end})
    streamed = answered("/v2/chat", CHAT, *({"type": kind, "id": "x", "delta": delta} for kind, delta in events))
    assert whole == streamed
    assert whole.messages == (Message("assistant", "yo", "I will", (Asked("t", "f", {"a": 1}),)),)
    assert whole.turns == (message,)
    assert (whole.finish_reason, whole.tokens.input, whole.tokens.output) == ("TOOL_CALL", 71, 418)


def test_ollama_generates_by_the_line():
    body = {"model": "llama3", "prompt": "Hi", "system": "Be brief."}
    found = lines(
        "/api/generate", body,
        {"model": "llama3", "thinking": "hm"},
        {"response": "y"},
        {"response": "o", "done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 3},
    )  # fmt: skip
    assert asked("/api/generate", body).messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert found.messages == (Message("assistant", "yo", "hm"),)
    assert (found.tokens.input, found.tokens.output, found.finish_reason) == (5, 3, "stop")


def test_models_on_bedrock_in_their_own_languages():
    nova = answered(
        "/model/amazon.nova-micro-v1%3A0/invoke", {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
        {"output": {"message": {"role": "assistant", "content": [{"text": "yo"}]}}, "stopReason": "end_turn",
         "usage": {"inputTokens": 3, "outputTokens": 2}},
    )  # fmt: skip
    llama = answered(
        "/model/meta.llama3/invoke", {"prompt": "Hi"},
        {"generation": "yo", "prompt_token_count": 3, "generation_token_count": 2, "stop_reason": "stop"},
    )  # fmt: skip
    for found in (nova, llama):
        assert found.messages == (Message("assistant", "yo"),)
        assert (found.tokens.input, found.tokens.output) == (3, 2)
    assert (nova.finish_reason, llama.finish_reason) == ("end_turn", "stop")


def test_mistral_fills_in_the_middle_with_a_message():
    found = answered("/v1/fim/completions", {"model": "m", "prompt": "def f("}, SAID | USED)
    assert (found.messages, found.tokens.input) == ((Message("assistant", "yo"),), 3)


def test_thoughts_that_are_counted_apart_are_output():
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 100}}
    apart = answered("/v1/chat/completions", CHAT, SAID | {"usage": {**usage, "total_tokens": 112}})
    within = answered("/v1/chat/completions", CHAT, SAID | {"usage": {**usage, "completion_tokens": 102}})
    assert apart.tokens.output == within.tokens.output == 102


def test_what_is_charged_in_parts_is_believed_as_a_whole():
    cost = {"input_tokens_cost": 0.1, "output_tokens_cost": 0.2, "total_cost": 0.3}
    assert answered("/chat/completions", CHAT, SAID | {"usage": {"cost": cost}}).cost_usd == 0.3


def test_what_is_spoken_is_read_as_its_transcript():
    spoken = {
        "choices": [{"message": {"role": "assistant", "content": None, "audio": {"data": "A", "transcript": "yo"}}}]
    }
    pieces = [{"choices": [{"index": 0, "delta": {"audio": {"transcript": word, "data": "A"}}}]} for word in ("y", "o")]
    for values in ([spoken], pieces):
        assert answered("/v1/chat/completions", CHAT, *values).messages[0].text == "yo"


def test_tools_that_the_provider_runs_show_what_they_gave_and_leave_no_price():
    content = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s",
         "content": [{"type": "web_search_result", "url": "https://a", "title": "A title"}]},
        {"type": "server_tool_use", "id": "c", "name": "code_execution", "input": {"code": "print(1)"}},
        {"type": "code_execution_tool_result", "tool_use_id": "c",
         "content": {"type": "code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0}},
        {"type": "mcp_tool_use", "id": "m", "name": "echo", "input": {"a": 1}},
        {"type": "mcp_tool_result", "tool_use_id": "m", "content": [{"type": "text", "text": "echoed"}]},
        {"type": "text", "text": "yo"},
    ]  # fmt: skip
    usage = {"input_tokens": 10, "output_tokens": 5}
    answer = {"role": "assistant", "model": "claude-sonnet-4-5", "content": content, "usage": usage}
    found = answered("/v1/messages", CLAUDE, answer)
    assert [message.text for message in found.messages if message.role == "tool"] == [
        "[web search result A title, https://a]", "1", "echoed"
    ]  # fmt: skip
    assert [(call.id, call.name) for message in found.messages for call in message.calls] == [
        ("s", "web_search"), ("c", "code_execution"), ("m", "echo")
    ]  # fmt: skip
    assert found.messages[-1] == Message("assistant", "yo")
    assert found.cost_usd is not None
    searched = {**answer, "usage": {**usage, "server_tool_use": {"web_search_requests": 1}}}
    assert answered("/v1/messages", CLAUDE, searched).cost_usd is None
    assert answered("/v1/messages", CLAUDE, {**answer, "usage": {**usage, "speed": "fast"}}).cost_usd is None


def test_items_of_responses_that_are_no_messages_can_be_read():
    output = [
        {"type": "code_interpreter_call", "id": "c", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1\n"}]},
        {"type": "mcp_list_tools", "server_label": "s", "tools": [{"name": "t1"}, {"name": "t2"}]},
        {"type": "mcp_call", "id": "m", "name": "t1", "arguments": "{}", "output": "42"},
        {"type": "mcp_call", "id": "n", "name": "t1", "arguments": "{}", "error": {"message": "no such order"}},
        {"type": "image_generation_call", "id": "i", "result": "A" * 400, "output_format": "png"},
        {"type": "mcp_approval_request", "id": "p", "name": "t2", "arguments": '{"x": 1}'},
        {"type": "shell_call_output", "call_id": "h", "output": [{"stdout": "a\n", "stderr": "b\n"}]},
        {"type": "compaction", "id": "z", "encrypted_content": "zzz"},
    ]
    usage = {"input_tokens": 10, "output_tokens": 5}
    body = {"model": "gpt-5", "input": "Hi"}
    found = answered("/v1/responses", body, {"model": "gpt-5", "output": output, "usage": usage})
    assert [message.text for message in found.messages if message.role == "tool"] == [
        "1", "42", "no such order", "[image png, 300 B]", "a\nb"
    ]  # fmt: skip
    said = [message.text for message in found.messages if message.role == "assistant"]
    assert "[mcp list tools s, t1, t2]" in said
    assert "[asks for approval of t2]" in said
    assert "[compaction z]" in said
    assert found.cost_usd is None
    assert answered("/v1/responses", body, {"model": "gpt-5", "output": output[1:4], "usage": usage}).cost_usd


def test_answers_grounded_in_a_search_have_no_price():
    path, body = "/v1beta/models/gemini-2.5-flash:generateContent", {"contents": [{"parts": [{"text": "Hi"}]}]}
    candidate = {"content": {"role": "model", "parts": [{"text": "yo"}]}}
    counts = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 3}}
    searched = {**candidate, "groundingMetadata": {"webSearchQueries": ["q"]}}
    assert answered(path, body, {"candidates": [candidate], **counts}).cost_usd
    assert answered(path, body, {"candidates": [searched], **counts}).cost_usd is None


@pytest.mark.parametrize(
    "usage", ['"prompt_tokens": 1e999', f'"prompt_tokens": {10**40}', '"cost": 1e999', '"cost": -5']
)
def test_figures_that_no_database_could_keep_are_unknown(usage):
    body = f'{{"model": "m", "choices": [], "usage": {{{usage}}}}}'.encode()
    found = read_answer(asked("/v1/chat/completions", CHAT), 200, {"content-type": "application/json"}, body)
    assert (found.tokens.input, found.cost_usd) == (None, None)
