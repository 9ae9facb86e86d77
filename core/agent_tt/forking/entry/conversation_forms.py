"""A conversation of any form, written for the model that goes on with it: OpenAI's chats, Anthropic, Gemini.

Forms: https://platform.openai.com/docs/api-reference/chat, https://docs.anthropic.com/en/api/messages and
https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import UsageError
from agent_tt.providers.chat import TOOLS
from agent_tt.providers.model_talk import messages_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.providers.shapes import Asked, Json, Message

__all__ = ["FORMS", "Form", "plain_messages", "plain_turns"]

_SYSTEM: Final = ("system", "developer")
_MOST_TOKENS: Final = 8192
"""Of one answer; Anthropic wants a limit to be named."""

Turn = dict[str, Any]


def plain_messages(turns: Iterable[Json]) -> list[Message]:
    """Read a conversation, with ids of calls made anew: every call has one, and the result that follows names it.

    Raises:
        UsageError: a turn cannot be read, a call has no result, or it ends with what a model said.
    """
    found: list[Message] = []
    waiting: dict[str, str] = {}
    made = 0
    for number, turn in enumerate(turns):
        read = messages_in(turn)
        if not read:
            raise UsageError(f"message {number} of the conversation cannot be read", hint="take it out with --delete")
        for message in read:
            if message.answers or message.role in TOOLS:
                known = message.answers if message.answers in waiting else next(iter(waiting), "")
                if not known:
                    raise UsageError(f"message {number} is the result of no call before it", hint="fork another step")
                found.append(replace(message, role="tool", answers=waiting.pop(known)))
                continue
            calls = []
            for call in message.calls:
                made += 1
                waiting[call.id or f"-{made}"] = f"call_{made}"
                calls.append(replace(call, id=f"call_{made}"))
            if message.text or calls:  # thoughts alone are left out
                found.append(replace(message, calls=tuple(calls)))
    if waiting:
        raise UsageError(
            "a tool call of the conversation has no result, so no model goes on from there", hint="fork another step"
        )
    if not found or found[-1].role not in ("user", "human", "tool"):
        raise UsageError(
            "the conversation ends with no question and no result that a model could answer",
            hint='fork an earlier step, or add a question: --insert \'messages[N]={"role": "user", …}\'',
        )
    return found


def plain_turns(turn: Json) -> list[Json]:
    """A turn of any form in that of OpenAI's chats, which no class is needed to read."""
    form = FORMS["openai"]
    return [
        {"role": "system", "content": message.text} if message.role in _SYSTEM else form.turn(message, {})
        for message in messages_in(turn)
    ]


class Form(ABC):
    """How one provider is asked.

    Attributes:
        key: the variable with its key.
        base: the variable with another address.
        address: its own address.
    """

    key: str
    base: str
    address: str

    def written(self, turns: Sequence[Json]) -> dict[str, Any]:
        """The conversation as it is sent: `{"system": text, "turns": [...]}`."""
        messages = plain_messages(turns)
        system = "\n\n".join(message.text for message in messages if message.role in _SYSTEM)
        names = {call.id: call.name for message in messages for call in message.calls}
        rest = (message for message in messages if message.role not in _SYSTEM)
        return {"system": system, "turns": self.joined([self.turn(message, names) for message in rest])}

    def joined(self, turns: list[Turn]) -> list[Turn]:
        """The turns, those of one speaker that follow each other as one where the form wants that."""
        return turns

    @abstractmethod
    def turn(self, message: Message, names: dict[str, str]) -> Turn:
        """One message; `names` are those of tools by the ids of their calls."""

    @abstractmethod
    def results(self, answered: Sequence[tuple[Asked, str]]) -> list[Turn]:
        """The turns that give results."""

    @abstractmethod
    def body(self, model: str, sent: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
        """The request."""

    @abstractmethod
    def path(self, model: str) -> str:
        """What follows the address."""

    @abstractmethod
    def headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""


class _OpenAI(Form):
    key, base, address = "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"

    def turn(self, message: Message, names: dict[str, str]) -> Turn:
        del names
        if message.role == "tool":
            return {"role": "tool", "tool_call_id": message.answers, "content": message.text}
        if not _is_model(message):
            return {"role": "user", "content": message.text}
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(_given(call))}}
            for call in message.calls
        ]
        said: Turn = {"role": "assistant", "content": message.text or None}
        return said | ({"tool_calls": calls} if calls else {})

    def results(self, answered: Sequence[tuple[Asked, str]]) -> list[Turn]:
        return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in answered]

    def body(self, model: str, sent: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
        system = [{"role": "system", "content": sent["system"]}] if sent["system"] else []
        offered = {"tools": [{"type": "function", "function": tool} for tool in tools]} if tools else {}
        return {"model": model, "messages": [*system, *sent["turns"]], **offered}

    def path(self, model: str) -> str:
        del model
        return "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}


class _Anthropic(Form):
    key, base, address = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"

    def turn(self, message: Message, names: dict[str, str]) -> Turn:
        del names
        text: list[Turn] = [{"type": "text", "text": message.text}] if message.text else []
        if message.role == "tool":
            result = {"type": "tool_result", "tool_use_id": message.answers, "content": message.text}
            return {"role": "user", "content": [result]}
        if not _is_model(message):
            return {"role": "user", "content": text}
        calls = [
            {"type": "tool_use", "id": each.id, "name": each.name, "input": _given(each)} for each in message.calls
        ]
        return {"role": "assistant", "content": [*text, *calls]}

    def joined(self, turns: list[Turn]) -> list[Turn]:
        return _joined(turns, "content")

    def results(self, answered: Sequence[tuple[Asked, str]]) -> list[Turn]:
        blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in answered]
        return [{"role": "user", "content": blocks}] if blocks else []

    def body(self, model: str, sent: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
        offered = _with_schemas(tools, "input_schema")
        beside = ({"system": sent["system"]} if sent["system"] else {}) | ({"tools": offered} if offered else {})
        return {"model": model, "max_tokens": _MOST_TOKENS, "messages": sent["turns"], **beside}

    def path(self, model: str) -> str:
        del model
        return "/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}


class _Gemini(Form):
    key, base = "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"
    address = "https://generativelanguage.googleapis.com"

    def turn(self, message: Message, names: dict[str, str]) -> Turn:
        if message.role == "tool":
            return {"role": "user", "parts": [_response(names[message.answers], message.text)]}
        text: list[Turn] = [{"text": message.text}] if message.text else []
        if not _is_model(message):
            return {"role": "user", "parts": text}
        calls = [{"functionCall": {"name": call.name, "args": _given(call)}} for call in message.calls]
        return {"role": "model", "parts": [*text, *calls]}

    def joined(self, turns: list[Turn]) -> list[Turn]:
        return _joined(turns, "parts")

    def results(self, answered: Sequence[tuple[Asked, str]]) -> list[Turn]:
        parts = [_response(call.name, text) for call, text in answered]
        return [{"role": "user", "parts": parts}] if parts else []

    def body(self, model: str, sent: dict[str, Any], tools: list[Any]) -> dict[str, Any]:
        del model
        offered = _with_schemas(tools, "parametersJsonSchema")
        system = {"systemInstruction": {"parts": [{"text": sent["system"]}]}} if sent["system"] else {}
        return {
            "contents": sent["turns"],
            **system,
            **({"tools": [{"functionDeclarations": offered}]} if tools else {}),
        }

    def path(self, model: str) -> str:
        return f"/v1beta/models/{model}:generateContent"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}


def _response(name: str, text: str) -> Turn:
    return {"functionResponse": {"name": name, "response": {"result": text}}}


def _with_schemas(tools: list[Any], key: str) -> list[Turn]:
    return [{"name": tool["name"], "description": tool["description"], key: tool["parameters"]} for tool in tools]


def _joined(turns: list[Turn], key: str) -> list[Turn]:
    found: list[Turn] = []
    for turn in turns:
        if found and found[-1]["role"] == turn["role"]:
            found[-1][key] += turn[key]
        else:
            found.append(turn)
    return found


def _is_model(message: Message) -> bool:
    return message.role not in ("user", "human", "tool")


def _given(call: Asked) -> dict[str, Json]:
    """Arguments as an object, which all forms want; text that is none stands under `input`."""
    return call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}


FORMS: Final[dict[str, Form]] = {"openai": _OpenAI(), "anthropic": _Anthropic(), "google": _Gemini()}
"""By the name that people say."""
