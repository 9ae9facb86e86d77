"""One WebSocket: which call each message of the agent is, and who hears what the server says.

The opening handshake is a call, `GET wss://host/path`: it has its answer, and all that the server says unasked, as
pieces until the connection ends. Each message of the agent is a call of its own, `SEND wss://host/path`, over once it
is sent. One that asks a model (its provider reads it) is a model call, and what the server says from then to the event
that ends the answer are its pieces (`heard`). On replay nothing connects: the agent's messages are compared with the
recorded ones, and the server's come at their turn (`answering`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from agent_tt.history.digest import digest
from agent_tt.model.facts import CallFacts
from agent_tt.providers.reading import MESSAGE, gathers, talks
from agent_tt.recording.calls.exchange import begin_exchange
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.seams.http.http_exchange import amended, asked_of
from agent_tt.seams.http.http_request import HttpRequest, question_of
from agent_tt.seams.ws.answering import Answering
from agent_tt.seams.ws.frames import event_in
from agent_tt.seams.ws.heard import Heard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt.providers import ModelCall
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.exchange import Asked
    from agent_tt.seams.ws.frames import Frame

    Message = str | bytes | bytearray | memoryview

_SCHEMES: Final = {"http": "ws", "https": "wss"}


class Talk:
    """A connection that is recorded, or answered.

    Attributes:
        answering: what answers in the server's place; None where the connection is opened for real.
    """

    def __init__(self, url: str, call: RecordedCall | None, served: Served | None, *, shows_pings: bool) -> None:
        self.answering: Answering | None = None
        self._url = url
        self._call = call
        self._heard = None if call is None else Heard(call, shows_pings=shows_pings)
        self._shows_pings = shows_pings
        self._said: list[dict[str, Any]] = []
        self._answers(served)

    def _answers(self, served: Served | None) -> None:
        self._served = served
        if served is not None:
            self._heard = None
            self.answering = Answering(self._call, served, shows_pings=self._shows_pings)

    async def until_live(self) -> None:
        """Wait until the connection may be opened for real; see `RecordedCall.until_live`."""
        if self._call is not None and self._served is None:
            await self._call.until_live()
            self._answers(self._call.served)

    async def fail_as_recorded(self) -> None:
        """Raise what connecting raised, where nothing came back."""
        if self._served is not None and not self._served.pieces:
            await self._served.turn()
            raise self._served.failure()

    def fail_as_recorded_here(self) -> None:
        """As `fail_as_recorded`, for a thread."""
        if self._served is not None and not self._served.pieces:
            self._served.wait()
            raise self._served.failure()

    # ------------------------------------------------------------ what the server says

    def opened(self, status: int, reason: str, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """The server has answered the opening handshake."""
        if self._heard is not None:
            self._heard.opened(status, reason, headers, body)

    def received(self, frame: Frame) -> None:
        """The server has sent a message, or a fragment of one."""
        if self._heard is not None:
            self._heard.received(frame)

    def reads_on(self) -> None:
        """The thread that received has done what it does with that."""
        if self._call is not None:
            self._call.reads_on()

    def ended(self, error: BaseException | None, *, is_own: bool = False) -> None:
        """The connection is over.

        Args:
            error: what broke it.
            is_own: the agent's side gave it up by itself, and does so again in a replay.
        """
        if self._heard is not None:
            self._heard.ended(error, is_own=is_own)
        elif self.answering is not None:
            self.answering.ended()

    def failed(self, error: BaseException) -> None:
        """`error` ended the opening handshake."""
        if self._heard is not None:
            self._heard.failed(error)
        elif self.answering is not None:
            self.answering.failed(error)

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
        if self.answering is not None:
            return self.answering.cut()
        if self._heard is not None and sending.model_call is not None and sending.call is not None:
            self._heard.is_asked(sending.call, sending.model_call, sending.event)
        return None

    def not_sent(self, sending: Sending, error: BaseException) -> None:
        """`error` kept a message from being sent."""
        if sending.call is not None:
            if self._heard is not None:
                self._heard.is_not_asked(sending.call)
            sending.call.failed(error)

    def answers(self, sending: Sending, served: Served) -> None:
        """A recording answers a message that asks a model, while the agent goes on."""
        if self.answering is not None:
            self.answering.serve(sending.call, served, of_model=True)


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
            self._talk.answers(self, served)
            return
        if served.call.error is not None:
            error = served.failure()
            self.failed(error)
            raise error
        if self.call is not None:
            self.call.succeeded(None)


def open_talk(
    url: str, headers: Iterable[tuple[str, str]], *, is_awaited: bool, shows_pings: bool = False
) -> Talk | None:
    """Ask a replay for what went over a connection, else begin to record it; None where it is simply opened.

    Args:
        url: where it leads, `wss://host/path`.
        headers: those that the agent gives it.
        is_awaited: whether its messages come to an event loop.
        shows_pings: whether the agent is given the pings and pongs of the server.

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
    return Talk(url, call, served, shows_pings=shows_pings)
