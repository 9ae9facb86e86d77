"""OpenAI's Responses API: items instead of messages, and a stream that ends with the whole answer.

Source of the format: the API reference of OpenAI, `POST /responses`, and its client's types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.content import note, text_of
from agent_tt.providers.loose import boolean, count, dicts, items, mapping, parse_arguments, text, without
from agent_tt.providers.shapes import Asked, Json, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["item_messages", "responses_answer", "responses_call"]

_WHOLE: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "mcp_call"})
_GIVEN: Final = ("arguments", "input", "action", "queries", "operation", "code")
"""Where the items of tools have what they are given."""
_RUN_BY_THE_AGENT: Final = ("function", "custom", "computer", "local_shell", "shell", "apply_patch")
"""How the types of tools begin that the provider does not run itself."""
_CHARGED: Final = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"})
"""Tools that the provider runs itself, and charges for beside the tokens."""


def responses_call(body: dict[str, Json]) -> ModelCall:
    """Read a request."""
    given = body.get("input")
    instructions = text(body.get("instructions"))
    system = [Message("system", instructions)] if instructions else []
    said: list[Json] = [{"role": "user", "content": given}] if isinstance(given, str) else items(given)
    turns = dicts(said)
    conversation: dict[str, Json] = {"input": said}
    for key in ("instructions", "previous_response_id", "conversation", "prompt"):
        if body.get(key) is not None:
            conversation = {key: body[key], **conversation}
    return ModelCall(
        api="openai-responses",
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=(*system, *item_messages(turns)),
        tools=tuple(_tool(tool) for tool in dicts(body.get("tools"))),
        parameters=without(body, "model", "input", "instructions", "tools"),
        conversation=conversation,
        turns="input",
    )


def responses_answer(values: Sequence[Json], *, streamed: bool) -> ModelAnswer:
    """Read an answer: one object, or the events of a stream."""
    answer = _joined(dicts(list(values))) if streamed else mapping(values[0]) if values else {}
    output = dicts(answer.get("output"))
    incomplete = text(mapping(answer.get("incomplete_details")).get("reason"))
    return ModelAnswer(
        messages=tuple(item_messages(output)),
        turns=tuple(output),
        model=text(answer.get("model")),
        finish_reason=incomplete or text(answer.get("status")),
        tokens=_tokens(mapping(answer.get("usage")), output),
        error=text(mapping(answer.get("error")).get("message")),
        id=text(answer.get("id")),
    )


def item_messages(turns: list[dict[str, Json]]) -> list[Message]:
    """Items as messages; reasoning and calls that follow one another become one message of the model."""
    found: list[Message] = []
    thought = ""
    for turn in turns:
        kind = text(turn.get("type")) or "message"
        if kind == "reasoning":
            thought = "\n".join(filter(None, (thought, _reasoning(turn))))
            continue
        if kind == "message":
            role = text(turn.get("role")) or "assistant"
            found.append(Message(role, text_of(turn.get("content")), thought if role == "assistant" else ""))
            thought = thought if role != "assistant" else ""
        elif kind.endswith("_output"):
            found.append(Message("tool", text_of(turn.get("output")), answers=text(turn.get("call_id"))))
        elif kind == "mcp_approval_request":
            asked = _asked(turn, kind)
            found.append(Message("assistant", f"[asks for approval of {asked.name}]", thought, (asked,)))
            thought = ""
        elif kind in _CALLS or kind.endswith("_call"):
            asked = _asked(turn, kind)
            last = found[-1] if found else None
            if last is not None and last.role == "assistant" and not thought:
                found[-1] = Message("assistant", last.text, last.reasoning, (*last.calls, asked))
            else:
                found.append(Message("assistant", "", thought, (asked,)))
            thought = ""
            came_back = _came_back(turn)
            if came_back:
                found.append(Message("tool", came_back, answers=asked.id))
        else:
            found.append(
                Message(text(turn.get("role")) or "assistant", text_of(turn.get("content")) or _note(turn, kind))
            )
    if thought:
        found.append(Message("assistant", "", thought))
    return found


def _asked(turn: dict[str, Json], kind: str) -> Asked:
    """A call of the agent's tools, or of one that the provider runs itself (`web_search_call` and others)."""
    given = next((turn[key] for key in _GIVEN if turn.get(key) is not None), None)
    name = text(turn.get("name")) or kind.removesuffix("_call")
    return Asked(text(turn.get("call_id")) or text(turn.get("id")), name, parse_arguments(given))


def _came_back(turn: dict[str, Json]) -> str:
    """What a tool gave that the provider ran itself: it stands in the same item as the call."""
    failed = turn.get("error")
    parts = [turn.get("output"), turn.get("outputs"), text(mapping(failed).get("message")) or text(failed)]
    found = [text_of(part) for part in parts]
    if isinstance(turn.get("result"), str):
        found.append(note("image", {"data": turn["result"], "format": turn.get("output_format")}))
    return "\n".join(filter(None, found))


def _note(turn: dict[str, Json], kind: str) -> str:
    """An item that says nothing itself, in brackets: tools that a server has, a conversation made shorter, …."""
    names = [text(tool.get("name")) for tool in dicts(turn.get("tools"))]
    said = ", ".join(filter(None, (text(turn.get("server_label")), text(turn.get("id")) if not names else "", *names)))
    return f"[{kind.replace('_', ' ')}{' ' if said else ''}{said}]"


def _reasoning(turn: dict[str, Json]) -> str:
    parts = [*dicts(turn.get("summary")), *dicts(turn.get("content"))]
    return "\n".join(text(part.get("text")) for part in parts)


def _tool(tool: dict[str, Json]) -> OfferedTool:
    kind = text(tool.get("type"))
    name = text(tool.get("name")) or text(tool.get("server_label")) or kind
    is_hosted = bool(kind) and not kind.startswith(_RUN_BY_THE_AGENT)
    return OfferedTool(name, text(tool.get("description")), tool.get("parameters"), is_hosted=is_hosted)


def _tokens(usage: dict[str, Json], output: list[dict[str, Json]]) -> Tokens:
    read, wrote = mapping(usage.get("input_tokens_details")), mapping(usage.get("output_tokens_details"))
    return Tokens(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cached=count(read.get("cached_tokens")) or 0,
        written=count(read.get("cache_write_tokens")) or 0,
        reasoning=count(wrote.get("reasoning_tokens")) or 0,
        services=sum(text(item.get("type")) in _CHARGED for item in output),
    )


def _joined(events: list[dict[str, Json]]) -> dict[str, Json]:
    """The answer as the last event has it; of a stream that ended early, what its items came to."""
    answer: dict[str, Json] = {}
    output: dict[int, dict[str, Json]] = {}
    for event in events:
        kind = text(event.get("type"))
        if isinstance(event.get("response"), dict):
            answer = mapping(event["response"])
            if kind in _WHOLE:
                return answer
        position = count(event.get("output_index"))
        if kind == "error":
            answer = {**answer, "error": event}
        elif position is None:
            continue
        elif isinstance(event.get("item"), dict):
            output[position] = mapping(event["item"])
        else:
            _add(output.setdefault(position, {}), kind, text(event.get("delta")))
    return {**answer, "output": [output[position] for position in sorted(output)]} if output else answer


def _add(item: dict[str, Json], kind: str, piece: str) -> None:
    match kind:
        case "response.output_text.delta" | "response.refusal.delta":
            content = dicts(item.get("content"))
            before = text(content[0].get("text")) if content else ""
            item["content"] = [{"type": "output_text", "text": before + piece}]
        case "response.function_call_arguments.delta" | "response.mcp_call_arguments.delta":
            item["arguments"] = text(item.get("arguments")) + piece
        case "response.custom_tool_call_input.delta":
            item["input"] = text(item.get("input")) + piece
        case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
            summary = dicts(item.get("summary"))
            before = text(summary[0].get("text")) if summary else ""
            item["summary"] = [{"type": "summary_text", "text": before + piece}]
