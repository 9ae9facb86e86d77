"""Messages in spans of OpenTelemetry, by whichever convention, as turns of a chat in the form of OpenAI."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.spans import parsed
from agent_tt.providers.loose import dicts, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.providers.shapes import Json

__all__ = ["listed", "messages_of"]

_EVENT: Final = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_FLAT: Final = re.compile(
    r"(?:llm\.(?P<way>in|out)put_messages\.(?P<at>\d{1,6})\.message|gen_ai\.(?P<word>prompt|completion)\.(?P<n>\d{1,6}))"
    r"\.(?P<rest>.+)"
)
_CALLED: Final = re.compile(r"tool_calls\.(\d{1,4})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)")
_PART: Final = re.compile(r"contents\.\d{1,4}\.message_content\.text")


def messages_of(span: Span) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """What a model was shown, and what it said."""
    shown, said = (listed(span.says.get(f"gen_ai.{way}.messages")) for way in ("input", "output"))
    system = parsed(span.says.get("gen_ai.system_instructions"))
    if isinstance(system, list) and shown and shown[0].get("role") != "system":
        shown = [{"role": "system", "content": _words(system)}, *shown]
    if not shown and not said:
        shown, said = _of_flat(span.says)
    if not shown and not said:
        shown, said = _of_ai_sdk(span.says)
    if not shown and not said:
        shown, said = _of_events(span.events)
    return shown, said


def listed(value: Json) -> list[dict[str, Json]]:
    """Messages with parts, as OpenTelemetry's conventions have them, as turns of a chat."""
    return [turn for message in dicts(parsed(value)) for turn in _turns(message)]


def _turns(message: dict[str, Json]) -> Iterator[dict[str, Json]]:
    parts = dicts(message.get("parts"))
    if not parts:
        yield message
        return
    calls: list[Json] = [
        {"id": part.get("id"), "type": "function",
         "function": {"name": part.get("name"), "arguments": part.get("arguments")}}
        for part in parts if part.get("type") == "tool_call"
    ]  # fmt: skip
    results = [part for part in parts if part.get("type") == "tool_call_response"]
    thoughts = "\n".join(text(part.get("content")) for part in parts if part.get("type") in ("reasoning", "thinking"))
    words = _words(parts)
    if words or calls or thoughts or not results:
        turn: dict[str, Json] = {"role": text(message.get("role")) or "user", "content": words or None}
        if thoughts:
            turn["reasoning_content"] = thoughts
        yield turn | ({"tool_calls": calls} if calls else {})
    for part in results:
        given = part.get("response", part.get("result"))
        yield {"role": "tool", "tool_call_id": part.get("id"), "content": given}


def _words(parts: Sequence[Json]) -> str:
    texts = [text(part.get("content")) for part in dicts([*parts]) if part.get("type") == "text"]
    return "\n".join(filter(None, texts))


def _of_flat(says: Mapping[str, Json]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Messages whose fields are attributes of their own, with their places in the names."""
    found: dict[str, dict[int, dict[str, Json]]] = {"in": {}, "out": {}}
    calls: dict[tuple[str, int], dict[int, dict[str, Json]]] = {}
    for key, value in says.items():
        named = _FLAT.fullmatch(key)
        if named is None:
            continue
        way = named["way"] or ("in" if named["word"] == "prompt" else "out")
        at = int(named["at"] or named["n"])
        message = found[way].setdefault(at, {"role": "user" if way == "in" else "assistant", "content": None})
        called = _CALLED.fullmatch(named["rest"])
        if called is not None:
            calls.setdefault((way, at), {}).setdefault(int(called[1]), {})[called[2]] = value
        elif named["rest"] in ("role", "content", "name", "tool_call_id", "finish_reason"):
            message[named["rest"]] = value
        elif _PART.fullmatch(named["rest"]) and isinstance(value, str):
            message["content"] = "\n".join(filter(None, (text(message["content"]), value)))
    for (way, at), asked in calls.items():
        found[way][at]["tool_calls"] = [
            {"id": call.get("id"), "type": "function",
             "function": {"name": call.get("name"), "arguments": call.get("arguments")}}
            for _, call in sorted(asked.items())
        ]  # fmt: skip
    shown, said = ([message for _, message in sorted(found[way].items())] for way in ("in", "out"))
    return shown, said


def _of_ai_sdk(says: Mapping[str, Json]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Messages as Vercel's AI SDK has them, as turns of a chat."""
    shown: list[dict[str, Json]] = []
    for message in dicts(parsed(says.get("ai.prompt.messages"))):
        parts = dicts(message.get("content"))
        results = [part for part in parts if part.get("type") == "tool-result"]
        for part in results:
            given = part.get("output", part.get("result"))
            content = mapping(given).get("value", given)
            shown.append({"role": "tool", "tool_call_id": part.get("toolCallId"), "content": content})
        if not results:
            words = "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text")
            called = [part for part in parts if part.get("type") == "tool-call"]
            shown.append({**message, "content": words or None, **_sdk_calls(called)} if parts else message)
    called = dicts(parsed(says.get("ai.response.toolCalls")))
    words = text(says.get("ai.response.text")) or text(says.get("ai.response.object"))
    said: dict[str, Json] = {"role": "assistant", "content": words or None, **_sdk_calls(called)}
    return shown, [said] if words or called else []


def _sdk_calls(called: Sequence[dict[str, Json]]) -> dict[str, Json]:
    calls: list[Json] = [
        {"id": call.get("toolCallId"), "type": "function",
         "function": {"name": call.get("toolName"), "arguments": call.get("input", call.get("args"))}}
        for call in called
    ]  # fmt: skip
    return {"tool_calls": calls} if calls else {}


def _of_events(events: Sequence[tuple[str, dict[str, Json]]]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
    """Messages in events of the span, as older conventions have them."""
    shown: list[dict[str, Json]] = []
    said: list[dict[str, Json]] = []
    for name, says in events:
        named = _EVENT.fullmatch(name)
        if named is not None:
            content = says.get("content", says.get("gen_ai.event.content"))
            message: dict[str, Json] = {"role": named[1], "content": content}
            calls = parsed(says.get("tool_calls"))
            message |= {"tool_calls": calls} if isinstance(calls, list) else {}
            message |= {"tool_call_id": says["id"]} if named[1] == "tool" and "id" in says else {}
            shown.append(message)
        elif name == "gen_ai.choice":
            inner = mapping(parsed(says.get("message"))) or says
            said.append({"role": "assistant", "content": inner.get("content"), "tool_calls": inner.get("tool_calls")})
        elif name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            key = name.replace("content.", "")
            (shown if key.endswith("prompt") else said).extend(dicts(parsed(says.get(key))))
    return shown, said
