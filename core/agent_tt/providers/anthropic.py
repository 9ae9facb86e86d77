"""Anthropic's messages, also as Vertex and Bedrock pass them on.

Source of the format: the API reference of Anthropic, `POST /v1/messages`, and its client's types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.providers.content import text_of
from agent_tt.providers.loose import boolean, count, dicts, items, mapping, parse_arguments, text, without
from agent_tt.providers.shapes import Asked, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.providers.shapes import Json

__all__ = ["anthropic_answer", "anthropic_call", "turn_messages"]

_HOSTED = ("web_search", "web_fetch", "code_execution", "tool_search", "mcp")
"""How the types of tools begin that Anthropic runs itself; `bash`, `text_editor` and `computer` are the agent's."""
_ASKING = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def anthropic_call(body: dict[str, Json]) -> ModelCall:
    """Read a request."""
    system = text_of(body.get("system"))
    conversation: dict[str, Json] = {} if body.get("system") is None else {"system": body["system"]}
    for key in ("previous_message_id", "conversation"):
        if body.get(key) is not None:
            conversation[key] = body[key]
    conversation["messages"] = items(body.get("messages"))
    messages = [read for message in dicts(body.get("messages")) for read in turn_messages(message)]
    return ModelCall(
        api="anthropic",
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=(*((Message("system", system),) if system else ()), *messages),
        tools=tuple(_tool(tool) for tool in dicts(body.get("tools"))),
        parameters=without(body, "model", "system", "messages", "tools"),
        conversation=conversation,
        turns="messages",
    )


def anthropic_answer(values: Sequence[Json], *, streamed: bool) -> ModelAnswer:
    """Read an answer: one object, or the events of a stream."""
    answer = _joined(dicts(list(values))) if streamed else mapping(values[0]) if values else {}
    turn: dict[str, Json] = {"role": text(answer.get("role")) or "assistant", "content": answer.get("content")}
    content = items(answer.get("content"))
    return ModelAnswer(
        messages=tuple(turn_messages(turn)) if content else (),
        turns=(turn,) if content else (),
        model=text(answer.get("model")),
        finish_reason=text(answer.get("stop_reason")),
        tokens=_tokens(mapping(answer.get("usage"))),
        error=text(mapping(answer.get("error")).get("message")),
        id=text(answer.get("id")),
    )


def turn_messages(message: dict[str, Json]) -> list[Message]:
    """One message; each result of a tool in it is a message of its own, in its place."""
    content = message.get("content")
    role = text(message.get("role"))
    if not isinstance(content, list):
        return [Message(role, text_of(content))]
    found: list[Message] = []
    blocks: list[Json] = []
    for block in content:
        if text(mapping(block).get("type")).endswith("tool_result"):
            found += _said(role, blocks)
            blocks = []
            found.append(Message("tool", text_of(block), answers=text(mapping(block).get("tool_use_id"))))
        else:
            blocks.append(block)
    return [*found, *_said(role, blocks)] or [Message(role)]


def _said(role: str, blocks: list[Json]) -> list[Message]:
    """What blocks between results of tools say, as one message; none where they say nothing."""
    calls = tuple(
        Asked(text(block.get("id")), text(block.get("name")), parse_arguments(block.get("input")))
        for block in dicts(blocks)
        if text(block.get("type")) in _ASKING
    )
    said, thought = text_of(blocks), "\n".join(filter(None, (_thinking(block) for block in dicts(blocks))))
    return [Message(role, said, thought, calls)] if said or calls or thought else []


def _thinking(block: dict[str, Json]) -> str:
    kind = text(block.get("type"))
    return "[redacted thinking]" if kind == "redacted_thinking" else text(block.get("thinking"))


def _tool(tool: dict[str, Json]) -> OfferedTool:
    kind = text(tool.get("type"))
    name = text(tool.get("name")) or kind
    schema = tool.get("input_schema")
    is_hosted = schema is None and kind.startswith(_HOSTED)
    return OfferedTool(name, text(tool.get("description")), schema, is_hosted=is_hosted)


def _tokens(usage: dict[str, Json]) -> Tokens:
    """Anthropic counts what was cached apart from `input_tokens`; here it is part of it."""
    fresh = count(usage.get("input_tokens"))
    cached = count(usage.get("cache_read_input_tokens")) or 0
    written = count(usage.get("cache_creation_input_tokens")) or 0
    of_an_hour = count(mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")) or 0
    details = mapping(usage.get("output_tokens_details"))
    return Tokens(
        input=None if fresh is None else fresh + cached + written,
        output=count(usage.get("output_tokens")),
        cached=cached,
        written=max(0, written - of_an_hour),
        written_1h=of_an_hour,
        reasoning=count(details.get("thinking_tokens")) or 0,
        services=count(mapping(usage.get("server_tool_use")).get("web_search_requests")) or 0,
    )


def _joined(events: list[dict[str, Json]]) -> dict[str, Json]:
    """The answer that the events of a stream add up to."""
    answer: dict[str, Json] = {}
    usage: dict[str, Json] = {}
    blocks: dict[int, dict[str, Json]] = {}
    for event in events:
        kind = text(event.get("type"))
        position = count(event.get("index")) or 0
        if kind == "message_start":
            answer = dict(mapping(event.get("message")))
            usage = dict(mapping(answer.get("usage")))
        elif kind == "content_block_start":
            blocks[position] = dict(mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            _add(blocks.setdefault(position, {"type": "text", "text": ""}), mapping(event.get("delta")))
        elif kind == "message_delta":
            answer.update(without(mapping(event.get("delta"))))
            usage.update(without(mapping(event.get("usage"))))
        elif kind == "error":
            answer["error"] = event.get("error")
    for block in blocks.values():
        pieces = block.pop("_json", None)
        if pieces is not None:
            block["input"] = parse_arguments(pieces)
    content: list[Json] = [blocks[position] for position in sorted(blocks)]
    return {**answer, "content": content or answer.get("content"), "usage": usage}


def _add(block: dict[str, Json], delta: dict[str, Json]) -> None:
    match text(delta.get("type")):
        case "text_delta":
            block["text"] = text(block.get("text")) + text(delta.get("text"))
        case "thinking_delta":
            block["thinking"] = text(block.get("thinking")) + text(delta.get("thinking"))
        case "signature_delta":
            block["signature"] = text(delta.get("signature"))
        case "input_json_delta":
            block["_json"] = text(block.get("_json")) + text(delta.get("partial_json"))
        case "citations_delta":
            block["citations"] = [*items(block.get("citations")), delta.get("citation")]
