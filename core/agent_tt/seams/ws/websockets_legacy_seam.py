"""`websockets.legacy`: the older client of `websockets`, caught where it connects, sends and has read a frame.

It reads by a `StreamReader`, which on replay is fed from a recording.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_members, need_parameters
from agent_tt.seams.ws.frames import Frame
from agent_tt.seams.ws.lines import ServedTransport
from agent_tt.seams.ws.talk import open_talk
from agent_tt.seams.ws.websockets_seam import TALK, headers_of, sends, talk_of, told_of_failure

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.seams.ws.talk import Talk

_Function = Callable[..., Any]


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `websockets.legacy.client`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    made, common = module.WebSocketClientProtocol, module.WebSocketCommonProtocol
    need_attributes(module.Connect.__init__, "_create_connection", "_uri")
    need_members(made, "handshake", "connection_closed_exc", "read_http_response")
    need_parameters(common.read_frame, "max_size")
    need_parameters(common.send, "message")
    return [
        Patch(module.Connect, "__await_impl__", _await_impl),
        Patch(module, "read_response", _read_response),
        Patch(made, "read_http_response", _read_http_response),
        Patch(made, "handshake", told_of_failure),
        Patch(common, "read_frame", _read_frame),
        Patch(common, "send", partial(sends, lambda connection: connection.connection_closed_exc())),
        Patch(common, "connection_lost", _connection_lost),
    ]


def _await_impl(original: _Function) -> _Function:
    """Connecting, which follows to where it is sent: each time by what the connector calls to connect."""

    async def await_impl(connector: Any) -> object:
        if not is_watched():
            return await original(connector)
        connect = connector._create_connection.func  # noqa: SLF001
        _replace(connector, partial(_connect, connector, connect))
        try:
            return await original(connector)
        finally:
            _replace(connector, connect)

    return await_impl


def _replace(connector: Any, connect: _Function) -> None:
    """Let a connector connect by another function, with the arguments that it has by now."""
    before = connector._create_connection  # noqa: SLF001
    # By a function and not by a partial, which would become one with ours, and lose its place as `func`.
    connector._create_connection = partial(_plain(connect), *before.args, **before.keywords)  # noqa: SLF001


def _plain(function: _Function) -> _Function:
    if not isinstance(function, partial):
        return function

    async def connect(*args: Any, **options: Any) -> object:
        return await function(*args, **options)

    return connect


async def _connect(connector: Any, original: _Function, factory: Any, *args: Any, **options: Any) -> object:
    given = factory.keywords.get("extra_headers")
    talk = open_talk(connector._uri, headers_of(given), is_awaited=True)  # noqa: SLF001
    if talk is None:
        with passing():
            return await original(factory, *args, **options)
    try:
        await talk.until_live()
        if talk.answering is None:
            with passing():
                transport, connection = await original(factory, *args, **options)
        else:
            await talk.fail_as_recorded()
            connection = factory()
            transport = _Line(connection, talk.answering)
            connection.connection_made(transport)
    except BaseException as error:
        talk.failed(error)
        raise
    vars(connection)[TALK] = talk
    return transport, connection


class _Line(ServedTransport):
    """A transport that is lost once its client has read what came before: its reader gives nothing after an error."""

    _error: BaseException | None = None

    def lose(self, error: BaseException | None) -> None:
        """End the connection, with what broke it."""
        if error is not None and self._protocol.reader._buffer:  # noqa: SLF001
            self._error = error
        else:
            super().lose(error)

    def is_read(self) -> None:
        """The client is about to read another frame."""
        if self._error is not None:
            self.lose(self._error)


_READING: Final[ContextVar[Talk | None]] = ContextVar("agent_tt_reading_answer", default=None)
"""The connection whose answer to a handshake is read."""


def _read_http_response(original: _Function) -> _Function:
    async def read_http_response(connection: Any) -> object:
        token = _READING.set(talk_of(connection))
        try:
            return await original(connection)
        finally:
            _READING.reset(token)

    return read_http_response


def _read_response(original: _Function) -> _Function:
    async def read_response(stream: Any) -> object:
        status, reason, headers = await original(stream)
        talk = _READING.get()
        if talk is not None:
            talk.opened(status, reason, headers.raw_items(), b"")
        return status, reason, headers

    return read_response


def _read_frame(original: _Function) -> _Function:
    async def read_frame(connection: Any, *args: Any, **options: Any) -> object:
        if isinstance(connection.transport, _Line):
            connection.transport.is_read()
        frame = await original(connection, *args, **options)
        talk = talk_of(connection)
        if talk is not None:
            talk.received(Frame(int(frame.opcode), bytes(frame.data), is_last=frame.fin))
        return frame

    return read_frame


def _connection_lost(original: _Function) -> _Function:
    def connection_lost(connection: Any, error: BaseException | None) -> object:
        talk = talk_of(connection)
        if talk is not None:
            talk.ended(error)
        return original(connection, error)

    return connection_lost
