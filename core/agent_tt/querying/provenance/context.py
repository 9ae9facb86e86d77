"""What a model was sent, message by message, and where each message came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt.providers.chat import TOOLS, answer_in, conversation_in, message_of
from agent_tt.providers.provider_call import provider_call
from agent_tt.querying.provenance.origins import OTHERWISE, is_telling, likeness
from agent_tt.querying.provenance.searching import MOST_STEPS_BACK, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt.protocols import RunSource
    from agent_tt.providers.shapes import Message

__all__ = ["Brought", "Sent", "SentMessage", "sent_messages"]


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message of a request.

    Attributes:
        message: what it says, and which tools it asks for.
        wire: the message itself.
        path: where it is in the call's arguments, as people write it; None where the provider's form has it elsewhere.
    """

    message: Message
    wire: Wire
    path: str | None


@dataclass(frozen=True, slots=True)
class Brought:
    """Where a message came from.

    Attributes:
        step: the step that brought it; 0 is the input.
        call: number of the call in it; None for the input.
        name: the tool's or the model's name; empty for the input.
        path: where in what came back, or in the input.
        why: how the two are alike.
    """

    step: int
    call: int | None
    name: str
    path: str
    why: str


class Sent:
    """The messages of one request, and the search for where each came from.

    Attributes:
        messages: in the order in which they were sent.
    """

    def __init__(
        self, source: RunSource, run_id: str, call: Call, *, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        self.messages = sent_messages(call)
        self._call = call
        self._search = Search(source, run_id, cancelled)
        self._said: dict[tuple[int, int], frozenset[tuple[str, tuple[str, ...]]]] = {}

    def brought(self, sent: SentMessage) -> Brought | None:
        """Where a message came from; None where that is not known."""
        message = sent.message
        if message.role in TOOLS or message.answers:
            return self._by_call(message.text)
        if message.calls and not message.text:
            return self._by_answer(sent)
        if not is_telling(message.text):
            return None
        return self._by_answer(sent) or self._by_call(message.text) or self._in_input(message.text)

    def _by_call(self, text: str) -> Brought | None:
        origin = self._search.before_call(text, self._call)
        if origin is None or origin.like.score < OTHERWISE:
            return None
        call = origin.call
        return Brought(call.step, call.number, call.name, format_path(origin.like.path), origin.like.why)

    def _by_answer(self, sent: SentMessage) -> Brought | None:
        """The answer of an earlier model call that is this message."""
        wanted = _words(sent.message)
        last = self._call.step
        for number in range(last, max(0, last - MOST_STEPS_BACK), -1):
            for call in reversed(self._search.of_step(number)):
                place = call.step, call.number
                if call.kind != "llm" or place >= (last, self._call.number):
                    continue
                if place not in self._said:
                    self._said[place] = frozenset(map(_words, _answered(call)))
                if wanted in self._said[place]:
                    return Brought(call.step, call.number, call.name, "", "what the model answered")
        return None

    def _in_input(self, text: str) -> Brought | None:
        for step, number, name, said in self._search.said():
            like = likeness(said, text) if step <= self._call.step else None
            if like is not None and like.score >= OTHERWISE:
                return Brought(step, number, name, format_path(like.path), like.why)
        return None


def sent_messages(call: Call) -> Sequence[SentMessage]:
    """The messages that a model call was asked with, whatever form its provider has for them."""
    sent = provider_call(call)
    if sent is not None:
        found = [(each, message_of(each), None) for each in sent.messages]
        return [SentMessage(message, each, path) for each, message, path in found if message is not None]
    path = conversation_in(call.args)
    if path is None:
        return []
    part: Wire = call.args
    for step in path:
        part = part[step]  # type: ignore[index]  # the path was found in it
    listed = part if isinstance(part, list) else []
    numbered = [(each, message_of(each), format_path((*path, at))) for at, each in enumerate(listed)]
    return [SentMessage(message, each, place) for each, message, place in numbered if message is not None]


def _words(message: Message) -> tuple[str, tuple[str, ...]]:
    """What a message says and asks for, without its ids."""
    return message.text, tuple(str(each) for each in message.calls)


def _answered(call: Call) -> list[Message]:
    """What a model answered, as messages."""
    sent = provider_call(call)
    answer = [answer_in(call.result)] if sent is None else sent.answer
    return [message for message in map(message_of, answer) if message is not None]
