"""Conversations in the form in which OpenAI takes examples for fine-tuning of chat models, with tools.

A line is `{"messages": […], "tools": […]}`, with `parallel_tool_calls` where it was asked for. Source of the form:
<https://platform.openai.com/docs/guides/supervised-fine-tuning>. A conversation that goes on in a later call is written
once, as it was at last: what the model was shown, and what it said to that.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Final

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.exporting.export import Export
from agent_tt.providers.model_talk import ModelTalks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.exporting.export import Exported
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.providers.model_talk import ModelTalk
    from agent_tt.providers.shapes import Json, Message, OfferedTool

__all__ = ["OpenAIExamples"]

_ROLES: Final = {
    "AIMessageChunk": "assistant", "ai": "assistant", "assistant": "assistant", "model": "assistant",
    "developer": "system", "system": "system",
    "human": "user", "user": "user",
    "function": "tool", "tool": "tool",
}  # fmt: skip

_NOTE: Final = re.compile(r"(?m)^\[(?!thinking\])[a-z_]+( [^\[\]\n]+)?\]$")
"""How a part of a message that is no text stands in its text."""


class OpenAIExamples(Export):
    """Each conversation with a model as an example for fine-tuning."""

    SUFFIXES: ClassVar = (".openai.jsonl",)
    HELP: ClassVar = "JSON Lines of conversations, for fine-tuning of OpenAI's chat models."
    IS_TEXT: ClassVar = True

    def write(self, exported: Exported, path: Path) -> str | None:
        """Write a line for each conversation."""
        left_out = Counter[str]()
        with path.open("wb") as file:
            for run in exported.runs:
                for conversation in _conversations(exported.source, run):
                    example = _example(conversation, left_out)
                    if example is not None:
                        file.write(orjson.dumps(example, option=orjson.OPT_APPEND_NEWLINE))
        words = [f"{what}: {count:,}" for what, count in sorted(left_out.items()) if count]
        return "left out: " + "; ".join(words) if words else None


@dataclass
class _Conversation:
    """What was said up to the last answer that is known."""

    said: list[Message] = field(default_factory=list)
    tools: Sequence[OfferedTool] = ()
    parallel: Json = None
    unread: int = 0


def _conversations(source: RunSource, run: Run) -> Iterator[_Conversation]:
    """Yield the conversations of a run that no other one of it goes on from."""
    found: list[_Conversation] = []
    talks = ModelTalks()
    for step in source.steps(run.id):
        for call in source.calls(run.id, step.number) if step.calls else ():
            if call.kind == "llm" and call.status == "ok":
                _take_in(found, talks.of(call))
    yield from found


def _take_in(found: list[_Conversation], talk: ModelTalk) -> None:
    if not talk.said:
        return
    said = [*talk.shown, *talk.said]
    parallel = talk.request.parameters.get("parallel_tool_calls")
    whole = _Conversation(said, talk.request.tools, parallel, talk.unread)
    for place in reversed(range(len(found))):
        before = found[place].said
        if len(before) <= len(said) and before[-1] == said[len(before) - 1] and before == said[: len(before)]:
            found[place] = whole
            return
    found.append(whole)


def _example(conversation: _Conversation, left_out: Counter[str]) -> dict[str, Json] | None:
    """The line of a conversation; None where it is none that can be learnt from, which is counted."""
    if any(_NOTE.search(message.text) for message in conversation.said):
        left_out["conversations with pictures or files"] += 1
        return None
    if conversation.unread or any(message.role not in _ROLES for message in conversation.said):
        left_out["conversations with a message of unknown form"] += 1
        return None
    written = [*_messages(conversation.said, left_out)]
    if not written or written[-1]["role"] != "assistant":
        left_out["conversations without an answer in words or calls"] += 1
        return None
    example: dict[str, Json] = {"messages": [*written]}
    tools = [tool for tool in conversation.tools if not tool.is_hosted]
    if len(tools) < len(conversation.tools):
        left_out["tools that the provider runs itself"] += len(conversation.tools) - len(tools)
    if tools:
        example["tools"] = [{"type": "function", "function": _function(tool)} for tool in tools]
        if isinstance(conversation.parallel, bool):
            example["parallel_tool_calls"] = conversation.parallel
    return example


def _function(tool: OfferedTool) -> dict[str, Json]:
    said: dict[str, Json] = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {name: value for name, value in said.items() if value not in (None, "")}


def _messages(said: Sequence[Message], left_out: Counter[str]) -> Iterator[dict[str, Json]]:
    """The messages of an example: an answer, then the result of each call of it, as the form wants them."""
    place = 0
    while place < len(said):
        message = said[place]
        place += 1
        role = _ROLES[message.role]
        if role == "tool" or message.answers:
            left_out["results of no call"] += 1
            continue
        if role != "assistant":
            yield {"role": role, "content": message.text}
            continue
        spoken = [message]  # what a provider gives as several items is one answer here
        while place < len(said) and _ROLES[said[place].role] == "assistant" and not said[place].answers:
            spoken.append(said[place])
            place += 1
        results: dict[str, Message] = {}
        first = place
        while place < len(said) and said[place].answers and said[place].answers not in results:
            results[said[place].answers] = said[place]
            place += 1
        yield from _answer(spoken, results, left_out, is_last=first == len(said))


def _answer(
    spoken: Sequence[Message], results: dict[str, Message], left_out: Counter[str], *, is_last: bool
) -> Iterator[dict[str, Json]]:
    left_out.update({"messages' reasoning": sum(bool(message.reasoning) for message in spoken)})
    asked = [call for message in spoken for call in message.calls]
    calls = [call for call in asked if call.id and not call.is_hosted and (is_last or call.id in results)]
    left_out.update({"tool calls without a result": len(asked) - len(calls)})
    text = "\n".join(message.text for message in spoken if message.text)
    if text or calls:
        answer: dict[str, Json] = {"role": "assistant"}
        if text:
            answer["content"] = text
        if calls:
            answer["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _text(call.arguments)}}
                for call in calls
            ]
        yield answer
    for call in calls:
        if call.id in results:
            yield {"role": "tool", "tool_call_id": call.id, "content": results.pop(call.id).text}
    left_out.update({"results of no call": len(results)})


def _text(arguments: Json) -> str:
    """Arguments as JSON in a text; what a model wrote in their place stays as it is."""
    return arguments if isinstance(arguments, str) else orjson.dumps({} if arguments is None else arguments).decode()
