"""Values come back as LangGraph's serializer wrote them, and are readable in the store."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import random
import re
import uuid
from collections import deque
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel

from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import envelope_type
from agent_tt.interop.langgraph.decode import Extension, read_value
from agent_tt.interop.langgraph.envelopes import to_wire
from agent_tt.langgraph.values import Values, _message

SERDE = JsonPlusSerializer()


class Model(BaseModel):
    number: int
    words: list[str]


@dataclasses.dataclass
class Data:
    number: int
    words: set[str]


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    left: int
    right: list[int]


MESSAGES = [
    HumanMessage("hi", id="1"),
    AIMessage("yes", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}], additional_kwargs={"a": [1]}),
    ToolMessage("r", tool_call_id="c", artifact=np.arange(2)),
]

READABLE = [
    *(
        None,
        1,
        1.5,
        float("nan"),
        -0.0,
        "x",
        b"b",
        bytearray(b"q"),
        True,
        [1, [2]],
        {"a": {"b": None}},
        {1: 2, 2.5: "x"},
    ),
    *({"$type": "dict"}, 2**63, -(2**63), (1, 2), MESSAGES[:2], MESSAGES[0], Model(number=1, words=["a"])),
    *(Data(1, {"a", "b"}), Colour.RED, Pair(1, [2]), dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), dt.date(2026, 1, 2)),
    *(dt.timedelta(1, 2, 3), uuid.UUID(int=7), decimal.Decimal("1.20"), pathlib.Path("/a/b"), re.compile("a", re.I)),
    *({1, 2, 3}, frozenset("ab"), deque([1, 2]), np.arange(6).reshape(2, 3), Send("node", {"m": MESSAGES[0]})),
    *(Interrupt(value={"q": 1}, id="i"), Command(goto="x"), ValueError("x")),
]
KEPT_AS_BYTES = [dt.UTC, np.asfortranarray(np.arange(6.0).reshape(2, 3))]

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["$type", "$v"]) | st.integers(0, 99), inner)
    ),
    max_leaves=12,
)


def came_back(value: object) -> tuple[Any, tuple[str, bytes], tuple[str, bytes]]:
    """What is kept of a value, what the serializer wrote, and what it is given by somebody who only has the former."""
    wire, _ = Values().kept(SERDE, value)
    return wire, SERDE.dumps_typed(value), Values().to_typed(wire)


def _kind(value: object) -> str:
    """The name of a case; what a set shows of itself differs from one process to the next."""
    return type(value).__name__


@pytest.mark.parametrize("value", READABLE, ids=_kind)
def test_a_value_comes_back_byte_for_byte_and_can_be_read(value: object):
    wire, wrote, given_back = came_back(value)
    assert given_back == wrote or isinstance(value, set | frozenset | Data)
    one, other = SERDE.loads_typed(given_back), SERDE.loads_typed(wrote)
    is_same = one == other if isinstance(value, set | frozenset | Data) else repr(one) == repr(other)
    assert is_same or given_back == wrote  # a set shows its items in any order
    assert envelope_type(wire) != "opaque"


@pytest.mark.parametrize("value", [*KEPT_AS_BYTES, MESSAGES], ids=_kind)
def test_what_has_no_readable_form_comes_back_byte_for_byte_too(value: object):
    _, wrote, given_back = came_back(value)
    assert given_back == wrote


@settings(max_examples=60)
@given(PLAIN)
def test_plain_data_comes_back_byte_for_byte(value: object):
    _, wrote, given_back = came_back(value)
    assert given_back == wrote


def test_what_is_encrypted_is_kept_as_it_is():
    class Reversed:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "back", plaintext[::-1]

        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            assert ciphername == "back"
            return ciphertext[::-1]

    serde = EncryptedSerializer(Reversed(), SERDE)
    wire, _ = Values().kept(serde, MESSAGES[:2])
    assert envelope_type(wire) == "opaque"
    assert "msgpack+back" in str(wire)
    assert Values().given(serde, wire) == MESSAGES[:2]


def test_a_message_that_was_changed_in_place_is_written_again():
    values, messages = Values(), [HumanMessage("one", id="1"), AIMessage("two", id="2", additional_kwargs={"a": [1]})]
    before, _ = values.kept(SERDE, messages)
    assert values.kept(SERDE, messages)[0][1] is before[1]  # type: ignore[index]  # a list of messages
    messages[1].additional_kwargs["a"].append(2)
    messages[0].content = "other"
    after, _ = values.kept(SERDE, messages)
    assert Values().given(SERDE, after) == messages
    assert Values().given(SERDE, before) != messages


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_growing_messages_that_are_changed_anywhere_are_kept_as_they_are(seed: int):
    draw, values, messages, number = random.Random(seed), Values(), [HumanMessage("hi", id="0")], 0
    for _ in range(30):
        for _ in range(draw.choice([0, 1, 1, 2, 40])):
            number += 1
            kind = draw.choice([HumanMessage, AIMessage])
            messages.append(kind(f"text {number}", id=str(number), additional_kwargs={"a": [number]}))
            if draw.random() < 0.5:
                values.kept(SERDE, messages[-1:])  # as a task wrote it
        one = messages[draw.randrange(len(messages))]
        how = draw.choice(["not", "not", "content", "within", "field", "replaced", "removed", "number", "class"])
        if how == "content":
            one.content = [{"type": "text", "text": f"other {number}"}]
        elif how == "within":
            one.additional_kwargs.setdefault("seen", []).append(1)
        elif how == "number":
            one.additional_kwargs["a"] = draw.choice([1, 1.0, True, -0.0, 0.0, [None], [b"x"], (1,), {1}, {1: 2}])
        elif how == "field":
            one.response_metadata["model"] = {"name": number}
        elif how == "replaced":
            messages[messages.index(one)] = one.model_copy(deep=draw.random() < 0.5)
        elif how == "removed":
            messages = messages[draw.randrange(len(messages)) :]
        elif how == "class" and type(one) is HumanMessage:
            one.__class__ = draw.choice([SystemMessage, ChatMessage])  # type: ignore[assignment]
            one.__dict__["role"] = "user"
        wire, _ = values.kept(SERDE, list(messages))
        assert Values().to_typed(wire) == SERDE.dumps_typed(messages)


def test_plain_data_that_is_changed_later_is_kept_as_it_was():
    values, value = Values(), {"rows": [{"a": 1}], "more": []}
    wire, unpacked = values.kept(SERDE, value)
    before = SERDE.dumps_typed(value)
    value["rows"][0]["a"] = 2  # type: ignore[call-overload]  # a list of dicts
    value["more"].append(1)
    assert Values().to_typed(wire) == before
    assert unpacked == SERDE.loads_typed(before)
    assert Values().to_typed(values.kept(SERDE, value)[0]) == SERDE.dumps_typed(value)


def test_messages_that_are_given_twice_share_nothing():
    values = Values()
    wire, _ = values.kept(SERDE, MESSAGES[:2])
    first, second, third = (values.given(SERDE, wire) for _ in range(3))
    assert first == second == third == MESSAGES[:2]
    second[1].additional_kwargs["a"].append(2)  # type: ignore[index]  # a list of messages
    assert third == values.given(SERDE, wire) == MESSAGES[:2]
    assert [type(message) for message in second] == [HumanMessage, AIMessage]  # type: ignore[attr-defined]
    assert [repr(message) for message in third] == [
        repr(message) for message in SERDE.loads_typed(SERDE.dumps_typed(MESSAGES[:2]))
    ]  # type: ignore[attr-defined]


def test_long_lists_of_messages_are_given_as_the_serializer_gives_them_whatever_was_given_before():
    values = Values()
    messages: list[Any] = [HumanMessage(f"text {n}", id=str(n), additional_kwargs={"a": [n]}) for n in range(150)]
    messages[70] = MESSAGES[2]  # it holds an object
    messages[90] = AIMessage("with more", id="90", extra=[1.0, {"b": -0.0}])
    for length in (150, 149, 72, 71, 9, 8, 1, 150):
        wire, _ = values.kept(SERDE, messages[:length])
        given: Any = values.given(SERDE, wire)
        assert [repr(one) for one in given] == [
            repr(one) for one in SERDE.loads_typed(SERDE.dumps_typed(messages[:length]))
        ]
        for one in given:
            one.content = "changed by a node"
            one.additional_kwargs.clear()
            one.__pydantic_fields_set__.clear()
    assert SERDE.dumps_typed(values.given(SERDE, wire)) == SERDE.dumps_typed(messages)


def test_a_snapshot_of_a_delta_channel_can_be_read_and_comes_back():
    values = Values()
    for held in (MESSAGES[:2], MESSAGES, [], [1, "x"], {"a": 1}, None):
        wire, _ = values.kept(SERDE, _DeltaSnapshot(held))
        assert envelope_type(wire) == "made"
        assert "opaque" not in str(wire) or held is MESSAGES  # an array is in its last message
        assert Values().to_typed(wire) == SERDE.dumps_typed(_DeltaSnapshot(held))
        first, second = values.given(SERDE, wire), values.given(SERDE, wire)
        assert type(first) is _DeltaSnapshot
        assert repr(first) == repr(second) == repr(SERDE.loads_typed(SERDE.dumps_typed(_DeltaSnapshot(held))))
        assert first.value is None or first.value is not second.value  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "message",
    [
        *MESSAGES,
        AIMessage([{"type": "text", "text": "é", "more": [1, 2.5, None, True, -0.0, {"deep": [[]]}]}], name="n"),
        HumanMessage("x", additional_kwargs={"$v": 1}),
        HumanMessage("x", additional_kwargs={"$type": "set"}),
        HumanMessage("x", additional_kwargs={"of": {1: 2}}),
        HumanMessage("x", additional_kwargs={"of": b"bytes"}),
        HumanMessage("x", additional_kwargs={"of": 2**63}),
        HumanMessage("x", additional_kwargs={"of": float("nan")}),
        HumanMessage("x", additional_kwargs={"of": {1, 2}}),
    ],
)
def test_a_message_is_kept_as_any_other_typed_value_would_be(message: Any):
    extension = read_value(*SERDE.dumps_typed(message))
    assert isinstance(extension, Extension)
    found = _message(extension.data)
    assert found is None or tlv(found) == tlv(to_wire(extension))
    wire, _ = Values().kept(SERDE, message)
    assert Values().to_typed(wire) == SERDE.dumps_typed(message)


def test_values_that_are_given_together_are_those_that_are_given_one_by_one():
    values = Values()
    lists = [MESSAGES[:1], MESSAGES[:2], MESSAGES[1:2], MESSAGES[:2]]
    for kept in (lists, [*lists, 1, None], [*lists, []], [[1], [2, {"a": 3}]]):
        wires = [values.kept(SERDE, value)[0] for value in kept]
        together = values.given_each(SERDE, wires)
        assert repr(together) == repr([values.given(SERDE, wire) for wire in wires])
