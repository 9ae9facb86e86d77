"""`httpx-ws`: caught where httpx opens the connection, where a session sends, and where its parser is done.

The opening is a request of httpx, which `httpx_seam` leaves to this seam. What a session hears is recorded as its
parser (wsproto) gives it, event by event. On replay the session reads a stream that is none, so that closing, errors
and its own threads or tasks are the library's. Under trio the opening stays an ordinary request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_keywords, need_members, need_parameters
from agent_tt.seams.http import httpx_seam
from agent_tt.seams.http.wire_answer import SWITCHING, Head, WireAnswer
from agent_tt.seams.ws.httpx_ws_streams import (
    Arrivals,
    HeardAsyncStream,
    HeardConnection,
    HeardStream,
    RecordedParser,
    ServedAsyncStream,
    ServedStream,
)
from agent_tt.seams.ws.lines import ServedSocket, ServedTransport
from agent_tt.seams.ws.talk import open_talk

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.seams.ws.talk import Sending, Talk

_Function = Callable[..., Any]

_KEY: Final = "sec-websocket-key"

_MOST: Final = 1 << 30

_STREAM: Final = "network_stream"
"""The extension of a response that holds the connection."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `httpx_ws._api`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    library = _Library(module)
    for session in (module.WebSocketSession, module.AsyncWebSocketSession):
        need_parameters(session.__init__, "stream")
        need_attributes(session.__init__, "stream", "connection")
        need_parameters(session.send, "event")
    need_keywords(module._get_headers, "subprotocols")  # noqa: SLF001
    need_members(module.wsproto.connection.Connection, "events", "receive_data", "send")
    return [
        Patch(module, "_get_headers", library.asks),
        Patch(httpx_seam, "open_websocket", library.opens),
        Patch(httpx_seam, "open_websocket_async", library.opens_async),
        Patch(module.WebSocketSession, "__init__", library.made),
        Patch(module.AsyncWebSocketSession, "__init__", library.made),
        Patch(module.WebSocketSession, "send", library.sends),
        Patch(module.AsyncWebSocketSession, "send", library.sends_async),
    ]


class _Library:
    """httpx-ws, with the classes of the libraries that it stands on."""

    def __init__(self, module: ModuleType) -> None:
        self._httpcore, self._httpx, self._wsproto = module.httpcore, module.httpx, module.wsproto
        self._keys: set[str] = set()
        self._network_error = module.WebSocketNetworkError
        self._stream = type("HeardStream", (HeardStream, module.httpcore.NetworkStream), {})
        self._async_stream = type("HeardAsyncStream", (HeardAsyncStream, module.httpcore.AsyncNetworkStream), {})

    # ------------------------------------------------------------ opening

    def asks(self, original: _Function) -> _Function:
        """The headers of an opening: by their key it is known again when httpx sends them."""

        def _get_headers(*args: Any, **options: Any) -> Any:
            headers = original(*args, **options)
            if is_watched():
                self._keys.add(headers.get(_KEY, ""))
            return headers

        return _get_headers

    def opens(self, original: _Function) -> _Function:
        """Opening a WebSocket; see `httpx_seam.open_websocket`."""

        def open_websocket(request: Any, send: Callable[[], Any]) -> Any:
            if request.headers.get(_KEY) not in self._keys:
                return original(request, send)
            response = self._open(request, send)
            self._is_answered(request, response)
            return response

        return open_websocket

    def opens_async(self, original: _Function) -> _Function:
        """As `opens`, for a coroutine."""

        async def open_websocket(request: Any, send: Callable[[], Awaitable[Any]]) -> Any:
            if request.headers.get(_KEY) not in self._keys or not _is_asyncio():
                return await original(request, send)
            response = await self._open_async(request, send)
            self._is_answered(request, response)
            return response

        return open_websocket

    def _is_answered(self, request: Any, response: Any) -> None:
        if not response.has_redirect_location:  # else it is sent once more, with its key
            self._keys.discard(request.headers.get(_KEY))

    def _open(self, request: Any, send: Callable[[], Any]) -> Any:
        talk = open_talk(str(request.url), request.headers.multi_items(), is_awaited=False)
        if talk is None:
            with passing():
                return send()
        with _told(talk):
            if talk.answering is not None:
                talk.fail_as_recorded_here()
                sock = ServedSocket(talk.answering)
                served = ServedStream(sock, self._httpcore)
                return self._response(*_answered_here(sock, request), self._stream(served, talk))
            with passing():
                response = send()
            body = b""
            if response.status_code != SWITCHING:
                body = b"".join(response.stream)
                response.close()
            return self._opened(talk, response, body, self._stream)

    async def _open_async(self, request: Any, send: Callable[[], Awaitable[Any]]) -> Any:
        talk = open_talk(str(request.url), request.headers.multi_items(), is_awaited=True)
        if talk is None:
            with passing():
                return await send()
        with _told(talk):
            await talk.until_live()
            if talk.answering is not None:
                await talk.fail_as_recorded()
                arrivals = Arrivals()
                transport = ServedTransport(arrivals, talk.answering)
                served = ServedAsyncStream(arrivals, transport, self._httpcore)
                answer = await _answered(arrivals, transport, request)
                return self._response(*answer, self._async_stream(served, talk))
            with passing():
                response = await send()
            body = b""
            if response.status_code != SWITCHING:
                body = b"".join([chunk async for chunk in response.stream])
                await response.aclose()
            return self._opened(talk, response, body, self._async_stream)

    def _opened(self, talk: Talk, response: Any, body: bytes, wrapped: _Function) -> Any:
        """Keep the answer of a server, and go on listening."""
        said = httpx_seam.head_of(response)
        talk.opened(said.status, said.reason or "", said.headers, body)
        if said.status == SWITCHING:
            response.extensions[_STREAM] = wrapped(response.extensions[_STREAM], talk)
            return response
        talk.ended(None)
        return self._response(said, body, None)

    def _response(self, head: Head, body: bytes, stream: object) -> Any:
        """The response with a head and a body."""
        extensions: dict[str, Any] = {"http_version": (head.http_version or "HTTP/1.1").encode("latin-1")}
        if head.reason is not None:
            extensions["reason_phrase"] = head.reason.encode("latin-1")
        if head.status == SWITCHING:
            extensions[_STREAM] = stream
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]
        return self._httpx.Response(
            head.status, headers=headers, stream=self._httpx.ByteStream(body), extensions=extensions
        )

    # ------------------------------------------------------------ what the server says

    def made(self, original: _Function) -> _Function:
        """A session is made: its parser is listened to."""

        def __init__(session: Any, stream: Any, *args: Any, **options: Any) -> None:  # noqa: N807  as it is called
            original(session, stream, *args, **options)
            if isinstance(stream, HeardConnection):
                session.connection = RecordedParser(session.connection, stream.talk, self._wsproto.events)

        return __init__

    # ------------------------------------------------------------ what the agent says

    def _begins(self, session: Any, event: Any, *, can_wait: bool) -> Sending | None:
        stream, message = session.stream, self._wsproto.events.Message
        if not isinstance(stream, HeardConnection) or not isinstance(event, message) or not is_watched():
            return None
        talk: Talk = stream.talk
        return talk.begin(event.data, text=isinstance(event.data, str), can_wait=can_wait)

    def _check_open(self, sending: Sending) -> None:
        """Raise where the connection is lost as the message goes out: its session may or may not have heard of that."""
        lost = sending.cut()
        if lost is not None:
            error: BaseException = self._network_error()
            error.__cause__ = lost
            sending.failed(error)
            raise error

    def sends(self, original: _Function) -> _Function:
        """A session sends."""

        def send(session: Any, event: Any) -> object:
            sending = self._begins(session, event, can_wait=False)
            if sending is None:
                return original(session, event)
            if sending.is_given_here():
                return None
            self._check_open(sending)
            try:
                original(session, replace(event, data=sending.message))
            except BaseException as error:
                sending.failed(error)
                raise
            sending.sent()
            return None

        return send

    def sends_async(self, original: _Function) -> _Function:
        """As `sends`, for a coroutine."""

        async def send(session: Any, event: Any) -> object:
            sending = self._begins(session, event, can_wait=True)
            if sending is None:
                return await original(session, event)
            if await sending.is_given():
                return None
            self._check_open(sending)
            try:
                await original(session, replace(event, data=sending.message))
            except BaseException as error:
                sending.failed(error)
                raise
            sending.sent()
            return None

        return send


def _is_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def _told(talk: Talk) -> Iterator[None]:
    """Around the opening handshake."""
    try:
        yield
    except BaseException as error:
        talk.failed(error)
        raise


def _key_of(request: Any) -> bytes:
    """What a client writes first, as far as it matters: the key of its handshake."""
    return f"Sec-WebSocket-Key: {request.headers[_KEY]}\r\n".encode("latin-1")


def _answered_here(sock: ServedSocket, request: Any) -> tuple[Head, bytes]:
    """The recorded answer to a handshake, which comes in one piece."""
    sock.sendall(_key_of(request))
    return _read(sock.recv(_MOST))


async def _answered(arrivals: Arrivals, transport: ServedTransport, request: Any) -> tuple[Head, bytes]:
    """As `_answered_here`, for a coroutine."""
    transport.write(_key_of(request))
    return _read(await arrivals.receive(_MOST))


def _read(data: bytes) -> tuple[Head, bytes]:
    answer = WireAnswer("GET")
    body = answer.feed(data)
    if answer.head is None:
        raise ConnectionResetError("the recorded answer to this handshake has no head")
    return answer.head, body
