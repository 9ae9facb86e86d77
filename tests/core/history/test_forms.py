"""A form says yes to a live object exactly when its canonical bytes are the same, however often it is asked."""

from __future__ import annotations

import copy
import enum
import random
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.mutations import Mutator

from agent_tt.codec.encode import encode_with_plainness
from agent_tt.codec.tlv import tlv
from agent_tt.history.changes.forms import Form

some = settings(max_examples=80, deadline=None)


class Word(enum.StrEnum):
    ONE = "one"


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Items(list[Any]):
    pass


def looping() -> list[Any]:
    loop: list[Any] = []
    loop.extend((loop, loop))
    return loop


def reordered() -> dict[str, Any]:
    """The same entries in another order, with one object as the value of both."""
    entries = dict.fromkeys("ab", "one")
    entries["a"] = entries.pop("a")
    return entries


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (1, True),
        (1, 1.0),
        (1, Number.ONE),
        (1, 1 << 70),
        (0.0, -0.0),
        (None, float("nan")),
        (1.5, float("inf")),
        ("one", Word.ONE),
        ("one", Text("one")),
        ("one", b"one"),
        ("one", bytearray(b"one")),
        ("one", "\ud800"),
        ("6" * 36, uuid.UUID(int=6)),
        ([1], (1,)),
        ([1], Items([1])),
        ([1], {1}),
        ([], looping()),
        ({"a": "one", "b": "one"}, reordered()),
        ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": 1}, {Text("a"): 1}),
        ({"a": 1}, object()),
    ],
)
def test_what_only_looks_equal_is_not(was: Any, now: Any) -> None:
    live = [{"pad": "x"}, was]
    form = Form(tlv(live))
    assert form.is_of(live)
    live[1] = now
    assert not form.is_of(live)
    assert not form.is_of(live)
    live[1] = copy.deepcopy(was)
    assert form.is_of(live)


def test_sharing_is_no_part_of_a_value() -> None:
    part = {"text": "a" * 20}
    form = Form(tlv([part, part]))
    assert form.is_of([part, part])
    assert form.is_of([part, dict(part)])
    assert form.is_of([copy.deepcopy(part), copy.deepcopy(part)])


def test_a_form_with_an_envelope_is_of_no_live_object() -> None:
    assert not Form(tlv([{"$type": "tuple", "$v": []}])).is_of([()])


@some
@given(st.integers(0, 10**9), st.booleans())
def test_a_form_agrees_with_the_canonical_bytes_of_a_mutated_object(seed: int, exotic: bool) -> None:
    mutator = Mutator(random.Random(seed), exotic=exotic)
    state = mutator.state()
    wire, plain = encode_with_plainness(state)
    form = Form(tlv(wire))
    assert form.is_of(state) == plain
    for _ in range(6):
        mutator.mutate(state)
        now, plain = encode_with_plainness(state)
        assert form.is_of(state) == (plain and tlv(now) == form.raw)
