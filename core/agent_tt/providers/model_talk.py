"""What a recorded model call was shown and what it said, as messages, whoever recorded it in whatever form."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from operator import ne
from typing import TYPE_CHECKING, TypeVar

from agent_tt._dataclass import dataclass
from agent_tt.providers.chat import TOOLS, answer_in, answered_in, conversation_in, message_of
from agent_tt.providers.reading import messages_of_turn, recorded_answer, recorded_call
from agent_tt.providers.shapes import Message, ModelAnswer, ModelCall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call

__all__ = ["ModelTalk", "ModelTalks", "alike", "messages_in"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelTalk:
    """One model call as a part of a conversation.

    Attributes:
        request: the request, as its provider reads it; an empty one of a call that is no request.
        answer: the same of what came back.
        said: what it said; empty where it did not answer.
        turns: what a function was shown, by the turns that it was given, an empty one for each that is known as none;
            empty of a request to a provider.
        known: how many of `turns` the last call had, to a function of that name in the same lane.
    """

    request: ModelCall
    answer: ModelAnswer
    said: Sequence[Message]
    turns: Sequence[Sequence[Message]] = ()
    known: int = 0

    @property
    def shown(self) -> Sequence[Message]:
        """What the model was shown, oldest first."""
        return self.request.messages or tuple(chain.from_iterable(self.turns))

    @property
    def unread(self) -> int:
        """How many things stood among the messages that are known as none."""
        return sum(not turn for turn in self.turns)


class ModelTalks:
    """Reads the model calls of a run, in their order. What one was shown that the one before was, is not read again."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[list[Wire], list[tuple[Message, ...]]]] = {}

    def of(self, call: Call) -> ModelTalk:
        """Read a call to a model: a request to a provider, or a function that takes or gives messages."""
        request = recorded_call(call.args)
        if request is not None:
            answer = recorded_answer(request, call.result)
            return ModelTalk(request, answer, answer.messages)
        path = conversation_in(call.args)
        found: Wire = call.args
        if path and isinstance(call.args, dict):
            found = call.args[str(path[0])]
        elif path is None:
            found = None if message_of(call.args) is None else [call.args]
        shown, known = self._read((call.name, call.lane), found if isinstance(found, list) else [])
        given = answer_in(call.result)
        said = messages_in(given) if given is not None else ()
        if not said and shown and isinstance(call.result, str) and call.result:
            said = (Message("assistant", call.result),)  # a function that takes messages and gives a text
        return ModelTalk(ModelCall(), ModelAnswer(), said, shown, known)

    def _read(self, key: tuple[str, str], turns: list[Wire]) -> tuple[list[tuple[Message, ...]], int]:
        before, before_read = self._last.get(key, ([], []))
        known = alike(before, turns)
        read = before_read[:known]
        read += map(messages_in, turns[known:])
        self._last[key] = turns, read
        return read, known


def alike(one: Sequence[T], other: Sequence[T], differ: Callable[[T, T], bool] = ne, at: int = 0) -> int:
    """How many items two lists have in common at their beginnings.

    Args:
        one: a list.
        other: another one; equal items are passed over many at a time.
        differ: whether two that are not equal differ all the same.
        at: how many are known to be equal.
    """
    least, step = min(len(one), len(other)), 16
    while at < least:
        end = min(at + step, least)
        if one[at:end] == other[at:end]:
            at, step = end, 2 * step
            continue
        differs = next((each for each in range(at, end) if differ(one[each], other[each])), None)
        if differs is not None:
            return differs
        at = end
    return least


def messages_in(turn: Wire) -> tuple[Message, ...]:
    """Read one turn of a conversation, of a provider's form or a framework's; nothing where it is none."""
    read = messages_of_turn(turn)
    if read:
        if len(read) == 1 and read[0].role in TOOLS and not read[0].answers and isinstance(turn, dict):
            return (replace(read[0], answers=answered_in(turn)),)
        return read
    said = message_of(turn)
    return () if said is None else (said,)
