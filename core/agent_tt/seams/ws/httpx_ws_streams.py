"""What a session of `httpx-ws` reads from: a stream whose end is told, or one that gives what was recorded."""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_tt.recording.errors.cancellation import is_cancellation
from agent_tt.seams.ws.frames import BINARY, CLOSE, NEXT, NO_CODE, TEXT, Frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from agent_tt.seams.ws.lines import ServedSocket, ServedTransport
    from agent_tt.seams.ws.talk import Talk

__all__ = [
    "Arrivals",
    "HeardAsyncStream",
    "HeardConnection",
    "HeardStream",
    "RecordedParser",
    "ServedAsyncStream",
    "ServedStream",
]


class RecordedParser:
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


# ---------------------------------------------------------------- a connection that is recorded


class HeardConnection:
    """A connection whose end is told.

    Attributes:
        talk: what is recorded of it, or answers it.
    """

    def __init__(self, inner: Any, talk: Talk) -> None:
        self._inner = inner
        self.talk = talk

    def get_extra_info(self, info: str) -> Any:
        """Ask the connection."""
        return self._inner.get_extra_info(info)

    @contextmanager
    def _end_told(self) -> Iterator[None]:
        """Around reading from it."""
        try:
            yield
        except BaseException as error:
            if not is_cancellation(error):
                self.talk.ended(error)
            raise


class HeardStream(HeardConnection):
    """A stream of httpcore."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read bytes; none at the end."""
        with self._end_told():
            data: bytes = self._inner.read(max_bytes, timeout)
        if not data:
            self.talk.ended(None)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write bytes."""
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        """Close it."""
        self.talk.ended(None, is_own=True)
        self._inner.close()


class HeardAsyncStream(HeardConnection):
    """As `HeardStream`, for a coroutine."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read bytes; none at the end."""
        with self._end_told():
            data: bytes = await self._inner.read(max_bytes, timeout)
        if not data:
            self.talk.ended(None)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write bytes."""
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close it."""
        self.talk.ended(None, is_own=True)
        await self._inner.aclose()


# ---------------------------------------------------------------- a connection that nobody has opened


class ServedStream:
    """Stands for a network stream of httpcore in a replay: it gives the bytes that were recorded.

    Args:
        sock: what gives them.
        httpcore: the library, for its errors.
    """

    def __init__(self, sock: ServedSocket, httpcore: ModuleType) -> None:
        self._sock = sock
        self._httpcore = httpcore

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what was recorded; none at the end."""
        self._sock.settimeout(timeout)
        try:
            return self._sock.recv(max_bytes)
        except TimeoutError as error:
            raise self._httpcore.ReadTimeout from error
        except OSError as error:
            raise self._httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002  nothing here takes time
        """Let the recording look at what the agent writes."""
        try:
            self._sock.send(buffer)
        except OSError as error:
            raise self._httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        """Close it."""
        self._sock.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002  as it is called
        """Tell nothing: there is no socket."""
        return None


class ServedAsyncStream:
    """As `ServedStream`, for a coroutine."""

    def __init__(self, arrivals: Arrivals, transport: ServedTransport, httpcore: ModuleType) -> None:
        self._arrivals = arrivals
        self._transport = transport
        self._httpcore = httpcore

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what was recorded; none at the end."""
        try:
            async with asyncio.timeout(timeout):
                return await self._arrivals.receive(max_bytes)
        except TimeoutError as error:
            raise self._httpcore.ReadTimeout from error
        except OSError as error:
            raise self._httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002  as above
        """Let the recording look at what the agent writes."""
        lost = self._arrivals.lost
        if lost is not None:
            raise self._httpcore.WriteError(str(lost)) from lost
        self._transport.write(buffer)

    async def aclose(self) -> None:
        """Close it."""
        self._transport.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002  as above
        """Tell nothing: there is no socket."""
        return None


class Arrivals:
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
