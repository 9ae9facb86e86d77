"""A server that answers as OpenAI's chats, Anthropic or Gemini, as it is told: whole, in pieces, wrong or cut off."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

ARGUMENTS = {"path": "a.toml"}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
BASES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
SECRET = "word-that-opens-7261"
CALL, WORDS = "call", "words"
TOKENS = (1_000, 50)
"""Read and written by each answer."""


@dataclass
class Served:
    """What was asked, and how to answer: the next word of `script`, the last one again and again.

    `call`, `words`; a status with a body; `cut` in the middle; `silent` for ever; bytes that are not valid JSON.
    """

    script: list[str | bytes | tuple[int, Any]] = field(default_factory=lambda: [CALL, WORDS])
    streams: bool = False
    tool: str = "read_file"
    arguments: Any = field(default_factory=lambda: dict(ARGUMENTS))
    asked: list[tuple[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


class Models(BaseHTTPRequestHandler):
    served: Served

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        served = self.served
        word = served.script[min(len(served.asked), len(served.script) - 1)]
        served.asked.append((self.path, body))
        served.keys += [self.headers.get(name, "") for name in ("Authorization", "x-api-key", "x-goog-api-key")]
        if word == "silent":
            served.released.wait(60)
            return
        if isinstance(word, tuple):
            self._send(word[0], json.dumps(word[1]).encode())
        elif isinstance(word, bytes):
            self._send(200, word)
        elif word == "cut":
            self._send(200, self._whole(WORDS), missing=100)
        elif served.streams:
            self._send(200, self._pieces(word).encode(), kind="text/event-stream")
        else:
            self._send(200, self._whole(word))

    def _send(self, status: int, answer: bytes, *, kind: str = "application/json", missing: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer) + missing))
        self.end_headers()
        self.wfile.write(answer)

    def _whole(self, word: str) -> bytes:
        served, (read, written) = self.served, TOKENS
        if "chat" in self.path:
            function = {"name": served.tool, "arguments": json.dumps(served.arguments)}
            calls = {"tool_calls": [{"id": "x", "type": "function", "function": function}]} if word == CALL else {}
            said: Any = {
                "choices": [{"message": {"role": "assistant", "content": "So it is.", **calls}}],
                "model": "gpt-5",
                "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
            }
        elif "messages" in self.path:
            use = {"type": "tool_use", "id": "x", "name": served.tool, "input": served.arguments}
            said = {
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [use if word == CALL else {"type": "text", "text": "So it is."}],
                "usage": {"input_tokens": read, "output_tokens": written},
            }
        else:
            part = {"functionCall": {"name": served.tool, "args": served.arguments}}
            parts = [part if word == CALL else {"text": "So it is."}]
            said = {
                "candidates": [{"content": {"role": "model", "parts": parts}}],
                "usageMetadata": {"promptTokenCount": read, "candidatesTokenCount": written},
            }
        return json.dumps(said).encode()

    def _pieces(self, word: str) -> str:
        served, arguments = self.served, json.dumps(self.served.arguments)
        events: list[Any]
        if "chat" in self.path:
            function = {"name": served.tool, "arguments": arguments}
            delta = {"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": function}]}
            deltas = [delta] if word == CALL else [{"content": "So "}, {"content": "it is."}]
            events = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
            return "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"
        if "messages" in self.path:
            block = {"type": "tool_use", "id": "x", "name": served.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": arguments}
            if word != CALL:
                block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "So it is."}
            events = [
                {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
                {"type": "message_stop"},
            ]
            return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
        part = {"functionCall": {"name": served.tool, "args": served.arguments}}
        texts = [{"text": "So "}, {"text": "it is."}]
        parts = [part] if word == CALL else texts
        events = [{"candidates": [{"content": {"role": "model", "parts": [each]}}]} for each in parts]
        return "".join(f"data: {json.dumps(each)}\n\n" for each in events)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it so
        """Write nothing."""


@contextmanager
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that the three providers' addresses name."""
    served = Served()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Models,), {"served": served}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    for name in BASES:
        monkeypatch.setenv(name, f"http://127.0.0.1:{server.server_port}")
    for name in KEYS:
        monkeypatch.setenv(name, SECRET)
    yield served
    served.released.set()
    server.shutdown()
    server.server_close()
    thread.join()
