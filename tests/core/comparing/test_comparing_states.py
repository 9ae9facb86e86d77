"""What differs between two states."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from tests.core.comparing.state_laws import exactly_equal, states

from agent_tt.codec.paths import format_path, parse_path
from agent_tt.comparing.values.patch import to_json_patch
from agent_tt.comparing.values.states import Change, Shifts, compare_states, describe_ops, path_after
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import apply, trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op


def said(changes: list[Change]) -> list[tuple[str, str, Wire, Wire]]:
    return [(change.op, change.path, change.old, change.new) for change in changes]


def looked_up(state: Wire, path: tuple[str | int, ...]) -> Wire:
    for step in path:
        state = state[step]
    return state


@given(states, states)
@settings(max_examples=60)
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
            assert exactly_equal(looked_up(a, parse_path(change.old_path or change.path)), change.old)
        if change.op == "move":
            assert change.old_path is not None
            assert exactly_equal(looked_up(a, parse_path(change.old_path)), change.old)
            assert exactly_equal(looked_up(b, change.where), change.new)
        else:
            assert change.old_path != change.path
        assert parse_path(change.path) == change.where


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


# What the changes say is enough to make the new state from the old one, and nothing is said twice.


def made_of(old: Wire, changes: list[Change], old_path: Path = (), path: Path = ()) -> Wire:
    """The new state, from the old one and the changes alone."""
    own = [change for change in changes if change.where == path and change.op == "change"]
    assert len(own) <= 1
    if own:
        assert exactly_equal(own[0].old, old)
        return own[0].new
    if not isinstance(old, (dict, list)):
        return old
    gone = {change.where[-1] for change in changes if change.op == "remove" and change.where[:-1] == old_path}
    came = {c.where[-1]: c.new for c in changes if c.op == "add" and c.where and c.where[:-1] == path}
    moves = {c.old_path: c.where[-1] for c in changes if c.op == "move" and c.where[:-1] == path}
    keys = list(old) if isinstance(old, dict) else list(range(len(old)))
    kept = [key for key in keys if key not in gone]
    targets = {key: moves[format_path((*old_path, key))] for key in kept if format_path((*old_path, key)) in moves}
    if isinstance(old, dict):
        pairs = {key: targets.get(key, key) for key in kept}
    else:
        order = next((c.new for c in changes if c.of == "items" and c.where == path), kept)
        places = [at for at in range(len(kept) + len(came)) if at not in came and at not in targets.values()]
        assert sorted(order) == kept
        pairs = dict(zip([key for key in order if key not in targets], places, strict=True)) | targets
    made = {new: made_of(old[key], changes, (*old_path, key), (*path, new)) for key, new in pairs.items()}
    assert not made.keys() & came.keys()
    made |= came
    return made if isinstance(old, dict) else [made[at] for at in range(len(made))]


@given(states, states)
@settings(max_examples=70)
def test_the_changes_make_the_new_state_of_the_old_one(a: Wire, b: Wire) -> None:
    assert exactly_equal(made_of(a, compare_states(a, b)), b)


@given(states, states)
@settings(max_examples=60)
def test_changes_worked_out_from_recorded_operations_make_it_too(a: Wire, b: Wire) -> None:
    assert exactly_equal(made_of(a, describe_ops(a, b, diff(a, b))), b)


def test_changes_from_operations_stand_in_the_order_of_the_state_also_around_damage() -> None:
    old: Wire = {"z": {"deep": {"n": 1}}, "list": [1], "a": {"n": 1}}
    new: Wire = {"z": {"deep": {"n": 2}}, "list": [1, 2], "a": {"n": 2}}
    assert [c.path for c in describe_ops(old, new, diff(old, new))] == ["z.deep.n", "list[1]", "a.n"]
    damaged: Wire = {**old, "z": {"$type": "damaged", "why": "gone", "$v": None}}
    found = describe_ops(damaged, {**new, "z": damaged["z"]}, diff(old, new))
    assert [c.path for c in found] == ["list[1]", "a.n"]


@pytest.mark.parametrize(
    ("ops", "places"),
    [
        ([], []),
        ([["s", ["z", "deep", "n"], 9]], ["z.deep.n", "z.deep.m"]),
        ([["s", ["z", "deep"], 9]], ["z.deep.n", "z.deep.m", "z.beside"]),
        ([["d", ["z", "gone"]]], ["z.deep.n", "z.deep.m", "z.beside"]),
        ([["a", ["tail"], 1, [9]]], ["tail[0]"]),
        ([["t", ["text"], 1, "b"]], ["text"]),
        ([["o", ["z", "deep"], ["n", "m"]]], ["z.deep.n", "z.deep.m"]),
        ([["x", ["tail"], 0, 1, [9]], ["t", ["text"], 1, "b"]], ["tail[0]", "text"]),
        ([["s", ["list", 1, "x"], 9]], ["list[1].x"]),
        ([["s", ["list", 1, "x"], 9], ["x", ["list"], 0, 1, [9]]], ["list[0].x", "list[1].x"]),
        ([["s", ["list", 1, "x"], 9], ["s", ["list", 0, "x"], 9]], ["list[0].x", "list[1].x"]),
        ([["s", ["typed", "$v", 0, "y"], 9]], ["typed[0].y", "typed[1]"]),
        ([["m", ["text"], ["was"]]], ["z.deep.n", "z.deep.m", "z.beside", "tail[0]", "text", "list[0].x", "list[1].x",
                                      "typed[0].y", "typed[1]"]),
        ([["t", ["text"], 1, "b"], ["s", ["z", "deep", "n"], 9]], ["z.deep.n", "z.deep.m", "text"]),
        ([["a", ["gone"], 1, [9]]], ["z.deep.n", "z.deep.m", "z.beside", "tail[0]", "text", "list[0].x", "list[1].x",
                                     "typed[0].y", "typed[1]"]),
    ],
)  # fmt: skip
def test_only_what_operations_touch_is_looked_at_and_all_of_it_if_that_is_not_known(
    ops: list[Op], places: list[str]
) -> None:
    def state(n: int) -> Wire:
        return {
            "z": {"deep": {"n": n, "m": n}, "beside": n},
            "tail": [n],
            "text": str(n),
            "list": [{"x": n, "id": 1}, {"x": n, "id": 2}],
            "typed": {"$type": "tuple", "$v": [{"y": n, "id": 1}, n]},
        }

    assert [each.path for each in describe_ops(state(1), state(2), ops)] == places


def places_in(value: Wire, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_in(inner, (*path, key))


@given(states, states)
@settings(max_examples=60)
def test_a_value_is_followed_to_where_it_is_after_an_operation(a: Wire, b: Wire) -> None:
    for op in diff(a, b):
        a = apply(a, [copy.deepcopy(op)])
        for place in places_in(a):
            origin = trace(op, place)
            if origin is not None:
                assert path_after(op, origin) == place


@given(states, states)
@settings(max_examples=60)
def test_a_value_is_followed_through_all_later_operations_as_through_each(a: Wire, b: Wire) -> None:
    ops = diff(a, b)
    shifts = Shifts(ops)
    for number, op in enumerate(ops):
        a = apply(a, [copy.deepcopy(op)])
        for place in places_in(a):
            each = place
            for later in ops[number + 1 :]:
                each = path_after(later, each)
            assert shifts.settled(place, number) == each


def mirrored(changes: list[Change]) -> list[tuple[str, str, str]]:
    other = {"add": "remove", "remove": "add"}
    return sorted((other.get(c.op, c.op), c.path, c.path if c.old_path is None else c.old_path) for c in changes)


@given(states, states)
@settings(max_examples=70)
def test_the_way_back_is_the_same_turned_around(a: Wire, b: Wire) -> None:
    there = sorted((c.op, c.path if c.old_path is None else c.old_path, c.path) for c in compare_states(a, b))
    assert there == mirrored(compare_states(b, a))


@given(states)
@settings(max_examples=50)
def test_a_state_does_not_differ_from_a_copy_of_itself(a: Wire) -> None:
    assert compare_states(a, copy.deepcopy(a)) == []


# Lists.


def messages(*texts: str) -> list[Wire]:
    return [{"role": "user", "content": text} for text in texts]


LINES = [
    "the parcel is late",
    "where is my order now",
    "we looked into it",
    "a voucher was sent",
    "thanks a lot for that",
]


def test_an_item_that_swapped_its_place_with_another_moved_and_what_is_between_stays() -> None:
    old = messages(*LINES)
    new = [old[0], old[3], old[2], old[1], old[4]]
    found = compare_states({"m": old}, {"m": new})
    assert [(c.op, c.old_path, c.path) for c in found] == [("move", "m[3]", "m[1]"), ("move", "m[1]", "m[3]")]


def test_a_rotated_list_is_one_move_and_a_reordered_one_one_change() -> None:
    [moved] = compare_states(list(range(100)), [*range(1, 100), 0])
    assert (moved.op, moved.old_path, moved.path) == ("move", "[0]", "[99]")
    [reordered] = compare_states({"l": list("abcdefgh")}, {"l": list("hdacbgfe")})
    assert (reordered.op, reordered.path, reordered.of) == ("reorder", "l", "items")
    assert reordered.old == list(range(8))
    assert reordered.new == [7, 3, 0, 2, 1, 6, 5, 4]
    assert reordered.makes_a_difference


def test_an_edited_item_is_known_again_behind_items_that_were_put_in() -> None:
    old = messages(*LINES)
    new = messages("be kind to them", "and short", *LINES)
    new[4]["content"] = "we looked into it twice"
    assert [(c.op, c.path) for c in compare_states(old, new)] == [
        ("add", "[0]"),
        ("add", "[1]"),
        ("change", "[4].content"),
    ]


def test_an_item_that_moved_and_was_edited_is_both() -> None:
    old = [{"id": n, "title": f"task number {n}", "done": False} for n in range(6)]
    new = [copy.deepcopy(old[5]), *copy.deepcopy(old[:5])]
    new[0]["done"] = True
    found = compare_states(old, new)
    assert [(c.op, c.path, c.old_path) for c in found] == [
        ("move", "[0]", "[5]"),
        ("change", "[0].done", "[5].done"),
    ]


def test_messages_belong_together_by_their_id_whatever_they_say() -> None:
    def said(id_: str, text: str) -> Wire:
        kind = "langchain_core.messages.ai:AIMessage"
        return {"$type": "pydantic", "class": kind, "set": [], "extra": None, "private": None} | {
            "$v": {"content": text, "id": id_}
        }

    old = [said("1", "yes"), said("2", "the first draft"), said("3", "no")]
    new = [said("1", "yes"), said("9", "quite new"), said("2", "nothing of it is left"), said("3", "no")]
    assert [(c.op, c.path, c.old) for c in compare_states(old, new)] == [
        ("add", "[1]", None),
        ("change", "[2].content", "the first draft"),
    ]


def test_of_equal_items_only_their_number_counts() -> None:
    assert [(c.op, c.path) for c in compare_states([0] * 3000, [0] * 2999)] == [("remove", "[2999]")]
    assert [c.op for c in compare_states([0] * 10, [0] * 4 + [1] + [0] * 6)] == ["add"]


def test_thousands_of_items_of_which_all_were_edited_keep_together() -> None:
    old = [{"name": f"item{n}", "seen": n, "tags": ["a", "b"]} for n in range(2_500)]
    new = [{"name": "first", "seen": -1, "tags": []}, *({**item, "tags": ["a"]} for item in old)]
    found = compare_states(old, new)
    assert [(c.op, c.path) for c in found[:2]] == [("add", "[0]"), ("remove", "[0].tags[1]")]
    assert len(found) == 2_501


# Values of other kinds.


def typed(kind: str, value: Wire, **header: Wire) -> Wire:
    return {"$type": kind, **header, "$v": value}


def test_a_member_of_a_set_is_there_or_is_not() -> None:
    found = compare_states({"s": typed("set", ["a", "b", "c"])}, {"s": typed("set", ["a", "c", "d"])})
    assert [(c.op, c.old, c.new) for c in found] == [("remove", "b", None), ("add", None, "d")]


def test_a_dict_with_other_keys_than_text_is_compared_by_key() -> None:
    old, new = typed("dict", [[1, "a"], [2, "b"], [None, "c"]]), typed("dict", [[2, "b"], [1, "x"], [3, "d"]])
    assert [(c.op, c.old, c.new) for c in compare_states(old, new)] == [
        ("reorder", [1, 2], [2, 1]),
        ("change", "a", "x"),
        ("remove", "c", None),
        ("add", None, "d"),
    ]


def test_a_nan_is_a_nan_also_in_lists_and_whatever_its_bits() -> None:
    nan, odd = typed("float", "nan"), typed("float", "nan:fff8000000000000")
    assert compare_states([1, nan, {"x": nan}], [1, odd, {"x": odd}]) == []
    assert [c.op for c in compare_states(nan, typed("float", "inf"))] == ["change"]


def test_none_is_not_nothing_and_texts_are_what_they_are_made_of() -> None:
    assert [(c.op, c.path) for c in compare_states({"a": None}, {})] == [("remove", "a")]
    assert [c.op for c in compare_states("caf\u00e9", "cafe\u0301")] == ["change"]
    assert [(c.old, c.new) for c in compare_states({"a": 1, "b": "1"}, {"a": "1", "b": "1.0"})] == [
        (1, "1"),
        ("1", "1.0"),
    ]


def test_a_length_of_time_is_one_thing_and_a_model_is_looked_into() -> None:
    old, new = typed("timedelta", [1, 0, 0]), typed("timedelta", [1, 5, 0])
    assert [(c.path, c.old) for c in compare_states({"t": old}, {"t": new})] == [("t", old)]
    before = typed("pydantic", {"a": 1, "b": 2}, **{"class": "m:M", "set": ["a"], "extra": None, "private": None})
    after = typed("pydantic", {"a": 1, "b": 3}, **{"class": "m:M", "set": ["a", "b"], "extra": None, "private": None})
    assert [(c.path, c.new) for c in compare_states({"m": before}, {"m": after})] == [("m.b", 3)]


def test_an_entry_under_another_key_was_renamed_if_its_value_tells_so() -> None:
    plan: Wire = ["look", "book"]
    found = compare_states({"plan": plan, "n": 1}, {"steps": plan, "m": 1})
    assert [(c.op, c.old_path, c.path, c.old, c.new) for c in found] == [
        ("move", "plan", "steps", plan, plan),
        ("remove", None, "n", 1, None),
        ("add", None, "m", None, 1),
    ]


@pytest.mark.parametrize(
    ("value", "telling"),
    [
        ("a" * 8, True),
        ("a" * 7, False),
        ([0], True),
        ([], False),
        ({"a": 0}, True),
        ({}, False),
        (12345678, False),
        (None, False),
    ],
)
def test_only_a_value_that_is_not_there_by_chance_tells_that_an_entry_was_renamed(value: Wire, telling: bool) -> None:
    def ops(old: Wire, new: Wire) -> list[str]:
        return [change.op for change in compare_states(old, new)]

    assert ops({"old": value}, {"new": value}) == (["move"] if telling else ["remove", "add"])
    assert "move" not in ops({"old": value, "older": value}, {"new": value})
    assert "move" not in ops({"old": value, "kept": value}, {"kept": value})


def test_what_is_gone_is_said_where_it_stood_before_what_came_there() -> None:
    old: Wire = {"a": 1, "b": 1, "c": 1}
    new: Wire = {"x": 1, "b": 2, "y": 1, "z": 1}
    assert [(c.op, c.path) for c in compare_states(old, new)] == [
        ("remove", "a"),
        ("add", "x"),
        ("change", "b"),
        ("remove", "c"),
        ("add", "y"),
        ("add", "z"),
    ]


def test_a_change_as_json_says_where_it_was_and_what_was_reordered_only_where_that_is_so() -> None:
    assert [each.to_json() for each in compare_states({"n": 1}, {"n": 2})] == [
        {"op": "change", "path": "n", "old": 1, "new": 2}
    ]
    assert [each.to_json() for each in compare_states([1, 2, 3], [3, 1, 2])] == [
        {"op": "move", "path": "[0]", "old": 3, "new": 3, "old_path": "[2]"}
    ]
    assert [each.to_json() for each in compare_states({"a": 1, "b": 2}, {"b": 2, "a": 1})] == [
        {"op": "reorder", "path": "", "old": ["a", "b"], "new": ["b", "a"], "of": "keys"}
    ]


def test_states_that_are_nested_without_end_are_refused_with_their_reason() -> None:
    deep: Wire = 0
    other: Wire = 1
    for _ in range(100_000):
        deep, other = [deep], [other]
    with pytest.raises(CorruptDelta, match="nested too deeply"):
        compare_states(deep, other)


def test_the_order_of_keys_makes_no_state_another() -> None:
    [change] = compare_states({"one": 1, "two": 2}, {"two": 2, "one": 1})
    assert (change.of, change.makes_a_difference) == ("keys", False)
