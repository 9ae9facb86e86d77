"""A provider on loopback that counts what it is asked, and programs that ask it without anything of ours."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.served_in_thread import served

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = ("Do ", "you ", "have ", "gift cards?")

PLAIN = """
import http.client, json, os, sys
from urllib.parse import urlsplit
assert "agent_tt" not in sys.modules
place = urlsplit(os.environ["OPENAI_BASE_URL"])
connection = http.client.HTTPConnection(place.hostname, place.port)
messages = []
for number in range(2):
    messages.append({"role": "user", "content": f"question {number}"})
    body = json.dumps({"model": "gpt-4o-mini", "stream": number == 1, "messages": messages})
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["KEY"]}
    connection.request("POST", place.path + "/chat/completions", body, headers)
    answer = connection.getresponse()
    said = answer.read()
    sys.stdout.buffer.write(said)
    if number == 0 and answer.status == 200:
        messages.append(json.loads(said)["choices"][0]["message"])
sys.stdout.flush()
sys.exit(int(os.environ.get("ENDS", "0")))
"""
"""A program that knows nothing but HTTP: what it was answered is what it prints, byte for byte."""

WAITS = PLAIN.replace("sys.stdout.buffer.write(said)", "pass").replace(
    "sys.exit(", "print(os.getpid(), flush=True)\nimport time; time.sleep(600)\nsys.exit("
)
"""The same, which then says its process id and waits."""

OPENAI = """
import os, sys, openai
assert "agent_tt" not in sys.modules
client = openai.OpenAI(api_key=os.environ["KEY"], max_retries=0)
ask = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]}
print(client.chat.completions.create(**ask).choices[0].message.content)
print("".join(piece.choices[0].delta.content or "" for piece in client.chat.completions.create(**ask, stream=True)))
"""

ANTHROPIC = """
import os, sys, anthropic
assert "agent_tt" not in sys.modules
client = anthropic.Anthropic(api_key=os.environ["KEY"], max_retries=0)
ask = {"model": "claude-3-5-haiku-latest", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
print(client.messages.create(**ask).content[0].text)
with client.messages.stream(**ask) as stream:
    print("".join(stream.text_stream))
"""


class Provider(ThreadingHTTPServer):
    """Answers as OpenAI and Anthropic do; what it sent stands in `sent`, by request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.sent: list[bytes] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(self.path)
        is_openai = self.path.endswith("/chat/completions")
        pieces = (_openai if is_openai else _anthropic)(stream=bool(body.get("stream")))
        self.server.sent.append(b"".join(pieces))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
        if not body.get("stream"):
            self.send_header("Content-Length", str(len(pieces[0])))
            self.end_headers()
            self.wfile.write(pieces[0])
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (*pieces, b""):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            time.sleep(0.01)  # so that each comes by itself


def _openai(*, stream: bool) -> list[bytes]:
    base = {"id": "c-1", "created": 1, "model": "gpt-4o-mini"}
    if not stream:
        message = {"role": "assistant", "content": "".join(WORDS)}
        usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return [json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()]
    deltas = [{"content": word} for word in WORDS]
    chunks = [
        {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": each, "finish_reason": None}]}
        for each in deltas
    ]
    return [*(f"data: {json.dumps(each)}\n\n".encode() for each in chunks), b"data: [DONE]\n\n"]


def _anthropic(*, stream: bool) -> list[bytes]:
    usage = {"input_tokens": 3, "output_tokens": 4}
    message = {"id": "m-1", "type": "message", "role": "assistant", "model": "claude-3-5-haiku-latest", "usage": usage}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    if not stream:
        return [json.dumps({**message, **end, "content": [{"type": "text", "text": "".join(WORDS)}]}).encode()]
    events = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in WORDS),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events]


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider while the block lasts."""
    with served(Provider()) as server:
        yield server
