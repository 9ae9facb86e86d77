"""A WebSocket server on the loopback interface."""

from __future__ import annotations

import asyncio
import importlib
import threading
import warnings
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import serve

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

with warnings.catch_warnings():  # it says that it is deprecated, and programs use it
    warnings.simplefilter("ignore", DeprecationWarning)
    legacy: Any = importlib.import_module("websockets.legacy.client")


class Talking:
    """A server that answers each message as it is told to.

    Attributes:
        heard: all messages.
        count: how many connections it had.
        url: where it is.
    """

    def __init__(self, answer: Callable[[Any, Any], Awaitable[None]], *, tls: ssl.SSLContext | None = None) -> None:
        self._say = answer
        self._tls = tls
        self.heard: list[str | bytes] = []
        self.count = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(20)

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        options: Any = {"process_request": self._refuse, "select_subprotocol": self._choose, "close_timeout": 0.5}
        async with serve(self._talk, "127.0.0.1", 0, ssl=self._tls, **options) as server:
            self.url = f"{'wss' if self._tls else 'ws'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._over.wait()

    def _refuse(self, connection: Any, request: Any) -> Any:
        if request.path in ("/moved", "/away"):
            answer = connection.respond(302, "over there\n")
            answer.headers["Location"] = "/" if request.path == "/moved" else self.url + "/"
            return answer
        return connection.respond(403, "not you\n") if request.path == "/forbidden" else None

    def _choose(self, _: Any, offered: Any) -> Any:
        return offered[0] if offered else None

    async def _talk(self, connection: Any) -> None:
        self.count += 1
        if connection.request.path == "/brief":
            await connection.send("hello")
            await connection.send("and good bye")
            return
        async for message in connection:
            self.heard.append(message)
            await self._say(connection, message)

    def stop(self) -> None:
        """Answer nobody any more."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(20)
            self._loop.close()


async def echoing(connection: Any, message: Any) -> None:
    """Say what was heard, unless that says otherwise."""
    match message:
        case "greet":
            await connection.send("hello")
            await connection.send(["you", " there"])
            await connection.send(b"\x00\xff")
        case "leave":
            await connection.close(4001, "enough")
        case "drop":
            connection.transport.abort()
        case "ping":
            await connection.ping("you?")
            await connection.send("there")
        case "silence":
            pass
        case _:
            await connection.send(message)
