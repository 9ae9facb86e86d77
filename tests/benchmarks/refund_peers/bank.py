"""The bank: an HTTP server on the loopback interface that pays whatever it is asked to pay, and keeps count."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Bank:
    """What was paid, in order, and where the bank is reached."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.paid: list[int] = []
        self.port = str(server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/refunds"


@contextmanager
def open_bank() -> Iterator[Bank]:
    """Open the bank until the block is left.

    It also answers `/v1/chat/completions` in the language of OpenAI, for a tool that records nothing but requests to
    models: by the rule of `agents/desk.py`, as a call of the tool `refund`.
    """

    class Counter(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/refunds":
                bank.paid.append(body["amount"])
                answer: object = {"receipt": f"R-{len(bank.paid)}"}
            else:
                answer = _answer(body)
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Say nothing: the count is what is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Counter) as server:
        bank = Bank(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield bank
        finally:
            server.shutdown()


def _answer(request: dict[str, list[dict[str, str]]]) -> dict[str, object]:
    """A chat completion: read the ticket first, then decide, and reply once a receipt is there."""
    tools = [json.loads(m["content"]) for m in request["messages"] if m["role"] == "tool"]
    if not tools:
        message = _calls("read_ticket", {})
    elif len(tools) == 1:
        message = _calls("refund", tools[0]) if tools[0]["amount"] <= 150 else {"content": "No refund."}
    else:
        message = {"content": f"Your refund: {tools[-1]['receipt']}"}
    return {
        "id": "answer",
        "object": "chat.completion",
        "created": 0,
        "model": "rule",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None} | message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _calls(name: str, arguments: dict[str, object]) -> dict[str, object]:
    call = {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"tool_calls": [call]}
