"""OpenAI's chat completions, which many hosts speak (Azure, OpenRouter, Mistral, vLLM, Ollama, …), and completions.

Source of the format: the API reference of OpenAI, `POST /chat/completions`, and its client's types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.content import text_of
from agent_tt.providers.loose import boolean, count, dicts, items, mapping, parse_arguments, text, without
from agent_tt.providers.shapes import Asked, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.providers.shapes import Json

__all__ = ["chat_answer", "chat_call", "completions_answer", "completions_call", "tokens_of"]

_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
"""Where compatible hosts put what the model thought: DeepSeek and vLLM, OpenRouter, Ollama."""


def chat_call(body: dict[str, Json]) -> ModelCall:
    """Read a request with `messages`."""
    tools = [*_tools(body.get("tools")), *_tools(body.get("functions"))]
    return ModelCall(
        api="openai-chat",
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=tuple(message_of(message) for message in dicts(body.get("messages"))),
        tools=tuple(tools),
        parameters=without(body, "model", "messages", "tools", "functions"),
        conversation={"messages": items(body.get("messages"))},
        turns="messages",
    )


def message_of(message: dict[str, Json]) -> Message:
    """Read one message."""
    calls = [_asked(call) for call in dicts(message.get("tool_calls"))]
    old_style = message.get("function_call")
    if isinstance(old_style, dict):
        calls.append(Asked("", text(old_style.get("name")), parse_arguments(old_style.get("arguments"))))
    said = text_of(message.get("content")) or text(message.get("refusal"))
    return Message(
        role=text(message.get("role")) or "assistant",
        text=said,
        reasoning=next((text(message.get(name)) for name in _REASONING if text(message.get(name))), ""),
        calls=tuple(calls),
        answers=text(message.get("tool_call_id")),
    )


def chat_answer(values: Sequence[Json], *, streamed: bool) -> ModelAnswer:
    """Read an answer: one object, or the chunks of a stream."""
    if streamed:
        return _answer(_joined(dicts(list(values))))
    return _answer(mapping(values[0]) if values else {})


def _answer(answer: dict[str, Json]) -> ModelAnswer:
    choices = dicts(answer.get("choices"))
    messages = [mapping(choice.get("message")) for choice in choices]
    if not choices and isinstance(answer.get("message"), dict):  # Ollama's own form
        messages = [mapping(answer.get("message"))]
    reasons = [text(choice.get("finish_reason")) for choice in choices] or [text(answer.get("done_reason"))]
    usage = mapping(answer.get("usage")) or answer
    charged = usage.get("cost")  # OpenRouter, in US dollars
    return ModelAnswer(
        messages=tuple(message_of(message) for message in messages if message),
        turns=tuple(messages[:1]),
        model=text(answer.get("model")),
        finish_reason=next((reason for reason in reasons if reason), ""),
        tokens=tokens_of(usage),
        cost_usd=float(charged) if isinstance(charged, int | float) and not isinstance(charged, bool) else None,
        id=text(answer.get("id")),
    )


def tokens_of(usage: dict[str, Json]) -> Tokens:
    """What `usage` counts."""
    read, wrote = mapping(usage.get("prompt_tokens_details")), mapping(usage.get("completion_tokens_details"))
    cached = count(read.get("cached_tokens"))
    return Tokens(
        input=_first(usage, "prompt_tokens", "prompt_eval_count", "input_tokens"),
        output=_first(usage, "completion_tokens", "eval_count", "output_tokens"),
        cached=cached if cached is not None else count(usage.get("prompt_cache_hit_tokens")) or 0,
        written=count(read.get("cache_write_tokens")) or 0,
        reasoning=count(wrote.get("reasoning_tokens")) or 0,
        audio=(count(read.get("audio_tokens")) or 0) + (count(wrote.get("audio_tokens")) or 0),
    )


def _first(usage: dict[str, Json], *names: str) -> int | None:
    return next((found for found in (count(usage.get(name)) for name in names) if found is not None), None)


def _tools(offered: Json) -> list[OfferedTool]:
    tools = []
    for tool in dicts(offered):
        inner = mapping(tool.get("function")) or mapping(tool.get("custom")) or tool
        name = text(inner.get("name")) or text(tool.get("type"))
        tools.append(OfferedTool(name, text(inner.get("description")), inner.get("parameters")))
    return tools


def _asked(call: dict[str, Json]) -> Asked:
    function = mapping(call.get("function"))
    custom = mapping(call.get("custom"))
    inner = function or custom
    given = inner.get("arguments", inner.get("input"))
    return Asked(text(call.get("id")), text(inner.get("name")), parse_arguments(given))


# ---------------------------------------------------------------- streams


def _joined(chunks: list[dict[str, Json]]) -> dict[str, Json]:
    """The answer that the chunks of a stream add up to, as it would have come in one piece."""
    answer: dict[str, Json] = {}
    choices: dict[int, dict[str, Json]] = {}
    for chunk in chunks:
        answer.update(without(chunk, "choices", "message"))
        for position, piece in enumerate(dicts(chunk.get("choices"))):
            number = count(piece.get("index"))
            choice = choices.setdefault(position if number is None else number, {"message": {}})
            message = mapping(choice["message"])
            _add(message, mapping(piece.get("delta")) or mapping(piece.get("message")))
            if piece.get("finish_reason") is not None:
                choice["finish_reason"] = piece["finish_reason"]
        if isinstance(chunk.get("message"), dict):
            own: Json = answer.setdefault("message", {})
            _add(mapping(own), mapping(chunk["message"]))
    if choices:
        answer["choices"] = [choices[number] for number in sorted(choices)]
    return answer


def _add(message: dict[str, Json], delta: dict[str, Json]) -> None:
    """Put a piece of a message where it belongs: texts grow, tool calls are found by their index."""
    for key, value in delta.items():
        before = message.get(key)
        if key == "tool_calls":
            calls = items(message.setdefault("tool_calls", []))
            _add_calls(calls, dicts(value))
        elif isinstance(value, str) and isinstance(before, str) and key != "role":
            message[key] = before + value
        elif key == "function_call" and isinstance(value, dict) and isinstance(before, dict):
            _add(before, value)
        elif isinstance(value, list) and isinstance(before, list):
            message[key] = [*before, *value]
        elif value is not None or key not in message:
            message[key] = value


def _add_calls(calls: list[Json], pieces: list[dict[str, Json]]) -> None:
    for piece in pieces:
        number = count(piece.get("index"))
        if number is None or number > len(calls):
            number = len(calls)
        if number == len(calls):
            calls.append({})
        call = mapping(calls[number])
        for key, value in piece.items():
            if isinstance(value, dict):
                inner: Json = call.setdefault(key, {})
                _add(mapping(inner), value)
            elif key != "index" and value is not None:
                call[key] = value


# ---------------------------------------------------------------- completions without chat


def completions_call(body: dict[str, Json]) -> ModelCall:
    """Read a request with a `prompt`."""
    prompt = body.get("prompt")
    said = prompt if isinstance(prompt, str) else "\n".join(text(part) for part in items(prompt))
    return ModelCall(
        api="openai-completions",
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=(Message("user", said),),
        parameters=without(body, "model", "prompt"),
        conversation={"prompt": prompt},
    )


def completions_answer(values: Sequence[Json]) -> ModelAnswer:
    """Read an answer: one object, or the chunks of a stream."""
    chunks = dicts(list(values))
    said = "".join(text(choice.get("text")) for chunk in chunks for choice in dicts(chunk.get("choices"))[:1])
    reasons = [text(choice.get("finish_reason")) for chunk in chunks for choice in dicts(chunk.get("choices"))]
    usages = [mapping(chunk.get("usage")) for chunk in chunks if chunk.get("usage")]
    return ModelAnswer(
        messages=(Message("assistant", said),) if said else (),
        turns=(said,) if said else (),
        model=next((text(chunk.get("model")) for chunk in chunks if chunk.get("model")), ""),
        finish_reason=next((reason for reason in reasons if reason), ""),
        tokens=tokens_of(usages[-1]) if usages else Tokens(),
        id=next((text(chunk.get("id")) for chunk in chunks if chunk.get("id")), ""),
    )
