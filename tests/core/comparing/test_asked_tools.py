"""What only a conversation shows: which tools, how often, with what answer; and what is not said of others."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.store.recordings import begin, new_store
from tests.effort import Effort

from agent_tt.comparing.steps.asked_tools import AskedTools, asked_tools, read_asked_tools
from agent_tt.model import Call, CallEnd, NewCall, NewStep, StepEnd

if TYPE_CHECKING:
    from pathlib import Path

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2:generateContent"
BEDROCK = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova/converse"
COHERE = "https://api.cohere.com/v2/chat"
QUESTION = {"role": "user", "content": "?"}


def asks(step: int, url: str, body: dict[str, Any], answer: dict[str, Any] | None, **facts: Any) -> Call:
    request = {"method": "POST", "url": url, "headers": {}, "body": body}
    headers = {"content-type": "application/json"}
    result = None if answer is None else {"status": 200, "headers": headers, "body": answer}
    return Call(step, 1, "llm", f"POST {url}", "ok", args=request, result=result, **facts)


def said(*calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    asked = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for id_, name, given in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def told(id_: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def chat(step: int, messages: list[dict[str, Any]], answer: dict[str, Any] | None = None, **facts: Any) -> Call:
    choice = {"index": 0, "message": answer or {"role": "assistant", "content": "done"}}
    return asks(step, CHAT, {"model": "m", "messages": messages}, {"id": "a", "choices": [choice]}, **facts)


def tool(step: int, name: str, args: Any = None, result: Any = "ok", kind: Any = "tool", number: int = 2) -> Call:
    return Call(step, number, kind, name, "ok", args=args, result=result)


def times(found: AskedTools) -> list[tuple[str, Any, str | None]]:
    return [(each.name, each.arguments, each.answer) for each in found.times]


def loop(turns: int, text: str = "found") -> list[Call]:
    calls, messages = [], [QUESTION]
    for number in range(turns):
        answer = said((f"c{number}", "lookup", {"q": number}))
        calls.append(chat(number + 1, messages, answer))
        messages = [*messages, answer, told(f"c{number}", f"{text} {number}")]
    return [*calls, chat(turns + 1, messages)]


def test_each_time_has_what_was_asked_and_what_came_back() -> None:
    found = asked_tools(loop(2))
    assert times(found) == [("lookup", {"q": 0}, "found 0"), ("lookup", {"q": 1}, "found 1")]
    assert [(each.step, each.call, each.seen) for each in found.times] == [
        (1, 1, "seen in the conversation"),
        (2, 1, "seen in the conversation"),
    ]
    assert (found.answered, found.first_steps) == ({"lookup": 2}, {"lookup": 1})
    assert [tool.said for tool in found.tools] == [
        "`lookup` was asked for 2 times and is not recorded: a fork runs it live"
    ]


def test_a_tool_without_an_answer_is_said_to_have_none() -> None:
    found = asked_tools(loop(2)[:2])
    assert times(found) == [("lookup", {"q": 0}, "found 0"), ("lookup", {"q": 1}, None)]
    assert found.times[1].seen == "no answer seen"
    recorded = asked_tools([loop(2)[0], tool(1, "lookup", {"q": 0}), loop(2)[1]])
    assert (recorded.times, recorded.tools) == ((), ())  # the second time it did not run: it would be recorded
    last = asked_tools(loop(1)[:1])
    assert last.unrecorded(ended_well=True) == ()
    (only,) = last.unrecorded(ended_well=False)
    assert only.said == "`lookup` was asked for once, no call of it is recorded, and no answer to it is seen"


@pytest.mark.parametrize(
    ("asked", "made", "is_recorded"),
    [
        (("files_read", {"p": 1}), tool(1, "files read", {"server": "x", "params": {"arguments": {"p": 1}}}), True),
        (("mcp__files__read", {"p": 1}), tool(1, "files read"), True),
        (("delete_files", {"p": 1}), tool(1, "files read", {"p": 2}), False),
        (("charge", {"order": 7}), tool(1, "BaseTool.run", {"tool_input": {"order": 7}}), True),
        (("charge", {"order": 7}), tool(1, "run", {"ctx": 1, "call": '{"order": 7}'}), True),
        (("charge", {"order": 7}), tool(1, "POST https://shop.example/charge", {"order": 7}, kind="http"), False),
        (("charge", {"order": 7}), tool(1, "run_tool", {"ctx": 1}, "charged order 7 at once"), True),
        (("charge", {"order": 7}), tool(1, "run_tool", {"ctx": 1}, "another answer, as long"), False),
    ],
)
def test_a_recorded_call_is_the_tools_by_its_name_its_arguments_or_its_result(
    asked: tuple[str, dict[str, Any]], made: Call, is_recorded: bool
) -> None:
    answer = said(("c1", *asked))
    calls = [
        chat(1, [QUESTION], answer), made, chat(2, [QUESTION, answer, told("c1", "charged order 7 at once")]),
    ]  # fmt: skip
    assert bool(asked_tools(calls).times) is not is_recorded


def test_another_tool_that_was_given_the_same_hides_nothing() -> None:
    answer = said(("c1", "order", {"id": 7}), ("c2", "refund", {"id": 7}))
    given = [told("c1", "order 7: twelve euros"), told("c2", "order 7: twelve euros")]
    calls = [
        chat(1, [QUESTION], answer),
        tool(1, "order", {"id": 7}, "order 7: twelve euros"),
        chat(2, [QUESTION, answer, *given]),
    ]
    assert [each.name for each in asked_tools(calls).times] == ["refund"]


def test_what_the_provider_runs_itself_is_not_the_agents() -> None:
    items = [
        {"type": "web_search_call", "id": "ws1", "status": "completed", "action": {"query": "x"}},
        {"type": "code_interpreter_call", "id": "ci1", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "mcp_call", "id": "m1", "name": "ask", "arguments": "{}", "output": "yes"},
        {"type": "function_call", "call_id": "f1", "name": "lookup", "arguments": "{}"},
    ]
    given = [{"type": "function_call_output", "call_id": "f1", "output": "found"}]
    body = {"model": "m", "input": "?", "tools": [{"type": "web_search_preview"}]}
    calls = [
        asks(1, RESPONSES, body, {"object": "response", "output": items, "id": "r1"}),
        asks(2, RESPONSES, {"model": "m", "input": given, "previous_response_id": "r1"}, None),
    ]
    assert times(asked_tools(calls)) == [("lookup", {}, "found")]

    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "tool_use", "id": "t1", "name": "lookup", "input": {"q": 1}},
    ]
    turn = {"role": "assistant", "content": blocks}
    back = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}]}
    body = {"model": "claude", "max_tokens": 9, "messages": [QUESTION]}
    calls = [
        asks(1, ANTHROPIC, body, {"type": "message", **turn}),
        asks(2, ANTHROPIC, {**body, "messages": [QUESTION, turn, back]}, None),
    ]
    assert times(asked_tools(calls)) == [("lookup", {"q": 1}, "found")]


def test_answers_without_ids_are_told_apart_by_their_order() -> None:
    def part(q: str) -> dict[str, Any]:
        return {"functionCall": {"name": "lookup", "args": {"q": q}}}

    def back(text: str) -> dict[str, Any]:
        return {"functionResponse": {"name": "lookup", "response": {"result": text}}}

    first = {"role": "user", "parts": [{"text": "?"}]}
    one, two = {"role": "model", "parts": [part("a"), part("b")]}, {"role": "model", "parts": [part("c")]}
    both, third = {"role": "user", "parts": [back("A"), back("B")]}, {"role": "user", "parts": [back("C")]}
    calls = [
        asks(1, GEMINI, {"contents": [first]}, {"candidates": [{"content": one}]}),
        asks(2, GEMINI, {"contents": [first, one, both]}, {"candidates": [{"content": two}]}),
        asks(3, GEMINI, {"contents": [first, one, both, two, third]}, None),
    ]
    assert times(asked_tools(calls)) == [
        ("lookup", {"q": "a"}, "A"), ("lookup", {"q": "b"}, "B"), ("lookup", {"q": "c"}, "C"),
    ]  # fmt: skip


def test_bedrock_and_cohere() -> None:
    question = {"role": "user", "content": [{"text": "?"}]}
    use = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "u1", "name": "lookup", "input": {"q": 1}}}]}
    back = {"role": "user", "content": [{"toolResult": {"toolUseId": "u1", "content": [{"text": "found"}]}}]}
    calls = [
        asks(1, BEDROCK, {"messages": [question]}, {"output": {"message": use}, "stopReason": "tool_use"}),
        asks(2, BEDROCK, {"messages": [question, use, back]}, None),
    ]
    assert times(asked_tools(calls)) == [("lookup", {"q": 1}, "found")]
    answer = said(("c1", "lookup", {"q": 1}))
    calls = [
        asks(1, COHERE, {"model": "command", "messages": [QUESTION]}, {"id": "a", "message": answer}),
        asks(2, COHERE, {"model": "command", "messages": [QUESTION, answer, told("c1", "found")]}, None),
    ]
    assert times(asked_tools(calls)) == [("lookup", {"q": 1}, "found")]


def test_conversations_of_several_lanes_are_kept_apart() -> None:
    calls = []
    for lane, start in (("main/a.1", 1), ("main/b.1", 2)):
        answer = said((f"{lane}1", "lookup", {"q": lane}))
        again = [QUESTION, answer, told(f"{lane}1", f"found {lane}")]
        calls += [chat(start, [QUESTION], answer, lane=lane), chat(start + 2, again, lane=lane)]
    calls.insert(1, replace(tool(1, "lookup"), lane="main/a.1"))
    assert times(asked_tools(calls)) == [("lookup", {"q": "main/b.1"}, "found main/b.1")]


def test_a_function_that_is_recorded_as_a_models_call_and_its_request_count_once() -> None:
    answer = said(("", "lookup", {"q": 1}))
    outer = Call(1, 1, "llm", "ask", "ok", args={"messages": [QUESTION]}, result=answer)
    inner = replace(chat(1, [QUESTION], answer), number=2, meta={"inside": {"step": 1, "call": 1}})
    assert len(asked_tools([outer, inner]).times) == 1
    assert len(asked_tools([outer, replace(inner, meta={})]).times) == 2


def test_a_stored_run_says_the_same_and_few_of_its_requests_are_read_whole(tmp_path: Path) -> None:
    calls = loop(60, text="a longer answer " * 40)
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {"n": 0}, "loop")
        for each in calls:
            step = writer.open_step(NewStep("ask"))
            number = writer.begin_call(step, NewCall("llm", each.name, each.args, f"{step:032x}"))
            writer.end_call(step, number, CallEnd("ok", each.result))
            writer.close_step(step, StepEnd("ok"), {"n": step})
        writer.finish("succeeded")
        run = store.run("loop")
        read: list[int] = []
        whole = store.with_values

        def counted(run_id: str, head: Call) -> Call:
            read.append(head.step)
            return whole(run_id, head)

        store.with_values = counted  # type: ignore[method-assign]
        assert read_asked_tools(store, run) == asked_tools(calls)
        assert read == [61]
        outlined = store.outline(run.id, replace(calls[50], args=None), ("messages",))
    assert isinstance(outlined.args, dict)
    assert outlined.args["body"] == {"model": "m", "messages": None}


def test_twice_the_calls_take_twice_the_work() -> None:
    efforts = []
    for turns in (100, 200):
        calls = loop(turns)
        with Effort() as effort:
            assert len(asked_tools(calls).times) == turns
        efforts.append(effort.lines)
    assert efforts[1] < 2.3 * efforts[0]


def test_what_is_nested_too_deeply_to_be_compared_is_known_by_its_name_alone() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    answer = said(("c1", "lookup", {"q": 1}))
    told_back = chat(2, [QUESTION, answer, told("c1", "found")])
    made = tool(1, "run_tool", {"call": deep}, [deep])
    assert len(asked_tools([chat(1, [QUESTION], answer), made, told_back]).times) == 1
    assert asked_tools([chat(1, [QUESTION], answer), replace(made, name="lookup"), told_back]).times == ()
