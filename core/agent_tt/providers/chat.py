"""Chat messages in the forms that providers and frameworks give them, read for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.codec.fields import fields_of, thought_in
from agent_tt.codec.text import summary
from agent_tt.codec.wire import envelope_type, is_envelope
from agent_tt.providers.shapes import Asked, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire

__all__ = ["ASSISTANTS", "TOOLS", "answer_in", "answered_in", "calls_in", "conversation_in", "message_of"]

_CLASSES: Final = {
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "ToolMessage": "tool",
    "HumanMessage": "human",
    "SystemMessage": "system",
    "FunctionMessage": "tool",
}
_TYPES: Final = frozenset({"ai", "assistant", "developer", "function", "human", "system", "tool", "user"})
"""Values of a message's `type` that say its role."""

ASSISTANTS: Final = frozenset({"ai", "assistant", "AIMessageChunk"})
"""Roles that a model speaks in."""

TOOLS: Final = frozenset({"function", "tool"})
"""Roles that a tool's result comes in."""

_MOST_ARGUMENTS: Final = 20_000
"""Longer JSON text of arguments is not parsed, only shown."""


def message_of(wire: Wire) -> Message | None:
    """Read a value as a message; None if it is none.

    A message is a dict with a `role` (or a `type` that is one) and content or tool calls, or an instance of one of
    LangChain's message classes.
    """
    fields = fields_of(wire)
    if fields is None:
        return None
    role = _role(wire, fields)
    calls = (*calls_in(fields.get("tool_calls")), *_asked_in_blocks(fields.get("content")))
    if role is None or not ("content" in fields or calls):
        return _of_provider(fields)
    if any(type(block) is dict and block.get("type") == "tool_result" for block in _listed(fields.get("content"))):
        return _of_provider(fields)
    answers = answered_in(fields) if role in TOOLS else _call_id(fields)
    return Message(role, _text(fields.get("content")), calls=calls, answers=answers)


def answered_in(fields: Mapping[str, Wire]) -> str:
    """The id of the call that a tool's result answers: as OpenAI names it, SWE-agent, or tau2, by the result's own."""
    several = fields.get("tool_call_ids")
    only = several[0] if isinstance(several, list) and len(several) == 1 else None
    return _call_id(fields) or _or_empty(only) or _or_empty(fields.get("id"))


def _call_id(fields: Mapping[str, Wire]) -> str:
    return _or_empty(fields.get("tool_call_id"))


def _of_provider(fields: Mapping[str, Wire]) -> Message | None:
    """A turn in the form of one provider only: items of OpenAI's Responses, parts of Gemini, results of Anthropic."""
    from agent_tt.providers.reading import messages_of_turn

    read = messages_of_turn(dict(fields))
    if not read:
        return None
    return Message(
        role=read[-1].role,
        text="\n".join(filter(None, (message.text or message.reasoning for message in read))),
        calls=tuple(call for message in read for call in message.calls),
        answers=next((message.answers for message in read if message.answers), ""),
    )


def _listed(content: Wire) -> Sequence[Wire]:
    return content if isinstance(content, list) else ()


def conversation_in(value: Wire) -> Path | None:
    """The path of the list that holds the conversation: `messages` first, else the first list of messages.

    Args:
        value: A state, or the arguments of a model call.
    """
    if _is_conversation(value):
        return ()
    if not isinstance(value, dict) or envelope_type(value) is not None:
        return None
    for key in ("messages", *value):
        if _is_conversation(value.get(key)):
            return (key,)
    return None


def answer_in(result: Wire) -> Wire:
    """The message in a model's answer, in the forms that providers give it; None if there is none."""
    if message_of(result) is not None:
        return result
    if not isinstance(result, dict) or is_envelope(result):
        return None
    choices = result.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    inner = first.get("message") if isinstance(first, dict) else result.get("message")
    return inner if message_of(inner) is not None else None


def _is_conversation(value: Wire) -> bool:
    return isinstance(value, list) and bool(value) and message_of(value[0]) is not None


def _role(wire: Wire, fields: Mapping[str, Wire]) -> str | None:
    role, kind = fields.get("role"), fields.get("type")
    if isinstance(role, str):
        return role
    if isinstance(kind, str) and kind in _TYPES:
        return kind
    name = wire.get("class") if isinstance(wire, dict) else None
    return _CLASSES.get(name.rpartition(":")[2]) if isinstance(name, str) else None


def calls_in(calls: Wire) -> Sequence[Asked]:
    """Read the calls in the `tool_calls` of a message; skip what is no call."""
    found = []
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        said = function if isinstance(function, dict) else call
        name = said.get("name")
        if isinstance(name, str):
            arguments = said.get("args", said.get("arguments", said.get("input")))
            found.append(Asked(_or_empty(call.get("id")), name, _parsed(arguments)))
    return found


def _asked_in_blocks(content: Wire) -> Sequence[Asked]:
    blocks = content if isinstance(content, list) else []
    return calls_in([block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"])


def _parsed(arguments: Wire) -> Wire:
    if not isinstance(arguments, str) or len(arguments) > _MOST_ARGUMENTS:
        return arguments
    try:
        parsed: Wire = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return parsed


def _text(content: Wire) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return summary(content, 400)
    return "\n".join(filter(None, (_block(block) for block in content)))


def _block(block: Wire) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return summary(block, 200)
    match block.get("type"):
        case "tool_use":
            return ""  # shown as a call
        case "tool_result":
            return _text(block.get("content"))
        case _:
            thought = thought_in(block)
            if thought:
                return f"[thinking] {thought}"
            text = block.get("text")
            return text if isinstance(text, str) else summary(block, 200)


def _or_empty(value: Wire) -> str:
    return value if isinstance(value, str) else ""
