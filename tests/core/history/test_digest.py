"""Digests: equal for equal states, by a definition that a second implementation shares."""

from __future__ import annotations

import copy
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.reference_digest import reference_digest
from tests.core.strategies import scalars, values

from agent_tt.codec.encode import encode
from agent_tt.errors import CorruptDelta
from agent_tt.history.digest import chain, digest, is_hashed_whole

if TYPE_CHECKING:
    import random

many = settings(max_examples=100, deadline=None)


@many
@given(values)
def test_a_digest_is_that_of_the_definition(value: object) -> None:
    wire = encode(value)
    assert digest(wire) == reference_digest(wire)


@pytest.mark.parametrize(
    ("wire", "known"),
    [
        (1, "566042fd4e24764af57b89cfbce97bcf"),
        (1.0, "f2d3af7d"),
        (True, "fa3b1e80"),
        ("1", "c7c21271"),
        ([1, "a"], "8728f839"),
        ({"b": 1, "a": None}, "1cbd4a07"),
        ({"x": [1]}, "7a0eb7fb"),
    ],
)
def test_digests_never_change(wire: Any, known: str) -> None:
    assert digest(wire).hex().startswith(known)


@many
@given(st.dictionaries(st.text(max_size=3), scalars | st.lists(scalars, max_size=2), max_size=90), st.randoms())
def test_the_order_of_keys_does_not_count(entries: dict[str, Any], shuffle: random.Random) -> None:
    keys = list(entries)
    shuffle.shuffle(keys)
    assert digest(encode(entries)) == digest(encode({key: entries[key] for key in keys}))


@pytest.mark.parametrize(("one", "other"), [([1], [1.0]), ({"a": 0.0}, {"a": -0.0}), ([1, 2], [2, 1]), ([[]], [{}])])
def test_types_signs_and_the_order_of_elements_count(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_a_state_nested_beyond_reason_is_named_as_damaged() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(CorruptDelta, match=r"^the state is nested too deeply to be one that was recorded$") as caught:
        digest(deep)
    assert caught.value.hint == "Run `agent-tt verify` on the store."


def test_the_chain_covers_number_digest_operations_and_everything_before() -> None:
    first = chain(b"", 0, digest(1), b"[]")
    operations = blake2b(b"[]", digest_size=16).digest()
    assert first == blake2b(bytes(8) + digest(1) + operations, digest_size=16).digest()
    links = {
        first,
        chain(first, 1, digest(1), b"[]"),
        chain(first, 2, digest(1), b"[]"),
        chain(first, 1, digest(2), b"[]"),
    }
    assert len(links | {chain(first, 1, digest(1), b"[ ]"), chain(b"", 1, digest(1), b"[]")}) == 6


def test_digesting_leaves_the_value_alone() -> None:
    wire: Any = {"b": [1, {"a": None}], "a": "x"}
    before = copy.deepcopy(wire)
    digest(wire)
    assert list(wire) == list(before)
    assert wire == before


@pytest.mark.parametrize(
    ("wire", "whole"),
    [
        ([], True),
        ([1, "a", None], True),
        ([1, []], False),
        ([{}], False),
        ({}, True),
        ({f"k{n}": n for n in range(64)}, True),
        ({f"k{n}": n for n in range(65)}, False),
        ({"a": [1]}, False),
        ({"a": {}}, False),
        ({"$type": "dict", "$v": [[1, [2]]]}, True),
        ({"$type": "dict", "$v": [[1, 2, 3]]}, False),
        ({"$type": "dict", "$v": [1]}, False),
        ({"$type": "dict", "$v": {}}, False),
        ({"$type": "tuple", "$v": [[1, 2]]}, False),
    ],
)
def test_a_container_is_hashed_in_one_piece_or_from_what_it_holds(wire: Any, whole: bool) -> None:
    assert is_hashed_whole(wire) is whole
