"""Requests of every provider's form, and of LangChain, as items with their origins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.context.reading import read_contexts
from agent_tt.model import Call, Step

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.context.shown import CallContext

SYSTEM = "You answer for a shop that sells lamps and nothing else."
QUESTION = "Is the brass lamp in stock today?"
STOCK = "there are 12 brass lamps in the warehouse of Kassel"
SCHEMA = {"type": "object", "properties": {"sku": {"type": "string"}}}


def request(url: str, body: Any) -> Wire:
    return {"method": "POST", "url": url, "headers": {}, "body": body}


def answered(body: Any) -> Wire:
    return {"status": 200, "headers": {}, "body": body}


CHAT_TOOL = {"type": "function", "function": {"name": "stock", "description": "Look.", "parameters": SCHEMA}}
CHAT_ASK = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "stock", "arguments": '{"sku": "lamp-07"}'}}],
}
CHAT = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
CHAT_URL = "https://api.openai.com/v1/chat/completions"

RESPONSE_ASK = {"type": "function_call", "call_id": "1", "name": "stock", "arguments": '{"sku": "lamp-07"}'}
RESPONSES_URL = "https://api.openai.com/v1/responses"
RESPONSES = {"model": "m", "instructions": SYSTEM, "tools": [{"type": "function", **CHAT_TOOL["function"]}]}  # type: ignore[dict-item]
RESPONSE_INPUT = [{"role": "user", "content": QUESTION}]

CLAUDE_ASK = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "1", "name": "stock", "input": {"sku": "lamp-07"}}],
}
CLAUDE = {
    "model": "m",
    "max_tokens": 9,
    "system": SYSTEM,
    "tools": [{"name": "stock", "description": "Look.", "input_schema": SCHEMA}],
}
CLAUDE_URL = "https://api.anthropic.com/v1/messages"

GEMINI_ASK = {"role": "model", "parts": [{"functionCall": {"name": "stock", "args": {"sku": "lamp-07"}}}]}
GEMINI = {
    "systemInstruction": {"parts": [{"text": SYSTEM}]},
    "tools": [{"functionDeclarations": [{"name": "stock", "description": "Look.", "parameters": SCHEMA}]}],
}
GEMINI_USER = {"role": "user", "parts": [{"text": QUESTION}]}
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.0-flash:generateContent"


def lc(name: str, **fields: Wire) -> Wire:
    return {"$type": "pydantic", "class": f"langchain_core.messages:{name}", "$v": fields}


FORMS: dict[str, tuple[Wire, Wire, Wire]] = {
    "openai chat": (
        request(CHAT_URL, {"model": "m", "messages": CHAT, "tools": [CHAT_TOOL]}),
        answered({"choices": [{"message": CHAT_ASK, "finish_reason": "tool_calls"}]}),
        request(
            CHAT_URL,
            {
                "model": "m",
                "tools": [CHAT_TOOL],
                "messages": [*CHAT, CHAT_ASK, {"role": "tool", "tool_call_id": "1", "content": STOCK}],
            },
        ),
    ),
    "openai responses": (
        request(RESPONSES_URL, {**RESPONSES, "input": RESPONSE_INPUT}),
        answered({"id": "r", "object": "response", "output": [RESPONSE_ASK]}),
        request(
            RESPONSES_URL,
            {
                **RESPONSES,
                "input": [
                    *RESPONSE_INPUT,
                    RESPONSE_ASK,
                    {"type": "function_call_output", "call_id": "1", "output": STOCK},
                ],
            },
        ),
    ),
    "anthropic": (
        request(CLAUDE_URL, {**CLAUDE, "messages": [{"role": "user", "content": QUESTION}]}),
        answered({"type": "message", "role": "assistant", "content": CLAUDE_ASK["content"], "usage": {}}),
        request(
            CLAUDE_URL,
            {
                **CLAUDE,
                "messages": [
                    {"role": "user", "content": QUESTION},
                    CLAUDE_ASK,
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": STOCK}]},
                ],
            },
        ),
    ),
    "gemini": (
        request(GEMINI_URL, {**GEMINI, "contents": [GEMINI_USER]}),
        answered({"candidates": [{"content": GEMINI_ASK}]}),
        request(
            GEMINI_URL,
            {
                **GEMINI,
                "contents": [
                    GEMINI_USER,
                    GEMINI_ASK,
                    {"role": "user", "parts": [{"functionResponse": {"name": "stock", "response": {"result": STOCK}}}]},
                ],
            },
        ),
    ),
    "langchain": (
        {"messages": [lc("SystemMessage", content=SYSTEM), lc("HumanMessage", content=QUESTION)], "tools": [CHAT_TOOL]},
        lc("AIMessage", content="", tool_calls=[{"id": "1", "name": "stock", "args": {"sku": "lamp-07"}}]),
        {
            "tools": [CHAT_TOOL],
            "messages": [
                lc("SystemMessage", content=SYSTEM),
                lc("HumanMessage", content=QUESTION),
                lc("AIMessage", content="", tool_calls=[{"id": "1", "name": "stock", "args": {"sku": "lamp-07"}}]),
                lc("ToolMessage", content=STOCK, tool_call_id="1"),
            ],
        },
    ),
}


def second_call(form: tuple[Wire, Wire, Wire], *, records_tool: bool) -> CallContext:
    first, answer, second = form
    calls = [Call(1, 1, "llm", "m", "ok", args=first, result=answer)]
    if records_tool:
        calls.append(Call(1, 2, "tool", "stock", "ok", args={"sku": "lamp-07"}, result=STOCK))
    calls.append(Call(2, 1, "llm", "m", "ok", args=second, meta={"tokens_in": 1_000}))
    source = MemorySource()
    source.add("run", [Did("ask"), Did("ask")], state={})
    with source.transaction():
        for step in (1, 2):
            there = [call for call in calls if call.step == step]
            for record in (Step(step, "ask", "ok", seq=step, calls=len(there)), *there):
                source.save("run", record)
    return read_contexts(source, "run").at((2, 1))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_form_has_the_same_items_with_the_same_origins(form):
    context = second_call(form, records_tool=True)
    assert [(item.part.kind, item.kind) for item in context.items] == [
        ("system", "system"),
        ("tools", "tools"),
        ("text", "user"),
        ("call", "model"),
        ("result", "result"),
    ]
    assert [item.part.name for item in context.items if item.part.kind in ("tools", "call")] == ["stock", "stock"]
    ((_, model), (_, result)) = [(item.part, item.origins[0]) for item in context.items[3:]]
    assert (model.place, result.place) == ((1, 1), (1, 2))
    assert [item.mark for item in context.items] == ["same", "same", "same", "new", "new"]
    assert sum(item.tokens for item in context.items) + context.rest == 1_000


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_result_of_which_no_call_was_recorded_is_that_of_the_tool_that_was_asked_for(form):
    context = second_call(form, records_tool=False)
    (origin,) = context.items[-1].origins
    assert (origin.kind, origin.place, origin.name, origin.is_request) == ("result", (2, 1), "stock", True)
