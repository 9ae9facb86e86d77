"""The two streams of a session with an MCP server, while they are recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.encode import encode
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from contextvars import Context

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.calls.answers import Served

Frame: TypeAlias = "dict[str, Any]"


class Session(Protocol):
    """The requests of one session."""

    def sent(self, frame: Frame) -> None:
        """Note a message of the client."""

    def received(self, frame: Frame) -> None:
        """Note a message of the server."""

    def begin(self, frame: Frame) -> RecordedCall | Served | None:
        """Make a call of a request."""


class Frames(Protocol):
    """Frames as JSON, from and to messages."""

    def read(self, item: object) -> Frame:
        """The frame that a message is."""

    def message(self, frame: Frame) -> Any:
        """The message that a frame is."""


class Stream:
    """What a session needs of either stream, around `send` or `receive`."""

    async def aclose(self) -> None:
        """Close it."""

    def close(self) -> None:
        """Close it."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        item = await self._next()
        if item is None:
            raise StopAsyncIteration
        return item

    async def receive(self) -> Any:
        """The next message."""
        item = await self._next()
        if item is None:
            import anyio  # the library that reads here has loaded it

            raise anyio.EndOfStream
        return item

    async def _next(self) -> Any:
        raise NotImplementedError


class Talk(Protocol):
    """What becomes of the messages of a session whose server is connected."""

    async def send(self, write: Any, item: object) -> None:
        """The client sends a message, which goes to the server through `write` if it is not answered here."""

    def received(self, item: object) -> bool:
        """The server sent a message. Whether the client gets it."""

    def ended(self) -> None:
        """The server says no more."""


class RecordedTalk:
    """A session that is recorded.

    Attributes:
        has_begun: whether the server runs.
    """

    def __init__(self, call: RecordedCall, frames: Frames, session: Session) -> None:
        self.has_begun = False
        self._call = call
        self._frames = frames
        self._session = session
        self._open: dict[object, RecordedCall] = {}
        self._replies: asyncio.Queue[Any] | None = None
        self._read: RecordedRead | None = None

    def streams(self, read: Any, write: Any) -> tuple[Any, Any]:
        """Wrap the two streams of the server, so that what passes through them is recorded."""
        if SESSION.chain.rules:  # some requests may be answered without it
            self._replies = asyncio.Queue()
        self._read = RecordedRead(read, self, self._replies)
        return self._read, RecordedWrite(write, self)

    async def send(self, write: Any, item: object) -> None:
        """The client sends a message: a request is a call from now on."""
        message = await self._sent(item)
        if message is not None:
            await write.send(message)

    async def _sent(self, item: object) -> object | None:
        """Begin a call where the client sends a request. What goes to the server, None for nothing."""
        frame = self._frames.read(item)
        self._session.sent(frame)
        call = self._session.begin(frame) if "method" in frame and "id" in frame else None
        if not isinstance(call, RecordedCall):
            return item
        call.is_awaited = True
        await call.until_live()
        if call.served is None or self._replies is None:
            self._open[frame["id"]] = call
            return item if call.sent is None else self._frames.message(cast("Frame", call.sent))
        try:
            reply = await served_reply(call.served)
        except BaseException as error:
            call.failed(error)
            raise
        call.succeeded(reply)
        replied = {"jsonrpc": "2.0", "id": frame["id"], **reply}
        self._session.received(replied)
        self._replies.put_nowait(self._frames.message(replied))
        return None

    def received(self, item: object) -> bool:
        """The server sent a message: the reply to a request, or something unasked."""
        frame = self._frames.read(item)
        self._session.received(frame)
        call = None if "method" in frame else self._open.pop(frame.get("id"), None)
        if call is None:
            self._call.gave(encode(frame))
        else:
            call.succeeded({key: frame[key] for key in ("result", "error") if key in frame})
        return True

    def ended(self) -> None:
        """The server says no more."""
        self._call.stream_ended("end", None)

    def failed(self, error: BaseException) -> None:
        """`error` ended the session; where the server never ran, it is the answer."""
        if not self.has_begun:
            self._call.failed(error)

    def close(self) -> None:
        """The client leaves."""
        if self._read is not None:
            self._read.left()
        self._call.stream_ended("closed", None)


class RecordedWrite(Stream):
    """What the client says."""

    def __init__(self, inner: Any, talk: Talk) -> None:
        self._inner = inner
        self._talk = talk

    async def send(self, item: object) -> None:
        """Send a message."""
        await self._talk.send(self._inner, item)

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    def close(self) -> None:
        """Close it."""
        self._inner.close()


@dataclass(frozen=True, slots=True)
class Told:
    """A message from ourselves to the code in `context`; no server sent it."""

    item: object
    context: Context


class RecordedRead(Stream):
    """What the server says; between that, the replies to requests that were not put to it.

    Attributes:
        last_context: the context in which the client does what the last message asks of it; None where the transport
            does not tell.
    """

    def __init__(self, inner: Any, talk: Talk, replies: asyncio.Queue[Any] | None) -> None:
        self._inner = inner
        self._talk = talk
        self._replies = replies
        self._coming: asyncio.Task[Any] | None = None
        self.last_context: Context | None = None

    async def _next(self) -> Any:
        while True:
            try:
                item = await (self._inner.__anext__() if self._replies is None else self._said(self._replies))
            except StopAsyncIteration:
                self._talk.ended()
                return None
            except _Replied as replied:
                told = replied.item
                self.last_context = told.context if isinstance(told, Told) else None
                return unless_fatal(told.item if isinstance(told, Told) else told)
            self.last_context = getattr(self._inner, "last_context", None)
            if self._talk.received(item):
                return item

    async def _said(self, replies: asyncio.Queue[Any]) -> Any:
        """The next message of the server.

        Raises:
            _Replied: a reply comes first that is not the server's.
            StopAsyncIteration: it says no more.
        """
        # Made by hand: tasks of ours take no place among the lanes of the agent's.
        loop = asyncio.get_running_loop()
        if self._coming is None:
            self._coming = asyncio.Task(_or_none(self._inner), loop=loop)
        reply = asyncio.Task(replies.get(), loop=loop)
        try:
            await asyncio.wait({self._coming, reply}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not reply.done():
                reply.cancel()
        if reply.done() and not reply.cancelled():
            raise _Replied(reply.result())
        coming, self._coming = self._coming, None
        item = coming.result()
        if item is None:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """Close it."""
        if not self._goes_on():
            await self._inner.aclose()

    def close(self) -> None:
        """Close it."""
        if not self._goes_on():
            self._inner.close()

    def _goes_on(self) -> bool:
        """Whether the server is read on after the client has closed the stream.

        Where we answer, the client may have its reply, and leave, before the same reply comes from the transport: one
        that finds the stream closed then breaks the client. What it says is read and forgotten until `left`.
        """
        if self._replies is None:
            return False
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # nothing more can come
            return False
        self._coming = asyncio.Task(_forgotten(self._inner, self._coming), loop=loop)
        return True

    def left(self) -> None:
        """The client has left its session: the transport closes what it made."""
        if self._coming is not None:
            self._coming.cancel()


class _Replied(Exception):
    """A reply that did not come from the server."""

    def __init__(self, item: Any) -> None:
        super().__init__()
        self.item = item


async def _or_none(stream: Any) -> Any:
    """The next item of a stream, None at its end: a task cannot end with `StopAsyncIteration`."""
    try:
        return await stream.__anext__()
    except StopAsyncIteration:
        return None


async def _forgotten(stream: Any, coming: asyncio.Task[Any] | None) -> None:
    """Read a stream to its end and drop what it gives; `coming` is a read that is under way already."""
    with suppress(Exception):  # however it ends: nobody reads it any more
        while await (coming or _or_none(stream)) is not None:
            coming = None


def unless_fatal(item: Any) -> Any:
    """A message, or an error that the client is told of as one; what halts the agent is raised."""
    if isinstance(item, BaseException) and not isinstance(item, Exception):
        raise item
    return item


async def served_reply(served: Served, index: int = 0) -> dict[str, Any]:
    """Give the reply, `result` or `error`, to a request that the server never gets, in the turn of piece `index`.

    Raises:
        BaseException: what is raised in its place.
    """
    await served.turn(index)
    if served.call.error is not None:
        raise served.failure()
    recorded: Wire = served.call.result
    reply = served.value(recorded)
    return dict(reply) if isinstance(reply, Mapping) else {}
