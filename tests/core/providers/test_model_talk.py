"""Turns of conversations in the forms of frameworks and benchmarks."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tt.model import Call
from agent_tt.providers.chat import message_of
from agent_tt.providers.model_talk import ModelTalks, messages_in


@pytest.mark.parametrize(
    ("result", "answers"),
    [
        ({"role": "tool", "content": "8", "tool_call_id": "c1"}, "c1"),
        ({"role": "tool", "content": "8", "tool_call_ids": ["c1"]}, "c1"),
        ({"role": "tool", "content": "8", "id": "c1"}, "c1"),
        ({"role": "tool", "content": "8", "tool_call_id": "c1", "id": "m7"}, "c1"),
        ({"role": "tool", "content": "8", "tool_call_ids": ["c1", "c2"]}, ""),
        ({"role": "user", "content": "8", "id": "m7"}, ""),
    ],
)
def test_a_result_names_its_call_in_the_words_of_each_program(result: Any, answers: str) -> None:
    (message,) = messages_in(result)
    assert message.answers == answers
    read = message_of(result)
    assert read is not None
    assert read.answers == answers


@pytest.mark.parametrize(
    ("args", "result", "said"),
    [
        ({"messages": [{"role": "user", "content": "tea?"}]}, "buy tea", [("assistant", "buy tea")]),
        ({"messages": [{"role": "user", "content": "tea?"}]}, "", []),
        ({"messages": [{"role": "user", "content": "tea?"}]}, {"do": "buy"}, []),
        ({"url": "tea"}, "buy tea", []),
    ],
)
def test_a_text_that_a_function_gives_for_messages_is_what_the_model_said(
    args: dict[str, Any], result: Any, said: list[tuple[str, str]]
) -> None:
    call = Call(step=1, number=1, kind="llm", name="think", args=args, status="ok", result=result)
    assert [(message.role, message.text) for message in ModelTalks().of(call).said] == said
