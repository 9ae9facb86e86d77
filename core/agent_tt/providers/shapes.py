"""What is read out of model requests and answers, for people to see; plain frozen dataclasses.

The bytes that were recorded are never changed or replaced by these: a replay serves the bytes.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Asked", "Json", "Message", "ModelAnswer", "ModelCall", "OfferedTool", "Reply", "Tokens"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What `json.loads` gives."""

_MOST_ARGUMENT: Final = 60
"""Characters of an argument in a call that is written as code."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool call that a model asks for.

    Attributes:
        id: the id by which its result names it; empty where the provider gives none.
        name: the tool.
        arguments: by name; text where they are not valid JSON.
        is_hosted: whether the provider runs it itself, and no code of the agent's does.
    """

    id: str
    name: str
    arguments: Json = None
    is_hosted: bool = False

    def __str__(self) -> str:
        r"""The call as code, `search_docs(query="refund policy")`; not made safe to draw."""
        from agent_tt.codec.text import summary  # here, so that to read a request loads no other package
        from agent_tt.codec.wire import envelope_type

        if isinstance(self.arguments, dict) and envelope_type(self.arguments) is None:
            listed = ", ".join(f"{key}={summary(value, _MOST_ARGUMENT)}" for key, value in self.arguments.items())
        else:
            listed = "" if self.arguments is None else summary(self.arguments, _MOST_ARGUMENT)
        return f"{self.name}({listed})"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: who speaks: `system`, `user`, `assistant`, `tool`, or the provider's own word.
        text: what is said; pictures, sounds and files as short notes such as `[image image/png, 12 kB]`.
        reasoning: what the model thought, as far as the provider shows it.
        calls: the tool calls that it asks for.
        answers: of a tool's result, the id of the call that it answers.
    """

    role: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[Asked, ...] = ()
    answers: str = ""

    def parted(self) -> Iterator[Message]:
        """Give what was thought as a message of the role `thinking`, then what was said."""
        if self.reasoning:
            yield Message("thinking", self.reasoning)
        if self.text or self.calls or not self.reasoning:
            yield replace(self, reasoning="") if self.reasoning else self


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may ask for.

    Attributes:
        name: its name; of a tool that the provider runs itself, its type.
        description: what it says of itself.
        parameters: its JSON schema.
        is_hosted: whether the provider runs it itself, and no code of the agent's does.
    """

    name: str
    description: str = ""
    parameters: Json = None
    is_hosted: bool = False


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the provider counted; None where it did not say.

    Attributes:
        input: everything that the model read, from caches too.
        output: everything that it wrote, reasoning included.
        cached: part of `input` that came from a cache.
        written: part of `input` that was put into a cache (of five minutes, where times are told apart).
        written_1h: part of `input` that was put into a cache for an hour.
        reasoning: part of `output` that is reasoning.
        audio: tokens of sound, read and written, which have prices of their own.
        services: how often the provider used tools of its own that it charges for, such as a search of the web.
    """

    input: int | None = None
    output: int | None = None
    cached: int = 0
    written: int = 0
    written_1h: int = 0
    reasoning: int = 0
    audio: int = 0
    services: int = 0


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request to a model.

    Attributes:
        api: the name of the provider whose form it has, which many other hosts use too; set by `recognise`.
        model: the model that is asked; empty where neither body nor address says.
        streamed: whether the answer is asked for in pieces.
        messages: what the model is shown, oldest first, system texts included.
        tools: what it may ask for.
        parameters: what else was asked for: temperature, limits, formats.
        conversation: the part of the body that is the conversation, as it was sent: `{"messages": [...]}`, with
            `system` and the like beside it.
        turns: the key in `conversation` whose list the answer is added to; empty where the body has no list.
        answer_key: the key in `conversation` that names the answer before it, where the provider keeps what came
            before; empty where it has none.
        kept_key: the key in `conversation` that names a conversation that the provider keeps; empty as above.
        kept_beside: keys of `conversation` whose values the provider keeps with it: a request that names the answer
            before it does not say them again.
        begins_anew: what `answer_key` holds in a request that sends the whole conversation, for the provider to keep;
            None where it holds nothing.
    """

    api: str = ""
    model: str = ""
    streamed: bool = False
    messages: tuple[Message, ...] = ()
    tools: tuple[OfferedTool, ...] = ()
    parameters: Mapping[str, Json] = field(default_factory=dict)
    conversation: Mapping[str, Json] = field(default_factory=dict)
    turns: str = ""
    answer_key: str = ""
    kept_key: str = ""
    kept_beside: tuple[str, ...] = ()
    begins_anew: Json = None

    @property
    def system(self) -> str:
        """The system prompt as one text; empty where it has none."""
        return next((message.text for message in self.messages[:1] if message.role in ("system", "developer")), "")

    @property
    def follows(self) -> str:
        """The id of the answer that it goes on from; empty where it names none."""
        return _id_of(self.conversation.get(self.answer_key))

    @property
    def kept_in(self) -> str:
        """The id of the conversation at the provider that it belongs to; empty where it names none."""
        return _id_of(self.conversation.get(self.kept_key))


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answered.

    Attributes:
        messages: what it said, mostly one message.
        turns: the same as the provider says it in a conversation: what the next request would send back. Of a stream
            it is put together from the pieces.
        model: the model that answered, in the provider's words; empty where it does not say.
        finish_reason: why it stopped, in the provider's words; empty while it has not said.
        tokens: what was counted.
        cost_usd: what it cost, None where that is not known.
        tier: the service tier that the provider says it used, or a speed at a price of its own; empty where it does
            not say.
        error: what went wrong, in one line, where the answer is an error.
        id: the provider's id of the answer.
    """

    messages: tuple[Message, ...] = ()
    turns: tuple[Json, ...] = ()
    model: str = ""
    finish_reason: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    cost_usd: float | None = None
    tier: str = ""
    error: str = ""
    id: str = ""

    def to_meta(self) -> dict[str, Json]:
        """The facts of a recorded call: `model`, `finish_reason`, `tokens_in`, `tokens_out`, `cost_usd`, ….

        What is not known is left out.
        """
        facts: dict[str, Json] = {
            CallFacts.model.key: self.model or None,
            CallFacts.finish_reason.key: self.finish_reason or None,
            CallFacts.tokens_in.key: self.tokens.input,
            CallFacts.tokens_out.key: self.tokens.output,
            CallFacts.tokens_cached.key: self.tokens.cached or None,
            CallFacts.tokens_reasoning.key: self.tokens.reasoning or None,
            CallFacts.cost_usd.key: self.cost_usd,
            CallFacts.answer_error.key: self.error or None,
        }
        return {name: fact for name, fact in facts.items() if fact is not None}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person wants a model to have answered.

    Attributes:
        text: its words; "" for none.
        calls: the tool calls that it asks for: id, name, arguments.
    """

    text: str = ""
    calls: tuple[tuple[str, str, dict[str, Json]], ...] = ()


def _id_of(value: Json) -> str:
    if isinstance(value, dict):
        value = value.get("id", value.get("previous_message_id"))
    found = value
    return found if isinstance(found, str) else ""
