"""A model's answer that a person changed, in its provider's own format, plain or streamed.

What was recorded of the answer (its id, its model, what was counted) stays; what the model says and asks for is new.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt.providers.chat_form import compact
from agent_tt.providers.loose import dicts, items, mapping, parse_arguments, text
from agent_tt.providers.reading import provider_of
from agent_tt.providers.shapes import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.providers.shapes import Asked, Json, ModelAnswer, ModelCall

__all__ = ["read_reply", "written_answer"]

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_ARGUMENTS: Final = ("arguments", "input", "args")


def read_reply(value: Json, before: Iterable[Asked] = ()) -> Reply | None:
    """What a person wrote for an answer; None where it is of none of the forms.

    Args:
        value: words; a list of tool calls `{"name", "arguments"}`; or both, `{"text", "tool_calls"}`. A message of
            OpenAI's form is one too.
        before: the calls that were asked for; theirs are the ids, by position.
    """
    if isinstance(value, str):
        return Reply(value)
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
    return Reply(words or "", tuple(calls))


def written_answer(
    call: ModelCall, recorded: Json, answer: ModelAnswer, reply: Reply, content_type: str
) -> tuple[str, bytes] | None:
    """The body of an answer, and its content type; None where this form cannot be written.

    Args:
        call: the request.
        recorded: the recorded body where that is one JSON object; of a stream anything else.
        answer: what was read of it.
        reply: what the model is to have said.
        content_type: of the recorded answer, without parameters.
    """
    provider = provider_of(call)
    if content_type != _EVENTS and (isinstance(recorded, dict) or not call.streamed):
        whole = provider.write_answer(call, mapping(recorded), answer, reply)
        return None if whole is None else (_JSON, compact(whole).encode())
    events = provider.write_stream(call, answer, reply)
    if events is None:
        return None
    if content_type == _JSON or isinstance(recorded, list):
        return _JSON, compact([*events]).encode()
    names = [f"event: {event['type']}\n" if event.get("type") else "" for event in events]
    lines = [f"{name}data: {compact(event)}\n\n" for name, event in zip(names, events, strict=True)]
    return _EVENTS, "".join([*lines, provider.STREAM_END]).encode()
