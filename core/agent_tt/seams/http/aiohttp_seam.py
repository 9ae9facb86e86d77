"""aiohttp: caught at the connector and the protocol, with the bytes of the wire after decryption.

`BaseConnector.connect` is where a try of a request meets the network first, so there it becomes a question; what its
`ResponseHandler` receives is recorded. On replay the connector gives a connection to a recording, and aiohttp parses
that as always. Connecting that fails is an answer in one piece. A connection that the agent's side closes ends the
answer as `closed`: it has read enough, or a timer of its own went off, which goes off again on replay. Connections that
become WebSockets are another seam's (`OPENING`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_members, need_parameters
from agent_tt.seams.http.http_exchange import open_wire_exchange
from agent_tt.seams.http.http_request import IDEMPOTENCY_KEY, HttpRequest
from agent_tt.seams.http.served_transport import ServedTransport

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.seams.http.http_exchange import WireExchange
    from agent_tt.seams.http.served_answer import ServedAnswer

_Function = Callable[..., Any]

EXCHANGE: Final = "_agent_tt_exchange"
"""The attribute of a protocol that holds the exchange under way on its connection."""


class Opening(Protocol):
    """Who opens connections that become WebSockets."""

    async def connect(
        self, request: Any, connect: Callable[[], Awaitable[Any]], stand_in: Callable[[_Function], Any]
    ) -> object:
        """Connect, or stand in for that.

        Args:
            request: the opening handshake, a `ClientRequest`.
            connect: connects for real.
            stand_in: gives a connection; the function that it is called with makes the transport of a protocol.
        """


OPENING: Final[ContextVar[Opening | None]] = ContextVar("agent_tt_opening", default=None)
"""Who connects in place of this seam while a WebSocket is opened."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in aiohttp.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    connector, protocol = module.connector, module.client_proto.ResponseHandler
    need_attributes(connector.BaseConnector.__init__, "_acquired", "_factory")
    need_attributes(protocol.__init__, "_payload")
    need_members(protocol, "connection_made", "force_close", "set_exception")
    need_members(module.client_reqrep.ClientRequest, "_body", "connection_key")
    need_parameters(connector.Connection.__init__, "connector", "key", "protocol", "loop")
    need_parameters(connector.BaseConnector.connect, "req")
    return [
        Patch(connector.BaseConnector, "connect", partial(_connect, connector.Connection)),
        Patch(module.client_reqrep.ClientRequest, "send", _send),
        Patch(protocol, "data_received", _data_received),
        Patch(protocol, "connection_lost", _connection_lost),
        Patch(protocol, "close", _close),
        Patch(protocol, "abort", _close),
    ]


def _connect(make_connection: _Function, original: _Function) -> _Function:
    async def connect(connector: Any, request: Any, *args: object, **options: object) -> object:
        if not is_watched():
            return await original(connector, request, *args, **options)
        stand_in = partial(_stand_in, make_connection, connector, request)
        opening = OPENING.get()
        if opening is not None and "upgrade" in request.headers:
            return await opening.connect(request, partial(original, connector, request, *args, **options), stand_in)
        exchange = open_wire_exchange(await _question(request), is_awaited=True)
        if exchange is None:
            with passing():
                return await original(connector, request, *args, **options)
        try:
            await exchange.until_live()
            if exchange.changed is not None:
                await request.update_body(exchange.changed.body)
                request.url = type(request.url)(exchange.changed.url)
            if exchange.answer is None:
                if exchange.key_before is not None:
                    request.headers[IDEMPOTENCY_KEY] = exchange.key_before
                with passing():
                    connection = await original(connector, request, *args, **options)
            else:
                connection = await _served_connection(stand_in, request, exchange.answer)
        except BaseException as error:
            exchange.failed(error)
            raise
        vars(connection.protocol)[EXCHANGE] = exchange
        return connection

    return connect


def _send(original: _Function) -> _Function:
    async def send(request: Any, connection: Any) -> object:
        exchange = _exchange_of(connection.protocol)
        if exchange is None:
            return await original(request, connection)
        exchange.sent()
        try:
            response = await original(request, connection)
        except BaseException as error:
            exchange.failed(error)
            raise
        if exchange.answer is not None:
            connection.transport.start()
        return response

    return send


def _data_received(original: _Function) -> _Function:
    def data_received(protocol: Any, data: bytes) -> object:
        exchange = _exchange_of(protocol)
        if exchange is not None and data:  # without data aiohttp only looks at what it has already
            exchange.received(bytes(data))
        return original(protocol, data)

    return data_received


def _connection_lost(original: _Function) -> _Function:
    def connection_lost(protocol: Any, error: BaseException | None) -> object:
        exchange: WireExchange | None = vars(protocol).pop(EXCHANGE, None)
        if exchange is not None:
            if error is None:
                exchange.received(b"")
            else:
                exchange.failed(error)
        return original(protocol, error)

    return connection_lost


def _close(original: _Function) -> _Function:
    def close(protocol: Any) -> object:
        exchange: WireExchange | None = vars(protocol).pop(EXCHANGE, None)
        try:
            if exchange is not None:
                exchange.closed()
        finally:
            result = original(protocol)
        return result

    return close


def _exchange_of(protocol: Any) -> WireExchange | None:
    return None if protocol is None else vars(protocol).get(EXCHANGE)


async def _served_connection(stand_in: _Function, request: Any, answer: ServedAnswer) -> Any:
    """A connection to a recording, unless connecting failed then."""
    if answer.is_nothing:
        try:
            await answer.wire_bytes_async()
        except Exception as error:
            with_key(error, request)
            raise
    if answer.is_upgrade:  # a WebSocket: what went through it afterwards was not recorded
        raise answer.upgraded()
    return stand_in(lambda protocol: ServedTransport(protocol, answer, partial(refuse, protocol)))


def with_key(error: BaseException, request: Any) -> None:
    """Give a recorded error of connecting its key again, which may hold a TLS context, recorded as text."""
    if "_conn_key" in vars(error):
        vars(error)["_conn_key"] = request.connection_key
        error.args = (request.connection_key, *error.args[1:])


def _stand_in(make_connection: _Function, connector: Any, request: Any, make_transport: _Function) -> Any:
    """A connection to a transport of ours. It is never pooled: the next request has another answer."""
    protocol = connector._factory()  # noqa: SLF001  the connector is asked for its protocols here only
    protocol.connection_made(make_transport(protocol))
    protocol.force_close()
    connector._acquired.add(protocol)  # noqa: SLF001  so that closing the session closes it
    return make_connection(connector, request.connection_key, protocol, asyncio.get_running_loop())


def refuse(protocol: Any, error: BaseException) -> None:
    """Raise `error` where the agent waits for the head or for the body."""
    payload = protocol._payload  # noqa: SLF001  whoever reads the body waits there
    protocol.set_exception(error)
    if payload is not None:
        payload.set_exception(error)


async def _question(request: Any) -> HttpRequest:
    body = request._body  # noqa: SLF001  the property is deprecated for what is not bytes
    payload = b"" if not body else bytes(await body.as_bytes())
    return HttpRequest(request.method, str(request.url), list(request.headers.items()), payload)
