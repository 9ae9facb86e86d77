"""A server of models on loopback that answers as it is told, keeps what it was asked, and can be let wait."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.served_in_thread import served

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Asked:
    """A request that came.

    Attributes:
        path: its path and query.
        headers: its headers, by name in lower case.
        body: its body, read.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Given:
    """What is answered once.

    Attributes:
        text: what the model says.
        tool: a tool that it asks for, and its arguments.
        status: of an error, the status; its words are the text.
        headers: further headers.
        raw: what is answered in place of a model's answer.
        waits: whether it is answered only when `ModelServer.goes_on` is set.
    """

    text: str = "Hello."
    tool: tuple[str, dict[str, Any]] | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes = b""
    waits: bool = False


class ModelServer(ThreadingHTTPServer):
    """Answers what `next` holds, in that order, then the last of it again and again."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.next: list[Given] = [Given()]
        self.has_come = threading.Event()
        self.goes_on = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(Asked(self.path, {name.lower(): text for name, text in self.headers.items()}, body))
        given = self.server.next.pop(0) if len(self.server.next) > 1 else self.server.next[0]
        self.server.has_come.set()
        if given.waits:
            self.server.goes_on.wait(60)
        is_streamed = bool(body.get("stream"))
        said = given.raw or (_error(given) if given.status >= 400 else _said(self.path, given, is_streamed=is_streamed))
        self.send_response(given.status)
        self.send_header(
            "Content-Type", "text/event-stream" if is_streamed and given.status == 200 else "application/json"
        )
        for name, value in given.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        with suppress(BrokenPipeError):  # who asked has left
            self.wfile.write(said)


def _error(given: Given) -> bytes:
    return json.dumps({"type": "error", "error": {"message": given.text, "type": "some_error"}}).encode()


def _said(path: str, given: Given, *, is_streamed: bool) -> bytes:
    made = _openai if path.endswith("/chat/completions") else _anthropic
    events = made(given, is_streamed=is_streamed)
    if not is_streamed:
        return json.dumps(events[0]).encode()
    named = [(f"event: {event['type']}\n" if "type" in event else "", json.dumps(event)) for event in events]
    done = "" if made is _anthropic else "data: [DONE]\n\n"
    return "".join(f"{name}data: {text}\n\n" for name, text in named).encode() + done.encode()


def _openai(given: Given, *, is_streamed: bool) -> list[dict[str, Any]]:
    base = {"id": "c-1", "created": 1, "model": "gpt-4o-mini"}
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    message: dict[str, Any] = {"role": "assistant", "content": given.text}
    if given.tool is not None:
        name, arguments = given.tool
        function = {"name": name, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [{"index": 0, "id": "call-1", "type": "function", "function": function}]
    choice = {"index": 0, "finish_reason": "stop"}
    if not is_streamed:
        return [{**base, "object": "chat.completion", "choices": [{**choice, "message": message}], "usage": usage}]
    chunk = {**base, "object": "chat.completion.chunk"}
    return [
        {**chunk, "choices": [{**choice, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{**choice, "delta": {}}]},
        {**chunk, "choices": [], "usage": usage},
    ]


def _anthropic(given: Given, *, is_streamed: bool) -> list[dict[str, Any]]:
    usage = {"input_tokens": 3, "output_tokens": 4}
    message = {"id": "m-1", "type": "message", "role": "assistant", "model": "claude-3-5-haiku-latest", "usage": usage}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": given.text}]
    if given.tool is not None:
        blocks.append({"type": "tool_use", "id": "t-1", "name": given.tool[0], "input": given.tool[1]})
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    if not is_streamed:
        return [{**message, **end, "content": blocks}]
    return [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": given.text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server while the block lasts."""
    with served(ModelServer()) as server:
        try:
            yield server
        finally:
            server.goes_on.set()
