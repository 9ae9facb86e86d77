"""A server on the loopback interface that plays models by a script, in the wire formats of their providers.

What a model says follows from the conversation that it is sent: it goes through the turns of its agent's script, and
takes the first of whose tools one was not asked for yet. Every id and text that it makes is new.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.core.seams.provider_answers import new
from tests.served_in_thread import served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


class Asks(NamedTuple):
    """A tool that a model asks for, with its arguments."""

    tool: str
    arguments: Mapping[str, object]


Turn = tuple[Asks, ...]
Script = dict[str, "Sequence[Turn]"]
"""The turns of each agent before its last word, by a text that its instructions hold; "" fits all others."""


Texts = tuple[tuple[str, "str | Turn"], ...]
"""For agents that tell their model in texts what it asked for: a text of the conversation, and what is said or asked
for from there on, in order."""


class Models(ThreadingHTTPServer):
    """The server.

    Attributes:
        hits: how many requests came.
        is_dead: whether it hangs up on everybody.
        kills: a tool, and a file; when it is told what that tool answered, it kills the process whose number stands in
            the file, once.
    """

    def __init__(self, script: Script, texts: Texts = ()) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.texts = script, texts
        self.hits = 0
        self.is_dead = False
        self.kills: tuple[str, Path] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What SDKs look at to find it."""
        url = f"http://127.0.0.1:{self.server_port}"
        return {
            **dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{url}/v1"),
            "ANTHROPIC_BASE_URL": url,
            "GOOGLE_GEMINI_BASE_URL": url,
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "key"),
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "LANGSMITH_TRACING": "false",
            "AGNO_TELEMETRY": "false",
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_TRACING_ENABLED": "false",
            "OTEL_SDK_DISABLED": "true",
            "LITELLM_LOCAL_MODEL_COST_MAP": "true",
        }

    def turn(self, instructions: str, asked_for: Sequence[str]) -> Turn:
        """What a model asks for next; nothing where it is done."""
        turns = next(
            (turns for key, turns in self.script.items() if key and key in instructions), self.script.get("", ())
        )
        left = Counter(asked_for)
        for turn in turns:
            wanted = Counter(each.tool for each in turn)
            if wanted - left:
                return turn
            left -= wanted
        return ()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Models

    def do_POST(self) -> None:
        self.server.hits += 1
        self.close_connection = self.close_connection or self.server.is_dead
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.server.is_dead:
            return
        path = self.path.partition("?")[0]
        form = next(form for place, form in FORMS.items() if path.endswith(place))
        instructions, called, answered = form.read(asked)
        is_read = any(found.startswith("charged") and found in json.dumps(asked) for found, _ in self.server.texts)
        if self.server.kills is not None and (is_read or self.server.kills[0] in answered):
            file, self.server.kills = self.server.kills[1], None
            self.close_connection = True
            os.kill(int(file.read_text()), signal.SIGKILL)
            return
        told: str | Turn = next((what for text, what in reversed(self.server.texts) if text in json.dumps(asked)), ())
        asks = told if isinstance(told, tuple) else ()
        said = form.say(asked, asks or self.server.turn(instructions, called))
        if isinstance(told, str):
            said["choices"][0]["message"]["content"] = told
        if asked.get("stream") or "stream" in path:
            text = "".join(form.stream(said))
            self._send(text.encode(), "text/event-stream")
        else:
            self._send(json.dumps(said).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        pass


@contextmanager
def playing(script: Script, texts: Texts = ()) -> Iterator[Models]:
    """A server for the length of a block."""
    with served(Models(script, texts)) as server:
        yield server


class _Read(NamedTuple):
    """What a request says.

    Attributes:
        instructions: to the agent.
        called: the names of the tools that were asked for, in order.
        answered: those of the tools whose answers it brings.
    """

    instructions: str
    called: list[str]
    answered: list[str]


class Chat:
    """OpenAI's chat completions."""

    def read(self, asked: dict[str, Any]) -> _Read:
        system = [str(each["content"]) for each in asked["messages"] if each["role"] in ("system", "developer")]
        calls = {
            call["id"]: call["function"]["name"] for each in asked["messages"] for call in each.get("tool_calls") or ()
        }
        answers = [calls[each["tool_call_id"]] for each in asked["messages"] if each["role"] == "tool"]
        return _Read("\n".join(system), list(calls.values()), answers)

    def say(self, asked: dict[str, Any], turn: Turn) -> dict[str, Any]:
        calls = [
            {
                "id": new("call_"),
                "type": "function",
                "function": {"name": each.tool, "arguments": json.dumps(each.arguments)},
            }
            for each in turn
        ]
        message = {"role": "assistant", "content": None if calls else new("Done ")}
        choice = {
            "index": 0,
            "message": {**message, "tool_calls": calls} if calls else message,
            "finish_reason": "tool_calls" if calls else "stop",
        }
        return {
            "id": new("chatcmpl-"),
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19},
        }

    def stream(self, said: dict[str, Any]) -> Iterator[str]:
        choice = said["choices"][0]
        message = choice["message"]
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": part} for part in (message["content"] or "")]
        deltas += [
            {"tool_calls": [{**call, "index": index}]} for index, call in enumerate(message.get("tool_calls", ()))
        ]
        base = {**said, "object": "chat.completion.chunk"}
        del base["usage"]
        for delta in deltas:
            yield _event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        yield _event({**base, "choices": [last]})
        yield _event({**base, "choices": [], "usage": said["usage"]})
        yield "data: [DONE]\n\n"


class Responses:
    """OpenAI's responses."""

    def read(self, asked: dict[str, Any]) -> _Read:
        items = [each for each in asked["input"] if isinstance(each, dict)] if isinstance(asked["input"], list) else []
        calls = {each["call_id"]: each["name"] for each in items if each.get("type") == "function_call"}
        answers = [calls[each["call_id"]] for each in items if each.get("type") == "function_call_output"]
        return _Read(str(asked.get("instructions")), list(calls.values()), answers)

    def say(self, asked: dict[str, Any], turn: Turn) -> dict[str, Any]:
        text = {"type": "output_text", "text": new("Done "), "annotations": []}
        message = {"type": "message", "id": new("msg_"), "role": "assistant", "status": "completed", "content": [text]}
        calls = [
            {
                "type": "function_call",
                "id": new("fc_"),
                "call_id": new("call_"),
                "name": each.tool,
                "arguments": json.dumps(each.arguments),
                "status": "completed",
            }
            for each in turn
        ]
        return {
            "id": new("resp_"),
            "object": "response",
            "created_at": 1.0,
            "status": "completed",
            "model": asked["model"],
            "output": calls or [message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 12,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 7,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 19,
            },
        }

    def stream(self, said: dict[str, Any]) -> Iterator[str]:
        events: list[dict[str, Any]] = [{"type": "response.created", "response": {**said, "output": []}}]
        for index, item in enumerate(said["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            if item["type"] == "message":
                events += [
                    {"type": "response.output_text.delta", **place, "content_index": 0, "delta": part, "logprobs": []}
                    for part in item["content"][0]["text"]
                ]
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": said})
        for number, event in enumerate(events):
            yield f"event: {event['type']}\n" + _event({**event, "sequence_number": number})


class Messages:
    """Anthropic's messages, also where a request says only what is new since an answer (`thread`)."""

    def __init__(self) -> None:
        self._threads: dict[str, list[dict[str, Any]]] = {}

    def read(self, asked: dict[str, Any]) -> _Read:
        before = (asked.get("thread") or {}).get("previous_message_id")
        asked["messages"] = [*self._threads.get(before, ()), *asked["messages"]]
        parts = [part for each in asked["messages"] if isinstance(each["content"], list) for part in each["content"]]
        calls = {part["id"]: part["name"] for part in parts if part["type"] == "tool_use"}
        answers = [calls[part["tool_use_id"]] for part in parts if part["type"] == "tool_result"]
        return _Read(str(asked.get("system")), list(calls.values()), answers)

    def say(self, asked: dict[str, Any], turn: Turn) -> dict[str, Any]:
        calls = [
            {"type": "tool_use", "id": new("toolu_"), "name": each.tool, "input": dict(each.arguments)} for each in turn
        ]
        number, content = new("msg_"), calls or [{"type": "text", "text": new("Done ")}]
        self._threads[number] = [*asked["messages"], {"role": "assistant", "content": content}]
        return {
            "id": number,
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 12, "output_tokens": 7},
        }

    def stream(self, said: dict[str, Any]) -> Iterator[str]:
        start = {**said, "content": [], "stop_reason": None}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
        for index, part in enumerate(said["content"]):
            is_text = part["type"] == "text"
            empty = {**part, "text": ""} if is_text else {**part, "input": {}}
            delta = (
                {"type": "text_delta", "text": part["text"]}
                if is_text
                else {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
            )
            events += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        end = {"stop_reason": said["stop_reason"], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}}, {"type": "message_stop"}]
        for event in events:
            yield f"event: {event['type']}\n" + _event(event)


class Gemini:
    """Google's `generateContent`."""

    def read(self, asked: dict[str, Any]) -> _Read:
        parts = [part for each in asked["contents"] for part in each["parts"]]
        called = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        return _Read(json.dumps(asked.get("systemInstruction")), called, answers)

    def say(self, asked: dict[str, Any], turn: Turn) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [
            {"functionCall": {"name": each.tool, "args": dict(each.arguments)}} for each in turn
        ] or [{"text": new("Done ")}]
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 7, "totalTokenCount": 19},
            "modelVersion": "gemini",
            "responseId": new("resp-"),
        }

    def stream(self, said: dict[str, Any]) -> Iterator[str]:
        yield f"data: {json.dumps(said)}\r\n\r\n"


def _event(data: object) -> str:
    return f"data: {json.dumps(data)}\n\n"


FORMS = {
    "/chat/completions": Chat(),
    "/responses": Responses(),
    "/messages": Messages(),
    "enerateContent": Gemini(),
}
"""By what the path ends in."""
