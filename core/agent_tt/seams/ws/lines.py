"""What a WebSocket library reads from in place of a network: a transport of asyncio, and a socket."""

from __future__ import annotations

import asyncio
import queue
import socket
import threading
from typing import TYPE_CHECKING, Any

from agent_tt.seams.http.served_transport import QuietTransport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.seams.ws.answering import Answering, HandsOut


class ServedTransport(QuietTransport):
    """A transport; what the client writes is only looked at.

    Args:
        protocol: the client's, which hears what the server says.
        answering: what answers the connection.
    """

    def __init__(self, protocol: Any, answering: Answering) -> None:
        super().__init__()
        self._protocol = protocol
        self._answering = answering
        self._serving: set[asyncio.Task[None]] = set()
        answering.line = self

    # ------------------------------------------------------------ for what answers

    def receive(self, data: bytes) -> None:
        """Let the client have bytes of the server."""
        if not self._is_closed:
            self._protocol.data_received(data)

    def answer(self, data: bytes) -> None:
        """As `receive`, once the client has written what this answers."""
        self._loop.call_soon(self.receive, data)

    def lose(self, error: BaseException | None) -> None:
        """End the connection, with what broke it."""
        if not self._is_closed:
            self._is_closed = True
            self._protocol.connection_lost(error)

    def start(self, serving: HandsOut) -> None:
        """Begin to hand out what was recorded, while the agent goes on."""
        # Made by hand: a task of ours takes no place among the lanes of the agent's.
        task = asyncio.Task(serving.run(self._may_read.wait), loop=self._loop)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    # ------------------------------------------------------------ for the client

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Look at `data`."""
        self._answering.wrote(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Look at all of it, as one."""
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        """As a plain connection can."""
        return True

    def write_eof(self) -> None:
        """There is nobody who hears it."""

    def close(self) -> None:
        """The agent wants no more. Its protocol is told later, as by a real connection."""
        if self._is_closed:
            return
        self._is_closed = True
        for task in self._serving:
            task.cancel()
        self._answering.left()
        if not self._loop.is_closed():
            self._loop.call_soon(self._protocol.connection_lost, None)


class ServedSocket:
    """A socket; what the client sends is only looked at.

    Args:
        answering: what answers the connection.
    """

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._arrived: queue.Queue[bytes | BaseException] = queue.Queue()
        self._left = b""
        self._is_closed = False
        answering.line = self

    # ------------------------------------------------------------ for what answers

    def receive(self, data: bytes) -> None:
        """Let the client have bytes of the server."""
        self._arrived.put(data)

    answer = receive

    def lose(self, error: BaseException | None) -> None:
        """End the connection, with what broke it."""
        self._arrived.put(b"" if error is None else error)

    def start(self, serving: HandsOut) -> None:
        """Begin to hand out what was recorded, while the agent goes on."""
        threading.Thread(target=serving.run_here, name="agent-tt websocket", daemon=True).start()

    # ------------------------------------------------------------ for the client

    def recv(self, size: int) -> bytes:
        """Receive what has arrived, or wait for it.

        Raises:
            BaseException: what broke the connection.
        """
        if not self._left:
            arrived = self._arrived.get()
            if isinstance(arrived, BaseException):
                raise arrived
            self._left = arrived
        data, self._left = self._left[:size], self._left[size:]
        return data

    def sendall(self, data: bytes) -> None:
        """Look at `data`."""
        self._answering.wrote(bytes(data))

    def settimeout(self, _timeout: float | None) -> None:
        """Nothing here takes time."""

    def setsockopt(self, *_option: object) -> None:
        """There is nothing to set."""

    def shutdown(self, how: int) -> None:
        """End the connection for whoever receives."""
        if how != socket.SHUT_WR:
            self.close()

    def close(self) -> None:
        """End the connection for whoever receives."""
        if not self._is_closed:
            self._is_closed = True
            self._answering.left()
            self._arrived.put(b"")

    def getsockname(self) -> Any:
        """There is no address."""
        return ("", 0)

    getpeername = getsockname


class NoTls:
    """In place of a TLS context: there is nothing to encrypt."""

    def wrap_socket(self, sock: Any, **_options: object) -> Any:
        """Give the socket as it is."""
        return sock
