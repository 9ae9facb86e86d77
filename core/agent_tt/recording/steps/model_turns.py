"""What a model is sent and what it says, as the state of a step: read from the call as it is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.errors import ModelRefused
from agent_tt.providers.chat_form import message_of
from agent_tt.providers.loose import first_line
from agent_tt.providers.reading import recorded_answer, recorded_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.providers.shapes import Json, Message, ModelCall

_MOST_SUMMARY: Final = 200
_MOST_ARGUMENT: Final = 60


@dataclass(slots=True, eq=False)
class ModelTurn:
    """What one call sent to a model.

    Attributes:
        state: the conversation as it was sent, to which the answer is added.
        turns: the key of the list in `state` that answers are added to; "" where there is none.
        call: the request as its provider means it; None for a function that asks a model in its own way.
    """

    state: dict[str, object]
    turns: str
    call: ModelCall | None

    @property
    def is_plain(self) -> bool:
        """Whether only a function's arguments are known, not what the provider was sent."""
        return self.call is None

    def add(self, said: Said) -> None:
        """Add an answer to the conversation. The list that was sent stays as it is; others compare with it."""
        if not self.turns:
            self.state["answer"] = said.turns[0] if len(said.turns) == 1 else list(said.turns)
            return
        sent = self.state.get(self.turns)
        self.state[self.turns] = [*(sent if isinstance(sent, list) else []), *said.turns]


@dataclass(frozen=True, slots=True)
class Said:
    """What a model answered.

    Attributes:
        turns: the answer as it would be sent back.
        messages: the same for people.
        failure: set where the answer is an error.
        id: the provider's id of it, by which a later request may name it; "" where there is none.
    """

    turns: Sequence[object] = ()
    messages: Sequence[Message] = ()
    failure: ModelRefused | None = None
    id: str = ""

    @property
    def summary(self) -> str:
        """What the model decided, in one line: the tools that it calls, else what it says."""
        calls = [f"{call.name}({_arguments(call.arguments)})" for message in self.messages for call in message.calls]
        words = next((first_line(message.text, _MOST_SUMMARY) for message in self.messages if message.text), "")
        line = ", ".join(calls) or words
        return line if len(line) <= _MOST_SUMMARY else line[: _MOST_SUMMARY - 1] + "…"


def asked_of(args: Mapping[str, Wire]) -> ModelTurn:
    """What a recorded model call sends: the request to a provider, else a function's arguments."""
    call = recorded_call(dict(args))
    if call is not None:
        return ModelTurn(dict(call.conversation), call.turns, call)
    messages = args.get("messages")
    if isinstance(messages, list):
        return ModelTurn({"messages": messages}, "messages", None)
    return ModelTurn(dict(args), "", None)


def said_of(turn: ModelTurn, result: Wire) -> Said:
    """What came back of it, from the call's result."""
    if turn.call is not None:
        answer = recorded_answer(turn.call, result)
        failure = ModelRefused(answer.error) if answer.error else None
        return Said(answer.turns, answer.messages, failure, answer.id)
    message = _message_in(result)
    if turn.turns and message is None:
        message = {"role": "assistant", "content": result}
    shown = cast("dict[str, Json]", message if message is not None else {"content": result})
    return Said((result if message is None else message,), (message_of(shown),))


def _message_in(result: Wire) -> dict[str, Wire] | None:
    """The message in what a function returned, in the forms that are common."""
    if not isinstance(result, dict):
        return None
    if "role" in result and ("content" in result or "tool_calls" in result):
        return result
    choices = result.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else result
    inner = first.get("message") if isinstance(first, dict) else None
    return inner if isinstance(inner, dict) and "role" in inner else None


def _arguments(arguments: Json) -> str:
    if not isinstance(arguments, dict):
        return "" if arguments is None else first_line(str(arguments), _MOST_ARGUMENT)
    return ", ".join(f"{name}={first_line(repr(value), _MOST_ARGUMENT)}" for name, value in arguments.items())
