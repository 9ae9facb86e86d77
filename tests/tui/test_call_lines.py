"""How calls, and steps that failed without one, are laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_tt.model import Call, ErrorInfo, Run
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.callview import CallContext, call_lines, error_lines
from agent_tt_tui.viewmodel.messages import Asked, Message, conversation_in, message_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt_tui.viewmodel.pieces import TextLine


def text_of(lines: Iterable[TextLine]) -> list[str]:
    return ["".join(text for text, _ in line.pieces).strip() for line in lines]


def test_a_question_that_waits_says_so_and_not_that_its_outcome_is_unknown() -> None:
    run = Run("t", "t", "interrupted", started_us=0)
    question = Call(step=1, number=1, kind="human", name="interrupt", status="pending", args="send it?")
    shown = text_of(call_lines(question, CallContext(run, None, [question]), 60, UNICODE))
    assert "▲ no answer yet" in shown
    assert not any("unknown" in line for line in shown)


def test_an_error_is_shown_with_all_of_its_message_and_its_traceback_folded() -> None:
    error = ErrorInfo("builtins:ValueError", "first\nsecond", "Traceback:\n  line")
    folded = text_of(error_lines(error, 40, UNICODE))
    assert folded == ["✗ ValueError: first", "second", f"{UNICODE.folded} traceback"]
    assert text_of(error_lines(error, 40, UNICODE, {"traceback"}))[3:] == ["Traceback:", "line"]


FIND = Asked("c1", "find", {"q": "x"})


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        (
            {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"q": "x"}'},
            Message("assistant", "", (FIND,)),
        ),
        ({"type": "function_call_output", "call_id": "c1", "output": "none"}, Message("tool", "none", (), "c1")),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}, Message("assistant", "hm")),
        (
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "find", "args": {"q": "x"}}}]},
            Message("assistant", "", (FIND,)),
        ),
        ({"role": "user", "parts": [{"text": "hi"}]}, Message("user", "hi")),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "none"}]},
            Message("tool", "none", (), "c1"),
        ),
    ],
)
def test_turns_in_the_forms_of_single_providers_are_messages(turn, message) -> None:
    assert message_of(turn) == message
    assert conversation_in({"instructions": "Be brief.", "input": [turn]}) == ("input",)


def test_a_request_to_a_provider_is_shown_as_a_conversation() -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "temperature": 0.5,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Find x"}],
        "tools": [{"name": "find", "input_schema": {"properties": {"q": {}}}}],
    }
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "c1", "name": "find", "input": {"q": "x"}},
    ]
    answer = {"model": "claude-sonnet-4-5", "role": "assistant", "content": content, "stop_reason": "tool_use"}
    call = Call(
        step=1,
        number=1,
        kind="llm",
        name="POST http://localhost/v1/messages",
        status="ok",
        args={"method": "POST", "url": "http://localhost/v1/messages", "headers": {}, "body": body},
        result={"status": 200, "headers": {"content-type": "application/json"}, "body": answer},
        meta={"model": "claude-sonnet-4-5", "tokens_in": 12, "tokens_out": 3, "cost_usd": 0.01},
    )
    run = Run("r", "r", "succeeded", started_us=0)
    lines = call_lines(call, CallContext(run, None, [call]), 80, UNICODE)
    shown = ["".join(text for text, _ in (*line.lead, *line.pieces)).strip() for line in lines]
    assert "claude-sonnet-4-5  max_tokens 100 · temperature 0.5" in shown[0]
    assert "12 tokens in · 3 out" in shown[1]
    assert "WHAT THE MODEL SAW  2 messages" in shown
    assert "WHAT IT ANSWERED  stop: tool_use" in shown
    assert "find  q" in shown
    said = "\n".join(shown)
    assert "Be brief." in said
    assert "thinking   ▎ hm" in said
    assert 'find(q="x")' in said
