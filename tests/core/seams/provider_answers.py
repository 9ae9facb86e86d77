"""Answers in the wire formats of model providers. Every id and text in them is new."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NEW = itertools.count(1)


def new(prefix: str) -> str:
    """An id that was never given before."""
    return f"{prefix}{next(_NEW):06d}"


# ---------------------------------------------------------------- OpenAI


def chat_completion(asked: dict[str, Any]) -> dict[str, Any]:
    """Asks for the tool twice where there is one, then answers."""
    done = sum(message["role"] == "tool" for message in asked["messages"])
    if asked.get("tools") and done < 2:
        call = {"name": "lookup", "arguments": json.dumps({"q": f"item {done}"})}
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": new("call_"), "type": "function", "function": call}],
        }
        finish = "tool_calls"
    else:
        message, finish = {"role": "assistant", "content": new("an answer, ünïcode, ")}, "stop"
    return {
        "id": new("chatcmpl-"),
        "object": "chat.completion",
        "created": next(_NEW),
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19},
    }


def chat_stream(asked: dict[str, Any]) -> Iterator[str]:
    base = {"id": new("chatcmpl-"), "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
    for _ in range(6):
        delta = {"index": 0, "delta": {"content": new("wörd ")}, "finish_reason": None}
        yield f"data: {json.dumps({**base, 'choices': [delta]}, ensure_ascii=False)}\n\n"
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    yield f"data: {json.dumps({**base, 'choices': [last]})}\n\ndata: [DONE]\n\n"


def response(asked: dict[str, Any]) -> dict[str, Any]:
    done = sum(isinstance(item, dict) and item.get("type") == "function_call_output" for item in asked["input"])
    text = {"type": "output_text", "text": new("said "), "annotations": []}
    reasoning = {"type": "reasoning", "id": new("rs_"), "summary": [{"type": "summary_text", "text": new("hm ")}]}
    if asked.get("tools") and done < 1:
        item = {
            "type": "function_call",
            "id": new("fc_"),
            "call_id": new("call_"),
            "name": "lookup",
            "arguments": '{"q": "x"}',
            "status": "completed",
        }
    else:
        item = {"type": "message", "id": new("msg_"), "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": new("resp_"),
        "object": "response",
        "created_at": 1.0,
        "status": "completed",
        "model": asked["model"],
        "output": [reasoning, item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 5,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 4,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 9,
        },
    }


def response_stream(asked: dict[str, Any]) -> Iterator[str]:
    numbers = itertools.count()

    def event(kind: str, **facts: object) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': next(numbers), **facts})}\n\n"

    whole = response(asked)
    item = new("msg_")
    yield event("response.created", response={**whole, "status": "in_progress", "output": []})
    for _ in range(4):
        yield event(
            "response.output_text.delta", item_id=item, output_index=0, content_index=0, delta=new("w "), logprobs=[]
        )
    yield event("response.completed", response=whole)


# ---------------------------------------------------------------- Anthropic


def message(asked: dict[str, Any]) -> dict[str, Any]:
    done = sum(
        isinstance(said["content"], list) and any(block.get("type") == "tool_result" for block in said["content"])
        for said in asked["messages"]
    )
    content: list[dict[str, Any]] = [{"type": "thinking", "thinking": new("hm "), "signature": new("sig")}]
    if asked.get("tools") and done < 2:
        content.append({"type": "tool_use", "id": new("toolu_"), "name": "lookup", "input": {"q": f"item {done}"}})
    else:
        content.append({"type": "text", "text": new("done ")})
    return {
        "id": new("msg_"),
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content,
        "stop_reason": "tool_use" if content[-1]["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 5},
    }


def message_stream(asked: dict[str, Any]) -> Iterator[str]:
    def event(kind: str, **facts: object) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **facts})}\n\n"

    def block(index: int, start: dict[str, Any], deltas: Iterable[dict[str, Any]]) -> Iterator[str]:
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)

    whole = message(asked)
    yield event("message_start", message={**whole, "content": [], "stop_reason": None})
    thoughts = [{"type": "thinking_delta", "thinking": new("hm ")}, {"type": "signature_delta", "signature": new("s")}]
    yield from block(0, {"type": "thinking", "thinking": "", "signature": ""}, thoughts)
    last = whole["content"][-1]
    if last["type"] == "tool_use":
        pieces = [{"type": "input_json_delta", "partial_json": part} for part in ('{"q": "it', 'em"}')]
        yield from block(1, {**last, "input": {}}, pieces)
    else:
        yield from block(1, {"type": "text", "text": ""}, [{"type": "text_delta", "text": new("w ")} for _ in range(4)])
    yield event(
        "message_delta",
        delta={"stop_reason": whole["stop_reason"], "stop_sequence": None},
        usage={"output_tokens": 9},
    )
    yield event("message_stop")


# ---------------------------------------------------------------- Gemini


def generated() -> dict[str, Any]:
    part = {"content": {"role": "model", "parts": [{"text": new("said ")}]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
    return {"candidates": [part], "usageMetadata": usage, "modelVersion": "gemini-x"}


ANSWERS = {"/chat/completions": chat_completion, "/responses": response, "/messages": message}
STREAMS = {"/chat/completions": chat_stream, "/responses": response_stream, "/messages": message_stream}
