"""OpenAI's chat completions, which many hosts speak (Azure, OpenRouter, Mistral, vLLM, Ollama, …), and completions.

Source of the format: the API reference of OpenAI, `POST /chat/completions`, and its client's types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.content import text_of
from agent_tt.providers.loose import amount, boolean, count, dicts, items, mapping, parse_arguments, text, without
from agent_tt.providers.shapes import Asked, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.providers.shapes import Json

__all__ = ["chat_answer", "chat_call", "completions_answer", "completions_call", "tokens_of"]

_PLAIN: Final = frozenset({"role", "content", "name"})
"""Keys of a message that says something and nothing else."""

_REASONING: Final = ("reasoning_content", "reasoning", "thinking", "tool_plan")
"""Where compatible hosts put what the model thought: DeepSeek and vLLM, OpenRouter, Ollama, Cohere."""


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
    usage = mapping(answer.get("usage")) or mapping(mapping(answer.get("x_groq")).get("usage")) or answer
    charged = usage.get("cost")  # in US dollars: OpenRouter, and Perplexity in parts
    return ModelAnswer(
        messages=tuple(message_of(message) for message in messages if message),
        turns=tuple(messages[:1]),
        model=text(answer.get("model")) or text(answer.get("model_id")),
        finish_reason=next((reason for reason in reasons if reason), ""),
        tokens=tokens_of(usage),
        cost_usd=amount(mapping(charged).get("total_cost") if isinstance(charged, dict) else charged),
        id=text(answer.get("id")),
    )


def tokens_of(usage: dict[str, Json]) -> Tokens:
    """What `usage` counts."""
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


def _tools(offered: Json) -> list[OfferedTool]:
    tools = []
    for tool in dicts(offered):
        inner = mapping(tool.get("function")) or mapping(tool.get("custom")) or tool
        name = text(inner.get("name"))
        shown = name or text(tool.get("type"))
        tools.append(OfferedTool(shown, text(inner.get("description")), inner.get("parameters"), is_hosted=not name))
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
        elif isinstance(value, list | str) and isinstance(before, list | str) and key != "role":
            message[key] = _together(_parts(before), _parts(value))
        elif key == "audio" and isinstance(value, dict) and isinstance(before, dict):
            _add(before, value)
        elif value is not None or key not in message:
            message[key] = value


def _parts(content: list[Json] | str) -> list[Json]:
    """Content as a list of parts: of one message, some pieces may be text and others lists."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _together(before: list[Json], more: list[Json]) -> list[Json]:
    """Two lists of parts as one; texts that meet are one text."""
    found = list(before)
    for part in more:
        last = mapping(found[-1]) if found else {}
        if last.get("type") == "text" == mapping(part).get("type"):
            found[-1] = {**last, "text": text(last.get("text")) + text(mapping(part).get("text"))}
        else:
            found.append(part)
    return found


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
    """Read a request with a `prompt`: OpenAI's, Ollama's `generate`, or that of a model on Bedrock."""
    prompt, system = body.get("prompt"), text(body.get("system"))
    said = prompt if isinstance(prompt, str) else "\n".join(text(part) for part in items(prompt))
    return ModelCall(
        api="openai-completions",
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=(*((Message("system", system),) if system else ()), Message("user", said)),
        parameters=without(body, "model", "prompt", "system"),
        conversation={"prompt": prompt} if not system else {"system": system, "prompt": prompt},
    )


def completions_answer(values: Sequence[Json]) -> ModelAnswer:
    """Read an answer: one object, or the chunks of a stream."""
    chunks = dicts(list(values))
    choices = [choice for chunk in chunks for choice in dicts(chunk.get("choices"))[:1] or [chunk]]
    said = "".join(_completed(choice) for choice in choices)
    thought = "".join(text(choice.get("thinking")) for choice in choices)
    reasons = [text(choice.get(name)) for choice in choices for name in ("finish_reason", "done_reason", "stop_reason")]
    usages = [found for found in (tokens_of(mapping(chunk.get("usage")) or chunk) for chunk in chunks) if found.input]
    return ModelAnswer(
        messages=(Message("assistant", said, thought),) if said or thought else (),
        turns=(said,) if said else (),
        model=next((text(chunk.get("model")) for chunk in chunks if chunk.get("model")), ""),
        finish_reason=next((reason for reason in reasons if reason), ""),
        tokens=usages[-1] if usages else Tokens(),
        id=next((text(chunk.get("id")) for chunk in chunks if chunk.get("id")), ""),
    )


def _completed(choice: dict[str, Json]) -> str:
    """The text of a choice: OpenAI's and Mistral's words for it; Ollama's and Llama's, who have no choices."""
    inner = mapping(choice.get("message")) or mapping(choice.get("delta"))
    found = (choice.get("text"), text_of(inner.get("content")), choice.get("response"), choice.get("generation"))
    return next((text(said) for said in found if text(said)), "")
