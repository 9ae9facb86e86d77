"""urllib3, and requests, botocore and others through it: caught at the connection, with the bytes of the wire.

urllib3 and `http.client` parse a recorded answer themselves, status line, framing and all. A request is known when
`HTTPConnectionPool.urlopen` starts a try (each retry and redirect is a call of `urlopen` of its own), or, of a
connection without a pool, when `HTTPConnection.request` sends it; nothing happens before it is known, so a replay opens
no socket. The errors of connecting are answers in one piece; those of receiving end an answer in pieces.
"""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_members, need_parameters
from agent_tt.seams.http.http_exchange import open_wire_exchange
from agent_tt.seams.http.http_request import IDEMPOTENCY_KEY, HttpRequest
from agent_tt.seams.http.wire_connection import EXCHANGE, bracketed, get_response, payload_of, read_body, target_of
from agent_tt.seams.http.wire_files import ServedSocket

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.seams.http.http_exchange import WireExchange
    from agent_tt.seams.http.served_answer import ServedAnswer
    from agent_tt.seams.http.wire_connection import Function

_GO_ON_AFTER: Final = frozenset({errno.EPIPE, errno.ECONNRESET, errno.EPROTOTYPE})
"""Errors of sending after which urllib3 still looks for an answer: the server may have given one before it left."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in urllib3.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    connections, pools = module.connection, module.connectionpool
    need_attributes(connections.HTTPConnection.__init__, "_has_connected_to_proxy", "proxy")
    need_members(connections.HTTPConnection, "response_class", "default_port", "is_verified", "proxy_is_verified")
    need_parameters(pools.HTTPConnectionPool.urlopen, "method", "url", "body", "headers")
    need_parameters(connections.HTTPConnection.request, "method", "url", "body", "headers")
    return [
        Patch(pools.HTTPConnectionPool, "urlopen", _urlopen),
        Patch(connections.HTTPConnection, "connect", _connect),
        Patch(connections.HTTPSConnection, "connect", _connect),
        Patch(connections.HTTPConnection, "request", _request),
        Patch(connections.HTTPConnection, "getresponse", _getresponse),
    ]


class _Try:
    """One try of one request: recorded or served from the first moment at which it touches a connection."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._exchange: WireExchange | None = None
        self._has_begun = False

    def begin(self) -> WireExchange | None:
        """Its exchange; None where it is simply made."""
        if not self._has_begun:
            self._exchange = open_wire_exchange(self._request, is_awaited=False)
            self._has_begun = True
        return self._exchange

    def failed(self, error: BaseException) -> None:
        """`error` ended it, and nobody nearer to the network has said so."""
        if self._exchange is not None:
            self._exchange.failed(error)


class _Current(threading.local):
    """The try that this thread is making."""

    value: _Try | None = None


_CURRENT: Final = _Current()


def _urlopen(original: Function) -> Function:
    def urlopen(
        pool: Any, method: str, url: str, body: Any = None, headers: Any = None, *rest: object, **options: Any
    ) -> object:
        if not is_watched():
            return original(pool, method, url, body, headers, *rest, **options)
        payload = payload_of(body)
        if payload is None:
            # Read here and sent from memory; the framing stays what it would have been.
            payload = body = read_body(body, options.pop("body_pos", None))
            sent = pool.headers if headers is None else headers
            if not any(name.lower() in ("content-length", "transfer-encoding") for name in sent):
                options["chunked"] = True
        place = url if not url.startswith("/") else f"{pool.scheme}://{bracketed(pool.host)}:{pool.port}{url}"
        sent = pool.headers if headers is None else headers
        outer = _CURRENT.value
        attempt = _CURRENT.value = _Try(HttpRequest(method, place, _pairs(sent), payload))
        try:
            return original(pool, method, url, body, headers, *rest, **options)
        except BaseException as error:
            attempt.failed(error)
            raise
        finally:
            _CURRENT.value = outer

    return urlopen


def _connect(original: Function) -> Function:
    def connect(connection: Any) -> object:
        attempt = _CURRENT.value
        if attempt is None:
            return original(connection)
        exchange = attempt.begin()
        if exchange is None:
            with passing():
                return original(connection)
        try:
            if exchange.answer is None:
                with passing():
                    return original(connection)
            _connect_to(connection, exchange.answer)
        except BaseException as error:
            exchange.failed(error)
            raise
        return None

    return connect


def _request(original: Function) -> Function:
    def request(
        connection: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any
    ) -> object:
        vars(connection).pop(EXCHANGE, None)
        if not is_watched():
            return original(connection, method, url, body=body, headers=headers, **options)
        attempt = _CURRENT.value
        if attempt is None:
            payload = payload_of(body)
            if payload is None:
                payload = body = read_body(body, None)
            attempt = _Try(HttpRequest(method, _place(connection, url), _pairs(headers or {}), payload))
        exchange = attempt.begin()
        answer = None if exchange is None else exchange.answer
        if exchange is not None and exchange.key_before is not None:
            kept = {name: value for name, value in (headers or {}).items() if _text(name).lower() != IDEMPOTENCY_KEY}
            headers = kept | {IDEMPOTENCY_KEY: exchange.key_before}
        vars(connection)[EXCHANGE] = exchange
        if exchange is not None and exchange.changed is not None:
            body, headers = exchange.changed.body, dict(exchange.changed.headers)
            url, options = target_of(exchange.changed.url, url), {**options, "chunked": False}
        try:
            if answer is not None and not isinstance(connection.sock, ServedSocket):
                connection.close()
                _connect_to(connection, answer)
            if answer is not None:
                return original(connection, method, url, body=body, headers=headers, **options)
            with passing():
                return original(connection, method, url, body=body, headers=headers, **options)
        except BaseException as error:
            if not isinstance(error, OSError) or error.errno not in _GO_ON_AFTER:
                attempt.failed(error)
            raise

    return request


def _getresponse(original: Function) -> Function:
    def getresponse(connection: Any) -> object:
        exchange: WireExchange | None = vars(connection).pop(EXCHANGE, None)
        return original(connection) if exchange is None else get_response(original, connection, exchange)

    return getresponse


def _connect_to(connection: Any, answer: ServedAnswer) -> None:
    """Connect to a recording, as to a server whose certificate is good, unless connecting failed then."""
    if answer.is_nothing:
        try:
            answer.wire_bytes()
        except Exception as error:
            if "conn" in vars(error):  # the connection that could not be made: recorded as text, here is one again
                vars(error)["conn"] = connection
            raise
    connection.sock = ServedSocket(answer)
    connection.is_verified = True
    proxy = getattr(connection, "proxy", None)
    if proxy is not None:
        connection.proxy_is_verified = True
        connection._has_connected_to_proxy = True  # noqa: SLF001  its property can only be read, and errors depend on it


def _place(connection: Any, url: str) -> str:
    if not url.startswith("/"):
        return url
    scheme = "https" if connection.default_port == 443 else "http"
    return f"{scheme}://{bracketed(connection.host)}:{connection.port}{url}"


def _pairs(headers: Any) -> list[tuple[str, str]]:
    return [(_text(name), _text(value)) for name, value in headers.items()]


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
