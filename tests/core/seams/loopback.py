"""A server on the loopback interface that speaks the wire formats of model providers, and awkward HTTP.

Every id and text that it makes is new, so that an answer can only be equal to another if it is the same one. What it
does is chosen by the path, and by the header `x-probe`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.core.seams.provider_answers import ANSWERS, STREAMS, generated, new

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Loopback

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(b"")

    do_HEAD = do_DELETE = do_GET

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline().strip(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(body)

    do_PUT = do_POST

    def do_CONNECT(self) -> None:
        """Be a proxy: relay bytes to the place that is asked for."""
        self.server.tunnels += 1
        host, _, port = self.path.partition(":")
        self.close_connection = True
        with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as onward:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_pump, args=(onward, self.connection), daemon=True)
            back.start()
            _pump(self.connection, onward)
            back.join(5)

    def answer(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        if path.startswith("http://"):  # a forwarding proxy
            self.server.tunnels += 1
            path = "/" + path.split("/", 3)[3]
        self.server.hit(path, dict(self.headers), body)
        probe = self.headers.get("x-probe", "")
        if "jitter" in query:
            time.sleep(random.random() * 0.01)
        with contextlib.suppress(OSError):
            if not self._probed(probe):
                self._by_path(path, query, body, probe)

    def _probed(self, probe: str) -> bool:
        if probe == "hang":
            self.server.released.wait(20)
            self.close_connection = True
        elif probe.startswith("429") and self.server.tries(probe) < 3:
            error = {"error": {"message": new("slow down "), "type": "rate_limit_error", "code": "rate_limited"}}
            self.send(json.dumps(error).encode(), status=429, headers={"retry-after-ms": "1"})
        elif probe == "400":
            error = {"error": {"message": new("bad "), "type": "invalid_request_error", "param": "x", "code": "c1"}}
            self.send(json.dumps(error).encode(), status=400)
        elif probe == "refuse":
            self.close_connection = True
        else:
            return False
        return True

    def _by_path(self, path: str, query: str, body: bytes, probe: str) -> None:
        place = next((place for place in ANSWERS if path.endswith(place)), None)
        kept = self.server.bodies.get(unquote(path))
        if kept:
            status, headers, content = kept.pop(0)
            if "stream" in headers["Content-Type"]:
                self.stream([content[at : at + 700] for at in range(0, len(content), 700)], headers=headers, kind="")
            else:
                self.send(content, status=status, headers=headers, kind="")
        elif place is not None:
            asked = json.loads(body)
            if asked.get("stream"):
                self.stream(STREAMS[place](asked), stop_before=4 if probe == "drop" else None)
            else:
                self.send(json.dumps(ANSWERS[place](asked), indent=1).encode())
        elif path.endswith(":generateContent"):
            self.send(json.dumps(generated()).encode())
        elif path.endswith(":streamGenerateContent"):
            self.stream(f"data: {json.dumps(generated())}\r\n\r\n" for _ in range(4))
        elif path == "/gzip":
            self.send(gzip.compress(new("z" * 500).encode()), kind="text/plain", headers={"Content-Encoding": "gzip"})
        elif path == "/gzip-stream":
            packed = gzip.compress(b"".join(new("line ").encode() for _ in range(300)))
            pieces = [packed[at : at + 17] for at in range(0, len(packed), 17)]
            self.stream(pieces, headers={"Content-Encoding": "gzip"})
        elif path == "/redirect":
            self.send(b"", status=302, headers={"Location": "/echo?after=redirect", "Set-Cookie": new("sid=")})
        elif path == "/stream":
            self.stream(
                (new("part ") + ";" for _ in range(10)),
                stop_before=4 if probe in ("drop", "reset") else None,
                resets=probe == "reset",
            )
        elif path == "/until-close":
            self.close_connection = True
            self.send_response(200)
            self.end_headers()
            self.wfile.write(new("all of it ").encode() * 50)
        elif path == "/upgrade":
            self.close_connection = True
            self.send_response(101)
            self.send_header("Connection", "upgrade")
            self.send_header("Upgrade", "websocket")
            self.end_headers()
        elif path == "/empty":
            self.send(b"", status=204)
        else:
            cookies = sorted(part.partition("=")[0].strip() for part in self.headers.get("Cookie", "").split(";"))
            shown = {"path": self.path, "id": new("echo "), "cookies": cookies, "size": len(body)}
            self.send(json.dumps(shown).encode())

    def reset(self) -> None:
        """End the connection with RST."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.wfile.close()
        self.connection.close()

    def send(
        self, body: bytes, *, status: int = 200, kind: str = "application/json", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        if status != 204:
            if kind:
                self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.send_header("x-request-id", new("req_"))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def stream(
        self,
        pieces: Iterable[str | bytes],
        *,
        kind: str = "text/event-stream",
        stop_before: int | None = None,
        headers: dict[str, str] | None = None,
        resets: bool = False,
    ) -> None:
        self.send_response(200)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        for index, piece in enumerate(pieces):
            if index == stop_before:
                self.close_connection = True
                if resets:
                    self.reset()
                return
            data = piece.encode() if isinstance(piece, str) else piece
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.flush()
            self.server.gate(index)
        self.wfile.write(b"0\r\n\r\n")


class Loopback(ThreadingHTTPServer):
    """The server while a test runs.

    Attributes:
        hits: requests by path.
        seen: path, headers and body of each.
        tunnels: how often it was used as a proxy.
        bodies: what else it serves, by path: status, headers and body, for each request in turn.
        released: set when those who hang may go.
        taken: one permit for each chunk of a stream beyond the first that may leave; None lets all leave.
    """

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.hits: Counter[str] = Counter()
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.tunnels = 0
        self.bodies: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}
        self.released = threading.Event()
        self.taken: threading.Semaphore | None = None
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._scheme = "http" if context is None else "https"
        self._is_running = True
        threading.Thread(target=self.serve_forever, args=(0.005,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_address[1]}"

    @property
    def count(self) -> int:
        """How many requests arrived."""
        return sum(self.hits.values())

    def hit(self, path: str, headers: dict[str, str], body: bytes) -> None:
        with self._lock:
            self.hits[path] += 1
            self.seen.append((path, headers, body))

    def tries(self, probe: str) -> int:
        with self._lock:
            self._tries[probe] += 1
            return self._tries[probe]

    def gate(self, index: int) -> None:
        if self.taken is not None:
            self.taken.acquire(timeout=5)

    def stop(self) -> None:
        """Stop listening: whoever asks now is refused."""
        if self._is_running:
            self._is_running = False
            self.released.set()
            self.shutdown()
            self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that leave early are part of the tests."""


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
