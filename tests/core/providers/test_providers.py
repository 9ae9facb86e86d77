from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt.providers import Asked, Message, recognise
from agent_tt.providers.reading import read_answer

CHAT = {
    "model": "gpt-4o",
    "temperature": 0,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "nothing"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "find", "description": "Find it.", "parameters": {"type": "object"}}}
    ],
}
CLAUDE = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "x"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "nothing"}]},
                {"type": "text", "text": "and now?"},
            ],
        },
    ],
    "tools": [{"name": "find", "description": "Find it.", "input_schema": {"type": "object"}}],
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": "A" * 400}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"q": "x"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"result": "nothing"}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "find", "description": "Find it.", "parameters": {}}]}],
}
RESPONSES = {
    "model": "gpt-5",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "f1", "name": "find", "arguments": '{"q": "x"}'},
        {"type": "function_call_output", "call_id": "f1", "output": "nothing"},
    ],
    "tools": [{"type": "function", "name": "find", "description": "Find it."}, {"type": "web_search"}],
}


def post(path, body, **headers):
    return recognise("POST", f"http://127.0.0.1:1234{path}", headers, json.dumps(body).encode())


def sse(*events):
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def chunks(*pieces):
    return ("".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n").encode()


def answer(path, asked, body, *, status=200, **headers):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return read_answer(post(path, asked), status, headers, body)


class TestRecognising:
    @pytest.mark.parametrize(
        ("path", "body", "api", "model"),
        [
            ("/v1/chat/completions", CHAT, "openai-chat", "gpt-4o"),
            ("/api/v1/chat/completions/", CHAT, "openai-chat", "gpt-4o"),
            (
                "/openai/deployments/mine/chat/completions?api-version=1",
                {"messages": CHAT["messages"]},
                "openai-chat",
                "mine",
            ),
            ("/v1/responses", RESPONSES, "openai-responses", "gpt-5"),
            ("/v1/messages?beta=true", CLAUDE, "anthropic", "claude-sonnet-4-5"),
            (
                "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x:streamRawPredict",
                {**CLAUDE, "anthropic_version": "v"},
                "anthropic",
                "claude-x",
            ),
            (
                "/model/anthropic.claude-3-haiku-20240307-v1%3A0/invoke",
                {**CLAUDE, "anthropic_version": "v"},
                "anthropic",
                "anthropic.claude-3-haiku-20240307-v1:0",
            ),
            ("/v1beta/models/gemini-2.5-flash:generateContent", GEMINI, "gemini", "gemini-2.5-flash"),
            (
                "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
                GEMINI,
                "gemini",
                "gemini-2.5-pro",
            ),
            ("/model/amazon.nova-micro-v1%3A0/converse", {"messages": []}, "bedrock", "amazon.nova-micro-v1:0"),
            ("/v1/completions", {"model": "m", "prompt": "Once"}, "openai-completions", "m"),
            ("/api/chat", CHAT, "openai-chat", "gpt-4o"),
        ],
    )
    def test_told_by_path_and_shape_on_any_host(self, path, body, api, model):
        call = post(path, body)
        assert (call.api, call.model) == (api, model)

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("GET", "/v1/chat/completions", CHAT),
            ("POST", "/v1/embeddings", {"model": "m", "input": "x"}),
            ("POST", "/v1/messages/count_tokens", CLAUDE),
            ("POST", "/v1/messages/batches", {"requests": []}),
            ("POST", "/v1/messages", {"to": "me", "messages": ["hello"]}),
            ("POST", "/survey/responses", {"input": "x"}),
            ("POST", "/v1/responses/r1/cancel", RESPONSES),
            ("POST", "/v1beta/models/gemini-2.5-flash:countTokens", GEMINI),
            ("POST", "/v1/traces/ingest", {"data": []}),
        ],
    )
    def test_other_requests_are_none(self, method, path, body):
        assert recognise(method, f"https://x{path}", {}, json.dumps(body).encode()) is None

    def test_a_compressed_request_is_read(self):
        body = gzip.compress(json.dumps(CHAT).encode())
        assert recognise("POST", "/v1/chat/completions", [("Content-Encoding", "gzip")], body).model == "gpt-4o"

    def test_chat(self):
        call = post("/v1/chat/completions", CHAT)
        assert call.messages == (
            Message("system", "Be brief."),
            Message("user", "Look:\n[image image/png, 3 kB]"),
            Message("assistant", calls=(Asked("c1", "find", {"q": "x"}),)),
            Message("tool", "nothing", answers="c1"),
        )
        assert [(tool.name, tool.description) for tool in call.tools] == [("find", "Find it.")]
        assert call.parameters == {"temperature": 0}
        assert call.conversation == {"messages": CHAT["messages"]}

    def test_anthropic(self):
        call = post("/v1/messages", CLAUDE)
        assert call.messages == (
            Message("system", "Be brief."),
            Message("user", "Hi"),
            Message("assistant", "", "hm", (Asked("t1", "find", {"q": "x"}),)),
            Message("tool", "nothing", answers="t1"),
            Message("user", "and now?"),
        )
        assert call.conversation == {"system": CLAUDE["system"], "messages": CLAUDE["messages"]}

    def test_gemini(self):
        call = post("/v1beta/models/gemini-2.5-flash:generateContent", GEMINI)
        assert call.messages == (
            Message("system", "Be brief."),
            Message("user", "Hi\n[data image/png, 300 B]"),
            Message("assistant", calls=(Asked("", "find", {"q": "x"}),)),
            Message("tool", "nothing", answers="find"),
        )
        assert [tool.name for tool in call.tools] == ["find"]

    def test_responses(self):
        call = post("/v1/responses", RESPONSES)
        assert call.messages == (
            Message("system", "Be brief."),
            Message("user", "Hi"),
            Message("assistant", "", "hm", (Asked("f1", "find", {"q": "x"}),)),
            Message("tool", "nothing", answers="f1"),
        )
        assert [tool.name for tool in call.tools] == ["find", "web_search"]
        assert post("/v1/responses", {"model": "m", "input": "Hi"}).conversation == {
            "input": [{"role": "user", "content": "Hi"}]
        }


class TestAnswers:
    def test_chat_plain_and_streamed_say_the_same(self):
        call = {"id": "c9", "type": "function", "function": {"name": "find", "arguments": '{"q": "y"}'}}
        usage = {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 40},
            "completion_tokens_details": {"reasoning_tokens": 5},
        }
        whole = {
            "id": "a",
            "model": "gpt-4o-2024-08-06",
            "usage": usage,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {"role": "assistant", "content": "Let me", "tool_calls": [call]},
                }
            ],
        }
        delta = [
            {"role": "assistant", "content": ""},
            {"content": "Let"},
            {"content": " me"},
            {"tool_calls": [{"index": 0, **call, "function": {"name": "find", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"q":'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": ' "y"}'}}]},
        ]
        base = {"id": "a", "model": "gpt-4o-2024-08-06"}
        body = chunks(
            *({**base, "choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in delta),
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {**base, "choices": [], "usage": usage},
        )
        plain = answer("/v1/chat/completions", CHAT, whole)
        streamed = answer("/v1/chat/completions", CHAT, body, content_type="text/event-stream")
        assert plain == streamed
        assert plain.messages == (Message("assistant", "Let me", calls=(Asked("c9", "find", {"q": "y"}),)),)
        assert plain.turns == (whole["choices"][0]["message"],)
        assert plain.to_meta() == {
            "model": "gpt-4o-2024-08-06",
            "finish_reason": "tool_calls",
            "tokens_in": 100,
            "tokens_out": 20,
            "tokens_cached": 40,
            "tokens_reasoning": 5,
            "cost_usd": (60 * 2.5 + 40 * 1.25 + 20 * 10) / 1e6,
        }

    def test_anthropic_plain_and_streamed_say_the_same(self):
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 50,
            "output_tokens": 7,
            "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 30},
        }
        content = [
            {"type": "thinking", "thinking": "hm hm", "signature": "sig"},
            {"type": "text", "text": "Let me"},
            {"type": "tool_use", "id": "t9", "name": "find", "input": {"q": "y"}},
        ]
        whole = {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": content,
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": usage,
        }
        body = sse(
            {
                "type": "message_start",
                "message": {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}},
            },
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "thinking", "thinking": "", "signature": ""},
            },
            {"type": "ping"},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm "}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Let me"}},
            {
                "type": "content_block_start",
                "index": 2,
                "content_block": {"type": "tool_use", "id": "t9", "name": "find", "input": {}},
            },
            {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"q"'}},
            {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "input_json_delta", "partial_json": ': "y"}'},
            },
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                "usage": {"output_tokens": 7},
            },
            {"type": "message_stop"},
        )
        plain = answer("/v1/messages", CLAUDE, whole)
        assert plain == answer("/v1/messages", CLAUDE, body, content_type="text/event-stream; charset=utf-8")
        assert plain.messages == (Message("assistant", "Let me", "hm hm", (Asked("t9", "find", {"q": "y"}),)),)
        assert plain.turns == ({"role": "assistant", "content": content},)
        assert plain.tokens.input == 160
        assert plain.cost_usd == pytest.approx((10 * 3 + 100 * 0.3 + 20 * 3.75 + 30 * 6 + 7 * 15) / 1e6)

    @pytest.mark.parametrize("form", ["array", "sse", "cut"])
    def test_gemini_streams(self, form):
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 4, "thoughtsTokenCount": 6}
        pieces = [
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}]}}]},
            {
                "candidates": [{"content": {"role": "model", "parts": [{"text": "Let "}]}}],
                "modelVersion": "gemini-2.5-flash",
            },
            {"candidates": [{"content": {"role": "model", "parts": [{"text": "me"}]}}]},
            {
                "candidates": [
                    {
                        "content": {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"q": "y"}}}]},
                        "finishReason": "STOP",
                    }
                ],
                "usageMetadata": usage,
            },
        ]
        body = json.dumps(pieces, indent=1).encode() if form != "sse" else chunks(*pieces)
        body = body.rstrip(b"\n]") if form == "cut" else body
        kind = "text/event-stream" if form == "sse" else "application/json"
        path = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
        found = answer(path, GEMINI, body, content_type=kind)
        assert found.messages == (Message("assistant", "Let me", "hm", (Asked("", "find", {"q": "y"}),)),)
        assert found.to_meta() == {
            "model": "gemini-2.5-flash",
            "finish_reason": "STOP",
            "tokens_in": 10,
            "tokens_out": 10,
            "tokens_reasoning": 6,
            "cost_usd": (10 * 0.3 + 10 * 2.5) / 1e6,
        }

    def test_responses_of_a_stream_that_broke_off(self):
        body = sse(
            {
                "type": "response.created",
                "response": {"id": "r1", "model": "gpt-5", "status": "in_progress", "output": []},
            },
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {"type": "message", "role": "assistant", "content": []},
            },
            {"type": "response.output_text.delta", "output_index": 0, "delta": "Let"},
            {"type": "response.output_text.delta", "output_index": 0, "delta": " me"},
        )
        found = answer("/v1/responses", RESPONSES, body, content_type="text/event-stream")
        assert found.messages == (Message("assistant", "Let me"),)
        assert (found.finish_reason, found.cost_usd) == ("in_progress", None)

    @pytest.mark.parametrize(
        ("packed", "encoding"),
        [
            (gzip.compress, "gzip"),
            (zlib.compress, "deflate"),
            (lambda body: zlib.compress(body)[2:-4], "deflate"),
            (lambda body: gzip.compress(zlib.compress(body)), "deflate, gzip"),
        ],
    )
    def test_compressed_answers(self, packed, encoding):
        body = packed(json.dumps({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}).encode())
        assert answer("/v1/chat/completions", CHAT, body, content_encoding=encoding).messages[0].text == "Hi"
        assert answer("/v1/chat/completions", CHAT, body, content_encoding="br").messages == ()

    def test_errors_are_one_line(self):
        openai = {"error": {"message": "Rate limit reached\nfor you", "type": "tokens"}}
        assert answer("/v1/chat/completions", CHAT, openai, status=429).error == "429 Rate limit reached"
        claude = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        assert answer("/v1/messages", CLAUDE, claude, status=529).error == "529 Overloaded"
        assert answer("/v1/messages", CLAUDE, b"<html>\nBad gateway", status=502).error == "502 <html>"
        mid_stream = answer("/v1/messages", CLAUDE, sse(claude), content_type="text/event-stream")
        assert mid_stream.error == "Overloaded"

    def test_what_a_router_charged_is_believed(self):
        whole = {"model": "gpt-4o", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25}}
        assert answer("/api/v1/chat/completions", CHAT, whole).cost_usd == 0.25

    def test_other_service_tiers_have_no_price(self):
        whole = {
            "model": "gpt-4o",
            "choices": [],
            "service_tier": "flex",
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }
        assert answer("/v1/chat/completions", CHAT, whole).cost_usd is None
        assert answer("/v1/chat/completions", CHAT, {**whole, "service_tier": "default"}).cost_usd is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "messages",
                    "content",
                    "role",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "input",
                    "type",
                    "text",
                    "choices",
                    "delta",
                    "message",
                    "usage",
                    "parts",
                    "candidates",
                    "output",
                    "item",
                    "response",
                    "error",
                    "index",
                    "id",
                    "model",
                    "max_tokens",
                    "contents",
                    "functionCall",
                    "args",
                    "output_index",
                    "content_block",
                    "thinking",
                    "finish_reason",
                    "prompt_tokens_details",
                    "system",
                    "tools",
                    "source",
                    "url",
                    "data",
                    "event-type",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)
PATHS = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/completions",
    "/api/chat",
    "/v1beta/models/m:generateContent",
    "/model/m/converse",
    "/model/m/invoke",
    "/v1/models/m:rawPredict",
)
KINDS = ("application/json", "text/event-stream", "application/vnd.amazon.eventstream", "")


class TestNothingRaises:
    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(PATHS), json_values, json_values, st.sampled_from(KINDS), st.sampled_from([200, 500]))
    def test_on_any_json(self, path, asked, said, kind, status):
        base = {
            "model": "m",
            "max_tokens": 1,
            "input": [asked],
            "messages": [{"role": "user", "content": asked}],
            "contents": [asked],
            "prompt": asked,
            "anthropic_version": "x",
        }
        body = asked if isinstance(asked, dict) else {}
        for given_body in (asked, {**base, **body}, {**body, **base}):
            call = recognise("POST", path, {}, json.dumps(given_body).encode())
            if call is None:
                continue
            whole = json.dumps(said).encode()
            for data in (whole, b"data: " + whole + b"\n\ndata: " + whole + b"\n\n", b"[" + whole + b"," + whole):
                json.dumps(read_answer(call, status, {"content-type": kind}, data).to_meta())

    @settings(max_examples=200, deadline=None)
    @given(st.sampled_from(PATHS), st.binary(max_size=200), st.sampled_from(KINDS), st.sampled_from(["gzip", "br", ""]))
    def test_on_any_bytes(self, path, body, kind, encoding):
        recognise("POST", path, {}, body)
        call = recognise(
            "POST",
            path,
            {},
            {
                "model": "m",
                "max_tokens": 1,
                "input": "x",
                "prompt": "x",
                "messages": [{"role": "user"}],
                "contents": [],
                "anthropic_version": "",
            },
        )
        read_answer(call, 200, [("Content-Type", kind), ("Content-Encoding", encoding)], body)

    def test_on_json_nested_deeper_than_python_goes(self):
        deep = b'{"messages": ' + b"[" * 200_000
        assert recognise("POST", "/v1/chat/completions", {}, deep) is None
        call = post("/v1/chat/completions", CHAT)
        assert read_answer(call, 200, {"content-type": "application/json"}, deep).messages == ()

    @pytest.mark.parametrize("url", ["", "http://[", "not a url", "http://x:99999999/v1/chat/completions"])
    def test_on_addresses_that_are_none(self, url):
        recognise("POST", url, {}, b"{}")


def test_nothing_of_other_packages_is_imported():
    code = (
        "import sys, agent_tt.providers; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names) - {'agent_tt'}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "['__main__']" or done.stdout.strip() == "[]"
