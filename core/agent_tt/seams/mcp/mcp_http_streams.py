"""The two streams of a session with an MCP server over HTTP, between the client and its transport."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.codec.encode import encode
from agent_tt.recording.calls.exchange import requests_for
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.scope import here
from agent_tt.recording.session import SESSION
from agent_tt.seams.mcp.mcp_requests import calls_a_tool
from agent_tt.seams.mcp.mcp_served_streams import Answering
from agent_tt.seams.mcp.mcp_streams import RecordedRead, RecordedWrite, Told, served_reply

if TYPE_CHECKING:
    from contextvars import Context

    from agent_tt.recording.calls.answers import Served
    from agent_tt.seams.mcp.mcp_streams import Frame, Frames, Session

_SENT_FOR: Final[ContextVar[object]] = ContextVar("agent_tt_mcp_request", default=None)
"""The id of the call that the transport makes a request for: it receives the answer in the same context."""


class HttpTalk:
    """A session over HTTP, in which calls of tools are recorded or answered."""

    def __init__(self, frames: Frames, session: Session) -> None:
        self._frames = frames
        self._session = session
        self._open: dict[object, RecordedCall] = {}
        self._has_pieces: set[object] = set()
        self._askers: dict[object, Context] = {}
        self._answered: set[object] = set()
        self._answering: Answering | None = None
        self._read: Any = None

    def streams(self, read: Any, write: Any) -> tuple[Any, Any]:
        """Wrap the two streams of the transport, so that what passes through them is recorded."""
        if SESSION.chain.watches:  # some calls may be answered without the server
            self._answering = Answering()
        self._read = RecordedRead(read, self, None if self._answering is None else self._answering.arrived)
        return self._read, RecordedWrite(write, self)

    async def send(self, write: Any, item: object) -> None:
        """The client sends a message: one that calls a tool is a call from now on.

        Raises:
            BaseException: the call is refused (`ToolDenied`), or halts the agent (`Divergence`).
        """
        frame = self._frames.read(item)
        self._session.sent(frame)
        if not calls_a_tool(frame):
            with requests_for("reading"):
                await write.send(item)
            return
        begun = self._session.begin(frame)
        call = begun if isinstance(begun, RecordedCall) else None
        if call is not None:
            call.is_awaited = True
            await call.until_live()
        served = cast("Served | None", begun) if call is None else call.served
        if served is not None and self._answering is not None:
            self._answered.add(frame["id"])
            self._answering.start(self._answer(self._answering, frame["id"], served, call, copy_context()))
        elif call is not None:
            await self._make(write, item, frame["id"], call)
        elif here() is None:
            await write.send(item)
        else:  # a framework's tool is made of it, and has its row
            with requests_for("a call"):
                await write.send(item)

    async def _make(self, write: Any, item: object, number: object, call: RecordedCall) -> None:
        self._open[number], self._askers[number] = call, copy_context()
        token = _SENT_FOR.set(number)
        try:
            with call.running(), requests_for("a call"):
                await write.send(item if call.sent is None else self._frames.message(cast("Frame", call.sent)))
        except BaseException as error:
            self._open.pop(number, None)
            self._askers.pop(number, None)
            call.failed(error)
            raise
        finally:
            _SENT_FOR.reset(token)

    def received(self, item: object) -> bool:
        """The server sent a message: the reply to a call of a tool, or something it says before that."""
        frame = self._frames.read(item)
        self._session.received(frame)
        if "method" not in frame:
            number = frame.get("id")
            if number in self._answered:  # by us: it comes again with a stream that is recorded for itself
                return False
            call = self._open.pop(number, None)
            self._askers.pop(number, None)
            if call is not None:
                reply = {key: frame[key] for key in ("result", "error") if key in frame}
                if number in self._has_pieces:
                    call.stream_ended("end", encode(reply))
                else:
                    call.succeeded(reply)
            return True
        context = self._read.last_context
        number = None if context is None else context.get(_SENT_FOR)
        call = self._open.get(number)
        if call is not None:
            self._has_pieces.add(number)
            call.gave(encode(frame))
            # What the client does about it is the agent's own doing, and no part of the call: in a replay too.
            self._read.last_context = self._askers.get(number)
        return True

    def ended(self) -> None:
        """The server says no more."""

    def close(self) -> None:
        """The client leaves."""
        if self._answering is not None:
            self._answering.stop()
        if self._read is not None:
            self._read.left()

    async def _answer(
        self, answering: Answering, number: object, served: Served, call: RecordedCall | None, asker: Context
    ) -> None:
        """Give the client the reply to a call that a recording, or a person, answers."""
        said = [piece for piece in served.pieces if piece.kind == "chunk"]
        for index, piece in enumerate(said):
            await served.turn(index)
            if call is not None:
                call.gave(piece.data)
            frame = served.value(piece.data)
            if isinstance(frame, Mapping):
                answering.arrived.put_nowait(Told(self._frames.message(dict(frame)), asker))
        try:
            reply = await served_reply(served, len(said))
        except BaseException as error:
            if call is not None:
                call.failed(error)
            raise
        if call is not None and said:
            call.stream_ended("end", encode(reply))
        elif call is not None:
            call.succeeded(reply)
        answering.arrived.put_nowait(self._frames.message({"jsonrpc": "2.0", "id": number, **reply}))
