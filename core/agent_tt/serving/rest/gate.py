"""What every request passes before anything answers it: host, origin, token, rate, room, size and time.

It stands before the whole application, so that nothing of that, no list of its paths either, is there for who has not
passed. All of it is refused in the shape that every error has.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote_to_bytes

from agent_tt._dataclass import dataclass
from agent_tt.serving.listening import is_token
from agent_tt.serving.rest.audit import SLASH, Audit
from agent_tt.serving.rest.failures import failure_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

__all__ = ["Gate", "Room"]

Scope: TypeAlias = "MutableMapping[str, Any]"
Message: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[Message]]"
Send: TypeAlias = "Callable[[Message], Awaitable[None]]"

OPEN_PATH: Final = "/health"
"""The one path that is answered without a token; it says nothing but that the server is there."""

_RECEIVED: Final = "/v1/"
"""Paths that spans are sent to, whose bodies may be larger."""

_TRIES_A_SECOND: Final = 5.0
"""Requests without the token that are looked at; more of them are sent away, so that nobody tries many."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much is taken at once, and how much of it.

    Attributes:
        rate: requests a second; for a moment twice as many.
        waiting: requests that are answered or wait for their turn; more are sent away.
        body: bytes of a request.
        received: bytes of what is sent to `/v1/`, before it is unpacked.
        seconds: how long a body may take to come.
    """

    rate: float = 500.0
    waiting: int = 256
    body: int = 1 << 20
    received: int = 20 << 20
    seconds: float = 30.0


class _Bucket:
    """Lets so many through a second, and for a moment twice as many."""

    def __init__(self, rate: float) -> None:
        self._rate, self._most = rate, max(1.0, 2 * rate)
        self._left, self._at = self._most, time.monotonic()

    def take(self) -> float:
        """Take one; give the seconds to wait where there is none, else 0."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return (1 - self._left) / self._rate
        self._left -= 1
        return 0.0


class _Refused(Exception):
    """A request goes no further."""

    def __init__(self, status: int, kind: str, message: str, hint: str = "", headers: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers
        self.body = failure_body(kind, message, hint)


class Gate:
    """Stands before an application of ASGI.

    Args:
        app: the application.
        token: what a request has to bring.
        hosts: what a request may name as its host.
        origins: the pages of a browser that may ask.
        room: how much is taken.
        audit: where each request is written down.
    """

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
        *,
        token: str,
        hosts: frozenset[str],
        origins: frozenset[str],
        room: Room,
        audit: Audit,
    ) -> None:
        self._app, self._token = app, token.encode()
        self._hosts, self._origins = hosts, origins
        self._room, self._audit = room, audit
        self._all, self._tries = _Bucket(room.rate), _Bucket(_TRIES_A_SECOND)
        self._here = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = _Seen(scope, send)
        self._here += 1
        try:
            self._check(scope)
            _take_slashes(scope)
            await self._answer(scope, _Body(receive, scope, self._room), seen)
        except _Refused as refused:
            if seen.status is None:
                await seen.refuse(refused)
        finally:
            self._here -= 1
            self._audit.write(scope, seen.status, seen.sent, seen.took)

    async def _answer(self, scope: Scope, body: _Body, seen: _Seen) -> None:
        """Let the application answer, unless the body turns out to be one that is not taken.

        Raises:
            _Refused: with the reason; the application saw a client that left, and what it says of that is not sent.
        """

        async def send(message: Message) -> None:
            if body.refused is None or seen.status is not None:
                await seen.send(message)

        try:
            await self._app(scope, body.receive, send)
        finally:
            if body.refused is not None:
                raise body.refused

    def _check(self, scope: Scope) -> None:
        """Refuse who may not ask.

        Raises:
            _Refused: with the reason.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            raise _Refused(421, "wrong_host", "this server is not known by that name", "See --allow-host.")
        origins = [value.decode("latin-1").lower() for name, value in headers if name == b"origin"]
        if not set(origins) <= self._origins:
            raise _Refused(403, "wrong_origin", "pages of that origin may not ask this server")
        if scope["path"] == OPEN_PATH:
            return
        self._check_token([value for name, value in headers if name == b"authorization"])
        wait = self._all.take()
        if wait:
            raise _busy(429, "too_many", "more is asked than this server answers in a second", wait)
        if self._here > self._room.waiting:
            raise _busy(503, "too_many", "too many requests wait already", 1.0)

    def _check_token(self, given: list[bytes]) -> None:
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        if scheme.lower() == b"bearer" and is_token(token.strip(), self._token):
            return
        wait = self._tries.take()
        if wait:
            raise _busy(429, "too_many", "too many requests came without the token", wait)
        raise _Refused(
            401,
            "no_token",
            "the token is missing, or is another one",
            "Send `Authorization: Bearer TOKEN`, with the token that the server was started with.",
            ((b"www-authenticate", b"Bearer"),),
        )


def _busy(status: int, kind: str, message: str, wait: float) -> _Refused:
    return _Refused(status, kind, message, "Ask again later.", ((b"retry-after", str(max(1, round(wait))).encode()),))


def _take_slashes(scope: Scope) -> None:
    """Let a slash that is part of an id be told from one between two parts of a path."""
    raw = scope.get("raw_path") or b""
    if b"%2f" in raw.lower() or SLASH in scope["path"]:
        path = unquote_to_bytes(raw.replace(b"%2f", b"%2F").replace(b"%2F", b"%00%2F"))
        text = path.decode("utf-8", "replace").replace(SLASH, "\ufffd")
        scope["path"] = text.replace("\0/", SLASH) if raw else scope["path"].replace(SLASH, "\ufffd")


class _Seen:
    """What is sent of an answer: its status, how many bytes, how long it took."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.status: int | None = None
        self.sent = 0
        self._send, self._began = send, time.monotonic()
        self._scope = scope

    @property
    def took(self) -> float:
        return time.monotonic() - self._began

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message.get("headers", ()),
                (b"x-content-type-options", b"nosniff"),
                (b"cache-control", b"no-store"),
            ]
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, refused: _Refused) -> None:
        self._scope["agent_tt.refused"] = True
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(refused.body)).encode()),
            (b"connection", b"close"),  # what it still sends is not read
            *refused.headers,
        ]
        await self.send({"type": "http.response.start", "status": refused.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": refused.body})


class _Body:
    """The body of a request, of which no more is read than is taken, and not for longer.

    Attributes:
        refused: why no more of it is read; None where nothing is wrong with it.
    """

    def __init__(self, receive: Receive, scope: Scope, room: Room) -> None:
        self._receive = receive
        self._most = room.received if scope["path"].startswith(_RECEIVED) else room.body
        self._seconds, self._ends = room.seconds, 0.0
        self._read, self._is_whole = 0, False
        self.refused: _Refused | None = None
        said = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if said.isdigit() and len(said) < 20:
            refused = self._too_large(int(said))
            if refused is not None:
                raise refused

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        self._ends = self._ends or time.monotonic() + self._seconds  # from when on it is read
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, self._ends - time.monotonic()))
        except TimeoutError:
            self.refused = _Refused(408, "too_slow", "the body of the request took too long to come")
            return {"type": "http.disconnect"}
        self._read += len(message.get("body", b""))
        self.refused = self._too_large(self._read)
        if self.refused is not None:
            return {"type": "http.disconnect"}
        self._is_whole = not message.get("more_body", False)
        return message

    def _too_large(self, size: int) -> _Refused | None:
        if size <= self._most:
            return None
        return _Refused(413, "too_large", f"a request may have {self._most:,} bytes", "Send less at once.")
