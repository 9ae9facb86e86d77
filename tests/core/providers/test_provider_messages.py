"""Messages over WebSockets that ask a model, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tt.providers.reading import (
    MESSAGE,
    PROVIDERS,
    ends_answer,
    gathers,
    messages_of_turn,
    recognise,
    recorded_answer,
    talks,
)
from agent_tt.providers.shapes import Asked

REALTIME = "wss://api.openai.com/v1/realtime?model=gpt-realtime"
RESPONSES = "wss://api.openai.com/v1/responses"
CREATE = {"type": "response.create"}


def test_an_answer_that_is_spoken_is_read_by_its_transcript():
    call = recognise(MESSAGE, REALTIME, {}, {**CREATE, "response": {"instructions": "Sing."}})
    assert call is not None
    assert (call.api, call.model, call.system) == ("openai-realtime", "gpt-realtime", "Sing.")
    spoken = {"type": "message", "role": "assistant", "content": [{"type": "output_audio", "transcript": "La."}]}
    done = {"type": "response.done", "response": {"id": "r", "status": "completed", "output": [spoken]}}
    answer = recorded_answer(call, {"body": [{"type": "response.created"}, done]})
    assert (answer.messages[0].text, answer.finish_reason, answer.id) == ("La.", "completed", "r")
    assert ends_answer(call, done)
    assert not ends_answer(call, {"type": "response.output_item.done"})


def test_of_an_answer_that_broke_off_the_items_that_were_complete_are_read():
    call = recognise(MESSAGE, REALTIME, {}, CREATE)
    assert call is not None
    item = {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"n": 1}'}
    answer = recorded_answer(call, {"body": [{"type": "response.output_item.done", "item": item}]})
    assert answer.messages[0].calls == (Asked("c", "look", {"n": 1}),)
    failed = recorded_answer(call, {"body": [{"type": "error", "error": {"message": "no session"}}]})
    assert failed.error == "no session"


def test_responses_are_asked_with_a_type_and_a_stream_beside_the_request():
    body = {**CREATE, "stream_id": "s", "model": "gpt-5", "input": "Hi"}
    call = recognise(MESSAGE, RESPONSES, {}, body)
    assert call is not None
    assert (call.model, call.streamed, call.messages[0].text) == ("gpt-5", True, "Hi")
    assert "type" not in call.parameters
    assert recognise(MESSAGE, RESPONSES, {}, {**body, "type": "response.steer"}) is None
    assert recognise("POST", REALTIME, {}, body) is None


@pytest.mark.parametrize("event", [{}, {"type": 1}, {"type": ["session.update"]}, {"type": "response.create"}])
def test_what_is_no_part_of_a_conversation_is_a_message_like_any_other(event):
    assert not talks(REALTIME, event)
    assert not gathers(REALTIME, event)


def test_parts_of_a_conversation_are_known_by_address_and_type():
    assert talks(REALTIME, {"type": "input_audio_buffer.append"})
    assert not gathers(REALTIME, {"type": "input_audio_buffer.append"})
    assert gathers(REALTIME, {"type": "session.update"})
    assert not talks("wss://elsewhere.test/chat", {"type": "session.update"})


@pytest.mark.parametrize("said", [None, 3, "x", [None, {"item": 4}, {"session": [1]}], {"item": {}}])
def test_messages_that_are_anything_are_read_without_an_error(said):
    call = recognise(MESSAGE, REALTIME, {}, {**CREATE, "response": said, "said": said})
    assert call is not None
    assert recorded_answer(call, {"body": [said, {"type": "response.done", "response": said}]}).error == ""


def test_a_whole_answer_of_anthropics_is_not_taken_for_an_item_of_openais():
    """Both say `"type": "message"`."""
    blocks = [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}}]
    turn = {"id": "msg_1", "type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use"}
    (message,) = messages_of_turn(turn)
    assert (message.text, [(call.id, call.arguments) for call in message.calls]) == ("I look.", [("t1", {"at": 1})])
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "30"}]}
    assert [message.text for message in messages_of_turn(item)] == ["30"]


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "look"}}]},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look"}}]},
        {"role": "tool", "content": "30", "tool_call_id": "1"},
        {"role": "tool", "content": {"found": 3}, "tool_call_id": "1", "name": "look"},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "30"}]}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "30"}]},
        {"content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
        {"role": "model", "parts": [{"text": "hello"}]},
        {"parts": [{"text": "hello"}]},
        {"role": "model", "parts": [{"text": "hello"}], "content": "hello"},
        {"type": "message", "role": "user", "content": "hello"},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
        {"role": "admin", "name": "Ada"},
        {"content": "hello"},
        {"amount": 30, "currency": "EUR"},
    ],
)
def test_a_turn_whose_form_tells_enough_is_read_as_all_of_ours_together_read_it(turn: dict[str, Any]) -> None:
    read = (provider.read_turn(turn) for _, provider in PROVIDERS.ours())
    assert messages_of_turn(turn) == tuple(next((found for found in read if found is not None), ()))
