"""What a recording says over a WebSocket in the server's place.

A connection that was opened in the recording cannot be gone on with: the server knows nothing of it. Where the agent
sends something over it that is to be sent for real, or has had all that was recorded, the connection is lost, as when a
network breaks, and an agent that connects again does so for real.
"""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, cast

from agent_tt.codec.decode import decode
from agent_tt.providers.bodies import pieces_of
from agent_tt.recording.errors.cancellation import is_cancellation
from agent_tt.seams.http.served_answer import patience_s
from agent_tt.seams.ws.frames import (
    CLOSE,
    PING,
    PONG,
    Frame,
    control_in,
    frame_of,
    from_server,
    handshake_answer,
    handshake_key,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Delivery
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.recorded_call import RecordedCall

_CUT: Final = "this connection was opened in the recording, and cannot be gone on with: the agent has to connect again"


class HandsOut(Protocol):
    """What hands out what was recorded."""

    async def run(self, may_read: Callable[[], Awaitable[object]]) -> None:
        """Hand it out, piece by piece.

        Args:
            may_read: waits until the client wants more.
        """

    def run_here(self) -> None:
        """As `run`, in a thread of ours."""


class Line(Protocol):
    """What stands in for the network of a replayed connection: its library reads recorded bytes from it."""

    def receive(self, data: bytes) -> None:
        """Let the library have bytes of the server."""

    def answer(self, data: bytes) -> None:
        """As `receive`, once the library has written what this answers."""

    def lose(self, error: BaseException | None) -> None:
        """End the connection, with what broke it."""

    def start(self, serving: HandsOut) -> None:
        """Begin to hand out what was recorded, while the agent goes on."""


class Answering:
    """What answers one connection.

    Args:
        call: the opening's call.
        served: what was recorded of it.
        shows_pings: whether the pings and pongs of the server are among that.

    Attributes:
        line: where its library reads; whoever stands in for the network says so.
    """

    line: Line

    def __init__(self, call: RecordedCall | None, served: Served, *, shows_pings: bool) -> None:
        self._call = call
        self._served = served
        self._shows_pings = shows_pings
        self._serving: list[_Serving] = []
        self._key = ""
        self._has_opened = False
        self._is_lost = False

    def serve(self, call: RecordedCall | None, served: Served, *, of_model: bool) -> None:
        """Hand out what was recorded, while the agent goes on."""
        serving = _Serving(self, call, served, of_model=of_model)
        self._serving.append(serving)
        self.line.start(serving)

    def wrote(self, data: bytes) -> None:
        """The client has written bytes to a connection that nobody has opened."""
        if not self._key:
            self._key = handshake_key(data)
            if self._key:
                self.serve(self._call, self._served, of_model=False)
            return
        control = control_in(data)
        if control is None:
            return
        opcode, payload = control
        if opcode == PING and not self._shows_pings:
            self.line.answer(from_server(Frame(PONG, payload)))
        elif opcode == CLOSE and self._served.pieces[-1].kind == "chunk":  # nobody has recorded how the server closes
            self.line.answer(from_server(Frame(CLOSE, payload)))
            self.line.answer(b"")

    def hand_out(self, piece: Wire, served: Served) -> None:
        """Let the client have what the server said."""
        if isinstance(piece, dict) and "status" in piece:
            self._has_opened = True
            self.line.receive(handshake_answer(piece, self._key))
            return
        frame = frame_of(piece)
        if frame is None:
            raise served.read_past("a secret was in this message, which is not kept")
        self.line.receive(from_server(frame))

    def waits_elsewhere(self) -> BaseException:
        """What to raise where the agent waits for a message by the descriptor of a connection that has none."""
        return self._served.read_past("the agent waits for its messages by a descriptor, and a replayed one has none")

    def cut(self) -> BaseException:
        """Lose the connection, which was opened in the recording; why."""
        error = ConnectionResetError(_CUT)
        if not self._is_lost:
            self._is_lost = True
            self.line.lose(error)
        return error

    def used_up(self) -> None:
        """Lose the connection, once all that is handed out of it has been."""
        if all(serving.is_done for serving in self._serving):
            self.cut()

    def left(self) -> None:
        """The agent wants no more of what was recorded."""
        for serving in self._serving:
            serving.leave()

    def ended(self) -> None:
        """The connection is over."""
        if self._call is not None and not self._call.is_over:
            self._call.stream_ended("closed", self._served.call.result)

    def failed(self, error: BaseException) -> None:
        """`error` ended the opening handshake."""
        if self._call is not None and not self._has_opened:
            self._call.failed(error)


class _Serving:
    """Hands out what was recorded of a connection, or of the answer of a model.

    Attributes:
        is_done: whether nothing is left of it.
    """

    def __init__(self, answering: Answering, call: RecordedCall | None, served: Served, *, of_model: bool) -> None:
        self._answering = answering
        self._call = call
        self._served = served
        self._of_model = of_model
        self._pieces = _as_messages(served.pieces) if of_model else served.pieces
        self._position = 0
        self._is_over = False
        self._left = threading.Event()
        self.is_done = False

    def leave(self) -> None:
        """The agent takes no more."""
        self._is_over = True
        self._left.set()
        self._served.leave(self._position)

    async def run(self, may_read: Callable[[], Awaitable[object]]) -> None:
        """Hand it out, piece by piece.

        Args:
            may_read: waits until the client wants more.
        """
        try:
            for index in self._upcoming():
                await may_read()
                await self._served.turn(index)
                self._take(index)
            if not (self._is_over or self._of_model):
                await self._served.turn_after_all()
                await self._served.turn(len(self._pieces))
                if self._is_left_at_the_end:
                    await asyncio.sleep(patience_s(self._served.call))
            self.is_done = True
            self._answering.used_up()
        except BaseException as error:
            if is_cancellation(error):
                raise
            self._broke(error)

    def run_here(self) -> None:
        """As `run`, in a thread of ours."""
        try:
            for index in self._upcoming():
                self._served.wait(index)
                self._take(index)
            if not (self._is_over or self._of_model):
                self._served.wait_for_all()
                self._served.wait(len(self._pieces))
                if self._is_left_at_the_end:
                    self._left.wait(patience_s(self._served.call))
            self.is_done = True
            self._answering.used_up()
        except BaseException as error:  # noqa: BLE001  it belongs where the agent waits, not in a thread of ours
            self._broke(error)

    def _broke(self, error: BaseException) -> None:
        """Lose the connection because of a divergence: whoever waits for a message hears of it."""
        if isinstance(error, Exception):
            self._answering.line.lose(error)
            return
        lost = ConnectionResetError(str(error))  # of the kind that its library expects of a connection
        lost.__cause__ = error
        self._answering.line.lose(lost)

    @property
    def _is_left_at_the_end(self) -> bool:
        """Whether the agent left the connection when it was recorded, and so is to do it again."""
        return bool(self._pieces) and self._pieces[-1].kind == "closed"

    def _upcoming(self) -> Iterator[int]:
        """The pieces that are handed out, by number. That the agent left was no event of the connection."""
        for index, piece in enumerate(self._pieces):
            if self._is_over or piece.kind == "closed":
                return
            yield index

    def _take(self, index: int) -> None:
        if self._is_over:
            return
        self._position = index + 1
        piece, call, recorded = self._pieces[index], self._call, self._served.call
        if piece.kind == "chunk":
            if call is not None:
                call.gave(piece.data)
                if not self._of_model:
                    call.stands()
            self._answering.hand_out(piece.data, self._served)
            return
        self._is_over = True
        error = self._served.failure() if piece.kind == "error" else None
        if call is not None and error is not None:
            call.stream_failed(error, recorded.result)
        elif call is not None:
            call.stream_ended("end", recorded.result, priced={"usage": recorded.meta})
        if not self._of_model:
            self._answering.line.lose(error)


def _as_messages(pieces: Sequence[Delivery]) -> Sequence[Delivery]:
    """The pieces of a model's answer; one that a person wrote, in the form of an HTTP answer, as messages."""
    chunks = [piece for piece in pieces if piece.kind == "chunk"]
    if all(frame_of(piece.data) is not None for piece in chunks):
        return pieces
    body = b"".join(cast("bytes", decode(piece.data)) for piece in chunks if not _is_head(piece.data))
    if not any(_is_head(piece.data) for piece in chunks):
        body = body.partition(b"\r\n\r\n")[2]
    first, last = pieces[0], pieces[-1]
    said: list[Wire] = [{"text": json.dumps(event, ensure_ascii=False)} for event in pieces_of(body, "").events]
    return [*(replace(first, data=text) for text in said), *([last] if last.kind != "chunk" else [])]


def _is_head(data: Wire) -> bool:
    return isinstance(data, dict) and "status" in data
