"""Chat messages among the values that a node wrote, whoever's class they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.codec.fields import fields_of, thought_in
from agent_tt.codec.wire import envelope_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["Message", "ToolCall", "find_tool_call", "messages_in", "new_messages", "thoughts_of", "words_of"]

_KINDS: Final = {
    "ai": "ai",
    "AIMessageChunk": "ai",
    "assistant": "ai",
    "tool": "tool",
    "human": "human",
    "user": "human",
    "system": "system",
}
_CLASSES: Final = {
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "ToolMessage": "tool",
    "HumanMessage": "human",
    "SystemMessage": "system",
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asked for."""

    id: str
    name: str
    arguments: Wire


@dataclass(frozen=True, slots=True)
class Message:
    """A message as far as it is about calls.

    Attributes:
        kind: `ai`, `tool`, `human` or `system`.
        wire: the whole message.
        content: its text or content blocks.
        id: its own id, where it has one.
        name: of a tool result: the tool, where the message says.
        answers: of a tool result: the id of the call that it answers.
        failed: of a tool result: the tool reported an error.
        model: of an answer: the model's name.
        tokens_in, tokens_out: of an answer: its usage, where the message says.
        tool_calls: of an answer: what the model asked for.
    """

    kind: str
    wire: Wire
    content: Wire
    id: str | None = None
    name: str | None = None
    answers: str | None = None
    failed: bool = False
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def without_id(self) -> bytes:
        """What it says, whatever its id: a graph gives ids to messages that have none."""
        asked = [[call.id, call.name, call.arguments] for call in self.tool_calls]
        used = [self.model, self.tokens_in, self.tokens_out]
        return orjson.dumps([self.kind, self.content, self.name, self.answers, self.failed, asked, used])


def messages_in(value: Wire) -> list[Message]:
    """The messages that a written value is or lists."""
    items = value if isinstance(value, list) else [value]
    return [message for message in map(_message, items) if message is not None]


def new_messages(
    value: Wire, before: Callable[[], Wire], inside: Callable[[], Iterable[Message]] = tuple
) -> list[Message]:
    """The messages that a node wrote itself: a node may give back a whole conversation, with its own at the end.

    Args:
        value: what it wrote.
        before: gives what was in the channel.
        inside: gives the messages that nodes of its subgraphs wrote.
    """
    found = messages_in(value)
    if len(found) > 1:
        was = before()
        old = was if isinstance(was, list) else []
        if old and isinstance(value, list) and value[: len(old)] == old:
            found = messages_in(value[len(old) :])
        else:
            known = {message.id: message.wire for message in messages_in(old)}
            found = [message for message in found if message.id is None or known.get(message.id) != message.wire]
    written = {message.without_id for message in inside()} if found else set()
    return [message for message in found if message.without_id not in written] if written else found


def find_tool_call(state: Mapping[str, Wire], call_id: str) -> ToolCall | None:
    """The tool call with an id that the messages of a state ask for; of two with one id the later."""
    for value in reversed(list(state.values())):
        for item in reversed(value) if isinstance(value, list) else [value]:
            for message in messages_in(item):
                found = next((call for call in reversed(message.tool_calls) if call.id == call_id), None)
                if found is not None:
                    return found
    return None


def words_of(content: Wire) -> str:
    """The text of a message: its content, or that of its text blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [
        block if isinstance(block, str) else block.get("text") for block in blocks if isinstance(block, str | dict)
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def thoughts_of(content: Wire) -> str:
    """What a model thought, as far as the blocks of a message show it."""
    blocks = content if isinstance(content, list) else []
    return "\n".join(filter(None, (thought_in(block) for block in blocks if isinstance(block, dict))))


def _message(wire: Wire) -> Message | None:
    fields = None if envelope_type(wire) == "dataclass" else fields_of(wire)
    if fields is None:
        return None
    kind = _kind(wire, fields)
    if kind is None or "content" not in fields:
        return None
    tokens_in, tokens_out = _usage(fields)
    return Message(
        kind,
        wire,
        fields["content"],
        id=_text(fields.get("id")),
        name=_text(fields.get("name")),
        answers=_text(fields.get("tool_call_id")),
        failed=fields.get("status") == "error",
        model=_model(fields),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tool_calls=tuple(_tool_calls(fields)),
    )


def _kind(wire: Wire, fields: Mapping[str, Wire]) -> str | None:
    name = wire.get("class") if isinstance(wire, dict) else None
    if isinstance(name, str) and (known := _CLASSES.get(name.rpartition(":")[2])) is not None:
        return known
    said = fields.get("role", fields.get("type"))
    return _KINDS.get(said) if isinstance(said, str) else None


def _tool_calls(fields: Mapping[str, Wire]) -> Iterator[ToolCall]:
    calls = fields.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, dict):
            continue
        function = call.get("function")  # OpenAI's own form of a tool call
        said = function if isinstance(function, dict) else call
        name, arguments = said.get("name"), said.get("args", said.get("arguments"))
        if isinstance(name, str):
            yield ToolCall(_text(call.get("id")) or "", name, arguments)


def _usage(fields: Mapping[str, Wire]) -> tuple[int | None, int | None]:
    usage = fields.get("usage_metadata")
    if not isinstance(usage, dict):
        return None, None
    tokens_in, tokens_out = usage.get("input_tokens"), usage.get("output_tokens")
    return (tokens_in if type(tokens_in) is int else None, tokens_out if type(tokens_out) is int else None)


def _model(fields: Mapping[str, Wire]) -> str | None:
    about = fields.get("response_metadata")
    if not isinstance(about, dict):
        return None
    return _text(about.get("model_name")) or _text(about.get("model"))


def _text(value: Wire) -> str | None:
    return value if isinstance(value, str) else None
