"""What differs between states that hold typed values: as people see them, not what their envelopes are made of."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from agent_tt.comparing.values.states import compare_states

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire


def typed(kind: str, value: Wire, **header: Wire) -> Wire:
    return {"$type": kind, **header, "$v": value}


def model(value: Wire, **header: Wire) -> Wire:
    return typed("pydantic", value, **{"class": "m:M", "set": ["a"], "extra": None, "private": None, **header})


def opaque(shown: str, why: str = "type", of: str = "m:Client") -> Wire:
    return {"$type": "opaque", "class": of, "repr": shown, "why": why}


def said(old: Wire, new: Wire) -> list[tuple[str, str, Wire, Wire]]:
    return [(each.op, each.path, each.old, each.new) for each in compare_states({"x": old}, {"x": new})]


NAN, ODD_NAN = typed("float", "nan"), typed("float", "nan:fff8000000000000")
KINDS: list[Wire] = [
    None,
    True,
    1,
    1.0,
    "1",
    [1, 2],
    {"a": 1},
    typed("tuple", [1, 2]),
    typed("set", [1, 2]),
    typed("frozenset", [1, 2]),
    typed("dict", [[1, 2]]),
    typed("datetime", "2026-01-02"),
    typed("float", "inf"),
    NAN,
    typed("enum", "red", **{"class": "m:Colour", "name": "RED"}),
    typed("dataclass", {"a": 1}, **{"class": "m:D"}),
    typed("dataclass", {"a": 1}, **{"class": "m:E"}),
    typed("sub", [1, 2], **{"class": "m:L", "base": "list"}),
    typed("sub", "text", **{"class": "m:S", "base": "str"}),
    typed("sub", "other", **{"class": "m:S", "base": "str"}),
    typed("timedelta", [1, 0, 0]),
    typed("range", [1, 2, 1]),
    typed("range", [1, 3, 1]),
    typed("complex", ["0", "1"]),
    typed("complex", ["0", "2"]),
    model({"a": 1}),
    model({"a": 1}, set=["a", "b"]),
    model({"a": 1}, extra={}),
    model([1]),
    opaque("<client 1>"),
    opaque("<client 1>", of="m:Other"),
    opaque("<too deep>", why="depth"),
    opaque("<deeper yet>", why="depth"),
]


def test_values_of_two_kinds_or_classes_are_one_change_as_wholes() -> None:
    for old, new in itertools.permutations(KINDS, 2):
        assert said(old, new) == [("change", "x", old, new)]


@pytest.mark.parametrize("kind", [*KINDS, {}, []])
def test_a_value_does_not_differ_from_its_like(kind: Wire) -> None:
    assert said([kind, 1], [kind, 1]) == []


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (typed("tuple", [1, 2]), typed("tuple", [1, 3]), [("change", "x[1]", 2, 3)]),
        (
            typed("dataclass", {"a": 1, "b": 1}, **{"class": "m:D"}),
            typed("dataclass", {"a": 1, "b": 2}, **{"class": "m:D"}),
            [("change", "x.b", 1, 2)],
        ),
        (
            typed("sub", [1, 2], **{"class": "m:L", "base": "list"}),
            typed("sub", [2], **{"class": "m:L", "base": "list"}),
            [("remove", "x[0]", 1, None)],
        ),
        (
            typed("sub", [["b", 1], ["c", 3]], **{"class": "m:D", "base": "dict"}),
            typed("sub", [["a", 0], ["b", 2], ["c", 3]], **{"class": "m:D", "base": "dict"}),
            [("add", "x[0][1]", None, 0), ("change", "x[1][1]", 1, 2)],
        ),
        (
            typed("sub", [1], **{"class": "m:L", "base": "list", "attrs": {"n": 1}}),
            typed("sub", [1], **{"class": "m:L", "base": "list", "attrs": {"n": 2}}),
            [("change", "x.attrs.n", 1, 2)],
        ),
        (typed("dict", [[1, "a"], [2, "b"]]), typed("dict", [[1, "b"], [2, "b"]]), [("change", "x[0][1]", "a", "b")]),
        (
            typed("frozenset", [1, 2]),
            typed("frozenset", [2, 3]),
            [("remove", "x[0]", 1, None), ("add", "x[1]", None, 3)],
        ),
        (model({"a": 1, "b": 2}), model({"a": 1, "b": 3}, set=["a", "b"]), [("change", "x.b", 2, 3)]),
        (model({"a": 1}, private={"n": 1}), model({"a": 1}, private={"n": 2}), [("change", "x.private.n", 1, 2)]),
    ],
)
def test_what_holds_others_is_looked_into(old: Wire, new: Wire, changes: list[tuple[str, str, Wire, Wire]]) -> None:
    assert said(old, new) == changes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NAN, ODD_NAN),
        (opaque("<client 1>"), opaque("<client 2>")),
        (opaque("<client 1>"), {**opaque("<client 2>", why="context"), "more": 1}),
    ],
)
def test_what_only_looks_another_is_no_difference_wherever_it_stands(old: Wire, new: Wire) -> None:
    for holder in (
        lambda value: value,
        lambda value: [1, value],
        lambda value: {"a": 1, "b": value},
        lambda value: typed("tuple", [1, value]),
        lambda value: typed("dataclass", {"a": 1, "b": value}, **{"class": "m:D"}),
        lambda value: model({"a": value}),
        lambda value: typed("dict", [[1, value], [2, 2]]),
    ):
        assert said(holder(old), holder(new)) == []


def test_pairs_that_are_no_dict_are_compared_as_the_list_that_they_are() -> None:
    assert said(typed("dict", [[1, 2], [3]]), typed("dict", [[1, 2], [4]])) == [("change", "x[1][0]", 3, 4)]
    assert said(typed("dict", [[1, 2], [1, 3]]), typed("dict", [[1, 2], [1, 4]])) == [("change", "x[1][1]", 3, 4)]
