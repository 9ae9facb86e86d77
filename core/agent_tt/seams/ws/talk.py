"""One WebSocket: which row each of its messages is in, and what a recording says in the server's place.

The opening handshake is a call, `GET wss://host/path`: it has its answer, and all that the server says unasked, as
pieces until the connection ends. Each message of the agent is a call of its own, `SEND wss://host/path`, over once it
is sent. One that asks a model (its provider reads it) is a model call, and what the server says from then to the event
that ends the answer are its pieces. On replay nothing connects: the agent's messages are compared with the recorded
ones, and the server's come at their turn.

A connection that was opened in the recording cannot be gone on with: the server knows nothing of it. Where the agent
sends something over it that is to be sent for real, or has had all that was recorded, the connection is lost, as when a
network breaks, and an agent that connects again does so for real.
"""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from urllib.parse import urlsplit

from agent_tt.codec.decode import decode
from agent_tt.history.digest import digest
from agent_tt.model import Judged
from agent_tt.model.facts import CallFacts
from agent_tt.providers.bodies import pieces_of
from agent_tt.providers.reading import MESSAGE, ends_answer, gathers, recorded_answer, talks
from agent_tt.recording.calls.exchange import begin_exchange
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.errors.cancellation import is_cancellation
from agent_tt.redaction.streams.answers import Veil
from agent_tt.redaction.streams.wire_pieces import WirePieces
from agent_tt.redaction.values import given
from agent_tt.seams.http.answer_text import LARGEST_READ
from agent_tt.seams.http.http_exchange import amended, asked_of
from agent_tt.seams.http.http_request import HttpRequest, question_of, shown_headers
from agent_tt.seams.http.served_answer import patience_s
from agent_tt.seams.ws.frames import (
    CLOSE,
    NEXT,
    PING,
    PONG,
    TEXT,
    Frame,
    control_in,
    event_in,
    frame_of,
    from_server,
    handshake_answer,
    handshake_key,
    kept_payload,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Delivery
    from agent_tt.providers import ModelCall
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.exchange import Asked

    Message = str | bytes | bytearray | memoryview

_SCHEMES: Final = {"http": "ws", "https": "wss"}
_CUT: Final = "this connection was opened in the recording, and cannot be gone on with: the agent has to connect again"


class Line(Protocol):
    """What stands in for the network of a replayed connection: its library reads recorded bytes from it."""

    def receive(self, data: bytes) -> None:
        """Let the library have bytes of the server."""

    def answer(self, data: bytes) -> None:
        """As `receive`, once the library has written what this answers."""

    def lose(self, error: BaseException | None) -> None:
        """End the connection, with what broke it."""

    def start(self, serving: Serving) -> None:
        """Begin to hand out what was recorded, while the agent goes on."""


class Talk:
    """A connection that is recorded, or answered.

    Attributes:
        served: what a recording says in the server's place; None where the connection is opened for real.
        line: where its library reads; set by the seam of the library.
    """

    def __init__(self, url: str, call: RecordedCall | None, served: Served | None) -> None:
        self.served = served
        self.line: Line = cast("Line", None)
        self._url = url
        self._call = call
        self._lock = threading.RLock()
        self._head: dict[str, Wire] | None = None
        self._pieces = WirePieces()
        self._size = 0
        self._turns: list[_Turn] = []
        self._said: list[dict[str, Any]] = []
        self._broken: tuple[_Turn | None, bytearray] | None = None
        self._serving: list[Serving] = []
        self._key = ""
        self._is_lost = False

    async def until_live(self) -> None:
        """Wait until the connection may be opened for real; see `RecordedCall.until_live`."""
        if self._call is not None and self.served is None:
            await self._call.until_live()
            self.served = self._call.served

    async def fail_as_recorded(self) -> None:
        """Raise what connecting raised, where nothing came back."""
        if self.served is not None and not self.served.pieces:
            await self.served.turn()
            raise self.served.failure()

    def fail_as_recorded_here(self) -> None:
        """As `fail_as_recorded`, for a thread."""
        if self.served is not None and not self.served.pieces:
            self.served.wait()
            raise self.served.failure()

    # ------------------------------------------------------------ what the server says

    def opened(self, status: int, reason: str, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """The server has answered the opening handshake."""
        if self._call is None or self.served is not None:
            return
        pairs = list(headers)
        self._head = {"status": status, "headers": dict(shown_headers(pairs))}
        head: dict[str, Wire] = {
            "status": status,
            "reason": reason,
            "headers": [list(pair) for pair in Veil().headers(pairs)],
        }
        if body:
            head["body"] = self._head["body"] = kept_payload(body)
        self._call.gave(Judged(given(head)))
        self._call.stands()

    def received(self, frame: Frame) -> None:
        """The server has sent a message, or a fragment of one."""
        if self._call is None or self.served is not None or frame.opcode in (PING, PONG):
            return
        with self._lock:
            turn, whole = self._place_of(frame)
            if turn is None:
                self._size += len(frame.data)
                judged = self._pieces.take(frame.to_wire())
                self._call.gave(Judged(judged.data, _after_the_head(judged.settled)))
            else:
                turn.call.gave(frame.to_wire())
                turn.received(frame)
                if whole is not None and turn.is_ended_by(whole):
                    self._turns.remove(turn)
                    turn.end()

    def reads_on(self) -> None:
        """The thread that received has done what it does with that."""
        if self._call is not None:
            self._call.reads_on()

    def _place_of(self, frame: Frame) -> tuple[_Turn | None, dict[str, Any] | None]:
        """Whose piece a frame is, and the event that its message is once that is whole."""
        if frame.opcode == NEXT and self._broken is not None:
            turn, data = self._broken
            data += frame.data
            if frame.is_last:
                self._broken = None
            return turn, event_in(bytes(data)) if frame.is_last else None
        event = event_in(frame.data) if frame.opcode == TEXT and frame.is_last and self._turns else None
        turn = None if frame.opcode == CLOSE else self._turn_of(event)
        if not frame.is_last:
            self._broken = turn, bytearray(frame.data)
        return turn, event

    def _turn_of(self, event: dict[str, Any] | None) -> _Turn | None:
        """The model call that an event belongs to: by its stream, by its answer's id, else the first one."""
        if event is None or not self._turns:
            return self._turns[0] if self._turns else None
        inner = event.get("response")
        answer = event.get("response_id") or (inner.get("id") if isinstance(inner, dict) else None)
        streams = [turn for turn in self._turns if turn.stream == event.get("stream_id")]
        for turn in streams:
            if answer is not None and turn.answer == answer:
                return turn
        if answer is None:
            return next(iter(streams), self._turns[0])
        free = next((turn for turn in streams if turn.answer is None), None)
        if free is not None:
            free.answer = str(answer)
        return free

    def ended(self, error: BaseException | None, *, is_own: bool = False) -> None:
        """The connection is over.

        Args:
            error: what broke it.
            is_own: the agent's side gave it up by itself, and does so again in a replay.
        """
        with self._lock:
            turns, self._turns = self._turns, []
        for turn in turns:
            turn.broke_off()
        call = self._call
        if call is None or call.is_over:
            return
        if self.served is not None:
            call.stream_ended("closed", self.served.call.result)
        elif self._head is not None:
            settled = _after_the_head(self._pieces.end())
            result: dict[str, Wire] = dict(self._head)
            if self._size > LARGEST_READ:
                result["size"] = self._size
            elif self._pieces.shown:
                result["body"] = [_readable(piece) for piece in self._pieces.shown]
            if error is None or is_own:
                call.stream_ended("closed" if is_own else "end", result, settled=settled)
            else:
                call.stream_failed(error, result, settled=settled)

    def failed(self, error: BaseException) -> None:
        """`error` ended the opening handshake."""
        if self._call is not None and self._head is None:
            self._call.failed(error)

    # ------------------------------------------------------------ what the agent says

    def begin(self, message: Message, *, text: bool | None, can_wait: bool) -> Sending | None:
        """The agent sends a message: a call begins. None where it is simply sent.

        Args:
            message: the message, or a fragment of one.
            text: whether it goes out as text; None where its type says so.
            can_wait: whether a coroutine sends it.

        Raises:
            BaseException: it is refused (`ToolDenied`), or halts the agent (`Divergence`).
        """
        data = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else bytes(message)
        is_text = isinstance(message, str) if text is None else text
        request = HttpRequest(MESSAGE, self._url, (), data)
        asked, model_call, said = self._question(request, is_text=is_text)
        changed = amended(request, asked, model_call) if model_call is not None and not said else None
        if changed is not None:
            asked, model_call, said = self._question(changed, is_text=is_text)
        begun = begin_exchange(asked, can_wait=can_wait)
        if begun is None:
            return None
        call, served = (begun, begun.served) if isinstance(begun, RecordedCall) else (None, begun)
        if call is not None:
            call.is_awaited = can_wait
        event = event_in(data) or {}
        if model_call is not None:
            self._said = []
        elif gathers(self._url, event):
            self._said.append(event)
        return Sending(self, call, served, model_call, event, message, changed)

    def _question(self, request: HttpRequest, *, is_text: bool) -> tuple[Asked, ModelCall | None, bool]:
        """What a message asks; of one that asks a model together with what was said to it since the one before."""
        asked, model_call = asked_of(request)
        body = asked.args["body"]
        if model_call is not None and self._said and isinstance(body, dict):
            gathered: dict[str, Wire] = {**body, "said": cast("Wire", list(self._said))}
            text = json.dumps(gathered, ensure_ascii=False).encode("utf-8", "surrogatepass")
            asked, model_call = asked_of(replace(request, body=text))
            return replace(asked, given=None), model_call, True
        if model_call is None and isinstance(body, dict) and talks(self._url, body):
            asked = replace(asked, effect="read")
        if not is_text:
            args: dict[str, Wire] = {**asked.args, "binary": True}
            asked = replace(asked, args=args, signature=digest([asked.signature, "binary"]).hex(), given=None)
        return asked, model_call, False

    def sends(self, sending: Sending) -> BaseException | None:
        """A message is about to be sent for real. Why the connection is lost instead; None where it is not."""
        if self.served is not None:
            return self.cut()
        if sending.model_call is not None and sending.call is not None:
            with self._lock:
                self._turns.append(_Turn(sending.call, sending.model_call, sending.event))
        return None

    def not_sent(self, sending: Sending, error: BaseException) -> None:
        """`error` kept a message from being sent."""
        with self._lock:
            self._turns = [turn for turn in self._turns if turn.call is not sending.call]
        if sending.call is not None:
            sending.call.failed(error)

    # ------------------------------------------------------------ in place of the server

    def serve(self, call: RecordedCall | None, served: Served, *, of_model: bool) -> None:
        """Hand out what was recorded, while the agent goes on."""
        serving = Serving(self, call, served, of_model=of_model)
        self._serving.append(serving)
        self.line.start(serving)

    def wrote(self, data: bytes) -> None:
        """The client has written bytes to a connection that nobody has opened."""
        served = self.served
        if served is None:
            return
        if not self._key:
            self._key = handshake_key(data)
            if self._key:
                self.serve(self._call, served, of_model=False)
            return
        control = control_in(data)
        if control is None:
            return
        opcode, payload = control
        if opcode == PING:
            self.line.answer(from_server(Frame(PONG, payload)))
        elif opcode == CLOSE and served.pieces[-1].kind == "chunk":  # nobody has recorded how the server closes
            self.line.answer(from_server(Frame(CLOSE, payload)))
            self.line.answer(b"")

    def hand_out(self, piece: Wire, served: Served) -> None:
        """Let the client have what the server said."""
        if isinstance(piece, dict) and "status" in piece:
            self.line.receive(handshake_answer(piece, self._key))
            return
        frame = frame_of(piece)
        if frame is None:
            raise served.read_past("a secret was in this message, which is not kept")
        self.line.receive(from_server(frame))

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


class Sending:
    """A message of the agent on its way.

    Attributes:
        call: its call.
        model_call: what it asks a model; None where it asks none.
        event: the message, where it is a JSON object.
        message: what is sent.
    """

    def __init__(
        self,
        talk: Talk,
        call: RecordedCall | None,
        served: Served | None,
        model_call: ModelCall | None,
        event: dict[str, Any],
        message: Message,
        changed: HttpRequest | None,
    ) -> None:
        self.call = call
        self.model_call = model_call
        self.event = event
        self.message = message
        self._talk = talk
        self._served = served
        self._take(changed)

    def _take(self, changed: object) -> None:
        if isinstance(changed, HttpRequest):
            text = isinstance(self.message, str)
            self.message = changed.body.decode("utf-8", "surrogatepass") if text else changed.body

    async def is_given(self) -> bool:
        """Wait until it may be sent. Return whether the recorded answer was given in place of sending it.

        Raises:
            BaseException: what sending it raised.
        """
        if self.call is not None:
            await self.call.until_live()
        served = self._decided()
        if served is None:
            return False
        if not self._is_answered(served):
            await served.turn()
        self._given(served)
        return True

    def is_given_here(self) -> bool:
        """As `is_given`, for a thread."""
        served = self._decided()
        if served is None:
            return False
        if not self._is_answered(served):
            served.wait()
        self._given(served)
        return True

    def _decided(self) -> Served | None:
        """What was decided of it: the answer in place of sending it; None where `message` is sent."""
        if self.call is not None:
            self._served = self._served or self.call.served
            self._take(self.call.sent)
        return self._served

    def cut(self) -> BaseException | None:
        """It goes out now. Why the connection is lost instead; None where it is not."""
        return self._talk.sends(self)

    def sent(self) -> None:
        """It has gone out."""
        if self.call is not None and self.model_call is None:
            self.call.succeeded(None)

    def failed(self, error: BaseException) -> None:
        """`error` kept it from going out."""
        self._talk.not_sent(self, error)

    def _is_answered(self, served: Served) -> bool:
        """Whether the answer of a model is handed out, while the agent goes on."""
        return self.model_call is not None and bool(served.pieces)

    def _given(self, served: Served) -> None:
        if self._is_answered(served):
            self._talk.serve(self.call, served, of_model=True)
            return
        if served.call.error is not None:
            error = served.failure()
            self.failed(error)
            raise error
        if self.call is not None:
            self.call.succeeded(None)


class _Turn:
    """A model call whose answer is on its way.

    Attributes:
        call: the call.
        stream: the stream that the message named, of a connection that has several.
        answer: the provider's id of the answer, once it is known.
    """

    def __init__(self, call: RecordedCall, model_call: ModelCall, event: dict[str, Any]) -> None:
        self.call = call
        self.stream = event.get("stream_id")
        self.answer: str | None = None
        self._model_call = model_call
        self._events: list[Any] = []
        self._size = 0

    def received(self, frame: Frame) -> None:
        """Note a part of the answer."""
        self._size += len(frame.data)
        if self._size > LARGEST_READ:
            self._events = []
        if frame.opcode == TEXT and frame.is_last:
            self._events.append(event_in(frame.data))

    def is_ended_by(self, event: dict[str, Any]) -> bool:
        """Whether the answer is over with this event."""
        return ends_answer(self._model_call, event) or (event.get("type") == "error" and self.answer is None)

    def end(self) -> None:
        """The answer is complete."""
        result, facts = self._read()
        self.call.stream_ended("end", result, priced={"usage": facts}, facts=facts)

    def broke_off(self) -> None:
        """The connection is over, and the answer is not."""
        self.call.stream_failed(ConnectionError("the connection ended before the answer did"), self._read()[0])

    def _read(self) -> tuple[Wire, dict[str, Wire]]:
        """The answer as people read it, and what it says of itself. Of a long one only the last event is shown."""
        facts = recorded_answer(self._model_call, {"body": self._events}).to_meta()
        said = [_readable(piece) for piece in self.call.kept()]
        result: dict[str, Wire] = {"body": said}
        if self._size > LARGEST_READ:
            result = {"body": said[-1:], "size": self._size}
        return result, facts


class Serving:
    """Hands out what was recorded of a connection, or of the answer of a model.

    Attributes:
        is_done: whether nothing is left of it.
    """

    def __init__(self, talk: Talk, call: RecordedCall | None, served: Served, *, of_model: bool) -> None:
        self._talk = talk
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
            self._talk.used_up()
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
            self._talk.used_up()
        except BaseException as error:  # noqa: BLE001  it belongs where the agent waits, not in a thread of ours
            self._broke(error)

    def _broke(self, error: BaseException) -> None:
        """Lose the connection because of a divergence: whoever waits for a message hears of it."""
        if isinstance(error, Exception):
            self._talk.line.lose(error)
            return
        lost = ConnectionResetError(str(error))  # of the kind that its library expects of a connection
        lost.__cause__ = error
        self._talk.line.lose(lost)

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
            self._talk.hand_out(piece.data, self._served)
            return
        self._is_over = True
        error = self._served.failure() if piece.kind == "error" else None
        if call is not None and error is not None:
            call.stream_failed(error, recorded.result)
        elif call is not None:
            call.stream_ended("end", recorded.result, priced={"usage": recorded.meta})
        if not self._of_model:
            self._talk.line.lose(error)


def open_talk(url: str, headers: Iterable[tuple[str, str]], *, is_awaited: bool) -> Talk | None:
    """Ask a replay for what went over a connection, else begin to record it; None where it is simply opened.

    Args:
        url: where it leads, `wss://host/path`.
        headers: those that the agent gives it.
        is_awaited: whether its messages come to an event loop.

    Raises:
        BaseException: it is refused (`ToolDenied`), or halts the agent (`Divergence`).
    """
    parts = urlsplit(url)
    url = parts._replace(scheme=_SCHEMES.get(parts.scheme, parts.scheme)).geturl()
    asked = question_of(HttpRequest("GET", url, list(headers), b""))
    asked = replace(asked, given=None, facts={**asked.facts, **CallFacts.connection.true()})
    begun = begin_exchange(asked, can_wait=is_awaited)
    if begun is None:
        return None
    call, served = (begun, begun.served) if isinstance(begun, RecordedCall) else (None, begun)
    if call is not None:
        call.is_awaited = is_awaited
    return Talk(url, call, served)


def _after_the_head(settled: Sequence[tuple[int, Wire]]) -> tuple[tuple[int, Wire], ...]:
    """What is kept of messages, by their places in the stream: the head is its first piece."""
    return tuple((number + 1, kept) for number, kept in settled)


def _readable(piece: Wire) -> Wire:
    """A message as a person reads it: JSON as a value."""
    return piece["json"] if isinstance(piece, dict) and "json" in piece else piece


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
