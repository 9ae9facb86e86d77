"""Edits of a conversation that an agent keeps to itself: found in its frames, or put into its requests."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tt.model import Edit
from agent_tt.providers import recognise
from agent_tt.reentering.conversations import ConversationEdit

URL = "https://host/v1/chat/completions"
KNOWN: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "hello"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "function": {"name": "f", "arguments": "{}"}}],
    },
]
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "7"}
SET = Edit("set", "messages[1].content", "bye")


def new(*edits: Edit) -> ConversationEdit:
    return ConversationEdit({"messages": KNOWN}, edits or (SET,), None)


def ask(edit: ConversationEdit, messages: Any) -> tuple[Any, str] | None:
    """What a client does: it renders the messages, and sends them."""
    plain = [turn if isinstance(turn, dict) else turn.model_dump(mode="json") for turn in messages]
    sent = [{key: value for key, value in turn.items() if value is not None} for turn in plain]
    call = recognise("POST", URL, {}, {"model": "m", "messages": sent})
    assert call is not None
    told = edit.apply(call)
    return None if told is None else (told[0]["messages"], told[1])


def fresh() -> list[Any]:
    return [{**turn} for turn in KNOWN] + [dict(RESULT)]


def test_a_list_in_a_variable_is_changed_once_and_carries_the_edit_on() -> None:
    edit, messages = new(), fresh()
    also = messages
    told = ask(edit, messages)
    assert told is not None
    assert [turn.get("content") for turn in told[0]] == ["Be brief.", "bye", None, "7"]
    assert [turn["content"] for turn in messages] == ["Be brief.", "bye", None, "7"]
    assert also is messages
    assert told[1].startswith("the agent's own list was changed: `")
    messages.append({"role": "user", "content": "more"})
    assert ask(edit, messages) is None
    assert edit.finish() == ""


def test_a_list_one_level_inside_is_found() -> None:
    edit, agent = new(), SimpleNamespace(messages=fresh())
    assert ask(edit, agent.messages) is not None
    assert agent.messages[1]["content"] == "bye"
    edit, state = new(), {"chat": fresh()}
    assert ask(edit, state["chat"]) is not None
    assert state["chat"][1]["content"] == "bye"


async def test_a_list_of_a_coroutine_is_found() -> None:
    edit, messages = new(), fresh()

    async def client() -> object:
        await asyncio.sleep(0)
        return ask(edit, messages)

    assert await client() is not None
    assert messages[1]["content"] == "bye"


def test_objects_of_a_client_in_the_list_are_changed_themselves() -> None:
    chat = pytest.importorskip("openai.types.chat")
    calls = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    known = [*KNOWN[:2], {"role": "assistant", "tool_calls": calls}]
    edit = ConversationEdit({"messages": known}, [Edit("set", "messages[2].tool_calls[0].function.name", "g")], None)
    said = chat.ChatCompletionMessage.model_validate(known[2])
    messages = [dict(KNOWN[0]), dict(KNOWN[1]), said]
    assert ask(edit, messages) is not None
    assert messages[2] is said
    assert said.tool_calls[0].function.name == "g"


def test_a_message_that_is_removed_takes_the_results_of_its_calls_along() -> None:
    edit, messages = new(Edit("delete", "messages[2]")), fresh()
    told = ask(edit, messages)
    assert told is not None
    assert [turn["role"] for turn in told[0]] == ["system", "user"]
    assert [turn["role"] for turn in messages] == ["system", "user"]


def test_the_list_may_come_to_say_the_same_again() -> None:
    edit, messages = new(Edit("delete", "messages[2]")), fresh()
    assert ask(edit, messages) is not None
    messages += [dict(KNOWN[2]), dict(RESULT)]  # the model asked for the same once more
    assert ask(edit, messages) is None


def test_a_second_try_of_the_first_request_is_rewritten_too() -> None:
    edit, messages = new(), fresh()
    before = tuple(dict(turn) for turn in messages)
    assert ask(edit, messages) is not None
    told = ask(edit, before)  # a client sends what it has kept
    assert told is not None
    assert told[0][1]["content"] == "bye"


def test_other_conversations_are_left_alone() -> None:
    edit = new()
    assert ask(edit, [{"role": "user", "content": "something else"}]) is None
    assert ask(edit, fresh()[1:]) is None
    assert "no later request carried" in edit.finish()


def test_without_a_list_each_request_is_rewritten_and_it_is_said() -> None:
    edit = new()
    for count in (4, 5, 6):
        turns = (*fresh(), *({"role": "user", "content": "more"} for _ in range(count - 4)))
        told = ask(edit, turns)
        assert told is not None
        assert told[0][1]["content"] == "bye"
        assert len(told[0]) == count


def test_an_insert_at_the_end_is_not_made_twice() -> None:
    edit, messages = new(Edit("insert", "messages[3]", {"role": "user", "content": "and?"})), fresh()
    told = ask(edit, messages)
    assert told is not None
    assert [turn["role"] for turn in messages] == ["system", "user", "assistant", "user", "tool"]
    messages.append({"role": "user", "content": "more"})
    assert ask(edit, messages) is None


def test_what_stands_beside_the_turns_is_changed_in_every_later_request():
    before: dict[str, Any] = {"system": "Be brief.", "messages": [{"role": "user", "content": "hello"}]}
    edit = ConversationEdit(
        before, (Edit("set", "messages[0].content", "bye"), Edit("set", "system", "Be long.")), None
    )
    own = [dict(before["messages"][0])]
    for turns in (1, 2, 3):
        body = {"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": [*own]}
        call = recognise("POST", "https://host/v1/messages", {}, body)
        assert call is not None
        told = edit.apply(call)
        assert told is not None
        assert told[0]["system"] == "Be long."
        assert told[0]["messages"][0] == {"role": "user", "content": "bye"}  # type: ignore[index, call-overload]
        assert own[0]["content"] == "bye"
        assert len(own) == turns
        own.append({"role": "assistant", "content": "hm"})
