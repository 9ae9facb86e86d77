"""A web server on the loopback interface that answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.served_in_thread import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPENAI_ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "30"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
}
"""What a model answers that always says 30."""


class Web(ThreadingHTTPServer):
    """Answers every GET and POST.

    Attributes:
        asked: what came, as `POST /charge`, in order.
        bodies: the body of each.
    """

    def __init__(self, answer: Callable[[str, bytes], bytes], status: int = 200) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.status = answer, status
        self.asked: list[str] = []
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def forget(self) -> None:
        """Begin to remember anew."""
        self.asked.clear()
        self.bodies.clear()


class _Handler(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.asked.append(f"{self.command} {self.path}")
        self.server.bodies.append(sent)
        body = self.server.answer(self.path, sent)
        self.send_response(self.server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def serving(answer: Callable[[str, bytes], bytes] | object, status: int = 200) -> Iterator[Web]:
    """A server for the length of a block.

    Args:
        answer: gives the body of an answer from the path and the body that was sent; or what every answer holds.
        status: the status of every answer.
    """
    body = b"" if callable(answer) else json.dumps(answer).encode()
    with served(Web(answer if callable(answer) else lambda _path, _sent: body, status)) as server:
        yield server
