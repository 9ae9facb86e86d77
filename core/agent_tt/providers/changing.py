"""Changing a request to a model, in its provider's own language: system prompt, model, parameters, conversation.

Bodies are JSON objects that are parsed; what is given is never changed, what is returned shares with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from agent_tt.providers.loose import items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.providers.shapes import Api, Json, ModelCall

__all__ = ["system_of", "with_conversation", "with_model", "with_parameter", "with_system"]

_SPEAKERS: Final = ("system", "developer")
_IN_ADDRESS: Final = re.compile(r"(/(?:models|model|deployments)/)([^/:?]+)")
_LIMITS: Final[Mapping[Api, tuple[str, ...]]] = {
    "openai-chat": ("max_tokens", "max_completion_tokens"),
    "openai-responses": ("max_output_tokens",),
    "gemini": ("maxOutputTokens",),
    "bedrock": ("maxTokens",),
}
"""What each language calls the limit that people call `max_tokens`; the first where a request has none of them."""

_GEMINI_TOP: Final = frozenset({"tools", "toolConfig", "safetySettings", "cachedContent", "labels", "generationConfig"})
_BEDROCK_LIMITS: Final = frozenset({"maxTokens", "temperature", "topP", "stopSequences"})


def system_of(call: ModelCall) -> str:
    """The system prompt of a request as one text; "" where it has none."""
    return next((message.text for message in call.messages[:1] if message.role in _SPEAKERS), "")


def with_system(body: Mapping[str, Json], api: Api, prompt: str) -> dict[str, Json] | None:
    """A request with another system prompt; None where its language has none."""
    match api:
        case "openai-chat":
            return {**body, "messages": _with_first(items(body.get("messages")), prompt)}
        case "openai-responses":
            given = body.get("input")
            if body.get("instructions") is None and _is_system(items(given)[:1]):
                return {**body, "input": _with_first(items(given), prompt)}
            return {**body, "instructions": prompt}
        case "anthropic":
            return {**body, "system": prompt}
        case "gemini":
            key = "system_instruction" if "system_instruction" in body else "systemInstruction"
            return {**body, key: {"parts": [{"text": prompt}]}}
        case "bedrock":
            return {**body, "system": [{"text": prompt}]}
        case _:  # plain completion, and languages in which answers are only read
            return None


def _with_first(turns: list[Json], prompt: str) -> list[Json]:
    if _is_system(turns[:1]):
        return [{**mapping(turns[0]), "content": prompt}, *turns[1:]]
    return [{"role": "system", "content": prompt}, *turns]


def _is_system(turns: list[Json]) -> bool:
    return bool(turns) and text(mapping(turns[0]).get("role")) in _SPEAKERS


def with_model(url: str, body: Mapping[str, Json], model: str) -> tuple[str, dict[str, Json]]:
    """A request to another model: its address, where that names the model, and its body."""
    named = _IN_ADDRESS.sub(lambda found: found[1] + quote(model, safe="@.-_"), url)
    changed = dict(body)
    if "model" in body or named == url:
        changed["model"] = model
    return named, changed


def with_parameter(body: Mapping[str, Json], api: Api, name: str, value: Json) -> dict[str, Json]:
    """A request with another value of a parameter; null leaves the parameter out.

    Args:
        body: the request.
        api: its language.
        name: as that language says it (`temperature`, `max_tokens`, `topP`, in snake case too), or the way to it:
            `reasoning.effort`.
        value: the value.
    """
    way = _way(body, api, name)
    changed = dict(body)
    holder = changed
    for key in way[:-1]:
        inner: dict[str, Json] = dict(mapping(holder.get(key)))
        holder[key] = inner
        holder = inner
    if value is None:
        holder.pop(way[-1], None)
    else:
        holder[way[-1]] = value
    return changed


def _way(body: Mapping[str, Json], api: Api, name: str) -> list[str]:
    if "." in name:
        return name.split(".")
    if name == "max_tokens":
        known = _LIMITS.get(api, (name,))
        name = next((key for key in known if key in body), known[0])
    if api == "gemini":
        camel = _camel(name)
        return [camel] if camel in _GEMINI_TOP else ["generationConfig", camel]
    if api == "bedrock":
        camel = _camel(name)
        return ["inferenceConfig", camel] if camel in _BEDROCK_LIMITS else [name]
    return [name]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def with_conversation(
    body: Mapping[str, Json], before: Mapping[str, Json], after: Mapping[str, Json]
) -> dict[str, Json]:
    """A request with another conversation.

    Args:
        body: the request.
        before: its conversation, as `ModelCall.conversation` has it.
        after: the same, changed; a key that is gone is left out.
    """
    changed = dict(body)
    for key in {*before, *after}:
        if before.get(key) == after.get(key):
            continue
        own = "system_instruction" if key == "systemInstruction" and "system_instruction" in body else key
        if key in after:
            changed[own] = after[key]
        else:
            changed.pop(own, None)
    return changed
