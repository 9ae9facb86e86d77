"""A WebSocket server on the loopback interface."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import serve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Talking:
    """A server that answers each message as it is told to.

    Attributes:
        heard: all messages.
        count: how many connections it had.
        url: where it is.
    """

    def __init__(self, answer: Callable[[Any, Any], Awaitable[None]]) -> None:
        self._say = answer
        self.heard: list[str | bytes] = []
        self.count = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(20)

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        async with serve(self._talk, "127.0.0.1", 0, process_request=self._refuse) as server:
            self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._over.wait()

    def _refuse(self, connection: Any, request: Any) -> Any:
        if request.path == "/moved":
            answer = connection.respond(302, "over there\n")
            answer.headers["Location"] = "/"
            return answer
        return connection.respond(403, "not you\n") if request.path == "/forbidden" else None

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
        case "silence":
            pass
        case _:
            await connection.send(message)
