"""A message that a client sends back in another form makes no noise, and is never called equal."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tt.comparing.values.echoes import without_echoes
from agent_tt.comparing.values.states import compare_states

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 7, "b": 7}'}}
ANSWER = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "14"}
SENT: list[dict[str, Any]] = [
    {"role": "assistant", "tool_calls": [{**CALL, "function": {"arguments": '{"a":7,"b":7}', "name": "add"}}]},
    {"tool_calls": [CALL], "role": "assistant", "content": None, "refusal": None, "audio": None, "annotations": []},
    {key: ANSWER[key] for key in reversed(ANSWER)},
]


def paths(a: Any, b: Any) -> list[str]:
    return [change.path for change in without_echoes(a, b, compare_states(a, b))]


@pytest.mark.parametrize("sent", SENT)
def test_an_answer_that_is_sent_back_shows_only_what_is_new(sent: dict[str, Any]) -> None:
    before = {"messages": [{"role": "user", "content": "hi"}, ANSWER]}
    after = {"messages": [{"role": "user", "content": "hi"}, sent, RESULT]}
    assert paths(before, after) == ["messages[2]"]


@pytest.mark.parametrize("sent", SENT)
def test_where_nothing_else_differs_all_of_it_is_shown(sent: dict[str, Any]) -> None:
    before, after = {"messages": [ANSWER]}, {"messages": [sent]}
    assert len(paths(before, after)) == len(compare_states(before, after)) > 0


def test_other_words_arguments_types_and_values_outside_of_messages_are_changes() -> None:
    for changed in (
        {**ANSWER, "content": "Sure."},
        {**ANSWER, "tool_calls": [{**CALL, "function": {"name": "add", "arguments": '{"a": 7, "b": 8}'}}]},
        {**ANSWER, "tool_calls": [{**CALL, "function": {"name": "add", "arguments": '{"a": 7.0, "b": 7}'}}]},
    ):
        before, after = {"messages": [ANSWER]}, {"messages": [changed, RESULT]}
        assert len(paths(before, after)) == 2
    assert paths({"note": None, "messages": []}, {"messages": [RESULT]}) == ["note", "messages[0]"]


def test_what_a_framework_keeps_in_a_state_for_itself_is_shown_only_where_nothing_else_differs() -> None:
    before = {"log": [1], "__langgraph__": {"channel_versions": {"log": "1"}}}
    after = {"log": [1, 2], "__langgraph__": {"channel_versions": {"log": "2"}}}
    assert paths(before, after) == ["log[1]"]
    assert paths(before, {**after, "log": [1]}) == ["__langgraph__.channel_versions.log"]
    assert paths({"a": before}, {"a": after}) == ["a.log[1]", "a.__langgraph__.channel_versions.log"]
