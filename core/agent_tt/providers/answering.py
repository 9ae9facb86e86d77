"""Writing a model's answer in its provider's own language, plain or streamed: for an answer that a person changed.

What was recorded of the answer (its id, its model, what was counted) stays; what the model says and asks for is new.
Sources of the formats are named in the modules that read them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt.providers.loose import dicts, items, mapping, parse_arguments, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.providers.shapes import Api, Asked, Json, ModelAnswer, ModelCall

__all__ = ["Saying", "message_with", "read_saying", "written_answer"]

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_ARGUMENTS: Final = ("arguments", "input", "args")


@dataclass(frozen=True, slots=True)
class Saying:
    """What a model is to have said.

    Attributes:
        text: its words; "" for none.
        calls: the tool calls that it asks for: id, name, arguments.
    """

    text: str = ""
    calls: tuple[tuple[str, str, dict[str, Json]], ...] = ()


def read_saying(value: Json, before: Iterable[Asked] = ()) -> Saying | None:
    """What a person wrote for an answer; None where it is of none of the forms.

    Args:
        value: words; a list of tool calls `{"name", "arguments"}`; or both, `{"text", "tool_calls"}`. A message of
            OpenAI's form is one too.
        before: the calls that were asked for; theirs are the ids, by position.
    """
    if isinstance(value, str):
        return Saying(value)
    if isinstance(value, list):
        value = {"tool_calls": value}
    if not isinstance(value, dict) or not {"text", "content", "calls", "tool_calls"} & set(value):
        return None
    words = value.get("text", value.get("content"))
    asked = items(value.get("tool_calls", value.get("calls")))
    if not isinstance(words, str | None) or len(dicts(asked)) != len(asked):
        return None
    known = [call.id for call in before]
    calls: list[tuple[str, str, dict[str, Json]]] = []
    for index, call in enumerate(dicts(asked)):
        inner = mapping(call.get("function")) or call
        name = text(inner.get("name"))
        given = parse_arguments(next((inner[key] for key in _ARGUMENTS if key in inner), {}))
        if not name or not isinstance(given, dict):
            return None
        made = "call_" + blake2b(json.dumps([index, name, given]).encode(), digest_size=8).hexdigest()
        calls.append((text(call.get("id")) or (known[index] if index < len(known) else "") or made, name, given))
    return Saying(words or "", tuple(calls))


def message_with(message: dict[str, Json], saying: Saying) -> dict[str, Json]:
    """A message of the form that chat APIs use, with another content."""
    changed: dict[str, Json] = {key: value for key, value in message.items() if key != "tool_calls"}
    changed["content"] = saying.text or (None if saying.calls and message.get("content") is None else "")
    if saying.calls:
        changed["tool_calls"] = _chat_calls(saying)
    return changed


def written_answer(
    call: ModelCall, recorded: Json, answer: ModelAnswer, saying: Saying, content_type: str
) -> tuple[str, bytes] | None:
    """The body of an answer, and its content type; None where this form cannot be written.

    Args:
        call: the request.
        recorded: the recorded body where that is one JSON object; of a stream anything else.
        answer: what was read of it.
        saying: what the model is to have said.
        content_type: of the recorded answer, without parameters.
    """
    streamed = content_type == _EVENTS or (call.streamed and not isinstance(recorded, dict))
    base = {} if streamed else mapping(recorded)
    if not streamed:
        value = _plain(call, base, answer, saying)
        return None if value is None else (_JSON, _text(value).encode())
    if call.api == "gemini" and content_type != _EVENTS:
        return _JSON, _text([_plain(call, base, answer, saying)]).encode()
    events = _events(call.api, call, answer, saying)
    if events is None:
        return None
    lines = [(f"event: {name}\n" if name else "") + f"data: {_text(data)}\n\n" for name, data in events]
    done = ["data: [DONE]\n\n"] if call.api in ("openai-chat", "openai-completions") else []
    return _EVENTS, "".join([*lines, *done]).encode()


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(call: ModelCall, base: dict[str, Json], answer: ModelAnswer, saying: Saying) -> dict[str, Json] | None:
    """The answer as one object, on the ground of the recorded one."""
    match call.api:
        case "openai-chat":
            if "choices" not in base and isinstance(base.get("message"), dict):  # Ollama's own form
                asked: list[Json] = [
                    {"function": {"name": name, "arguments": given}} for _, name, given in saying.calls
                ]
                own = {**mapping(base["message"]), "content": saying.text}
                own.pop("tool_calls", None)
                return {**base, "message": {**own, "tool_calls": asked} if asked else own}
            first = mapping(next(iter(items(base.get("choices"))), None))
            message: dict[str, Json] = {"role": "assistant", "content": saying.text or None}
            if saying.calls:
                message["tool_calls"] = _chat_calls(saying)
            choice: dict[str, Json] = {
                **first,
                "index": 0,
                "message": message,
                "finish_reason": _reason(call.api, saying),
            }
            return {**_head(call, answer, "chat.completion"), **base, "choices": [choice]}
        case "openai-completions":
            said: dict[str, Json] = {"index": 0, "text": saying.text, "finish_reason": "stop", "logprobs": None}
            return {**_head(call, answer, "text_completion"), **base, "choices": [said]}
        case "openai-responses":
            head: dict[str, Json] = {**_responses_head(call, answer), **base}
            return {**head, "status": "completed", "error": None, "output": _output(saying, answer)}
        case "anthropic":
            return {
                **_anthropic_head(call, answer),
                **base,
                "content": _blocks(saying),
                "stop_reason": _reason(call.api, saying),
            }
        case "gemini":
            parts: list[Json] = [{"text": saying.text}] if saying.text or not saying.calls else []
            parts += [{"functionCall": {"name": name, "args": given}} for _, name, given in saying.calls]
            turn: Json = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
            return {"modelVersion": answer.model or call.model, **base, "candidates": [turn]}
        case "bedrock":
            content: list[Json] = [{"text": saying.text}] if saying.text or not saying.calls else []
            content += [
                {"toolUse": {"toolUseId": id_, "name": name, "input": given}} for id_, name, given in saying.calls
            ]
            told: Json = {"message": {"role": "assistant", "content": content}}
            return {**base, "output": told, "stopReason": _reason(call.api, saying)}
        case _:  # a language that is only read
            return None


def _reason(api: Api, saying: Saying) -> str:
    if api == "openai-chat":
        return "tool_calls" if saying.calls else "stop"
    return "tool_use" if saying.calls else "end_turn"


def _chat_calls(saying: Saying) -> list[Json]:
    return [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": _text(given)}}
        for id_, name, given in saying.calls
    ]


def _head(call: ModelCall, answer: ModelAnswer, kind: str) -> dict[str, Json]:
    return {"id": answer.id or "edited", "object": kind, "created": 0, "model": answer.model or call.model}


def _usage(answer: ModelAnswer, read: str, wrote: str) -> dict[str, Json]:
    tokens = answer.tokens
    return {read: tokens.input or 0, wrote: tokens.output or 0}


def _responses_head(call: ModelCall, answer: ModelAnswer) -> dict[str, Json]:
    usage = _usage(answer, "input_tokens", "output_tokens")
    total = (answer.tokens.input or 0) + (answer.tokens.output or 0)
    details: dict[str, Json] = {
        "input_tokens_details": {"cached_tokens": answer.tokens.cached, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": answer.tokens.reasoning},
    }
    return {
        "id": answer.id or "resp_edited",
        "object": "response",
        "created_at": 0,
        "model": answer.model or call.model,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**usage, "total_tokens": total, **details},
    }


def _output(saying: Saying, answer: ModelAnswer) -> list[Json]:
    found: list[Json] = []
    if saying.text or not saying.calls:
        words: Json = {"type": "output_text", "text": saying.text, "annotations": []}
        ident = f"msg_{(answer.id or 'edited').removeprefix('resp_')}"
        found.append({"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [words]})
    found += [
        {
            "id": f"fc_{id_}",
            "type": "function_call",
            "call_id": id_,
            "name": name,
            "arguments": _text(given),
            "status": "completed",
        }
        for id_, name, given in saying.calls
    ]
    return found


def _anthropic_head(call: ModelCall, answer: ModelAnswer) -> dict[str, Json]:
    return {
        "id": answer.id or "msg_edited",
        "type": "message",
        "role": "assistant",
        "model": answer.model or call.model,
        "stop_sequence": None,
        "usage": _usage(answer, "input_tokens", "output_tokens"),
    }


def _blocks(saying: Saying) -> list[Json]:
    words: list[Json] = [{"type": "text", "text": saying.text}] if saying.text or not saying.calls else []
    asked: list[Json] = [
        {"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in saying.calls
    ]
    return [*words, *asked]


# ---------------------------------------------------------------- streams


def _events(api: Api, call: ModelCall, answer: ModelAnswer, saying: Saying) -> list[tuple[str, dict[str, Json]]] | None:
    """The events of a streamed answer: names, where the language has them, and data."""
    match api:
        case "openai-chat":
            return [("", chunk) for chunk in _chat_chunks(call, answer, saying)]
        case "openai-completions" | "gemini":
            whole = _plain(call, {}, answer, saying)
            return None if whole is None else [("", whole)]
        case "openai-responses":
            return [(text(event["type"]), event) for event in _responses_events(call, answer, saying)]
        case "anthropic":
            return [(text(event["type"]), event) for event in _anthropic_events(call, answer, saying)]
        case _:  # the event streams of Bedrock are frames with checksums; other languages are only read
            return None


def _chat_chunks(call: ModelCall, answer: ModelAnswer, saying: Saying) -> list[dict[str, Json]]:
    head = _head(call, answer, "chat.completion.chunk")
    delta: dict[str, Json] = {"role": "assistant", "content": saying.text or (None if saying.calls else "")}
    if saying.calls:
        asked = dicts(_chat_calls(saying))
        delta["tool_calls"] = [{"index": index, **one} for index, one in enumerate(asked)]
    chunks: list[dict[str, Json]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason("openai-chat", saying)}]},
    ]
    if answer.tokens.input is not None:
        usage = _usage(answer, "prompt_tokens", "completion_tokens")
        total = answer.tokens.input + (answer.tokens.output or 0)
        chunks.append({**head, "choices": [], "usage": {**usage, "total_tokens": total}})
    return chunks


def _responses_events(call: ModelCall, answer: ModelAnswer, saying: Saying) -> list[dict[str, Json]]:
    whole = _plain(call, {}, answer, saying) or {}
    begun: Json = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Json]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for position, item in enumerate(dicts(whole.get("output"))):
        at: dict[str, Json] = {"output_index": position, "item_id": item["id"]}
        open_item: dict[str, Json] = {**item, "status": "in_progress"}
        if item["type"] == "message":
            part = mapping(items(item["content"])[0])
            inner: dict[str, Json] = {**at, "content_index": 0}
            middle: list[dict[str, Json]] = [
                {"type": "response.content_part.added", **inner, "part": {**part, "text": ""}},
                {"type": "response.output_text.delta", **inner, "delta": part["text"], "logprobs": []},
                {"type": "response.output_text.done", **inner, "text": part["text"], "logprobs": []},
                {"type": "response.content_part.done", **inner, "part": part},
            ]
            open_item["content"] = []
        else:
            given: dict[str, Json] = {**at, "name": item["name"], "arguments": item["arguments"]}
            middle = [
                {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]},
                {"type": "response.function_call_arguments.done", **given},
            ]
            open_item["arguments"] = ""
        events.append({"type": "response.output_item.added", "output_index": position, "item": open_item})
        events += middle
        events.append({"type": "response.output_item.done", "output_index": position, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _anthropic_events(call: ModelCall, answer: ModelAnswer, saying: Saying) -> list[dict[str, Json]]:
    head = {**_anthropic_head(call, answer), "content": [], "stop_reason": None}
    events: list[dict[str, Json]] = [{"type": "message_start", "message": head}]
    for index, block in enumerate(dicts(_blocks(saying))):
        if block["type"] == "text":
            start: dict[str, Json] = {"type": "text", "text": ""}
            delta: dict[str, Json] = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": _text(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    end: dict[str, Json] = {"stop_reason": _reason("anthropic", saying), "stop_sequence": None}
    usage: dict[str, Json] = {"output_tokens": answer.tokens.output or 0}
    return [*events, {"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]
