"""OpenAI's Responses API: items instead of messages, and a stream that ends with the whole answer.

Source of the format: the API reference of OpenAI, `POST /responses`, and its client's types.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt.providers.anthropic import OWN_BLOCKS
from agent_tt.providers.chat_form import compact, note, text_of
from agent_tt.providers.loose import boolean, count, dicts, items, mapping, parse_arguments, text, without
from agent_tt.providers.openai_chat import is_system, with_first
from agent_tt.providers.provider import Provider, Request
from agent_tt.providers.shapes import Asked, Json, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Reply

__all__ = ["OpenAIResponses", "messages_of", "offered_tool"]

_WHOLE: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "mcp_call"})
_GIVEN: Final = ("arguments", "input", "action", "queries", "operation", "code")
"""Where the items of tools have what they are given."""
_RUN_BY_THE_AGENT: Final = ("function", "custom", "computer", "local_shell", "shell", "apply_patch")
"""How the types of tools begin that the provider does not run itself."""
_CHARGED: Final = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"})
"""Tools that the provider runs itself, and charges for beside the tokens."""
_ITEMS: Final = ("message", "reasoning")


class OpenAIResponses(Provider):
    """Responses: items of several kinds, and a conversation that the provider may keep."""

    PATHS = ("/responses",)
    MEASURES: ClassVar = {"/input_tokens": (frozenset({"input"}),)}
    ENDS: ClassVar = _WHOLE | {"error"}

    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request."""
        body = request.body
        asks = "input" in body or "prompt" in body or "previous_response_id" in body
        if request.last != "responses" or not asks or not ("model" in body or "prompt" in body):
            return None
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
            model=text(body.get("model")),
            streamed=boolean(body.get("stream")),
            messages=(*system, *messages_of(turns)),
            tools=tuple(offered_tool(tool) for tool in dicts(body.get("tools"))),
            parameters=without(body, "model", "input", "instructions", "tools"),
            conversation=conversation,
            turns="input",
            answer_key="previous_response_id",
            kept_key="conversation",
        )

    def read_message(self, request: Request) -> ModelCall | None:
        """Read a message over a WebSocket: a request, with a type and the stream that it is on."""
        if text(request.body.get("type")) != "response.create":
            return None
        call = self.read_request(replace(request, body=without(request.body, "type", "stream_id")))
        return None if call is None else replace(call, streamed=True)

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: one object, or the events of a stream."""
        answer = _joined(pieces.events) if pieces.streamed else pieces.whole
        output = dicts(answer.get("output"))
        incomplete = text(mapping(answer.get("incomplete_details")).get("reason"))
        return ModelAnswer(
            messages=tuple(messages_of(output)),
            turns=tuple(output),
            model=text(answer.get("model")),
            finish_reason=incomplete or text(answer.get("status")),
            tokens=_tokens(mapping(answer.get("usage")), output),
            tier=text(answer.get("service_tier")),
            error=text(mapping(answer.get("error")).get("message")),
            id=text(answer.get("id")),
        )

    def read_turn(self, turn: dict[str, Json]) -> Sequence[Message] | None:
        """Read an item: a message that says that it is one, a thought, a call or its result."""
        kind = text(turn.get("type"))
        if any(text(block.get("type")) in OWN_BLOCKS for block in dicts(turn.get("content"))):
            return None  # an answer of Anthropic's, which says that it is a message, too
        return messages_of([turn]) if kind in _ITEMS or kind.endswith(("_call", "_call_output")) else None

    def with_system(self, body: Mapping[str, Json], prompt: str) -> dict[str, Json] | None:
        """The instructions, or the first item where that is the system's."""
        given = items(body.get("input"))
        if body.get("instructions") is None and is_system(given):
            return {**body, "input": with_first(given, prompt)}
        return {**body, "instructions": prompt}

    def parameter(self, body: Mapping[str, Json], name: str) -> tuple[str, ...]:
        """The limit has a name of its own."""
        del body
        return ("max_output_tokens",) if name == "max_tokens" else (name,)

    def write_answer(
        self, call: ModelCall, recorded: dict[str, Json], answer: ModelAnswer, reply: Reply
    ) -> dict[str, Json] | None:
        """A message, and an item for each call."""
        head = {**_head(call, answer), **recorded}
        return {**head, "status": "completed", "error": None, "output": _output(reply, answer)}

    def write_stream(self, call: ModelCall, answer: ModelAnswer, reply: Reply) -> Sequence[dict[str, Json]] | None:
        """Each item begins, comes in one piece, and ends; the last event holds the whole."""
        whole = self.write_answer(call, {}, answer, reply) or {}
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


def messages_of(turns: list[dict[str, Json]]) -> list[Message]:
    """Read items as messages; reasoning and calls that follow one another become one message of the model."""
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
    is_hosted = not kind.startswith(_RUN_BY_THE_AGENT)
    return Asked(text(turn.get("call_id")) or text(turn.get("id")), name, parse_arguments(given), is_hosted=is_hosted)


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


def offered_tool(tool: dict[str, Json]) -> OfferedTool:
    """Read a tool that is offered to the model."""
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


# ---------------------------------------------------------------- written


def _head(call: ModelCall, answer: ModelAnswer) -> dict[str, Json]:
    read, wrote = answer.tokens.input or 0, answer.tokens.output or 0
    usage: Json = {
        "input_tokens": read,
        "output_tokens": wrote,
        "total_tokens": read + wrote,
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
        "usage": usage,
    }


def _output(reply: Reply, answer: ModelAnswer) -> list[Json]:
    found: list[Json] = []
    if reply.text or not reply.calls:
        words: Json = {"type": "output_text", "text": reply.text, "annotations": []}
        ident = f"msg_{(answer.id or 'edited').removeprefix('resp_')}"
        found.append({"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [words]})
    found += [
        {
            "id": f"fc_{id_}",
            "type": "function_call",
            "call_id": id_,
            "name": name,
            "arguments": compact(given),
            "status": "completed",
        }
        for id_, name, given in reply.calls
    ]
    return found
