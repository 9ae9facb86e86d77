"""One request while it is recorded: what reaches the agent is committed first, and kept for reading beside it.

A request that a replay answers goes the same way, with the recorded answer in place of the network.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from agent_tt.codec.encode import encode
from agent_tt.model import HELD_BACK, Judged
from agent_tt.model.facts import CallFacts
from agent_tt.providers import only_measures, read_answer, recognise
from agent_tt.recording.calls.exchange import WITHHELD, begin_exchange
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.scope import here
from agent_tt.recording.session import SESSION
from agent_tt.redaction.streams.answers import Veil
from agent_tt.redaction.values import given
from agent_tt.seams.http.answer_text import LARGEST_READ, readable_answer
from agent_tt.seams.http.http_request import HttpRequest, question_of
from agent_tt.seams.http.served_answer import ServedAnswer
from agent_tt.seams.http.wire_answer import Head, WireAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import StreamEnd
    from agent_tt.providers import ModelCall
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.exchange import Asked
    from agent_tt.redaction.streams.answers import Kept

_LOG = logging.getLogger(__name__)
E = TypeVar("E", bound="HttpExchange")


class HttpExchange:
    """A request that is made or served, and the answer to it as it arrives. What comes after its end is ignored.

    Attributes:
        answer: the answer that a replay, or a fork's policy, gives; None where the request is made.
        changed: what is sent in place of the request, where a fork's edits, or a person, have changed it.
    """

    def __init__(
        self, call: RecordedCall | None, served: Served | None, asked: Asked, model_call: ModelCall | None
    ) -> None:
        self.answer = None if served is None else ServedAnswer(served)
        self.changed: HttpRequest | None = None
        self._call = call
        self._asked = asked
        self._model_call = model_call
        self._head: Head | None = None
        self._body = bytearray()
        self._size = 0
        self._has_pieces = False
        self._veil = Veil()
        self._count = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing more is recorded."""
        return self._call is None or self._call.is_over

    async def until_live(self) -> None:
        """Wait, before a request is made, as long as its call has to; `answer` and `changed` are known then.

        See `RecordedCall.until_live`.
        """
        if self._call is not None:
            await self._call.until_live()
            self.decided()

    def decided(self) -> None:
        """Take over what was decided of the call: an answer in place of it, or another address and body."""
        call = self._call
        if call is None:
            return
        if self.answer is None and call.served is not None:
            self.answer = ServedAnswer(call.served)
        if isinstance(call.sent, HttpRequest):
            self.changed = call.sent

    @property
    def key_before(self) -> str | None:
        """The idempotency key to send the request with in place of its own, because an earlier try was sent so."""
        return None if self._call is None else self._call.key_before

    def reads_on(self) -> None:
        """The agent wants more of the answer, and has done what it does with what it had."""
        if self._call is not None:
            self._call.reads_on()

    def head(self, head: Head) -> None:
        """The head of the answer has arrived."""
        self._head = head
        facts: dict[str, Wire] = {
            "status": head.status,
            "headers": [list(pair) for pair in self._veil.headers(head.headers)],
        }
        if head.http_version is not None:
            facts["http_version"] = head.http_version
        if head.reason is not None:
            facts["reason"] = head.reason
        self._gave(Judged(given(facts)))

    def chunk(self, data: bytes) -> None:
        """Bytes of the body have arrived, still encoded."""
        if not self.is_over:
            self._gave(self._judged(self._veil.body(self._count, data)))
            self._keep(data)

    def ended(self) -> None:
        """The answer is complete."""
        self._stream_ended("end")

    def closed(self, *, in_turn: bool = False) -> None:
        """The agent wants no more of it.

        Args:
            in_turn: a coroutine has waited until it was closed, and goes on now: a replay keeps when that was.
        """
        if self.answer is not None:
            self.answer.leave()
        self._stream_ended("closed", CallFacts.closed_in_turn.true() if in_turn else {})

    def failed(self, error: BaseException) -> None:
        """The transport raised `error`, or somebody cancelled."""
        if self._call is None or self._call.is_over:
            return
        if self._has_pieces:
            self._call.stream_failed(error, None, settled=_settled(self._veil.end()))
        else:
            self._call.failed(error)

    def left(self, error: BaseException) -> None:
        """`error` went through the code that was handing out the body."""
        if isinstance(error, GeneratorExit):
            self.closed()
        else:
            self.failed(error)

    def _judged(self, kept: Sequence[Kept]) -> Judged:
        """The piece that has come, and earlier ones, as they are kept by now."""
        known = dict(_settled(kept))
        now = known.pop(self._count, HELD_BACK)
        return Judged(now, tuple(known.items()))

    def _gave(self, piece: Judged) -> None:
        self._has_pieces = True
        self._count += 1
        if self._call is not None:
            self._call.gave(piece)

    def _keep(self, body: bytes) -> None:
        self._size += len(body)
        if self._size <= LARGEST_READ:
            self._body += body

    def _stream_ended(self, how: StreamEnd, manner: Mapping[str, Wire] = MappingProxyType({})) -> None:
        if self._call is None or self._call.is_over:
            return
        settled = _settled(self._veil.end())
        if self.answer is not None:
            self._call.stream_ended(
                how, self.answer.result, priced={"usage": self.answer.facts}, facts=manner, settled=settled
            )
            return
        result, said = self._read()
        self._call.stream_ended(how, result, priced={"usage": said}, facts={**said, **manner}, settled=settled)

    def _read(self) -> tuple[Wire, Mapping[str, Wire]]:
        """The answer as people read it, and what a model's answer says of itself."""
        head, body = self._head, bytes(self._body)
        try:
            result, facts = readable_answer(head, body, self._size, shown=self._veil.shown), {}
            if self._model_call is not None and head is not None:
                facts = read_answer(self._model_call, head.status, head.headers, body).to_meta()
        except Exception:  # noqa: BLE001  it is only for people; the bytes are recorded, and the agent must go on
            _LOG.warning("the answer to %s could not be read", self._asked.name, exc_info=True)
            return None, {}
        return result, facts


class WireExchange(HttpExchange):
    """A request over a connection whose bytes are recorded as they arrive, heads and framing included."""

    def __init__(
        self, call: RecordedCall | None, served: Served | None, asked: Asked, model_call: ModelCall | None
    ) -> None:
        super().__init__(call, served, asked, model_call)
        self._wire = WireAnswer(str(asked.args["method"]))

    def sent(self) -> None:
        """The request has left: what fails from now on is the end of an answer that comes in pieces."""
        self._has_pieces = True

    def received(self, data: bytes) -> None:
        """Bytes have arrived; none (`b""`) when the other side ended the connection.

        With the last byte of the answer the exchange ends: no later event would tell the agent so.
        """
        if self.is_over:
            return
        body = self._wire.feed(data)
        self._head = self._wire.head
        headers = None if self._head is None else self._head.headers
        is_end = self._wire.is_complete or not data
        self._gave(self._judged(self._veil.wire(self._count, data, self._wire.body_spans, headers, is_end=is_end)))
        self._keep(body)
        if is_end:
            self.ended()


def _settled(kept: Sequence[Kept]) -> tuple[tuple[int, Wire], ...]:
    return tuple((piece.number, WITHHELD if piece.data is None else encode(piece.data)) for piece in kept)


def open_exchange(request: HttpRequest, *, is_awaited: bool) -> HttpExchange | None:
    """Ask a replay for the answer to a request, else begin to record it; None where it is simply made.

    Args:
        request: the request.
        is_awaited: whether its answer comes to an event loop.
    """
    return _open(HttpExchange, request, is_awaited=is_awaited)


def open_wire_exchange(request: HttpRequest, *, is_awaited: bool) -> WireExchange | None:
    """As `open_exchange`, where the bytes of the connection are recorded."""
    return _open(WireExchange, request, is_awaited=is_awaited)


def _open(make: type[E], request: HttpRequest, *, is_awaited: bool) -> E | None:
    asked, model_call = asked_of(request)
    changed = None if model_call is None else amended(request, asked, model_call)
    if changed is not None:
        asked, model_call = asked_of(changed)
    begun = begin_exchange(asked, can_wait=is_awaited)
    if begun is None:
        return None
    call, served = (begun, begun.served) if isinstance(begun, RecordedCall) else (None, begun)
    if call is not None:
        call.is_awaited = is_awaited
    exchange = make(call, served, asked, model_call)
    exchange.changed = changed
    if not is_awaited:  # who awaits its answer awaits that, too
        exchange.decided()
    return exchange


def amended(request: HttpRequest, asked: Asked, call: ModelCall) -> HttpRequest | None:
    """What a fork's edits make of a request to a model; None where they leave it as it is."""
    edits, scope = SESSION.chain.edit_request, here()
    if not edits:
        return None
    lane = "" if scope is None else scope.recording.lanes.current().id
    changed: tuple[str, bytes] | None = None
    for edit in edits:
        changed = edit(*(changed or (request.url, request.body)), call, lane, asked.signature) or changed
    return None if changed is None else request.with_body(*changed)


def asked_of(request: HttpRequest) -> tuple[Asked, ModelCall | None]:
    """The question that a request is; a model call where it asks a model."""
    asked = question_of(request)
    model_call = recognise(request.method, request.url, request.headers, asked.args["body"])
    if model_call is not None:
        asked = replace(asked, kind="llm", model=model_call.model or None)
    elif only_measures(request.method, request.url, request.headers, asked.args["body"]):
        asked = replace(asked, effect="read")
    return asked, model_call
