"""Examples for fine-tuning: each conversation once, in the form that is asked for, and what is left out is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.core.memory_store import Did, MemorySource

from agent_tt.exporting.openai import OpenAIExamples
from agent_tt.exporting.redacted import exported

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire


def examples(folder: Path, *calls: tuple[list[Wire], Wire]) -> tuple[list[dict[str, Any]], str | None]:
    source = MemorySource()
    run = source.add("desk", [Did("a", asked={"messages": shown}, answer=said) for shown, said in calls])
    path = folder / "run.openai.jsonl"
    left_out = OpenAIExamples().write(exported(source, [(run, None)]), path)
    return [json.loads(line) for line in path.read_text().splitlines()], left_out


def said(role: str, content: str, **more: Wire) -> Wire:
    return {"role": role, "content": content, **more}


def asked(name: str) -> Wire:
    return {"id": name, "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}


USER = said("user", "Hello?")
LOOK = said("assistant", "", tool_calls=[asked("t1")])
RESULT = said("tool", "found", tool_call_id="t1")
BYE = said("assistant", "Bye.")


def test_a_conversation_is_written_once_as_it_was_at_last(tmp_path: Path) -> None:
    (first, second), left_out = examples(
        tmp_path, ([USER], LOOK), ([USER, LOOK, RESULT], BYE), ([said("user", "Another")], BYE)
    )
    assert left_out is None
    assert first == {
        "messages": [
            USER,
            {"role": "assistant", "tool_calls": [asked("t1")]},
            {"role": "tool", "tool_call_id": "t1", "content": "found"},
            BYE,
        ]
    }
    assert [message["content"] for message in second["messages"]] == ["Another", "Bye."]


def test_a_request_gives_tools_and_whether_they_are_called_together(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    body = {"model": "m", "messages": [USER], "tools": [tool], "parallel_tool_calls": False}
    request: Wire = {"method": "POST", "url": "https://h.test/v1/chat/completions", "body": body}
    answer: Wire = {"status": 200, "headers": {}, "body": {"choices": [{"message": BYE, "finish_reason": "stop"}]}}
    source = MemorySource()
    run = source.add("desk", [Did("a", asked=request, answer=answer)])
    assert OpenAIExamples().write(exported(source, [(run, None)]), tmp_path / "x") is None
    assert json.loads((tmp_path / "x").read_text()) == {
        "messages": [USER, BYE], "tools": [tool], "parallel_tool_calls": False,
    }  # fmt: skip


def test_what_the_form_cannot_say_is_left_out_and_counted(tmp_path: Path) -> None:
    picture: Wire = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://h.test/a.png"}}]}
    twice: Wire = {"role": "assistant", "content": "Two", "tool_calls": [asked("t1"), asked("t2")]}
    (example,), left_out = examples(
        tmp_path,
        ([picture], BYE),
        ([said("narrator", "Once")], BYE),
        ([USER, twice, RESULT, said("tool", "stray", tool_call_id="t9")], BYE),
    )
    assert [message["role"] for message in example["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert [call["id"] for call in example["messages"][1]["tool_calls"]] == ["t1"]
    assert left_out == (
        "left out: conversations with a message of unknown form: 1; conversations with pictures or files: 1; "
        "results of no call: 1; tool calls without a result: 1"
    )


def test_a_conversation_that_ends_with_calls_keeps_them(tmp_path: Path) -> None:
    (example,), left_out = examples(tmp_path, ([USER], LOOK))
    assert (example["messages"][-1]["tool_calls"], left_out) == ([asked("t1")], None)
