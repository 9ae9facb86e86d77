"""Sockets as urllib3 and `http.client` see them: one that is recorded while it is read, and one that is a recording."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_tt.seams.http.http_exchange import WireExchange
    from agent_tt.seams.http.served_answer import ServedAnswer


class RecordedSocket:
    """What an `http.client.HTTPResponse` needs of a socket: a file to read from, here one that is recorded."""

    def __init__(self, sock: Any, exchange: WireExchange) -> None:
        self._sock = sock
        self._exchange = exchange

    def makefile(self, mode: str) -> io.BufferedReader:
        """The file of the answer, with the buffer that `http.client` reads with."""
        return io.BufferedReader(_RecordedFile(self._sock.makefile(mode, 0), self._exchange))


class _RecordedFile(io.RawIOBase):
    """Each receipt is committed before whoever reads has it; what is read ahead counts as received."""

    def __init__(self, inner: Any, exchange: WireExchange) -> None:
        self._inner = inner
        self._exchange = exchange

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._exchange.reads_on()
        try:
            count: int | None = self._inner.readinto(buffer)
        except BaseException as error:
            self._exchange.failed(error)
            raise
        if count is not None:
            self._exchange.received(bytes(memoryview(buffer)[:count]))
        return count

    def fileno(self) -> int:
        number: int = self._inner.fileno()
        return number

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._exchange.closed()
        finally:
            self._inner.close()
            super().close()


class ServedSocket:
    """A socket that answers from a recording and swallows what is sent."""

    def __init__(self, answer: ServedAnswer) -> None:
        self._answer = answer
        self._timeout: float | None = None

    def makefile(self, _mode: str, _buffering: int = -1) -> io.RawIOBase:
        """The recorded answer, in the pieces in which it was received; never buffered, whoever records it buffers."""
        return _ServedFile(self._answer)

    def send(self, data: bytes) -> int:
        """Swallow `data`."""
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Swallow `data`."""

    def settimeout(self, timeout: float | None) -> None:
        """Nothing here takes time."""
        self._timeout = timeout

    def gettimeout(self) -> float | None:
        """What was set."""
        return self._timeout

    def setsockopt(self, *_option: object) -> None:
        """There is nothing to set."""

    def shutdown(self, _how: int) -> None:
        """There is nothing to shut down."""

    def close(self) -> None:
        """There is nothing to close; the file of the answer lives on, as with a real socket."""


class _ServedFile(io.RawIOBase):
    def __init__(self, answer: ServedAnswer) -> None:
        self._answer = answer
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = self._answer.wire_bytes()
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._answer.leave()
            super().close()
