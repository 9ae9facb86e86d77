"""What a recorded model call was shown and what it said, as messages, whoever recorded it in whatever form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from agent_tt.providers.chat import TOOLS, answer_in, answered_in, conversation_in, message_of
from agent_tt.providers.reading import messages_of_turn, recorded_answer, recorded_call
from agent_tt.providers.shapes import ModelAnswer, ModelCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt.providers.shapes import Message

__all__ = ["ModelTalk", "ModelTalks", "messages_in"]


@dataclass(frozen=True, slots=True)
class ModelTalk:
    """One model call as a part of a conversation.

    Attributes:
        request: the request, as its provider reads it; an empty one of a call that is no request.
        answer: the same of what came back.
        shown: what the model was shown, oldest first.
        said: what it said; empty where it did not answer.
        unread: how many things stood among the messages that are known as none.
        turns: `shown` by the turns that a function was given, an empty one for each that is known as none; empty of a
            request to a provider.
    """

    request: ModelCall
    answer: ModelAnswer
    shown: Sequence[Message]
    said: Sequence[Message]
    unread: int = 0
    turns: Sequence[Sequence[Message]] = ()


class ModelTalks:
    """Reads the model calls of a run, in their order. What one was shown that the one before was, is not read again."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[list[Wire], list[tuple[Message, ...]]]] = {}

    def of(self, call: Call) -> ModelTalk:
        """Read a call to a model: a request to a provider, or a function that takes or gives messages."""
        request = recorded_call(call.args)
        if request is not None:
            answer = recorded_answer(request, call.result)
            return ModelTalk(request, answer, request.messages, answer.messages)
        path = conversation_in(call.args)
        found: Wire = call.args
        if path and isinstance(call.args, dict):
            found = call.args[str(path[0])]
        elif path is None:
            found = None if message_of(call.args) is None else [call.args]
        shown = self._read((call.name, call.lane), found if isinstance(found, list) else [])
        given = answer_in(call.result)
        said = messages_in(given) if given is not None else ()
        messages = [message for turn in shown for message in turn]
        return ModelTalk(ModelCall(), ModelAnswer(), messages, said, sum(not turn for turn in shown), shown)

    def _read(self, key: tuple[str, str], turns: list[Wire]) -> list[tuple[Message, ...]]:
        before, read = self._last.get(key, ([], []))
        known = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, turns, strict=False))))
        read = [*read[:known], *map(messages_in, turns[known:])]
        self._last[key] = turns, read
        return read


def messages_in(turn: Wire) -> tuple[Message, ...]:
    """Read one turn of a conversation, of a provider's form or a framework's; nothing where it is none."""
    read = messages_of_turn(turn)
    if read:
        if len(read) == 1 and read[0].role in TOOLS and not read[0].answers and isinstance(turn, dict):
            return (replace(read[0], answers=answered_in(turn)),)
        return read
    said = message_of(turn)
    return () if said is None else (said,)
