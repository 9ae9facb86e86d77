"""What a server says over a WebSocket, as a recording keeps it: each message in the row that it belongs to.

What belongs to no question is a piece of the opening. From the message that asks a model up to the event that ends its
answer, what the server says are the pieces of that answer; where several are on their way, the events name theirs.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agent_tt.model import Judged
from agent_tt.providers.reading import ends_answer, recorded_answer
from agent_tt.redaction.streams.answers import Veil
from agent_tt.redaction.streams.wire_pieces import WirePieces
from agent_tt.redaction.values import given
from agent_tt.seams.http.answer_text import LARGEST_READ
from agent_tt.seams.http.http_request import shown_headers
from agent_tt.seams.ws.frames import CLOSE, NEXT, PING, PONG, TEXT, Frame, event_in, kept_payload

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.providers import ModelCall
    from agent_tt.recording.calls.recorded_call import RecordedCall


class Heard:
    """What is heard over one connection.

    Args:
        call: the opening's call.
        shows_pings: whether the agent is given the pings and pongs of the server, which are kept then.
    """

    def __init__(self, call: RecordedCall, *, shows_pings: bool) -> None:
        self._call = call
        self._shows_pings = shows_pings
        self._lock = threading.RLock()
        self._head: dict[str, Wire] | None = None
        self._pieces = WirePieces()
        self._size = 0
        self._turns: list[_Turn] = []
        self._broken: tuple[_Turn | None, bytearray] | None = None

    def opened(self, status: int, reason: str, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """The server has answered the opening handshake."""
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
        is_control = frame.opcode in (PING, PONG)
        if is_control and not self._shows_pings:
            return
        with self._lock:
            turn, whole = (None, None) if is_control else self._place_of(frame)
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

    def is_asked(self, call: RecordedCall, model_call: ModelCall, event: dict[str, Any]) -> None:
        """The message `event` asks a model; what comes from now on may be its answer."""
        with self._lock:
            self._turns.append(_Turn(call, model_call, event))

    def is_not_asked(self, call: RecordedCall) -> None:
        """The message of a model call did not go out."""
        with self._lock:
            self._turns = [turn for turn in self._turns if turn.call is not call]

    def ended(self, error: BaseException | None, *, is_own: bool) -> None:
        """The connection is over; see `Talk.ended`."""
        with self._lock:
            turns, self._turns = self._turns, []
        for turn in turns:
            turn.broke_off()
        call = self._call
        if call.is_over or self._head is None:
            return
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
        if self._head is None:
            self._call.failed(error)


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


def _after_the_head(settled: Sequence[tuple[int, Wire]]) -> tuple[tuple[int, Wire], ...]:
    """What is kept of messages, by their places in the stream: the head is its first piece."""
    return tuple((number + 1, kept) for number, kept in settled)


def _readable(piece: Wire) -> Wire:
    """A message as a person reads it: JSON as a value."""
    return piece["json"] if isinstance(piece, dict) and "json" in piece else piece
