"""`httpx-ws`: caught where httpx opens the connection, where a session sends, and where its parser is done.

The opening is a request of httpx, which `httpx_seam` leaves to this seam. What a session hears is recorded as its
parser (wsproto) gives it, event by event. On replay the session reads a stream that is none, so that closing, errors
and its own threads or tasks are the library's. Under trio the opening stays an ordinary request.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.errors.cancellation import is_cancellation
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_keywords, need_members, need_parameters
from agent_tt.seams.http import httpx_seam
from agent_tt.seams.http.wire_answer import SWITCHING, Head, WireAnswer
from agent_tt.seams.ws.frames import BINARY, CLOSE, NEXT, NO_CODE, TEXT, Frame
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
        httpcore, self._httpx, self._wsproto = module.httpcore, module.httpx, module.wsproto
        self._keys: set[str] = set()
        self._network_error = module.WebSocketNetworkError
        self._stream = type("HeardStream", (_Heard, httpcore.NetworkStream), {"httpcore": httpcore})
        self._async_stream = type("HeardStream", (_HeardAsync, httpcore.AsyncNetworkStream), {"httpcore": httpcore})
        self._served = type("ServedStream", (_Served,), {"httpcore": httpcore})
        self._served_async = type("ServedStream", (_ServedAsync,), {"httpcore": httpcore})

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
                return self._response(*_answered_here(sock, request), self._stream(self._served(sock), talk))
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
                arrivals = _Arrivals()
                transport = ServedTransport(arrivals, talk.answering)
                stream = self._async_stream(self._served_async(arrivals, transport), talk)
                return self._response(*await _answered(arrivals, transport, request), stream)
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
            if isinstance(stream, (_Heard, _HeardAsync)):
                session.connection = _Parser(session.connection, stream.talk, self._wsproto.events)

        return __init__

    # ------------------------------------------------------------ what the agent says

    def _begins(self, session: Any, event: Any, *, can_wait: bool) -> Sending | None:
        stream, message = session.stream, self._wsproto.events.Message
        if not isinstance(stream, (_Heard, _HeardAsync)) or not isinstance(event, message) or not is_watched():
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


async def _answered(arrivals: _Arrivals, transport: ServedTransport, request: Any) -> tuple[Head, bytes]:
    """As `_answered_here`, for a coroutine."""
    transport.write(_key_of(request))
    return _read(await arrivals.receive(_MOST))


def _read(data: bytes) -> tuple[Head, bytes]:
    answer = WireAnswer("GET")
    body = answer.feed(data)
    if answer.head is None:
        raise ConnectionResetError("the recorded answer to this handshake has no head")
    return answer.head, body


class _Arrivals:
    """What has arrived for a task, and not been read. Nothing of it is lost where the connection ends with an error."""

    def __init__(self) -> None:
        self._arrived: deque[bytes | BaseException] = deque()
        self._has_more = asyncio.Event()
        self.lost: BaseException | None = None

    def data_received(self, data: bytes) -> None:
        """Take bytes."""
        self._arrived.append(data)
        self._has_more.set()

    def connection_lost(self, error: BaseException | None) -> None:
        """Hear that no more will come."""
        self.lost = error
        self._arrived.append(b"" if error is None else error)
        self._has_more.set()

    async def receive(self, most: int) -> bytes:
        """Wait for bytes; none at the end.

        Raises:
            BaseException: what broke the connection.
        """
        await self._has_more.wait()
        arrived = self._arrived[0]
        if isinstance(arrived, BaseException):
            raise arrived
        if len(arrived) > most:
            self._arrived[0] = arrived[most:]
            return arrived[:most]
        if arrived:  # who is at the end stays there
            self._arrived.popleft()
        if not self._arrived:
            self._has_more.clear()
        return arrived


class _Parser:
    """Wraps the parser of a session, and records each message that it has parsed."""

    def __init__(self, inner: Any, talk: Talk, events: Any) -> None:
        self._inner = inner
        self._talk = talk
        self._kinds = events
        self._is_begun = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def events(self) -> Iterator[Any]:
        """What was parsed."""
        for event in self._inner.events():
            frame = self._frame_of(event)
            if frame is not None:
                self._talk.received(frame)
            yield event
            self._talk.reads_on()

    def _frame_of(self, event: Any) -> Frame | None:
        """An event as a frame; None for pings and pongs, which a session answers itself."""
        if isinstance(event, self._kinds.CloseConnection):
            no_code = event.code in (None, NO_CODE)
            return Frame(CLOSE, b"" if no_code else struct.pack("!H", event.code) + (event.reason or "").encode())
        if not isinstance(event, self._kinds.Message):
            return None
        is_text = isinstance(event.data, str)
        opcode = NEXT if self._is_begun else TEXT if is_text else BINARY
        self._is_begun = not event.message_finished
        data = event.data.encode("utf-8", "surrogatepass") if is_text else bytes(event.data)
        return Frame(opcode, data, is_last=bool(event.message_finished))


# ---------------------------------------------------------------- streams


class _Heard:
    """A connection whose end is told.

    Attributes:
        talk: what is recorded of it, or answers it.
    """

    def __init__(self, inner: Any, talk: Talk) -> None:
        self._inner = inner
        self.talk = talk

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _end_told(self.talk):
            data: bytes = self._inner.read(max_bytes, timeout)
        if not data:
            self.talk.ended(None)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self.talk.ended(None, is_own=True)
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _HeardAsync:
    """As `_Heard`, for a coroutine."""

    def __init__(self, inner: Any, talk: Talk) -> None:
        self._inner = inner
        self.talk = talk

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _end_told(self.talk):
            data: bytes = await self._inner.read(max_bytes, timeout)
        if not data:
            self.talk.ended(None)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        self.talk.ended(None, is_own=True)
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


@contextmanager
def _end_told(talk: Talk) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if not is_cancellation(error):
            talk.ended(error)
        raise


class _Served:
    """The stream of a connection that nobody has opened."""

    httpcore: Any

    def __init__(self, sock: ServedSocket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._sock.settimeout(timeout)
        try:
            return self._sock.recv(max_bytes)
        except TimeoutError as error:
            raise self.httpcore.ReadTimeout from error
        except OSError as error:
            raise self.httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002  nothing here takes time
        try:
            self._sock.send(buffer)
        except OSError as error:
            raise self.httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._sock.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002  there is no socket
        return None


class _ServedAsync:
    """As `_Served`, for a coroutine."""

    httpcore: Any

    def __init__(self, arrivals: _Arrivals, transport: ServedTransport) -> None:
        self._arrivals = arrivals
        self._transport = transport

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                return await self._arrivals.receive(max_bytes)
        except TimeoutError as error:
            raise self.httpcore.ReadTimeout from error
        except OSError as error:
            raise self.httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002  as above
        lost = self._arrivals.lost
        if lost is not None:
            raise self.httpcore.WriteError(str(lost)) from lost
        self._transport.write(buffer)

    async def aclose(self) -> None:
        self._transport.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002  as above
        return None
