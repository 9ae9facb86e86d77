"""The loopback port that the program asks in place of its providers.

Its paths begin with a token that only the program is told, so that no other program of the machine asks a provider with
it. Nothing else is answered.
"""

from __future__ import annotations

import hmac
import http.client
import json
import secrets
import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError
from agent_tt.proxying.forwarding import answered
from agent_tt.proxying.upstreams import PROVIDERS
from agent_tt.recording.concurrency.new_lanes import place_here
from agent_tt.recording.lanes.guard_bypass import ours
from agent_tt.recording.lanes.lanes import THREAD_LANES
from agent_tt.recording.scope import here, nowhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_tt.proxying.forwarding import Answer
    from agent_tt.recording.scope import Scope

__all__ = ["Proxy"]

_TOKEN_BYTES: Final = 24
_MOST_BODY: Final = 512 * 1024 * 1024
"""Bytes of a request that are taken."""

_AT_ONCE: Final = "which of several requests of the program at the same time comes first"


class Proxy:
    """The port, and what becomes of requests to it.

    Attributes:
        halted: what halted the program (a replay's divergence, a fork's limit); None where nothing did.

    Args:
        upstreams: where each provider is, by its name.
        halt: called once when the program has to end.
    """

    def __init__(self, upstreams: Mapping[str, str], halt: Callable[[], None]) -> None:
        self.halted: BaseException | None = None
        self._upstreams = upstreams
        self._halt = halt
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._scope = here()
        self._lock = threading.Lock()
        self._lanes: set[int] = set()
        with ours():
            self._server = _Server(self)

    def environment(self) -> dict[str, str]:
        """The variables by which the program's SDKs ask here."""
        root = f"http://127.0.0.1:{self._server.server_port}/{self._token}"
        return {name: f"{root}/{provider.name}" for provider in PROVIDERS for name in provider.variables}

    def start(self) -> None:
        """Answer from now on, in threads of our own: they make no lanes."""
        with ours():
            threading.Thread(target=self._serve, name="agent-tt proxy", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                request, address = self._server.get_request()
            except OSError:
                continue
            work = partial(self._server.process_request_thread, request, address)
            threading.Thread(target=work, name="agent-tt request", daemon=True).start()

    def address_of(self, path: str) -> str | None:
        """What a path of this port stands for; None for one that stands for nothing."""
        first, token, name, *rest = [*path.split("/", 3), "", ""][: max(3, path.count("/") + 1)][:4]
        if not rest:
            name, question, query = name.partition("?")
        is_ours = not first and hmac.compare_digest(token.encode(), self._token.encode())
        if not is_ours or name not in self._upstreams:
            return None
        return self._upstreams[name] + (f"/{rest[0]}" if rest else question + query)

    @contextmanager
    def in_lane(self) -> Iterator[None]:
        """Be in the recording, and in a lane that no other request is in: of one after another it is the main one."""
        scope = self._scope
        if scope is None:
            yield
            return
        with self._lock:
            slot = next(number for number in range(len(self._lanes) + 1) if number not in self._lanes)
            self._lanes.add(slot)
        before = THREAD_LANES.thread
        try:
            with nowhere():
                self._place(scope, slot)
                yield
        finally:
            THREAD_LANES.thread = before
            with self._lock:
                self._lanes.discard(slot)

    def _place(self, scope: Scope, slot: int) -> None:
        lanes = scope.recording.lanes
        place_here(scope, lanes.main)
        lane = lanes.main if not slot else lanes.named(f"beside {slot}")[0]
        if slot:
            lane.unsure = _AT_ONCE
        THREAD_LANES.thread = lane
        place_here(scope, lane)

    def halt(self, why: BaseException) -> None:
        """Let the program end, because what it asks may not be answered."""
        with self._lock:
            is_first, self.halted = self.halted is None, self.halted or why
        if is_first:
            self._halt()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy

    def server_bind(self) -> None:
        """Bind, without looking a name up for the address."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: the program has closed its connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *_: object) -> None:
        """Nothing: standard error is the program's."""

    def send_response(self, code: int, message: str | None = None) -> None:
        """Without headers of our own: the answer is the provider's."""
        self.send_response_only(code, message)

    def _forward(self) -> None:
        proxy, body = self.server.proxy, self._body()
        if body is None:
            return
        address = proxy.address_of(self.path)
        if address is None:
            self._say(404, "there is nothing here: the address is not one of this run")
            return
        if self.headers.get("Upgrade"):
            self._say(501, "the proxy of agent-tt passes no WebSockets on")
            return
        try:
            with proxy.in_lane():
                for answer in answered(self.command, address, self.headers.items(), body):
                    self._pass_on(answer)
        except _Gone:
            self.close_connection = True
        except AgentTTError as error:  # a fork's policy, or a person, refuses it
            self._say(400, f"agent-tt: {error.message}")
        except (OSError, http.client.HTTPException) as error:
            self._say(502, f"the provider could not be asked: {type(error).__name__}: {error}")
        except BaseException as error:  # noqa: BLE001  a replay that diverged, a limit: the program is to end
            self._say(400, f"agent-tt: {error}")
            proxy.halt(error)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _forward  # noqa: N815  names of http.server

    def _body(self) -> bytes | None:
        """The whole of what is sent; None where it is refused."""
        self._begun = False
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunks()
        try:
            size = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            size = -1
        if not 0 <= size <= _MOST_BODY:
            self._say(413, "the request is too large, or its length is no number")
            return None
        return self.rfile.read(size)

    def _chunks(self) -> bytes | None:
        body = bytearray()
        while True:
            try:
                size = int(self.rfile.readline(80).split(b";")[0], 16)
            except ValueError:
                size = -1
            if not 0 <= size <= _MOST_BODY - len(body):
                self._say(413, "the request is too large, or a chunk of it has no length")
                return None
            body += self.rfile.read(size)
            if not size:
                while self.rfile.readline(1 << 16).strip():
                    pass
                return bytes(body)
            self.rfile.readline(8)

    def _pass_on(self, answer: Answer) -> None:
        """Give the program an answer, each piece when it has come."""
        is_empty = self.command == "HEAD" or answer.status in (204, 304)
        is_sized = any(name.lower() == "content-length" for name, _ in answer.headers)
        is_chunked = not is_empty and not is_sized and self.request_version != "HTTP/1.0"
        with _gone():
            self.send_response(answer.status, answer.reason)
            for name, value in answer.headers:
                self.send_header(name, value)
            if is_chunked:
                self.send_header("Transfer-Encoding", "chunked")
            elif not is_sized and not is_empty:
                self.close_connection = True
            self.end_headers()
        self._begun = True
        for piece in answer.pieces() if not is_empty else ():
            with _gone():
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
        if is_chunked:
            with _gone():
                self.wfile.write(b"0\r\n\r\n")

    def _say(self, status: int, message: str) -> None:
        """Answer in the form that the SDKs read errors from; a begun answer breaks off."""
        self.close_connection = True
        if self._begun:
            return
        body = json.dumps({"error": {"type": "agent_tt", "message": message}}).encode()
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.send_header("X-Should-Retry", "false")
            self.end_headers()
            self.wfile.write(body)


class _Gone(Exception):
    """The program has closed its connection."""


@contextmanager
def _gone() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _Gone from error
