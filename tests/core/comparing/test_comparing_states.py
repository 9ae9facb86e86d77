"""What differs between two states."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt.comparing.patch import to_json_patch
from agent_tt.comparing.states import Change, compare_states

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.text("ab~/", max_size=4),
)
wires = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=4),
    max_leaves=20,
)


def said(changes: list[Change]) -> list[tuple[str, str, Wire, Wire]]:
    return [(change.op, change.path, change.old, change.new) for change in changes]


def exactly_equal(a: Wire, b: Wire) -> bool:
    """Equality that tells types and the sign of zero apart, and not the order of keys."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(exactly_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(exactly_equal, a, b))
    return repr(a) == repr(b)


def patched(document: Wire, patch: list[dict[str, Wire]]) -> Wire:
    """RFC 6902, as far as it is used."""
    document = copy.deepcopy(document)
    for operation in copy.deepcopy(patch):
        steps = [part.replace("~1", "/").replace("~0", "~") for part in str(operation["path"]).split("/")[1:]]
        if not steps:
            document = operation["value"]
            continue
        parent = document
        for step in steps[:-1]:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
        last = steps[-1]
        if isinstance(parent, list):
            index = len(parent) if last == "-" else int(last)
            if operation["op"] == "add":
                assert index <= len(parent)
                parent.insert(index, operation["value"])
            elif operation["op"] == "replace":
                parent[index] = operation["value"]
            else:
                del parent[index]
        elif operation["op"] == "remove":
            del parent[last]
        else:
            assert (operation["op"] == "replace") == (last in parent)
            parent[last] = operation["value"]
    return document


@given(wires, wires)
@settings(max_examples=100)
def test_a_json_patch_turns_the_old_state_into_the_new_one(a: Wire, b: Wire) -> None:
    before = copy.deepcopy((a, b))
    assert exactly_equal(patched(a, to_json_patch(a, b)), b)
    assert exactly_equal(list(before), [a, b])


def looked_up(state: Wire, path: tuple[str | int, ...]) -> Wire:
    for step in path:
        state = state[step]
    return state


@given(wires, wires)
@settings(max_examples=100)
def test_every_change_names_the_value_that_stands_at_its_place(a: Wire, b: Wire) -> None:
    changes = compare_states(a, b)
    if exactly_equal(a, b):
        assert all(change.op == "reorder" for change in changes)
    else:
        assert changes
    for change in changes:
        if change.op in ("add", "change"):
            assert exactly_equal(looked_up(b, change.where), change.new)
        if change.op == "remove":
            assert exactly_equal(looked_up(a, change.where), change.old)
        if change.op == "change":
            assert not exactly_equal(change.old, change.new)


def test_types_are_told_apart_and_nan_equals_itself() -> None:
    nan = {"$type": "float", "$v": "nan"}
    assert said(compare_states({"n": 1, "x": nan}, {"n": 1.0, "x": nan})) == [("change", "n", 1, 1.0)]
    assert said(compare_states([True, 0.0], [1, -0.0])) == [("change", "[0]", True, 1), ("change", "[1]", 0.0, -0.0)]


def test_an_insert_at_the_front_of_a_list_is_one_change_and_edits_behind_it_keep_their_new_place() -> None:
    old = {"messages": [{"role": "user", "content": f"message {index}", "n": index} for index in range(50)]}
    new = copy.deepcopy(old)
    new["messages"][30]["content"] = "edited"
    new["messages"].insert(0, {"role": "system", "content": "be kind", "n": -1})
    first, second = compare_states(old, new)
    assert (first.op, first.path) == ("add", "messages[0]")
    assert (second.op, second.path, second.old_path) == ("change", "messages[31].content", "messages[30].content")
    assert (second.old, second.new) == ("message 30", "edited")


def test_changes_come_in_the_order_of_the_state() -> None:
    old = {"a": 1, "list": [1, 2, 3], "z": 1}
    new = {"a": 2, "list": [0, 1, 3, 4], "z": 2}
    assert [change.path for change in compare_states(old, new)] == ["a", "list[0]", "list[1]", "list[3]", "z"]


def test_a_typed_value_is_one_thing_and_not_what_its_envelope_is_made_of() -> None:
    def moment(text: str) -> Wire:
        return {"$type": "datetime", "zone": "Europe/Paris", "$v": text}

    old, new = moment("2026-01-02T03:04:00"), moment("2026-01-02T03:05:00")
    assert said(compare_states({"at": old}, {"at": new})) == [("change", "at", old, new)]
    pair_a: Wire = {"$type": "tuple", "$v": [1, 2]}
    pair_b: Wire = {"$type": "tuple", "$v": [1, 3]}
    assert said(compare_states({"pair": pair_a}, {"pair": pair_b})) == [("change", "pair[1]", 2, 3)]
    assert said(compare_states({"pair": pair_a}, {"pair": [1, 2]})) == [("change", "pair", pair_a, [1, 2])]


def test_another_order_of_keys_is_said_and_is_nothing_to_patch() -> None:
    a: Wire = {"x": {"one": 1, "two": 2}}
    b: Wire = {"x": {"two": 2, "one": 1}}
    assert said(compare_states(a, b)) == [("reorder", "x", ["one", "two"], ["two", "one"])]
    assert to_json_patch(a, b) == []
