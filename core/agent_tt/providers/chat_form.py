"""The form of messages, calls and counts that chat APIs share, and parts of messages as text for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.providers.loose import count, dicts, first_line, mapping, parse_arguments, size, text
from agent_tt.providers.shapes import Asked, Message, Tokens

if TYPE_CHECKING:
    from agent_tt.providers.shapes import Json, Reply

__all__ = ["chat_calls", "compact", "message_of", "message_with", "note", "text_of", "tokens_of"]

_PLAIN: Final = frozenset({"role", "content", "name"})
"""Keys of a message that says something and nothing else."""

_REASONING: Final = ("reasoning_content", "reasoning", "thinking", "tool_plan")
"""Where compatible hosts put what the model thought: DeepSeek and vLLM, OpenRouter, Ollama, Cohere."""

_MOST_DEPTH: Final = 8
_KINDS: Final = {
    "image_url": "image",
    "input_image": "image",
    "input_audio": "audio",
    "input_file": "file",
    "output_image": "image",
}
_OMITTED: Final = frozenset(
    {"tool_use", "toolUse", "thinking", "redacted_thinking", "reasoning", "server_tool_use", "mcp_tool_use"}
)
"""Parts that are shown as calls or as reasoning, not as text."""


def text_of(content: Json, depth: int = 0) -> str:
    """What the content of a message says: a text, a list of parts, or anything else."""
    if isinstance(content, str):
        return content
    if content is None or depth > _MOST_DEPTH:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, (_part(part, depth) for part in content)))
    return _part(content, depth)


def _part(part: Json, depth: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return "" if part is None else str(part)
    kind = text(part.get("type"))
    if kind in _OMITTED:
        return ""
    for key in ("text", "refusal", "output_text", "transcript"):
        if isinstance(part.get(key), str):
            return text(part[key])
    if kind.endswith("tool_result") or kind == "document":
        return text_of(part.get("content", part.get("document")), depth + 1)
    printed = [text(part.get(name)) for name in ("stdout", "stderr", "logs")]
    if any(printed):
        return "\n".join(filter(None, (said.rstrip("\n") for said in printed)))
    return note(kind or next(iter(part), "part"), part)


def note(kind: str, part: dict[str, Json]) -> str:
    """A part that is not text, in brackets: `[image image/png, 12 kB]`, `[file report.pdf]`, `[image https://…]`."""
    name = _KINDS.get(kind, kind.replace("_", " "))
    inner = mapping(part.get("source")) or mapping(part.get(kind)) or part
    facts = [text(inner.get(key)) for key in ("media_type", "mime_type", "mimeType", "format", "filename", "title")]
    where = [inner.get(key) for key in ("url", "image_url", "file_url", "file_uri", "fileUri", "file_id", "uri")]
    for place in where:
        given = text(place) or text(mapping(place).get("url"))
        if given.startswith("data:"):
            head, _, data = given.partition(",")
            facts += [head[5:].partition(";")[0], size(len(data))]
        elif given:
            facts.append(first_line(given, 120))
    data = text(inner.get("data")) or text(inner.get("file_data")) or text(inner.get("bytes"))
    if data:
        facts.append(size(len(data)))
    said = ", ".join(dict.fromkeys(fact for fact in facts if fact))
    return f"[{name} {said}]" if said else f"[{name}]"


# ---------------------------------------------------------------- messages


def message_of(message: dict[str, Json]) -> Message:
    """Read one message of a chat."""
    content = message.get("content")
    if isinstance(content, str) and message.keys() <= _PLAIN:  # nearly all of a conversation
        return Message(role=text(message.get("role")) or "assistant", text=content)
    calls = [_asked(call) for call in dicts(message.get("tool_calls"))]
    old_style = message.get("function_call")
    if isinstance(old_style, dict):
        calls.append(Asked("", text(old_style.get("name")), parse_arguments(old_style.get("arguments"))))
    spoken = text(mapping(message.get("audio")).get("transcript"))
    said = text_of(content) or text(message.get("refusal")) or spoken
    thoughts = next((text(message.get(name)) for name in _REASONING if text(message.get(name))), "")
    return Message(
        role=text(message.get("role")) or "assistant",
        text=said,
        reasoning=thoughts or "".join(text_of(part.get("thinking")) for part in dicts(content)),  # Mistral's
        calls=tuple(calls),
        answers=text(message.get("tool_call_id")),
    )


def _asked(call: dict[str, Json]) -> Asked:
    function = mapping(call.get("function"))
    custom = mapping(call.get("custom"))
    inner = function or custom or call  # tau2 has no object around name and arguments
    given = inner.get("arguments", inner.get("input"))
    return Asked(text(call.get("id")), text(inner.get("name")), parse_arguments(given))


def tokens_of(usage: dict[str, Json]) -> Tokens:
    """What `usage` counts, in the words of OpenAI and of those who speak alike."""
    read, wrote = mapping(usage.get("prompt_tokens_details")), mapping(usage.get("completion_tokens_details"))
    cached = count(read.get("cached_tokens"))
    given = _first(usage, "prompt_tokens", "prompt_eval_count", "input_tokens", "prompt_token_count")
    output = _first(usage, "completion_tokens", "eval_count", "output_tokens", "generation_token_count")
    reasoning = count(wrote.get("reasoning_tokens")) or 0
    if output is not None and reasoning and count(usage.get("total_tokens")) == (given or 0) + output + reasoning:
        output += reasoning  # xAI counts what was thought apart
    return Tokens(
        input=given,
        output=output,
        cached=cached if cached is not None else count(usage.get("prompt_cache_hit_tokens")) or 0,
        written=count(read.get("cache_write_tokens")) or 0,
        reasoning=reasoning,
        audio=(count(read.get("audio_tokens")) or 0) + (count(wrote.get("audio_tokens")) or 0),
    )


def _first(usage: dict[str, Json], *names: str) -> int | None:
    return next((found for found in (count(usage.get(name)) for name in names) if found is not None), None)


# ---------------------------------------------------------------- written


def message_with(message: dict[str, Json], reply: Reply) -> dict[str, Json]:
    """A message of the form that chat APIs use, with another content."""
    changed: dict[str, Json] = {key: value for key, value in message.items() if key != "tool_calls"}
    changed["content"] = reply.text or (None if reply.calls and message.get("content") is None else "")
    if reply.calls:
        changed["tool_calls"] = chat_calls(reply)
    return changed


def chat_calls(reply: Reply) -> list[Json]:
    """The tool calls of a message, as chat APIs have them."""
    return [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": compact(given)}}
        for id_, name, given in reply.calls
    ]


def compact(value: Json) -> str:
    """A value as JSON text, letters as they are."""
    return json.dumps(value, ensure_ascii=False)
