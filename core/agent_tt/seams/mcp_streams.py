"""The two streams of a session with an MCP server, while they are recorded or served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from agent_tt.codec.encode import encode
from agent_tt.recording.calls import RecordedCall

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.recording.answers import Served

Frame: TypeAlias = "dict[str, Any]"
Ask: TypeAlias = "Callable[[Frame], RecordedCall | Served | None]"


class Frames(Protocol):
    """Frames as JSON, from and to messages."""

    def read(self, item: object) -> Frame:
        """The frame that a message is."""
        ...

    def message(self, frame: Frame) -> Any:
        """The message that a frame is."""
        ...


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

    def streams(self, read: Any, write: Any) -> tuple[Any, Any]:
        """The session's streams around those of the server."""
        return _RecordedRead(read, self), _RecordedWrite(write, self)

    def sent(self, item: object) -> None:
        """The client sends a message: a request is a call from now on."""
        frame = self._frames.read(item)
        if "method" in frame and "id" in frame:
            call = self._ask(frame)
            if isinstance(call, RecordedCall):
                call.is_awaited = True
                self._open[frame["id"]] = call

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
        self._talk.sent(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()


class _RecordedRead(_Stream):
    def __init__(self, inner: Any, talk: RecordedTalk) -> None:
        self._inner = inner
        self._talk = talk

    async def _next(self) -> Any:
        try:
            item = await self._inner.__anext__()
        except StopAsyncIteration:
            self._talk.ended()
            return None
        self._talk.received(item)
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()


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

    def sent(self, item: object) -> None:
        """The client sends a message: a request gets its recorded reply; all else was taken in silence."""
        frame = self._frames.read(item)
        if "method" in frame and "id" in frame:
            begun = self._ask(frame)
            served = begun.served if isinstance(begun, RecordedCall) else begun
            if served is not None:
                self._start(self._reply(frame["id"], served, begun if isinstance(begun, RecordedCall) else None))

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
        await served.turn()
        recorded: Wire = served.call.result
        reply = served.value(recorded)
        if call is not None:
            call.succeeded(reply)
        frame = {"jsonrpc": "2.0", "id": number, **(reply if isinstance(reply, Mapping) else {})}
        self._arrived.put_nowait(self._frames.message(frame))


class _ServedWrite(_Stream):
    def __init__(self, talk: ServedTalk) -> None:
        self._talk = talk

    async def send(self, item: object) -> None:
        self._talk.sent(item)


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
