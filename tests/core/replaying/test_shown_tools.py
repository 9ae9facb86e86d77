"""Tools that a conversation shows and no recorded call stands for, in the forms of several providers."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tt.comparing.steps.asked_tools import asked_tools
from agent_tt.model import Call

CHAT = "https://api.openai.com/v1/chat/completions"
ASKED = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"q": "refunds"}'}}
QUESTION = {"role": "user", "content": "?"}
SAID = {"role": "assistant", "content": None, "tool_calls": [ASKED]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "found"}


def tools_shown_only(calls: list[Call]) -> dict[str, int]:
    return asked_tools(calls).first_steps


def asks(step: int, url: str, body: dict[str, Any], answer: dict[str, Any] | None) -> Call:
    request = {"method": "POST", "url": url, "headers": {}, "body": body}
    result = (
        None if answer is None else {"status": 200, "headers": {"content-type": "application/json"}, "body": answer}
    )
    return Call(step, 1, "llm", f"POST {url}", "ok", args=request, result=result)


def chat(step: int, *messages: dict[str, Any], answer: dict[str, Any] | None = None) -> Call:
    body = {"model": "m", "messages": list(messages)}
    return asks(step, CHAT, body, {"id": "a", "choices": [{"index": 0, "message": answer or {"role": "assistant"}}]})


def tool(step: int, name: str, kind: Any = "tool", **facts: Any) -> Call:
    return Call(step, 2, kind, name, "ok", **({"args": {}, "result": "found"} | facts))


FIRST, SECOND = chat(1, QUESTION, answer=SAID), chat(2, QUESTION, SAID, RESULT)


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ([], {"lookup": 1}),
        ([tool(1, "lookup")], {}),
        ([tool(1, "my_app.tools.lookup")], {}),
        ([tool(1, "Lookup")], {}),
        ([tool(1, "__main__.lookup.call")], {}),
        ([tool(1, "server lookup", kind="http")], {}),
        ([tool(1, "run_tool", args={"q": "refunds"})], {}),
        ([tool(1, "run_tool", args={"q": "gifts"})], {"lookup": 1}),
        ([tool(1, "lookup", meta={"inside": 2})], {}),
        ([tool(1, "search")], {"lookup": 1}),
        ([tool(1, "clock", kind="clock")], {"lookup": 1}),
    ],
)
def test_a_result_without_a_call_of_its_tool_is_found(between: list[Call], found: dict[str, int]):
    assert tools_shown_only([FIRST, *between, SECOND]) == found


def test_a_call_before_the_model_asked_for_it_or_after_the_result_does_not_count():
    assert tools_shown_only([tool(0, "lookup"), FIRST, SECOND, tool(3, "lookup")]) == {"lookup": 1}


def test_a_conversation_that_an_agent_began_with_is_no_evidence():
    assert tools_shown_only([chat(1, QUESTION, SAID, RESULT, answer={"role": "assistant", "content": "done"})]) == {}


def test_a_tool_whose_result_was_never_given_back_did_not_run_as_far_as_is_known():
    assert tools_shown_only([FIRST]) == {}


def test_a_function_that_asks_a_model_is_read_too():
    first = Call(1, 1, "llm", "think", "ok", args={"messages": [QUESTION]}, result=SAID)
    second = Call(2, 1, "llm", "think", "ok", args={"messages": [QUESTION, SAID, RESULT]}, result={"content": "done"})
    assert tools_shown_only([first, second]) == {"lookup": 1}
    assert tools_shown_only([first, tool(1, "lookup"), second]) == {}


def test_anthropic_and_responses_and_gemini():
    url = "https://api.anthropic.com/v1/messages"
    use = {"type": "tool_use", "id": "t1", "name": "lookup", "input": {}}
    given = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]}
    calls = [
        asks(
            1,
            url,
            {"model": "claude", "max_tokens": 9, "messages": [QUESTION]},
            {"type": "message", "role": "assistant", "content": [use]},
        ),
        asks(
            2,
            url,
            {
                "model": "claude",
                "max_tokens": 9,
                "messages": [QUESTION, {"role": "assistant", "content": [use]}, given],
            },
            None,
        ),
    ]
    assert tools_shown_only(calls) == {"lookup": 1}
    url = "https://api.openai.com/v1/responses"
    asked = {"type": "function_call", "call_id": "f1", "name": "lookup", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "f1", "output": "found"}
    calls = [
        asks(1, url, {"model": "m", "input": "?"}, {"object": "response", "output": [asked], "id": "r1"}),
        asks(2, url, {"model": "m", "input": [result], "previous_response_id": "r1"}, None),
    ]
    assert tools_shown_only(calls) == {"lookup": 1}
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2:generateContent"
    model = {"role": "model", "parts": [{"functionCall": {"name": "lookup", "args": {}}}]}
    user = {"role": "user", "parts": [{"functionResponse": {"name": "lookup", "response": {"x": 1}}}]}
    calls = [
        asks(1, url, {"contents": [{"role": "user", "parts": [{"text": "?"}]}]}, {"candidates": [{"content": model}]}),
        asks(2, url, {"contents": [model, user]}, None),
    ]
    assert tools_shown_only(calls) == {"lookup": 1}
    assert tools_shown_only([calls[0], tool(1, "lookup"), calls[1]]) == {}
