"""What a WebSocket library reads from in place of a network: a transport of asyncio, and a socket."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections import deque
from errno import EAGAIN
from typing import TYPE_CHECKING, Any

from agent_tt.recording.concurrency.worker_threads import GIVES_ANSWERS
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
        self._changed = threading.Condition()
        self._arrived: deque[bytes | BaseException] = deque()
        self._left = b""
        self._timeout: float | None = None
        self._lost: BaseException | None = None
        self._closed = False
        answering.line = self

    # ------------------------------------------------------------ for what answers

    def receive(self, data: bytes) -> None:
        """Let the client have bytes of the server."""
        self._put(data)

    answer = receive

    def lose(self, error: BaseException | None) -> None:
        """End the connection, with what broke it."""
        self._lost = error
        self._put(b"" if error is None else error)

    def start(self, serving: HandsOut) -> None:
        """Begin to hand out what was recorded, while the agent goes on."""
        threading.Thread(target=serving.run_here, name=GIVES_ANSWERS, daemon=True).start()

    def _put(self, data: bytes | BaseException) -> None:
        with self._changed:
            self._arrived.append(data)
            self._changed.notify_all()

    # ------------------------------------------------------------ for the client

    def waits(self, timeout: float | None) -> bool:
        """Wait until something can be received, for so many seconds at most; whether it can."""
        with self._changed:
            return bool(self._left) or self._changed.wait_for(lambda: bool(self._arrived), timeout)

    def recv(self, size: int) -> bytes:
        """Receive what has arrived, or wait for it.

        Raises:
            BlockingIOError: nothing has, and nobody wants to wait.
            TimeoutError: nothing has in time.
            BaseException: what broke the connection.
        """
        if not self.waits(self._timeout):
            raise TimeoutError("timed out") if self._timeout else BlockingIOError(EAGAIN, os.strerror(EAGAIN))
        with self._changed:
            if not self._left:
                self._left = self._take()
            data, self._left = self._left[:size], self._left[size:]
            return data

    def _take(self) -> bytes:
        """What has arrived. After its end a connection stays at its end."""
        arrived = self._arrived.popleft()
        if not isinstance(arrived, bytes) or not arrived:
            self._arrived.append(b"")
        if isinstance(arrived, BaseException):
            raise arrived
        return arrived

    def send(self, data: bytes) -> int:
        """Look at `data`.

        Raises:
            BaseException: what broke the connection.
        """
        if self._lost is not None:
            raise self._lost
        self.sendall(data)
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Look at `data`."""
        self._answering.wrote(bytes(data))

    def gettimeout(self) -> float | None:
        """For how many seconds `recv` waits."""
        return self._timeout

    def settimeout(self, timeout: float | None) -> None:
        """Say for how many seconds `recv` waits."""
        self._timeout = timeout

    def setblocking(self, flag: bool) -> None:  # noqa: FBT001  as it is called
        """Say whether `recv` waits."""
        self._timeout = None if flag else 0.0

    def setsockopt(self, *_option: object) -> None:
        """There is nothing to set."""

    def pending(self) -> int:
        """How many bytes are decrypted and not yet received."""
        return len(self._left)

    def fileno(self) -> int:
        """Halt the agent: who waits for a descriptor is waited for, and so the message it wants would never come.

        Raises:
            Divergence: always.
        """
        raise self._answering.waits_elsewhere()

    def shutdown(self, how: int) -> None:
        """End the connection for whoever receives."""
        if how != socket.SHUT_WR:
            self.close()

    def close(self) -> None:
        """End the connection for whoever receives."""
        if self._closed:
            return
        self._closed = True
        self._answering.left()
        self._put(b"")

    def getsockname(self) -> Any:
        """There is no address."""
        return ("", 0)

    getpeername = getsockname


class NoTls:
    """In place of a TLS context: there is nothing to encrypt."""

    def wrap_socket(self, sock: Any, **_options: object) -> Any:
        """Give the socket as it is."""
        return sock
