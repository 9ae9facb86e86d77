"""Paths read and write as people expect, and find their way into typed values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.strategies import Plan, values

from agent_tt.codec.encode import encode
from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path, without_envelopes
from agent_tt.errors import InvalidPath, PathNotFound

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path

many = settings(max_examples=100, deadline=None)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ()),
        ("messages[3].content", ("messages", 3, "content")),
        ('["odd key"].x', ("odd key", "x")),
        ("[0][1]", (0, 1)),
        ('a["b.c"][ 2 ]', ("a", "b.c", 2)),
        ("branch:to:node.3", ("branch:to:node", "3")),
        ('a["\\u00e4\\""]', ("a", 'ä"')),
        ("größe.x-y", ("größe", "x-y")),
    ],
)
def test_paths_are_read(text: str, path: Path) -> None:
    assert parse_path(text) == path


@pytest.mark.parametrize(
    ("text", "position"),
    [
        (".a", 0),
        ("a..b", 2),
        ("a.", 2),
        ("a[", 2),
        ("a[-1]", 2),
        ("a[x]", 2),
        ('a["x"', 5),
        ("a[0]b", 4),
        ('a["\\x"]', 2),
    ],
)
def test_a_path_that_cannot_be_read_says_where(text: str, position: int) -> None:
    with pytest.raises(InvalidPath, match=f"character {position + 1}") as error:
        parse_path(text)
    assert (error.value.text, error.value.position) == (text, position)
    assert error.value.hint


@many
@given(st.lists(st.text(max_size=4) | st.integers(0, 99) | st.sampled_from(["a b", "3", "\x1b[0m", "\u202e"])))
def test_a_written_path_is_read_again_and_always_prints(steps: list[str | int]) -> None:
    path = without_envelopes(tuple(steps))
    text = format_path(path)
    assert parse_path(text) == path
    assert text.isprintable()


def places(wire: Any, path: Path = ()) -> list[Path]:
    """The paths of all values, those inside envelopes by way of their payload."""
    found = [path]
    if isinstance(wire, dict):
        inside = ["$v"] if "$type" in wire else list(wire)
        found += [place for key in inside for place in places(wire[key], (*path, key))]
    elif isinstance(wire, list):
        found += [place for index, item in enumerate(wire) for place in places(item, (*path, index))]
    return found


@many
@given(values)
def test_dropping_the_envelopes_of_a_path_and_adding_them_again_changes_nothing(value: object) -> None:
    wire = encode(value)
    for place in places(wire):
        if place[-1:] != ("$v",):
            assert to_wire_path(wire, without_envelopes(place)) == place
            get(wire, place)


def test_typed_values_are_walked_through_as_people_see_them() -> None:
    state = encode({"plan": Plan("go", [(1, {"x": 2})]), "by_id": {7: "seven", "name": {"$v": "odd"}}})
    assert to_wire_path(state, ("plan", "steps", 0, 1, "x")) == ("plan", "$v", "steps", 0, "$v", 1, "x")
    assert to_wire_path(state, ("by_id", 0, 1)) == ("by_id", "$v", 0, 1)
    assert to_wire_path(state, ("by_id", "name")) == ("by_id", "$v", 1, 1)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (("mesages",), "there is no mesages"),
        (("messages", 5), r"messages has 1 elements"),
        (("messages", 0, "content", "x"), "holds no other values"),
        (("messages", "x"), "numbered from 0"),
        ((0,), r"there is no \[0\]"),
    ],
)
def test_a_place_that_is_not_there_is_named(path: Path, message: str) -> None:
    state = encode({"messages": [{"content": "hi"}]})
    with pytest.raises(PathNotFound, match=message):
        get(state, path)
    with pytest.raises(PathNotFound, match=message):
        to_wire_path(state, path)


def test_a_misspelt_key_is_answered_with_the_nearest() -> None:
    with pytest.raises(PathNotFound) as error:
        get(encode({"messages": []}), ("mesages",))
    assert error.value.nearest == ("messages",)
    assert error.value.hint == "Did you mean messages?"
