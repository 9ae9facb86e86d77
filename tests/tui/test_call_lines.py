"""How calls, and steps that failed without one, are laid out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_tt.model import Call, ErrorInfo, Run, Step
from agent_tt.providers.chat import conversation_in, message_of
from agent_tt.providers.shapes import Asked, Message
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.calls.callview import CallContext, call_lines, error_lines
from agent_tt_tui.widgets.debugger.call_view import CallView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt_tui.viewmodel.values.pieces import TextLine


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


def nested(depth: int) -> Wire:
    """A list in a list, and so on."""
    value: Wire = "x"
    for _ in range(depth):
        value = [value]
    return value


FIND = Asked("c1", "find", {"q": "x"})


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        (
            {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"q": "x"}'},
            Message("assistant", "", calls=(FIND,)),
        ),
        ({"type": "function_call_output", "call_id": "c1", "output": "none"}, Message("tool", "none", answers="c1")),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}, Message("assistant", "hm")),
        (
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "find", "args": {"q": "x"}}}]},
            Message("assistant", "", calls=(FIND,)),
        ),
        ({"role": "user", "parts": [{"text": "hi"}]}, Message("user", "hi")),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "none"}]},
            Message("tool", "none", answers="c1"),
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


def request(url: str, body: Wire, status: int, answer: Wire, **facts: Wire) -> Call:
    """A call of a model's provider, as it is recorded."""
    return Call(
        1,
        1,
        "llm",
        f"POST {url}",
        "ok",
        args={"method": "POST", "url": url, "headers": {"accept": "application/json"}, "body": body},
        result={"status": status, "headers": {"retry-after": "7"}, "body": answer},
        meta=facts,
    )


CHAT = "https://api.example.com/v1/chat/completions"
RUN = Run("t", "t", "succeeded", started_us=0)


def shown(call: Call, *toggled: str, columns: int = 70) -> list[str]:
    return text_of(call_lines(call, CallContext(RUN, None, [call]), columns, UNICODE, set(toggled)))


def test_an_answer_that_is_an_error_says_what_went_wrong_and_is_whole_under_raw() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    call = request(CHAT, body, 529, {"error": {"type": "overloaded_error", "message": "Overloaded"}})
    lines = shown(call)
    assert "✗ 529 Overloaded" in lines
    assert not any("retry-after" in line for line in lines)
    assert "▸ answer  529" in lines
    opened = shown(call, "raw answer")
    assert "retry-after: 7" in opened
    assert '"type": "overloaded_error",' in opened


def test_tokens_say_how_many_were_cached_and_thought() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    call = request(CHAT, body, 200, {}, tokens_in=1204, tokens_cached=1024, tokens_out=310, tokens_reasoning=256)
    assert "1,204 tokens in (1,024 cached) · 310 out (256 reasoning)" in "\n".join(shown(call))


def test_a_long_text_that_was_seen_before_is_folded_and_a_new_one_shown() -> None:
    old, new = ("\n".join(f"{word} {number}" for number in range(30)) for word in ("rule", "line"))
    messages = [
        {"role": "system", "content": old},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": new},
    ]
    call = request(CHAT, {"model": "m", "messages": messages}, 200, {})
    lines = shown(call)
    assert [line for line in lines if line.startswith("rule")] == [f"rule {number}" for number in range(5)]
    assert "▸ 25 more rows" in lines
    assert [line for line in lines if line.startswith("line")] == new.splitlines()
    assert "rule 29" in shown(call, "saw text0")


def test_a_plain_request_shows_what_was_asked_and_answered_before_its_headers() -> None:
    call = replace(request("https://shop.example/orders", {"id": 7}, 201, {"state": "paid"}), kind="http")
    lines = shown(call)
    assert lines.index("ASKED") < lines.index("CAME BACK  201") < lines.index("RAW")
    assert "paid" in lines[lines.index("CAME BACK  201") + 1]
    assert not any("accept: application/json" in line for line in lines)
    assert "accept: application/json" in shown(call, "raw request")


HOSTILE = "\x1b[2J\x1b]0;title\x07[red]x[/red]\u202e\x00\x9b31m"


@pytest.mark.parametrize("url", [CHAT, "https://x/v1/messages", "https://x/v1/responses", "https://x/any"])
@pytest.mark.parametrize(
    "answer",
    [
        HOSTILE,
        {HOSTILE: HOSTILE},
        {
            "choices": [
                {"message": {"role": HOSTILE, "content": [HOSTILE], "tool_calls": [{"function": {"name": HOSTILE}}]}}
            ]
        },
        {"error": {"message": HOSTILE}},
        '{"choices": [{"message": {"role": "assi',
        "<html>Just a moment</html>",
        nested(400),
        None,
    ],
)
def test_whatever_a_host_says_is_text(url: str, answer: Wire) -> None:
    body = {"model": HOSTILE, "max_tokens": 1, "input": HOSTILE, "messages": [{"role": "user", "content": HOSTILE}]}
    for kind in ("llm", "http"):
        call = replace(request(url, body, 200, answer, model=HOSTILE, finish_reason=HOSTILE), kind=kind)
        drawn = "".join(shown(call, "raw request", "raw answer"))
        assert not [char for char in drawn if ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char == "\u202e"]


@pytest.mark.parametrize(
    ("read_only", "said"),
    [(False, "this step made no calls"), (True, "this file records no calls of this step")],
)
def test_a_step_without_calls_made_none_only_where_calls_are_recorded(read_only: bool, said: str) -> None:
    run, step = Run("t", "t", "succeeded", started_us=0, read_only=read_only), Step(1, "think", "ok")
    view = CallView()
    view._surroundings = CallContext(run, step, ())
    assert view.lay_out(60)[0].pieces == ((f" {said}", "note"),)
