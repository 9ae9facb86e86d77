"""The two streams of a session with an MCP server, while they are recorded or served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from agent_tt.codec.encode import encode
from agent_tt.errors import ToolDenied
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.recording.calls.answers import Served

Frame: TypeAlias = "dict[str, Any]"
Ask: TypeAlias = "Callable[[Frame], RecordedCall | Served | None]"


class Frames(Protocol):
    """Frames as JSON, from and to messages."""

    def read(self, item: object) -> Frame:
        """The frame that a message is."""

    def message(self, frame: Frame) -> Any:
        """The message that a frame is."""


class _Stream:
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


# ---------------------------------------------------------------- recorded


class RecordedTalk:
    """A session that is recorded.

    Attributes:
        has_begun: whether the server runs.
    """

    def __init__(self, call: RecordedCall, frames: Frames, ask: Ask) -> None:
        self.has_begun = False
        self._call = call
        self._frames = frames
        self._ask = ask
        self._open: dict[object, RecordedCall] = {}
        self._replies: asyncio.Queue[Any] | None = None

    def streams(self, read: Any, write: Any) -> tuple[Any, Any]:
        """The session's streams around those of the server."""
        if SESSION.chain.rules:  # some requests may be answered without it
            self._replies = asyncio.Queue()
        return _RecordedRead(read, self, self._replies), _RecordedWrite(write, self)

    async def sent(self, item: object) -> object | None:
        """The client sends a message: a request is a call from now on. What goes to the server, None for nothing."""
        frame = self._frames.read(item)
        call = self._ask(frame) if "method" in frame and "id" in frame else None
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
        self._replies.put_nowait(self._frames.message({"jsonrpc": "2.0", "id": frame["id"], **reply}))
        return None

    def received(self, item: object) -> None:
        """The server sent a message: the reply to a request, or something unasked."""
        frame = self._frames.read(item)
        call = None if "method" in frame else self._open.pop(frame.get("id"), None)
        if call is None:
            self._call.gave(encode(frame))
        else:
            call.succeeded({key: frame[key] for key in ("result", "error") if key in frame})

    def ended(self) -> None:
        """The server says no more."""
        self._call.stream_ended("end", None)

    def failed(self, error: BaseException) -> None:
        """`error` ended the session; where the server never ran, it is the answer."""
        if not self.has_begun:
            self._call.failed(error)

    def close(self) -> None:
        """The client leaves."""
        self._call.stream_ended("closed", None)


class _RecordedWrite(_Stream):
    def __init__(self, inner: Any, talk: RecordedTalk) -> None:
        self._inner = inner
        self._talk = talk

    async def send(self, item: object) -> None:
        message = await self._talk.sent(item)
        if message is not None:
            await self._inner.send(message)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()


class _RecordedRead(_Stream):
    """What the server says; between that, the replies to requests that were not put to it."""

    def __init__(self, inner: Any, talk: RecordedTalk, replies: asyncio.Queue[Any] | None) -> None:
        self._inner = inner
        self._talk = talk
        self._replies = replies
        self._coming: asyncio.Task[Any] | None = None

    async def _next(self) -> Any:
        try:
            item = await (self._inner.__anext__() if self._replies is None else self._said(self._replies))
        except StopAsyncIteration:
            self._talk.ended()
            return None
        except _Replied as replied:
            return replied.item
        self._talk.received(item)
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
        self._leave()
        await self._inner.aclose()

    def close(self) -> None:
        self._leave()
        self._inner.close()

    def _leave(self) -> None:
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


async def served_reply(served: Served) -> dict[str, Any]:
    """The reply to a request that is not put to a server: `result` or `error`.

    Raises:
        BaseException: what is raised in its place.
    """
    await served.turn()
    if served.call.error is not None:
        raise served.failure()
    recorded: Wire = served.call.result
    reply = served.value(recorded)
    return dict(reply) if isinstance(reply, Mapping) else {}


# ---------------------------------------------------------------- served


class ServedTalk:
    """A session with a recording."""

    def __init__(self, call: RecordedCall | None, served: Served, frames: Frames, ask: Ask) -> None:
        self._call = call
        self._served = served
        self._frames = frames
        self._ask = ask
        self._position = 0
        self._arrived: asyncio.Queue[Any] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    async def streams(self) -> tuple[Any, Any]:
        """The session's streams.

        Raises:
            BaseException: the server could not be started when it was recorded.
        """
        if self._served.call.error is not None and not self._served.pieces:
            await self._served.turn()
            raise self._served.failure()
        self._start(self._speak())
        return _ServedRead(self._arrived), _ServedWrite(self)

    async def sent(self, item: object) -> None:
        """The client sends a message: a request gets its recorded reply; all else was taken in silence."""
        frame = self._frames.read(item)
        if "method" in frame and "id" in frame:
            begun = self._ask(frame)
            if isinstance(begun, RecordedCall):
                await begun.until_live()
            served = begun.served if isinstance(begun, RecordedCall) else begun
            call = begun if isinstance(begun, RecordedCall) else None
            if served is None:
                denial = ToolDenied(
                    f"{frame['method']} was not sent: its server was connected to in the recording, and is not running",
                    tool=str(frame["method"]),
                    hint="fork before the step that connects to it, and let `mcp server` run",
                )
                if call is not None:
                    call.failed(denial)
                raise denial
            self._start(self._reply(frame["id"], served, call))

    def close(self) -> None:
        """The client leaves."""
        for task in self._tasks:
            task.cancel()
        self._served.leave(self._position)
        if self._call is not None:
            self._call.stream_ended("closed", None)

    def _start(self, coroutine: Any) -> None:
        # Made by hand: a task of ours takes no place among the lanes of the agent's.
        task = asyncio.Task(self._guarded(coroutine), loop=asyncio.get_running_loop())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, coroutine: Any) -> None:
        try:
            await coroutine
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001  a divergence belongs where the session reads, not in a task of ours
            self._arrived.put_nowait(error)

    async def _speak(self) -> None:
        """What the server said unasked."""
        pieces = self._served.pieces
        while self._position < len(pieces) and pieces[self._position].kind in ("chunk", "end"):
            await self._served.turn(self._position)
            piece = pieces[self._position]
            self._position += 1
            frame = self._served.value(piece.data)
            self._arrived.put_nowait(self._frames.message(dict(frame)) if isinstance(frame, Mapping) else None)

    async def _reply(self, number: object, served: Served, call: RecordedCall | None) -> None:
        reply = await served_reply(served)
        if call is not None:
            call.succeeded(reply)
        self._arrived.put_nowait(self._frames.message({"jsonrpc": "2.0", "id": number, **reply}))


class _ServedWrite(_Stream):
    def __init__(self, talk: ServedTalk) -> None:
        self._talk = talk

    async def send(self, item: object) -> None:
        await self._talk.sent(item)


class _ServedRead(_Stream):
    def __init__(self, arrived: asyncio.Queue[Any]) -> None:
        self._arrived = arrived

    async def _next(self) -> Any:
        item = await self._arrived.get()
        if isinstance(item, BaseException) and not isinstance(item, Exception):
            raise item
        return item

    async def aclose(self) -> None:
        self._arrived.put_nowait(None)

    def close(self) -> None:
        self._arrived.put_nowait(None)
