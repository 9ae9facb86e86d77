"""httpx and httpx2: requests are caught at the transports, below redirects, authentication and everything an SDK adds.

`HTTPTransport.handle_request` and its async twin are replaced on the class, so clients that exist already, proxies,
mounts and subclasses arrive here too; a transport that an agent wrote itself (`MockTransport`, ASGI) is its own code
and stays live. What is recorded is the head and the body's chunks as the transport yields them, before any decoding.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_members, need_parameters
from agent_tt.seams.http.http_exchange import open_exchange
from agent_tt.seams.http.http_request import IDEMPOTENCY_KEY, HttpRequest
from agent_tt.seams.http.wire_answer import SWITCHING, Head

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.seams.http.http_exchange import HttpExchange
    from agent_tt.seams.http.served_answer import ServedAnswer


class _Headers(Protocol):
    @property
    def raw(self) -> Sequence[tuple[bytes, bytes]]: ...
    def multi_items(self) -> list[tuple[str, str]]: ...
    def get(self, name: str) -> str | None: ...
    def __setitem__(self, name: str, value: str) -> None: ...


class _Request(Protocol):
    method: str
    url: object
    headers: _Headers
    extensions: dict[str, Any]

    def read(self) -> bytes: ...
    async def aread(self) -> bytes: ...


class _Response(Protocol):
    status_code: int
    headers: _Headers
    extensions: dict[str, Any]
    stream: Any

    def close(self) -> None: ...
    async def aclose(self) -> None: ...


_Handle = Callable[[object, _Request], _Response]
_HandleAsync = Callable[[object, _Request], Awaitable[_Response]]


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `module` (httpx or httpx2).

    Raises:
        AttributeError: this version does not have what we replace.
    """
    streams = _Streams(module)
    need_parameters(module.HTTPTransport.handle_request, "request")
    need_parameters(module.AsyncHTTPTransport.handle_async_request, "request")
    need_members(module.Request, "read", "aread")
    return [
        Patch(module.HTTPTransport, "handle_request", lambda original: _sync(cast("_Handle", original), streams)),
        Patch(
            module.AsyncHTTPTransport,
            "handle_async_request",
            lambda original: _async(cast("_HandleAsync", original), streams),
        ),
    ]


def _sync(original: _Handle, streams: _Streams) -> Callable[..., object]:
    def handle_request(transport: object, request: _Request) -> _Response:
        if not is_watched():
            return original(transport, request)
        if _is_websocket(request):
            opened = open_websocket(request, lambda: original(transport, request))
            if opened is not None:
                return opened
        exchange = open_exchange(_question(request, request.read()), is_awaited=False)
        if exchange is None:
            with passing():
                return original(transport, request)
        answer = exchange.answer
        try:
            if answer is None:
                _keep_key(request, exchange)
                with passing():
                    response = original(transport, streams.request(request, exchange.changed))
            else:
                response = streams.served(answer.head(), streams.served_stream(answer), answer)
        except BaseException as error:
            exchange.failed(error)
            raise
        try:
            exchange.head(head_of(response))
        except BaseException:
            response.close()
            raise
        response.stream = streams.tee(response.stream, exchange)
        return response

    return handle_request


def _async(original: _HandleAsync, streams: _Streams) -> Callable[..., object]:
    async def handle_async_request(transport: object, request: _Request) -> _Response:
        if not is_watched():
            return await original(transport, request)
        if _is_websocket(request):
            opened = await open_websocket_async(request, lambda: original(transport, request))
            if opened is not None:
                return opened
        exchange = open_exchange(_question(request, await request.aread()), is_awaited=True)
        if exchange is None:
            with passing():
                return await original(transport, request)
        try:
            await exchange.until_live()
            answer = exchange.answer
            if answer is None:
                _keep_key(request, exchange)
                with passing():
                    response = await original(transport, streams.request(request, exchange.changed))
            else:
                response = streams.served(await answer.head_async(), streams.served_async_stream(answer), answer)
        except BaseException as error:
            exchange.failed(error)
            raise
        try:
            exchange.head(head_of(response))
        except BaseException:
            await response.aclose()
            raise
        response.stream = streams.async_tee(response.stream, exchange)
        return response

    return handle_async_request


def open_websocket(_request: _Request, _send: Callable[[], _Response]) -> _Response | None:
    """Open a WebSocket in place of this seam; the seam of the library that asked for it stands here, if there is one.

    Args:
        _request: the request that opens it.
        _send: sends that.

    Returns:
        What the server answered; None where nobody knows what goes over the connection then.
    """
    return None


async def open_websocket_async(_request: _Request, _send: Callable[[], Awaitable[_Response]]) -> _Response | None:
    """As `open_websocket`, for a coroutine."""
    return None


def _is_websocket(request: _Request) -> bool:
    return "websocket" in (request.headers.get("upgrade") or "").lower()


def _keep_key(request: _Request, exchange: HttpExchange) -> None:
    """Send a request again with the idempotency key that its earlier try had."""
    if exchange.key_before is not None:
        request.headers[IDEMPOTENCY_KEY] = exchange.key_before


def _question(request: _Request, body: bytes) -> HttpRequest:
    return HttpRequest(request.method, str(request.url), request.headers.multi_items(), body)


def head_of(response: _Response) -> Head:
    """The head of a response."""
    version, reason = (response.extensions.get(key) for key in ("http_version", "reason_phrase"))
    return Head(
        status=response.status_code,
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw),
        http_version=version.decode("latin-1") if isinstance(version, bytes) else None,
        reason=reason.decode("latin-1") if isinstance(reason, bytes) else None,
    )


class _Streams:
    """The streams of one library: its clients accept only subclasses of its own."""

    def __init__(self, module: ModuleType) -> None:
        self._response: Callable[..., _Response] = module.Response
        self._request: Callable[..., _Request] = module.Request
        sync_base, async_base = module.SyncByteStream, module.AsyncByteStream
        self.tee: Callable[[Any, HttpExchange], Any] = type("RecordedStream", (_Tee, sync_base), {})
        self.async_tee: Callable[[Any, HttpExchange], Any] = type("RecordedStream", (_AsyncTee, async_base), {})
        self.served_stream: Callable[[ServedAnswer], Any] = type("ServedStream", (_Served, sync_base), {})
        self.served_async_stream: Callable[[ServedAnswer], Any] = type("ServedStream", (_AsyncServed, async_base), {})

    def request(self, request: _Request, changed: HttpRequest | None) -> _Request:
        """What is sent: the request, or what a fork's edits made of it."""
        if changed is None:
            return request
        return self._request(
            changed.method, changed.url, headers=changed.headers, content=changed.body, extensions=request.extensions
        )

    def served(self, head: Head, stream: object, answer: ServedAnswer) -> _Response:
        """The response with a recorded head."""
        if head.status == SWITCHING:  # a WebSocket: what went through it afterwards was not recorded
            raise answer.upgraded()
        extensions = {
            key: value.encode("latin-1")
            for key, value in (("http_version", head.http_version), ("reason_phrase", head.reason))
            if value is not None
        }
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]
        return self._response(head.status, headers=headers, stream=stream, extensions=extensions)


class _Tee:
    """A body that is recorded while it is read, never ahead of its reader."""

    def __init__(self, inner: Any, exchange: HttpExchange) -> None:
        self._inner = inner
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        self._exchange.reads_on()
        try:
            for chunk in self._inner:
                self._exchange.chunk(chunk)
                yield chunk
                self._exchange.reads_on()
        except BaseException as error:
            self._exchange.left(error)
            raise
        self._exchange.ended()

    def close(self) -> None:
        try:
            self._exchange.closed()
        finally:
            self._inner.close()


class _AsyncTee:
    """As `_Tee`, for a coroutine."""

    def __init__(self, inner: Any, exchange: HttpExchange) -> None:
        self._inner = inner
        self._exchange = exchange
        self._is_closing = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._exchange.chunk(chunk)
                yield chunk
        except BaseException as error:
            # The event loop ends this generator when it likes, perhaps while `aclose` is waiting.
            if not (self._is_closing and isinstance(error, GeneratorExit)):
                self._exchange.left(error)
            raise
        self._exchange.ended()

    async def aclose(self) -> None:
        self._is_closing = True
        try:
            await self._inner.aclose()
        except BaseException:
            self._exchange.closed()
            raise
        self._exchange.closed(in_turn=True)  # others go on while a connection closes: when it has is part of the order


class _Served:
    """A recorded body."""

    def __init__(self, answer: ServedAnswer) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        while (chunk := self._answer.chunk()) is not None:
            yield chunk

    def close(self) -> None:
        self._answer.leave()


class _AsyncServed:
    """As `_Served`, for a coroutine."""

    def __init__(self, answer: ServedAnswer) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await self._answer.chunk_async()) is not None:
            yield chunk

    async def aclose(self) -> None:
        await self._answer.leave_async()
