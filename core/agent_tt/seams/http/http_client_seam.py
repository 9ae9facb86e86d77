"""`http.client`, and `urllib.request`, `xmlrpc.client` and others through it: caught at the connection.

All of them send the head of a request with `HTTPConnection.endheaders`, and nothing connects before it. A body that is
sent piece by piece afterwards is held back until the answer is asked for, because the question is not known before.
The answer is recorded as the bytes of the wire, which `http.client` parses again in a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_members
from agent_tt.seams.http.http_exchange import open_wire_exchange
from agent_tt.seams.http.http_request import IDEMPOTENCY_KEY, HttpRequest, joined_headers
from agent_tt.seams.http.wire_connection import EXCHANGE, bracketed, get_response, payload_of, read_body, target_of
from agent_tt.seams.http.wire_files import ServedSocket

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.seams.http.http_exchange import WireExchange
    from agent_tt.seams.http.wire_connection import Function

_OPENED: Final = "_agent_tt_opened"
"""The attribute in which a connection keeps its current exchange, if no library above `http.client` began that."""

_HELD: Final = "_agent_tt_held"
"""The attribute in which a connection keeps a request whose body the program is still sending."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `http.client`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    connection = module.HTTPConnection
    need_attributes(connection.__init__, "_buffer", "_tunnel_host", "_tunnel_port")
    need_members(connection, "response_class", "default_port")
    return [
        Patch(connection, "endheaders", _endheaders),
        Patch(connection, "send", _send),
        Patch(connection, "getresponse", _getresponse),
        Patch(connection, "close", _close),
    ]


class _Held:
    """A request whose head is complete, and whose body comes in pieces."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self.body = bytearray()
        self._send = send

    def send(self) -> None:
        """Ask the question, now that all of it is known."""
        self._send(bytes(self.body))


def _endheaders(original: Function) -> Function:
    def endheaders(connection: Any, message_body: Any = None, *, encode_chunked: bool = False) -> None:
        state = vars(connection)
        if EXCHANGE in state or not is_watched():  # urllib3 has begun an exchange itself
            original(connection, message_body, encode_chunked=encode_chunked)
            return
        state.pop(_HELD, None)
        left: WireExchange | None = state.pop(_OPENED, None)
        if left is not None:
            left.closed()
        if message_body is None and _announces_body(connection):
            state[_HELD] = _Held(lambda body: _begin(original, connection, body, encode_chunked=False))
            return
        body = message_body
        if body is not None and payload_of(body) is None:
            body = read_body(body, None, "iso-8859-1")
        _begin(original, connection, body, encode_chunked=encode_chunked)

    return endheaders


def _send(original: Function) -> Function:
    def send(connection: Any, data: Any) -> None:
        held: _Held | None = vars(connection).get(_HELD)
        if held is None:
            original(connection, data)
            return
        payload = payload_of(data)
        held.body += read_body(data, None, "iso-8859-1") if payload is None else payload

    return send


def _getresponse(original: Function) -> Function:
    def getresponse(connection: Any) -> object:
        _send_held(connection)
        exchange: WireExchange | None = vars(connection).pop(_OPENED, None)
        return original(connection) if exchange is None else get_response(original, connection, exchange)

    return getresponse


def _close(original: Function) -> Function:
    def close(connection: Any) -> None:
        try:
            _send_held(connection)
        finally:
            original(connection)

    return close


def _send_held(connection: Any) -> None:
    held: _Held | None = vars(connection).pop(_HELD, None)
    if held is not None:
        held.send()


def _begin(original: Function, connection: Any, body: Any, *, encode_chunked: bool) -> None:
    """Ask the question, and send it unless a recording or a policy answers it."""
    request = _request(connection, b"" if body is None else payload_of(body) or b"")
    exchange = open_wire_exchange(request, is_awaited=False)
    if exchange is None:
        with passing():
            original(connection, body, encode_chunked=encode_chunked)
        return
    vars(connection)[_OPENED] = exchange
    try:
        if exchange.changed is not None:
            _write_head(connection, exchange.changed)
            body, encode_chunked = exchange.changed.body, False
        elif exchange.key_before is not None:
            kept = [pair for pair in request.headers if pair[0].lower() != IDEMPOTENCY_KEY]
            headers = [*kept, (IDEMPOTENCY_KEY, exchange.key_before)]
            _write_head(connection, HttpRequest(request.method, request.url, headers, request.body))
        if exchange.answer is None:
            with passing():
                original(connection, body, encode_chunked=encode_chunked)
            return
        if exchange.answer.is_nothing:
            exchange.answer.wire_bytes()  # raises what connecting, or sending, raised
        if connection.sock is not None:
            connection.sock.close()
        connection.sock = ServedSocket(exchange.answer)
        original(connection, body, encode_chunked=encode_chunked)
    except BaseException as error:
        vars(connection).pop(_OPENED, None)
        exchange.failed(error)
        raise


def _announces_body(connection: Any) -> bool:
    """Whether the head that is about to be sent says that a body follows."""
    headers = joined_headers(_headers(connection))
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip() not in ("", "0")


def _request(connection: Any, body: bytes) -> HttpRequest:
    method, url = connection._buffer[0].decode("latin-1").split(" ")[:2]  # noqa: SLF001  the head is only kept there
    if url.startswith("/") or url == "*":
        host, port = connection._tunnel_host or connection.host, connection.port  # noqa: SLF001  no other name for it
        if connection._tunnel_host:  # noqa: SLF001
            port = connection._tunnel_port  # noqa: SLF001
        scheme = "https" if connection.default_port == 443 else "http"
        url = f"{scheme}://{bracketed(host)}:{port}{url}"
    return HttpRequest(method, url, _headers(connection), body)


def _headers(connection: Any) -> list[tuple[str, str]]:
    lines = [line.decode("latin-1").partition(":") for line in connection._buffer[1:]]  # noqa: SLF001
    return [(name, value.strip()) for name, _, value in lines]


def _write_head(connection: Any, request: HttpRequest) -> None:
    """Put another head in place of the one that is about to be sent."""
    method, target, version = connection._buffer[0].decode("latin-1").split(" ")  # noqa: SLF001
    lines = [f"{method} {target_of(request.url, target)} {version}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    connection._buffer[:] = [line.encode("latin-1") for line in lines]  # noqa: SLF001
