"""The two streams of a session with an MCP server, while a recording answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_tt.errors import ToolDenied
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.seams.mcp.mcp_streams import Stream, served_reply, unless_fatal

if TYPE_CHECKING:
    from agent_tt.recording.calls.answers import Served
    from agent_tt.seams.mcp.mcp_streams import Frames, Session


class Answering:
    """What is done for a client while it goes on.

    Attributes:
        arrived: what the client is to read next.
    """

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[Any] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, coroutine: Any) -> None:
        """Do something while the client goes on."""
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
            self.arrived.put_nowait(error)

    def stop(self) -> None:
        """The client leaves."""
        for task in self._tasks:
            task.cancel()


class ServedTalk:
    """A session with a recording."""

    def __init__(self, call: RecordedCall | None, served: Served, frames: Frames, session: Session) -> None:
        self._call = call
        self._served = served
        self._frames = frames
        self._session = session
        self._position = 0
        self._answering = Answering()

    async def streams(self) -> tuple[Any, Any]:
        """Give the two streams of the session: what to read from, and what to write to.

        Raises:
            BaseException: the server could not be started when it was recorded.
        """
        if self._served.call.error is not None and not self._served.pieces:
            await self._served.turn()
            raise self._served.failure()
        self._answering.start(self._speak())
        return _ServedRead(self._answering.arrived), _ServedWrite(self)

    async def sent(self, item: object) -> None:
        """The client sends a message: a request gets its recorded reply; all else was taken in silence."""
        frame = self._frames.read(item)
        self._session.sent(frame)
        if "method" in frame and "id" in frame:
            begun = self._session.begin(frame)
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
            self._answering.start(self._reply(frame["id"], served, call))

    def close(self) -> None:
        """The client leaves."""
        self._answering.stop()
        self._served.leave(self._position)
        if self._call is not None:
            self._call.stream_ended("closed", None)

    async def _speak(self) -> None:
        """What the server said unasked."""
        pieces = self._served.pieces
        while self._position < len(pieces) and pieces[self._position].kind in ("chunk", "end"):
            await self._served.turn(self._position)
            piece = pieces[self._position]
            self._position += 1
            frame = self._served.value(piece.data)
            self._answering.arrived.put_nowait(
                self._frames.message(dict(frame)) if isinstance(frame, Mapping) else None
            )

    async def _reply(self, number: object, served: Served, call: RecordedCall | None) -> None:
        reply = await served_reply(served)
        if call is not None:
            call.succeeded(reply)
        frame = {"jsonrpc": "2.0", "id": number, **reply}
        self._session.received(frame)
        self._answering.arrived.put_nowait(self._frames.message(frame))


class _ServedWrite(Stream):
    def __init__(self, talk: ServedTalk) -> None:
        self._talk = talk

    async def send(self, item: object) -> None:
        await self._talk.sent(item)


class _ServedRead(Stream):
    def __init__(self, arrived: asyncio.Queue[Any]) -> None:
        self._arrived = arrived

    async def _next(self) -> Any:
        return unless_fatal(await self._arrived.get())

    async def aclose(self) -> None:
        self._arrived.put_nowait(None)

    def close(self) -> None:
        self._arrived.put_nowait(None)
