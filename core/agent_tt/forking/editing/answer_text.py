"""What a model said in a recorded call, in the form in which a person edits it: that of `--answer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agent_tt.codec.paths import get, parse_path, to_wire_path
from agent_tt.codec.wire import envelope_type
from agent_tt.errors import PathNotFound
from agent_tt.providers.chat_form import message_of
from agent_tt.providers.reading import recorded_answer, recorded_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt.providers.shapes import Asked, Json

__all__ = ["answer_of", "message_in"]


def answer_of(call: Call) -> Wire:
    """The answer of a model call: its words, its tool calls, or `{"text": …, "tool_calls": […]}` for both.

    What `with_recorded_values` takes as the value of an edit of the call's `answer`. A function's result that holds no
    message is given as it is; None where nothing came back.
    """
    request = recorded_call(call.args)
    if request is not None:
        answer = recorded_answer(request, call.result)
        words = "\n".join(message.text for message in answer.messages if message.text)
        return _form(words, [asked for message in answer.messages for asked in message.calls])
    way = message_in(call.result)
    if way is None:
        return call.result
    message = message_of(cast("dict[str, Json]", get(call.result, to_wire_path(call.result, parse_path(way)))))
    return _form(message.text, message.calls)


def message_in(result: Wire) -> str | None:
    """The way to the message in what a function returned, in the forms that are common."""
    for way in ("", "message", "choices[0].message"):
        try:
            found = get(result, to_wire_path(result, parse_path(way)))
        except PathNotFound:
            continue
        if isinstance(found, dict) and envelope_type(found) is None and "role" in found:
            return way
    return None


def _form(words: str, asked: Sequence[Asked]) -> Wire:
    if not asked:
        return words
    calls: list[Wire] = [{"name": each.name, "arguments": each.arguments} for each in asked]
    return {"text": words, "tool_calls": calls} if words else calls
