"""Amazon Bedrock's `converse` and `converse-stream`.

Source of the format: the API reference of Bedrock Runtime, `Converse` and `ConverseStream`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.providers.chat_form import compact, text_of
from agent_tt.providers.gemini import camel_case
from agent_tt.providers.loose import count, dicts, items, mapping, parse_arguments, text, without
from agent_tt.providers.provider import CLOUD_PATHS, Provider, Request
from agent_tt.providers.shapes import Asked, Json, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Reply

__all__ = ["Bedrock"]

_ADDRESS: Final = lazy_re(r"/model/([^/]+)/(converse|converse-stream)$")
_LIMITS: Final = frozenset({"maxTokens", "temperature", "topP", "stopSequences"})
_OWN: Final = frozenset({"toolUse", "toolResult", "reasoningContent"})
_EXCEPTIONS: Final = "Exception"


class Bedrock(Provider):
    """Converse: messages of untyped parts; also sent to models of Amazon's own by `invoke`."""

    PATHS = ("/converse", "/converse-stream", *CLOUD_PATHS)

    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request; its address says the model and whether the answer is streamed."""
        named, body = _ADDRESS.search(request.path), request.body
        if named is not None:
            return _call(body, named[1], streamed=named[2] == "converse-stream")
        if request.cloud is None or not request.messages:
            return None
        is_own = "inferenceConfig" in body or "schemaVersion" in body or _has_untyped_parts(request.messages)
        return _call(body, request.cloud[0], streamed=request.cloud[1]) if is_own else None

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: one object, or the events of a stream."""
        answer = _joined(pieces.events) if pieces.streamed else pieces.whole
        message = mapping(mapping(answer.get("output")).get("message"))
        usage = mapping(answer.get("usage"))
        cached, written = (count(usage.get(name)) or 0 for name in ("cacheReadInputTokens", "cacheWriteInputTokens"))
        fresh = count(usage.get("inputTokens"))
        return ModelAnswer(
            messages=tuple(_messages(message)) if message else (),
            turns=(message,) if message else (),
            finish_reason=text(answer.get("stopReason")),
            tokens=Tokens(
                input=None if fresh is None else fresh + cached + written,
                output=count(usage.get("outputTokens")),
                cached=cached,
                written=written,
            ),
            error=text(answer.get("message")),
        )

    def read_turn(self, turn: dict[str, Json]) -> Sequence[Message] | None:
        """Read a message with parts that only Amazon has."""
        return _messages(turn) if any(not _OWN.isdisjoint(part) for part in dicts(turn.get("content"))) else None

    def with_system(self, body: Mapping[str, Json], prompt: str) -> dict[str, Json] | None:
        """The system prompt is a list of parts."""
        return {**body, "system": [{"text": prompt}]}

    def parameter(self, body: Mapping[str, Json], name: str) -> tuple[str, ...]:
        """Limits stand in `inferenceConfig`."""
        del body
        known = camel_case(name)
        return ("inferenceConfig", known) if known in _LIMITS else (name,)

    def write_answer(
        self, call: ModelCall, recorded: dict[str, Json], answer: ModelAnswer, reply: Reply
    ) -> dict[str, Json] | None:
        """A message with a part for the text and one for each call."""
        del call, answer
        content: list[Json] = [{"text": reply.text}] if reply.text or not reply.calls else []
        content += [{"toolUse": {"toolUseId": id_, "name": name, "input": given}} for id_, name, given in reply.calls]
        told: Json = {"message": {"role": "assistant", "content": content}}
        return {**recorded, "output": told, "stopReason": "tool_use" if reply.calls else "end_turn"}

    def write_stream(self, call: ModelCall, answer: ModelAnswer, reply: Reply) -> None:
        """Nothing: these are frames with checksums, which are only read."""


def _has_untyped_parts(messages: list[dict[str, Json]]) -> bool:
    """Whether messages hold parts as Amazon writes them: `{"text": …}` without a type."""
    parts = [part for message in messages for part in dicts(message.get("content"))]
    return bool(parts) and not any("type" in part for part in parts)


def _call(body: dict[str, Json], model: str, *, streamed: bool) -> ModelCall:
    system = text_of(body.get("system"))
    conversation: dict[str, Json] = {} if body.get("system") is None else {"system": body["system"]}
    conversation["messages"] = items(body.get("messages"))
    messages = [read for message in dicts(body.get("messages")) for read in _messages(message)]
    offered = dicts(mapping(body.get("toolConfig")).get("tools"))
    return ModelCall(
        model=model,
        streamed=streamed,
        messages=(*((Message("system", system),) if system else ()), *messages),
        tools=tuple(_tool(mapping(tool.get("toolSpec"))) for tool in offered),
        parameters=without(body, "system", "messages", "toolConfig"),
        conversation=conversation,
        turns="messages",
    )


def _messages(message: dict[str, Json]) -> list[Message]:
    """One message; results of tools are messages of their own before the rest."""
    found: list[Message] = []
    said: list[str] = []
    thoughts: list[str] = []
    calls: list[Asked] = []
    for block in dicts(message.get("content")):
        used, result = mapping(block.get("toolUse")), mapping(block.get("toolResult"))
        if used:
            calls.append(Asked(text(used.get("toolUseId")), text(used.get("name")), used.get("input")))
        elif result:
            shown = "\n".join(_result(part) for part in dicts(result.get("content")))
            found.append(Message("tool", shown, answers=text(result.get("toolUseId"))))
        elif "reasoningContent" in block:
            thought = mapping(mapping(block["reasoningContent"]).get("reasoningText"))
            thoughts.append(text(thought.get("text")) or "[redacted thinking]")
        else:
            said.append(text_of(block))
    if said or thoughts or calls or not found:
        role = text(message.get("role")) or "assistant"
        found.append(Message(role, "\n".join(said), "\n".join(thoughts), tuple(calls)))
    return found


def _result(part: dict[str, Json]) -> str:
    return compact(part["json"]) if "json" in part else text_of(part)


def _tool(spec: dict[str, Json]) -> OfferedTool:
    schema = mapping(spec.get("inputSchema")).get("json")
    return OfferedTool(text(spec.get("name")), text(spec.get("description")), schema)


def _joined(events: list[dict[str, Json]]) -> dict[str, Json]:
    """The answer that the events of a stream, `{name: payload}` each, add up to."""
    answer: dict[str, Json] = {}
    role = "assistant"
    blocks: dict[int, dict[str, Json]] = {}
    for event in events:
        for name, given in event.items():
            payload = mapping(given)
            position = count(payload.get("contentBlockIndex")) or 0
            if name == "messageStart":
                role = text(payload.get("role")) or role
            elif name == "contentBlockStart":
                blocks[position] = dict(mapping(payload.get("start")))
            elif name == "contentBlockDelta":
                _add(blocks.setdefault(position, {}), mapping(payload.get("delta")))
            elif name == "messageStop":
                answer["stopReason"] = payload.get("stopReason")
            elif name == "metadata":
                answer["usage"] = payload.get("usage")
            elif name.endswith(_EXCEPTIONS):
                answer["message"] = payload.get("message")
    content = [_finished(blocks[position]) for position in sorted(blocks)]
    if content:
        answer["output"] = {"message": {"role": role, "content": list[Json](content)}}
    return answer


def _add(block: dict[str, Json], delta: dict[str, Json]) -> None:
    if isinstance(delta.get("text"), str):
        block["text"] = text(block.get("text")) + text(delta["text"])
    if isinstance(delta.get("toolUse"), dict):
        used = dict(mapping(block.get("toolUse")))
        used["input"] = text(used.get("input")) + text(mapping(delta["toolUse"]).get("input"))
        block["toolUse"] = used
    if isinstance(delta.get("reasoningContent"), dict):
        thought = mapping(mapping(block.get("reasoningContent")).get("reasoningText"))
        piece = mapping(delta["reasoningContent"])
        more: dict[str, Json] = {**thought, **without(piece, "text")}
        more["text"] = text(thought.get("text")) + text(piece.get("text"))
        block["reasoningContent"] = {"reasoningText": more}


def _finished(block: dict[str, Json]) -> dict[str, Json]:
    used = mapping(block.get("toolUse"))
    return {**block, "toolUse": {**used, "input": parse_arguments(used.get("input"))}} if used else block
