"""Edits of live objects: what can be changed stays the object that it is, whoever holds it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import attrs
import pytest

from agent_tt.codec.encode import encode
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.model import Edit
from agent_tt.recording.steps.in_place import CannotChange, _is_held_inside, change_in_place


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Box:
    items: list[Any]
    size: int = 1


@dataclass(frozen=True)
class Frozen:
    name: str


@attrs.frozen
class Sealed:
    _name: str


def edit(op: str, path: str, value: object = None, to: str | None = None) -> Edit:
    return Edit(op, path, encode(value), to=to)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "change"),
    [
        ({"a": 1}, edit("set", "a", 2)),
        ({"a": 1}, edit("set", "b", [1, {"c": 2}])),
        ({"a": [1, 2, 3]}, edit("set", "a[3]", 4)),
        ({"a": [1, 2, 3]}, edit("insert", "a[0]", "x")),
        ({"a": [1, 2, 3]}, edit("delete", "a[1]")),
        ({"a": [1, 2, 3]}, edit("move", "a[2]", to="a[0]")),
        ({"a": [1, 2, 3]}, edit("move", "a[0]", to="b")),
        ({"a": {"b": {"c": [0]}}}, edit("set", "a.b.c", [1, 2])),
        ({"a": {"b": 1, "c": 2}}, edit("delete", "a.b")),
        ([1, [2, 3]], edit("set", "[1][0]", 9)),
        ({"a": (1, (2, 3))}, edit("set", "a[1][0]", 9)),
        ({"a": {1: "x", 2: "y"}}, edit("set", "a[1][1]", "z")),
        ({"a": deque([1, 2])}, edit("set", "a[0]", 9)),
        ({"a": 1}, edit("set", "", {"b": 2})),
        ([1, 2], edit("set", "", [3])),
    ],
)
def test_a_live_state_becomes_what_the_recorded_one_becomes(state: Any, change: Edit) -> None:
    wanted = apply_edits(encode(state), [change])
    inside = state.values() if isinstance(state, dict) else state
    held = [node for node in (state, *inside) if type(node) in (dict, list)]
    before = list(map(id, held))
    assert change_in_place(state, [change]) is state
    assert encode(state) == wanted
    assert list(map(id, held)) == before


def test_fields_and_attributes_are_set_and_frozen_ones_made_anew_in_their_holder() -> None:
    state = {"box": Box([Frozen("a"), Point(1, 2)]), "any": SimpleNamespace(n=1)}
    box, items = state["box"], state["box"].items  # type: ignore[attr-defined]
    edits = [
        edit("set", "box.size", 5),
        edit("set", "box.items[0].name", "b"),
        edit("set", "box.items[1].y", 9),
        edit("set", "any.n", 2),
        edit("delete", "any.n"),
    ]
    change_in_place(state, edits)
    assert state["box"] is box
    assert box.items is items  # type: ignore[attr-defined]
    assert (box.size, items) == (5, [Frozen("b"), Point(1, 9)])  # type: ignore[attr-defined]
    assert vars(state["any"]) == {}


def test_a_frozen_object_of_attrs_is_made_anew_in_its_holder_too() -> None:
    sealed = Sealed("a")
    state = {"box": [sealed]}
    change_in_place(state, [edit("set", "box[0]._name", "b")])
    assert state["box"] == [Sealed("b")]
    assert sealed == Sealed("a")


def test_a_value_that_is_set_fills_the_list_or_dict_that_is_there() -> None:
    messages: list[Any] = [1, 2]
    facts: dict[str, Any] = {"a": 1}
    state = {"messages": messages, "facts": facts}
    change_in_place(state, [edit("set", "messages", [3]), edit("set", "facts", {"b": 2})])
    assert (messages, facts) == ([3], {"b": 2})
    assert state["messages"] is messages


@pytest.mark.parametrize(
    ("state", "change", "says"),
    [
        ({"a": {}}, edit("set", "a.b.c", 1), "a.b is not there any more"),
        ({"a": [1]}, edit("delete", "a[3]"), r"a\[3\] is not there any more"),
        ({"a": 1}, edit("delete", "b"), "b is not there any more"),
        ({"a": {}}, edit("insert", "a[0]", 1), "a is not a list"),
        ({"a": 1}, edit("move", "b", to="c"), "b is not there any more"),
    ],
)
def test_what_is_not_there_is_named(state: Any, change: Edit, says: str) -> None:
    with pytest.raises(CannotChange, match=says):
        change_in_place(state, [change])


def test_a_part_that_only_its_state_holds_is_told_from_one_that_is_shared() -> None:
    messages: list[Any] = [{"content": "hello"}]
    assert _is_held_inside({"messages": messages}, ("messages", 0))
    assert _is_held_inside({"messages": messages}, ("messages", 0, "content"))
    assert not _is_held_inside({"messages": [{"content": str(1)}]}, ("messages", 0, "content"))
    assert not _is_held_inside({"n": 1}, ("n",))


def test_the_history_of_a_state_holds_no_part_of_it_for_anybody() -> None:
    state = {"messages": [{"content": f"{n} " * 50} for n in range(100)], **{f"part {n}": {"n": n} for n in range(8)}}
    shadow = Shadow()
    for seq in range(4):
        shadow.step(state, seq)
    assert not _is_held_inside(state, ("messages", 3, "content"))
    assert not _is_held_inside(state, ("part 3", "n"))
    parts = [state["messages"][3], state["part 3"]]
    assert _is_held_inside(state, ("messages", 3, "content"))
    assert _is_held_inside(state, ("part 3", "n"))
    del parts
