"""Requests and answers that real programs exchanged with real providers."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.recordings import MISSING, recordings
from tests.served_in_thread import served

import agent_tt
from agent_tt.providers import recognise
from agent_tt.providers.reading import read_answer, recorded_answer, recorded_call
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

CASSETTES, STREAMS = recordings("vcr"), recordings("stream_bodies")
EXPECTED = {
    "chat_completion_404": [("openai-chat", None, None, "")],
    "chat_completion_multiple_tools_streaming": [("openai-chat", 75, 51, "tool_calls")],
    "chat_completion_tool_calls": [("openai-chat", 75, 51, "tool_calls"), ("openai-chat", 99, 25, "stop")],
    "converse_stream": [("bedrock", 415, 202, "tool_use"), ("bedrock", 565, 52, "end_turn")],
    "responses_create_streaming": [("openai-responses", 22, 6, "completed")],
    "complex_agent_run": [
        ("openai-chat", 364, 40, "tool_calls"),
        ("openai-chat", 423, 15, "tool_calls"),
        ("openai-chat", 448, 49, "tool_calls"),
    ],
    "anthropic_thinking": [("anthropic", 52, 216, "end_turn")],
    "tool_call_and_result": [
        ("openai-responses", *counts, "completed") for counts in ((72, 17), (121, 36), (72, 17), (121, 39))
    ],
}

pytestmark = pytest.mark.skipif(not CASSETTES.is_dir(), reason=MISSING)


def interactions(file: Path):
    """`(method, address, body, status, headers, answer)` of each; bodies are bytes."""
    yaml = pytest.importorskip("yaml")
    for interaction in yaml.safe_load(file.read_text(encoding="utf-8"))["interactions"]:
        request, response = interaction["request"], interaction["response"]
        body = request["body"] if "body" in request else json.dumps(request["parsed_body"])
        answer = response["body"]["string"] if "string" in response["body"] else json.dumps(response["parsed_body"])
        answer = answer.encode() if isinstance(answer, str) else answer
        headers = [
            (name, value)
            for name, values in response["headers"].items()
            for value in ([values] if isinstance(values, str) else values)
            if name.lower() != "content-encoding" or answer[:2] == b"\x1f\x8b"  # some were stored unpacked
        ]
        sent = body.encode() if isinstance(body, str) else body or b""
        yield request["method"], request["uri"], sent, response["status"]["code"], headers, answer


def exchanges(file: Path):
    for method, url, body, status, headers, answer in interactions(file):
        call = recognise(method, url, {}, body)
        yield call, call and read_answer(call, status, headers, answer)


@contextmanager
def serving(file: Path):
    """A loopback server that gives the recorded answers in their order; its address."""
    left = list(interactions(file))

    class Recorded(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            _, _, _, status, headers, answer = left.pop(0)
            self.send_response(status)
            for name, value in headers:
                if name.lower() in ("content-type", "content-encoding"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Recorded)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.mark.parametrize("part", EXPECTED)
def test_recorded_calls_of_every_provider_show_messages_and_tokens(part, tmp_path):
    httpx = pytest.importorskip("httpx")
    (file,) = [file for file in CASSETTES.glob("*.yaml") if part in file.name][:1]
    with (
        agent_tt.record("agent", store=tmp_path / "runs.db", steps="model calls") as run,
        serving(file) as url,
        httpx.Client() as client,
    ):
        for _, address, body, *_ in interactions(file):
            client.post(url + urlsplit(address).path, content=body, headers={"content-type": "application/json"})
    with closing(open_store(tmp_path / "runs.db")) as store:
        steps = store.steps(run.id)
        calls = [call for step in steps for call in store.calls(run.id, step.number) if call.kind == "llm"]
        states = [store.state(run.id, step.number) for step in steps]
    assert len(steps) == len(EXPECTED[part])
    for call, state, (api, tokens_in, tokens_out, reason) in zip(calls, states, EXPECTED[part], strict=True):
        asked = recorded_call(call.args)
        answer = recorded_answer(asked, call.result)
        assert asked.api == api
        assert call.meta.get("tokens_in") == answer.tokens.input == tokens_in
        assert call.meta.get("tokens_out") == answer.tokens.output == tokens_out
        assert call.meta.get("finish_reason", "") == answer.finish_reason == reason
        assert answer.error or any(message.text or message.calls for message in answer.messages)
        assert state[asked.turns] == [*asked.conversation[asked.turns], *answer.turns]


@pytest.mark.parametrize("part", EXPECTED)
def test_every_recorded_provider_shows_messages_and_tokens(part):
    (file,) = [file for file in CASSETTES.glob("*.yaml") if part in file.name and file.name.endswith(".yaml")][:1]
    seen = [(call, answer) for call, answer in exchanges(file) if call is not None]
    assert [(call.api, a.tokens.input, a.tokens.output, a.finish_reason) for call, a in seen] == EXPECTED[part]
    for call, answer in seen:
        assert call.model
        assert all(message.text or message.calls for message in call.messages)
        assert answer.error or any(message.text or message.calls for message in answer.messages)
        assert answer.error or answer.cost_usd


def test_parallel_tool_calls_of_a_stream_are_told_apart():
    (file,) = CASSETTES.glob("*multiple_tools_streaming*")
    ((_, answer),) = exchanges(file)
    assert [(call.id, call.name, call.arguments) for call in answer.messages[0].calls] == [
        ("call_fHCjJqt9Pysde6vcJcvbXGBx", "get_current_weather", {"location": "Seattle, WA"}),
        ("call_3J9foSw3CUb48lrqIXoTky6U", "get_current_weather", {"location": "San Francisco, CA"}),
    ]


def test_thinking_is_apart_from_what_is_said():
    (file,) = CASSETTES.glob("*anthropic_thinking*")
    ((_, answer),) = exchanges(file)
    (message,) = answer.messages
    assert message.reasoning.startswith("Let me count")
    assert message.text == "The letter 'r' appears 3 times in the word \"strawberry\"."


@pytest.mark.parametrize("file", sorted(STREAMS.glob("*")), ids=lambda file: file.name[-60:])
def test_a_stream_may_end_at_any_byte(file):
    body = file.read_bytes()
    binary = file.suffix == ".bin"
    kind = "application/vnd.amazon.eventstream" if binary else "text/event-stream"
    path, asked = {
        "conv": ("/model/m/converse-stream", {"messages": []}),
        "resp": ("/v1/responses", {"model": "m", "input": "x"}),
        "anth": ("/v1/messages", {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}),
        "chat": ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}]}),
        "comp": ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}]}),
    }[file.name.partition("__test_")[2][:4]]
    call = recognise("POST", path, {}, asked)
    lengths = [
        len("".join(message.text for message in read_answer(call, 200, {"content-type": kind}, body[:end]).messages))
        for end in range(0, len(body) + 1, 97)
    ]
    assert lengths == sorted(lengths)
