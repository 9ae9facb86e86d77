"""`websockets`: its clients for asyncio and for threads, caught where they connect, send and hear.

What a connection hears is recorded as its parser has it: decrypted and unpacked, message by message or fragment by
fragment. On replay the library's own connection reads a recording, so that iterating, deadlines, closing and errors are
the library's. Its older client has a seam of its own (`websockets_legacy_seam`).
"""

from __future__ import annotations

import queue
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_keywords, need_members, need_parameters
from agent_tt.recording.modules.rebinding import Rebinding
from agent_tt.seams.ws.frames import Frame
from agent_tt.seams.ws.lines import NoTls, ServedSocket, ServedTransport
from agent_tt.seams.ws.talk import open_talk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from types import ModuleType

    from agent_tt.recording.modules.rebinding import Replaced
    from agent_tt.seams.ws.talk import Sending, Talk

_Function = Callable[..., Any]

TALK: Final = "_agent_tt_talk"
"""The attribute of a connection that holds what is recorded of it, or answers it."""

_WHOLE: Final = (str, bytes, bytearray, memoryview)
"""Types of messages that are sent whole. A message of any other type is iterated, and each item is a fragment."""


def patches(module: ModuleType) -> list[Replaced]:
    """List what is replaced in one of the two clients.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    made, connection = module.ClientConnection, module.Connection
    need_parameters(made.process_event, "event")
    need_parameters(connection.send, "message", "text")
    need_members(made, "handshake")
    common = [Patch(made, "process_event", _process_event)]
    if module.__name__.endswith("asyncio.client"):
        need_attributes(module.connect.__init__, "uri", "additional_headers", "protocol_factory")
        need_parameters(module.connect.create_connection)
        return [
            *common,
            Patch(module.connect, "create_connection", partial(_create_connection, module.parse_uri)),
            Patch(made, "handshake", told_of_failure),
            Patch(connection, "send", partial(sends, _close_error)),
            Patch(connection, "connection_lost", _connection_lost),
        ]
    need_keywords(module.connect, "sock", "ssl", "proxy", "additional_headers", "create_connection")
    need_members(connection, "close_socket")
    need_attributes(connection.__init__, "recv_messages")
    need_attributes(module.Connection.recv.__globals__["Assembler"].__init__, "frames")
    return [
        *common,
        Rebinding(module.connect, _connect_here(module.connect, made)),
        Patch(made, "handshake", _handshake_here),
        Patch(connection, "send", _send_here),
        Patch(connection, "close_socket", _close_socket),
    ]


def talk_of(connection: Any) -> Talk | None:
    """What is recorded of a connection, or answers it."""
    talk: Talk | None = vars(connection).get(TALK)
    return talk


def headers_of(given: Any) -> list[tuple[str, str]]:
    """The headers that a program gives a connection, of any kind that the library takes."""
    pairs = [] if given is None else given.raw_items() if hasattr(given, "raw_items") else given
    return [(str(name), str(value)) for name, value in (pairs.items() if isinstance(pairs, Mapping) else pairs)]


def _process_event(original: _Function) -> _Function:
    """What a connection hears: the answer to its handshake, then one frame after the other."""

    def process_event(connection: Any, event: Any) -> object:
        talk = talk_of(connection)
        if talk is None:
            return original(connection, event)
        if connection.response is None:
            talk.opened(event.status_code, event.reason_phrase, event.headers.raw_items(), bytes(event.body or b""))
        else:
            talk.received(Frame(int(event.opcode), bytes(event.data), is_last=event.fin))
        try:
            return original(connection, event)
        finally:
            talk.reads_on()

    return process_event


def _said_text(text: bool | None = None) -> bool | None:  # noqa: FBT001  as it was given
    """Whether a program says that a message goes out as text."""
    return text


def _close_error(connection: Any) -> BaseException:
    """What a connection that is over raises."""
    error: BaseException = connection.protocol.close_exc
    return error


def _lost(raised: BaseException, sending: Sending, error: BaseException) -> BaseException:
    """What sending a message raises, over a connection that was lost because of `error`."""
    raised.__cause__ = error
    sending.failed(raised)
    return raised


# ---------------------------------------------------------------- asyncio


def _create_connection(parse_uri: _Function, original: _Function) -> _Function:
    async def create_connection(connector: Any) -> object:
        if not is_watched():
            return await original(connector)
        talk = open_talk(connector.uri, headers_of(connector.additional_headers), is_awaited=True)
        if talk is None:
            with passing():
                return await original(connector)
        try:
            await talk.until_live()
            if talk.answering is None:
                with passing():
                    connection = await original(connector)
            else:
                await talk.fail_as_recorded()
                connection = connector.protocol_factory(parse_uri(connector.uri))
                connection.connection_made(ServedTransport(connection, talk.answering))
        except BaseException as error:
            talk.failed(error)
            raise
        vars(connection)[TALK] = talk
        return connection

    return create_connection


def told_of_failure(original: _Function) -> _Function:
    """An opening handshake whose failure is told."""

    async def handshake(connection: Any, *args: object, **options: object) -> None:
        try:
            await original(connection, *args, **options)
        except BaseException as error:
            talk = talk_of(connection)
            if talk is not None:
                talk.failed(error)
            raise

    return handshake


def _connection_lost(original: _Function) -> _Function:
    def connection_lost(connection: Any, error: BaseException | None) -> object:
        talk = talk_of(connection)
        if talk is not None:
            talk.ended(error, is_own=isinstance(connection.recv_exc, TimeoutError))
        return original(connection, error)

    return connection_lost


def sends(close_error: Callable[[Any], BaseException], original: _Function) -> _Function:
    """Sending a message, or one in fragments.

    Args:
        close_error: gives what a connection that is over raises.
        original: sends it.
    """

    async def send(connection: Any, message: Any, *args: Any, **options: Any) -> object:
        talk = talk_of(connection)
        if talk is None or not is_watched() or isinstance(message, Mapping):
            return await original(connection, message, *args, **options)
        if not isinstance(message, _WHOLE):
            return await original(
                connection, _fragments(lambda: close_error(connection), talk, message), *args, **options
            )
        sending = talk.begin(message, text=_said_text(*args, **options), can_wait=True)
        if sending is None:
            return await original(connection, message, *args, **options)
        if await sending.is_given():
            return None
        error = sending.cut()
        if error is not None:
            raise _lost(close_error(connection), sending, error)
        try:
            await original(connection, sending.message, *args, **options)
        except BaseException as failure:
            sending.failed(failure)
            raise
        sending.sent()
        return None

    return send


async def _fragments(close_error: Callable[[], BaseException], talk: Talk, message: Any) -> AsyncIterator[Any]:
    """The fragments of a message, each a message of its own to a recording."""
    pieces = message if isinstance(message, AsyncIterable) else _one_by_one(message)
    async for piece in pieces:
        sending = talk.begin(piece, text=None, can_wait=True) if isinstance(piece, _WHOLE) else None
        if sending is None:
            yield piece
        elif not await sending.is_given():
            error = sending.cut()
            if error is not None:
                raise _lost(close_error(), sending, error)
            yield sending.message
            sending.sent()
        elif talk.answering is not None:
            yield piece


async def _one_by_one(message: Iterable[Any]) -> AsyncIterator[Any]:
    for piece in message:
        yield piece


# ---------------------------------------------------------------- threads


def _connect_here(original: _Function, default: _Function) -> _Function:
    def connect(uri: str, **options: Any) -> object:
        if not is_watched():
            return original(uri, **options)
        talk = open_talk(uri, headers_of(options.get("additional_headers")), is_awaited=False)
        if talk is None:
            with passing():
                return original(uri, **options)
        make = options.get("create_connection") or default

        def create_connection(sock: Any, *args: Any, **more: Any) -> object:
            connection = make(sock, *args, **more)
            if talk.answering is not None:  # in place of one whose deadlines the clock of a replay does not see
                connection.recv_messages.frames = queue.Queue()
            vars(connection)[TALK] = talk
            return connection

        try:
            if talk.answering is None:
                with passing():
                    return original(uri, **{**options, "create_connection": create_connection})
            talk.fail_as_recorded_here()
            sock = ServedSocket(talk.answering)
            given: dict[str, Any] = {"sock": sock, "proxy": None, "create_connection": create_connection}
            if uri.lower().startswith("wss:"):
                given["ssl"] = NoTls()
            if "unix" in options:
                given |= {"unix": False, "path": None}
            return original(uri, **{**options, **given})
        except BaseException as error:
            talk.failed(error)
            raise

    return connect


def _handshake_here(original: _Function) -> _Function:
    def handshake(connection: Any, *args: object, **options: object) -> None:
        try:
            original(connection, *args, **options)
        except BaseException as error:
            talk = talk_of(connection)
            if talk is not None:
                talk.failed(error)
            raise

    return handshake


def _close_socket(original: _Function) -> _Function:
    def close_socket(connection: Any) -> object:
        talk = talk_of(connection)
        if talk is not None:
            error = connection.recv_exc
            talk.ended(error, is_own=isinstance(error, TimeoutError))
        return original(connection)

    return close_socket


def _send_here(original: _Function) -> _Function:
    def send(connection: Any, message: Any, *args: Any, **options: Any) -> object:
        talk = talk_of(connection)
        if talk is None or not is_watched() or isinstance(message, Mapping):
            return original(connection, message, *args, **options)
        if not isinstance(message, _WHOLE):
            return original(connection, _fragments_here(connection, talk, message), *args, **options)
        sending = talk.begin(message, text=_said_text(*args, **options), can_wait=False)
        if sending is None:
            return original(connection, message, *args, **options)
        if sending.is_given_here():
            return None
        error = sending.cut()
        if error is not None:
            connection.recv_events_thread.join()
            raise _lost(_close_error(connection), sending, error)
        try:
            original(connection, sending.message, *args, **options)
        except BaseException as failure:
            sending.failed(failure)
            raise
        sending.sent()
        return None

    return send


def _fragments_here(connection: Any, talk: Talk, message: Iterable[Any]) -> Iterator[Any]:
    for piece in message:
        sending = talk.begin(piece, text=None, can_wait=False) if isinstance(piece, _WHOLE) else None
        if sending is None:
            yield piece
        elif not sending.is_given_here():
            error = sending.cut()
            if error is not None:
                raise _lost(_close_error(connection), sending, error)
            yield sending.message
            sending.sent()
        elif talk.answering is not None:
            yield piece
