"""Edits: how they are written, what they do to a state, and what is said when they do not fit."""

from __future__ import annotations

import enum
from collections import deque
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.errors import InvalidEdit, InvalidPath, InvalidValue
from agent_tt.forking.editing.assignments import parse_assignment
from agent_tt.forking.editing.between import edits_between
from agent_tt.forking.editing.edits import apply_edits, check_type, edit_from_value, with_old_values
from agent_tt.model import Edit


class Colour(enum.Enum):
    RED = "red"


@dataclass
class User:
    name: str
    age: int


TYPES = {f"{__name__}:Colour": Colour, f"{__name__}:User": User}
STATE = {
    "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}],
    "budget": {"left": 20},
}


def set_(path: str, value: object) -> Edit:
    return Edit("set", path, encode(value))


def test_an_assignment_is_a_path_and_a_json_value() -> None:
    assert parse_assignment('messages[1].content="a=b"') == Edit("set", "messages[1].content", "a=b")
    assert parse_assignment("budget.left = 3") == Edit("set", "budget.left", 3)
    assert parse_assignment('={"a": 1}') == Edit("set", "", {"a": 1})


def test_the_equals_sign_in_a_quoted_key_belongs_to_the_key() -> None:
    assert parse_assignment('plan["a=b"].x=1') == Edit("set", 'plan["a=b"].x', 1)


def test_an_unquoted_string_is_refused_with_the_way_to_quote_it() -> None:
    with pytest.raises(InvalidValue, match=r"^set .*: line 1, column \d+: not JSON") as caught:
        parse_assignment("budget.left=many")
    assert '"' in caught.value.hint


def test_a_text_without_equals_sign_is_no_assignment() -> None:
    with pytest.raises(InvalidEdit) as caught:
        parse_assignment("budget.left")
    assert "PATH=VALUE" in str(caught.value)


def test_what_stands_before_the_equals_sign_must_be_a_path() -> None:
    with pytest.raises(InvalidPath):
        parse_assignment("messages[x=1")


def test_edits_apply_in_order_and_leave_the_state_alone() -> None:
    before = deepcopy(STATE)
    after = apply_edits(
        STATE,
        [
            set_("messages[1].content", "no"),
            Edit("insert", "messages[0]", {"role": "system", "content": "be kind"}),
            Edit("delete", "messages[2]"),
            set_("budget.searches", 3),
            Edit("delete", "budget.left"),
        ],
    )
    assert after == {
        "messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}],
        "budget": {"searches": 3},
    }
    assert before == STATE


def test_an_item_can_be_inserted_or_set_just_after_the_end() -> None:
    assert apply_edits([1], [Edit("insert", "[1]", 2), set_("[2]", 3)]) == [1, 2, 3]


def test_a_move_takes_a_value_to_its_new_place() -> None:
    assert apply_edits([1, 2, 3], [Edit("move", "[0]", to="[2]")]) == [2, 3, 1]
    assert apply_edits({"a": 1, "b": {}}, [Edit("move", "a", to="b.c")]) == {"b": {"c": 1}}


@pytest.mark.parametrize(
    ("state", "edit", "expected"),
    [
        ((1, 2), set_("[0]", 5), (5, 2)),
        ((1, 2), Edit("insert", "[2]", 3), (1, 2, 3)),
        (deque([1], maxlen=4), Edit("insert", "[0]", 0), deque([0, 1], maxlen=4)),
        (User("Ann", 7), set_("name", "Bo"), User("Bo", 7)),
        ({1: "one", "two": 2}, set_("[0][1]", "eins"), {1: "eins", "two": 2}),
        ({1: "one", "two": 2}, set_("two", 3), {1: "one", "two": 3}),
        ({1: "one"}, set_("new", [0]), {1: "one", "new": [0]}),
        ({1: "one", "two": 2}, Edit("delete", "two"), {1: "one"}),
        ({1: "one", "two": 2}, Edit("delete", "[0]"), {"two": 2}),
        ({"user": (User("Ann", 7),)}, set_("user[0].age", 8), {"user": (User("Ann", 8),)}),
        ({"c": Colour.RED}, set_("c", "blue"), {"c": "blue"}),
    ],
)
def test_typed_values_are_edited_inside_and_stay_what_they_are(state: object, edit: Edit, expected: object) -> None:
    assert decode(apply_edits(encode(state), [edit]), TYPES) == expected


@pytest.mark.parametrize(
    ("edit", "says", "hint"),
    [
        (set_("mesages[0].content", 1), "the state has no mesages", "messages"),
        (set_("messages[9].content", 1), "messages is a list of 2 and has no [9]", "[0] to [1]"),
        (set_("messages[3]", 1), "has no [3]", "[2] adds one at the end"),
        (Edit("delete", "messages[2]"), "has no [2]", "[0] to [1]"),
        (Edit("delete", "budget.lft"), "budget has no lft", "left"),
        (set_("budget.left.x", 1), "budget.left is an int", "as a whole"),
        (Edit("insert", "budget[0]", 1), "not a list", "set"),
        (Edit("insert", "", 1), "list position", "messages[0]"),
        (Edit("delete", ""), "whole state cannot be deleted", "set it"),
        (set_("budget[0]", 1), "budget has no [0]", "left"),
        (Edit("move", "budget"), "where to", "to"),
    ],
)
def test_an_edit_that_does_not_fit_says_what_is_there_and_what_to_do(edit: Edit, says: str, hint: str) -> None:
    with pytest.raises(InvalidEdit) as caught:
        apply_edits(STATE, [edit])
    assert says in str(caught.value)
    assert hint in caught.value.hint
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("state", "edit"),
    [
        ({"s": {1, 2}}, set_("s[0]", 5)),
        ({"d": Decimal("1.5")}, set_("d.x", 5)),
        ({"u": User("Ann", 7)}, set_("u.nme", "x")),
        ({"u": User("Ann", 7)}, Edit("delete", "u.name")),
        ({"p": {1: 2}}, set_("p[0]", 5)),
        ({"p": {1: 2}}, Edit("delete", "p[0][1]")),
        ({"p": {1: 2}}, set_("p[0][2]", 5)),
        ({"b": b"xy"}, Edit("insert", "b[0]", 1)),
    ],
)
def test_what_would_break_a_typed_value_is_refused(state: object, edit: Edit) -> None:
    with pytest.raises(InvalidEdit):
        apply_edits(encode(state), [edit])


def test_the_failing_edit_of_several_is_numbered() -> None:
    with pytest.raises(InvalidEdit, match="edit 2 of 2: delete nothing"):
        apply_edits(STATE, [set_("budget.left", 1), Edit("delete", "nothing")])


def test_edits_know_the_value_that_they_replace() -> None:
    edits = [set_("budget.left", 3), set_("budget.left", 4), set_("budget.new", 1), Edit("delete", "messages[0]")]
    assert [edit.old for edit in with_old_values(STATE, edits)] == [20, 3, None, STATE["messages"][0]]


def test_an_edit_made_from_a_python_value_is_encoded_and_knows_the_old_one() -> None:
    edit = edit_from_value(STATE, "budget.left", (1, 2))
    assert edit == Edit("set", "budget.left", {"$type": "tuple", "$v": [1, 2]}, old=20)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("a", "bcd", "still a str"),
        (1, 2, "still an int"),
        (1, "1", "was int, now str"),
        (1, 1.0, "was int, now float"),
        (1, True, "was int, now bool"),
        (None, None, "still null"),
        ([1], [], "still a list"),
        ((1,), [1], "was tuple, now list"),
    ],
)
def test_the_change_of_type_is_said_in_words(old: object, new: object, word: str) -> None:
    assert check_type(encode(old), encode(new)) == word


scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text("ab$.[=", max_size=3)
values = st.recursive(
    scalars | st.just(Colour.RED) | st.frozensets(st.integers(0, 5), max_size=3) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4)
        | st.dictionaries(st.integers(0, 3) | st.text("ab", max_size=1), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(User, inner, inner)
    ),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(values, values)
def test_the_edits_between_two_states_turn_one_into_the_other(old: object, new: object) -> None:
    before, after = encode(old), encode(new)
    untouched = deepcopy(before)
    edits = edits_between(before, after)
    result = apply_edits(before, edits)
    assert repr_without_key_order(result) == repr_without_key_order(after)
    assert before == untouched
    assert bool(edits) is not (repr_without_key_order(before) == repr_without_key_order(after))


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ((None, [(frozenset(), None)]), (None, [(frozenset([0]), None)]), ["[1][0][0]"]),
        ({"d": {1: {"a": 1}}}, {"d": {1: {"a": 2}}}, ["d"]),
        ({"u": User("Ann", 7)}, {"u": User("Ann", 8)}, ["u.age"]),
        ({"t": (1, "x")}, {"t": (1, "xy")}, ["t[1]"]),
        ({"t": (1, 2)}, {"t": [1, 2]}, ["t"]),
    ],
)
def test_a_change_inside_a_typed_value_is_one_edit_at_the_deepest_place_that_people_edit(
    old: object, new: object, paths: list[str]
) -> None:
    edits = edits_between(encode(old), encode(new))
    assert [edit.path for edit in edits] == paths
    assert decode(apply_edits(encode(old), edits), TYPES) == new


def repr_without_key_order(wire: object) -> str:
    """Tells 1 from 1.0 and True, and is blind to the order of keys."""
    if isinstance(wire, dict):
        items = sorted((key, repr_without_key_order(value)) for key, value in wire.items())
        if wire.get("$type") == "dict":
            items = [("$v", str(sorted(repr_without_key_order(pair) for pair in wire["$v"])))]
        return f"{{{items}}}"
    if isinstance(wire, list):
        return f"[{', '.join(map(repr_without_key_order, wire))}]"
    return repr(wire)


def test_the_edits_of_a_message_are_as_small_as_the_change() -> None:
    new = deepcopy(STATE)
    new["messages"][1]["content"] = "no"
    new["messages"].append({"role": "user", "content": "why?"})
    assert edits_between(STATE, new) == (
        Edit("insert", "messages[2]", {"role": "user", "content": "why?"}),
        Edit("set", "messages[1].content", "no", old="yes"),
    ) or edits_between(STATE, new) == (
        Edit("set", "messages[1].content", "no", old="yes"),
        Edit("insert", "messages[2]", {"role": "user", "content": "why?"}),
    )


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        ('{"days": 14,  "why":"é"}', "days", 30, '{"days": 30,  "why":"é"}'),
        ('{"a":{"b":[1,2.0,"x"]}}', "a.b[1]", [1, {"c": None}], '{"a":{"b":[1,[1,{"c":null}],"x"]}}'),
        ('{"in": "{\\"x\\": 1}"}', "in.x", 5, '{"in": "{\\"x\\": 5}"}'),
        ('{\n  "a": 1\n}', "new", 2, '{\n  "a": 1,\n  "new": 2\n}'),
        (" [true, 1] ", "[0]", 1, " [1, 1] "),
        ('{"k": 1, "k": 2}', "k", 3, '{"k": 1, "k": 3}'),
    ],
)
def test_an_edit_leads_into_a_text_that_is_json_and_leaves_the_rest_of_it_as_it_was(
    text: str, path: str, value: object, after: str
) -> None:
    state = {"messages": [{"content": text}]}
    where = f"messages[0].content{'' if path.startswith('[') else '.'}{path}"
    assert apply_edits(state, [Edit("set", where, value)]) == {"messages": [{"content": after}]}
    (known,) = with_old_values(state, [Edit("set", where, value)])
    assert (known.path, known.old, known.value) == ("messages[0].content", text, after)


def test_an_edit_into_a_json_text_that_does_not_fit_names_the_text() -> None:
    state = {"content": '{"a": [1]}', "words": "no JSON"}
    with pytest.raises(InvalidEdit, match="the JSON text content has no b"):
        apply_edits(state, [Edit("delete", "content.b")])
    with pytest.raises(InvalidEdit, match="words is a str"):
        apply_edits(state, [Edit("set", "words.a", 1)])
    assert apply_edits(state, [Edit("insert", "content.a[0]", 0)])["content"] == '{"a": [0, 1]}'
    assert apply_edits(state, [Edit("delete", "content.a[0]")])["content"] == '{"a": []}'
