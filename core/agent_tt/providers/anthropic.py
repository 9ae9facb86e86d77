"""Anthropic's messages, also as Vertex and Bedrock pass them on.

Source of the format: the API reference of Anthropic, `POST /v1/messages`, and its client's types.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from agent_tt.providers.chat_form import compact, text_of
from agent_tt.providers.loose import boolean, count, dicts, items, mapping, parse_arguments, text, without
from agent_tt.providers.provider import CLOUD_PATHS, Provider, Request
from agent_tt.providers.shapes import Asked, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Json, Reply

__all__ = ["OWN_BLOCKS", "Anthropic"]

_HOSTED = ("web_search", "web_fetch", "code_execution", "tool_search", "mcp")
"""How the types of tools begin that Anthropic runs itself; `bash`, `text_editor` and `computer` are the agent's."""
_ASKING = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_SAID_ONCE = ("system", "tools")
"""What a request that goes on with a thread leaves out: the server has it from the one that created the thread."""
OWN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"})
"""Types of blocks that no other provider has."""


class Anthropic(Provider):
    """Messages whose content is a list of blocks: text, thinking, tool calls, tool results."""

    PATHS = ("/messages", *CLOUD_PATHS)
    MEASURES: ClassVar = {"/count_tokens": (frozenset({"messages", "model"}),)}

    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request; a cloud names the model in the address, and the version in the body."""
        body = request.body
        if not request.messages:
            return None
        if request.cloud is not None:
            named, streamed = request.cloud
            return replace(_call(body), model=named, streamed=streamed) if "anthropic_version" in body else None
        return _call(body) if request.last == "messages" and "model" in body and "max_tokens" in body else None

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: one object, or the events of a stream."""
        answer = _joined(pieces.events) if pieces.streamed else pieces.whole
        turn: dict[str, Json] = {"role": text(answer.get("role")) or "assistant", "content": answer.get("content")}
        content = items(answer.get("content"))
        usage = mapping(answer.get("usage"))
        return ModelAnswer(
            messages=tuple(_messages(turn)) if content else (),
            turns=(turn,) if content else (),
            model=text(answer.get("model")),
            finish_reason=text(answer.get("stop_reason")),
            tokens=_tokens(usage),
            tier="fast" if usage.get("speed") == "fast" else text(usage.get("service_tier")),
            error=text(mapping(answer.get("error")).get("message")),
            id=text(answer.get("id")),
        )

    def read_turn(self, turn: dict[str, Json]) -> Sequence[Message] | None:
        """Read a message with blocks that only Anthropic has."""
        blocks = dicts(turn.get("content"))
        return _messages(turn) if any(text(block.get("type")) in OWN_BLOCKS for block in blocks) else None

    def with_system(self, body: Mapping[str, Json], prompt: str) -> dict[str, Json] | None:
        """The system prompt stands beside the messages."""
        return {**body, "system": prompt}

    def write_answer(
        self, call: ModelCall, recorded: dict[str, Json], answer: ModelAnswer, reply: Reply
    ) -> dict[str, Json] | None:
        """A message with a block of text, and one for each call."""
        said: dict[str, Json] = {"content": _blocks(reply), "stop_reason": _reason(reply)}
        return {**_head(call, answer), **recorded, **said}

    def write_stream(self, call: ModelCall, answer: ModelAnswer, reply: Reply) -> Sequence[dict[str, Json]] | None:
        """Each block begins, comes in one piece, and ends."""
        head = {**_head(call, answer), "content": [], "stop_reason": None}
        events: list[dict[str, Json]] = [{"type": "message_start", "message": head}]
        for index, block in enumerate(dicts(_blocks(reply))):
            if block["type"] == "text":
                start: dict[str, Json] = {"type": "text", "text": ""}
                delta: dict[str, Json] = {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": compact(block["input"])}
            events += [
                {"type": "content_block_start", "index": index, "content_block": start},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        end: dict[str, Json] = {"stop_reason": _reason(reply), "stop_sequence": None}
        usage: dict[str, Json] = {"output_tokens": answer.tokens.output or 0}
        return [*events, {"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]


def _call(body: dict[str, Json]) -> ModelCall:
    system = text_of(body.get("system"))
    thread = mapping(body.get("thread"))
    # With a thread only the first request says what its tools are, as it does with the system prompt.
    keys = ("system", *(("tools", "thread") if thread else ()), "previous_message_id", "conversation")
    conversation: dict[str, Json] = {key: body[key] for key in keys if body.get(key) is not None}
    conversation["messages"] = items(body.get("messages"))
    messages = [read for message in dicts(body.get("messages")) for read in _messages(message)]
    return ModelCall(
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=(*((Message("system", system),) if system else ()), *messages),
        tools=tuple(_tool(tool) for tool in dicts(body.get("tools"))),
        parameters=without(body, "model", "system", "messages", "tools"),
        conversation=conversation,
        turns="messages",
        answer_key="thread" if thread else "previous_message_id",
        kept_key="conversation",
        kept_beside=_SAID_ONCE if thread else (),
        begins_anew={"type": "create"} if thread else None,
    )


def _messages(message: dict[str, Json]) -> list[Message]:
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
        Asked(
            text(block.get("id")),
            text(block.get("name")),
            parse_arguments(block.get("input")),
            is_hosted=text(block.get("type")) != "tool_use",
        )
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


# ---------------------------------------------------------------- written


def _head(call: ModelCall, answer: ModelAnswer) -> dict[str, Json]:
    return {
        "id": answer.id or "msg_edited",
        "type": "message",
        "role": "assistant",
        "model": answer.model or call.model,
        "stop_sequence": None,
        "usage": {"input_tokens": answer.tokens.input or 0, "output_tokens": answer.tokens.output or 0},
    }


def _blocks(reply: Reply) -> list[Json]:
    words: list[Json] = [{"type": "text", "text": reply.text}] if reply.text or not reply.calls else []
    asked: list[Json] = [
        {"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in reply.calls
    ]
    return [*words, *asked]


def _reason(reply: Reply) -> str:
    return "tool_use" if reply.calls else "end_turn"
