"""An edit is told by the values that it changes, whatever it was an edit of."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.wire import TYPE
from agent_tt.comparing.runs.edits import edit_words
from agent_tt.comparing.values.edit_leaves import edit_changes
from agent_tt.forking.editing.edits import apply_edits, with_old_values
from agent_tt.model import Edit

TERMS = {"policy": {"window_days": 14, "name": "refunds"}, "lines": [{"price": 10}, {"price": 20}]}
NEW = {"policy": {"window_days": 30, "name": "refunds"}, "lines": [{"price": 10}, {"price": 20}]}
SAID, SAID_NEW = json.dumps(TERMS), json.dumps(NEW)


def told(edit: Edit) -> list[tuple[str, str, object, object]]:
    return [(change.op, change.path, change.old, change.new) for change in edit_changes(edit)]


@pytest.mark.parametrize(
    ("edit", "where"),
    [
        (Edit("set", "", NEW, TERMS), "policy.window_days"),
        (Edit("set", "shop", NEW, TERMS), "shop.policy.window_days"),
        (Edit("set", "said[2].content", json.dumps(NEW), json.dumps(TERMS)), "said[2].content.policy.window_days"),
        (
            Edit("set", "", NEW, TERMS, target="result", step=3, call=1),
            "result of call 1 in step 3, policy.window_days",
        ),
        (
            Edit("set", "", json.dumps(NEW), json.dumps(TERMS, indent=2), target="result", step=3, call=1),
            "result of call 1 in step 3, policy.window_days",
        ),
        (
            Edit("set", "body", {"said": SAID_NEW}, {"said": SAID}, target="result", step=3, call=1),
            "result of call 1 in step 3, body.said.policy.window_days",
        ),
        (
            Edit(
                "set",
                "",
                [{"name": "look_up", "arguments": NEW}],
                [{"name": "look_up", "arguments": TERMS}],
                target="answer",
                step=3,
                call=1,
            ),
            "answer of call 1 in step 3, [0].arguments.policy.window_days",
        ),
    ],
)  # fmt: skip
def test_of_a_value_that_was_replaced_as_a_whole_the_leaf_is_told_that_changed(edit: Edit, where: str) -> None:
    assert told(edit) == [("change", where, 14, 30)]
    assert edit_words(edit) == f"{where} = 30"


def test_each_leaf_that_changed_is_told_and_keys_that_came_and_went() -> None:
    edit = Edit(
        "set", "", {"a": 2, "b": {"d": 1}}, {"a": 1, "b": {"c": 1.5, "e": "x"}}, target="result", step=2, call=1
    )
    assert {(op, path) for op, path, *_ in told(edit)} == {
        ("change", "result of call 1 in step 2, a"),
        ("add", "result of call 1 in step 2, b.d"),
        ("remove", "result of call 1 in step 2, b.c"),
        ("remove", "result of call 1 in step 2, b.e"),
    }
    assert edit_words(edit).endswith(", and 3 more")


@pytest.mark.parametrize(
    "edit",
    [
        Edit("set", "", '{"a": 1}', {"a": 2}),
        Edit("set", "", {"a": 1}, '{"a": 1}'),
        Edit("set", "", {"a": 1}, [1]),
        Edit("set", "", '{"a": 1}', "[1]"),
        Edit("set", "", '{"a":1}', '{"a": 1}'),
        Edit("set", "", "{a}", "{b}"),
        Edit("set", "", {TYPE: "tuple", "v": [1]}, {"a": 1}),
    ],
)
def test_a_value_of_another_kind_is_told_as_a_whole(edit: Edit) -> None:
    """What only reads alike is not a change inside: a text that is JSON is not the value that it says."""
    assert told(edit) == [("change", "", edit.old, edit.value)]


def test_other_edits_are_told_as_they_are() -> None:
    assert told(Edit("mute", "", "think", target="step", step=3)) == [("remove", "step 3, muted", "think", None)]
    assert told(Edit("delete", "a.b", old=1)) == [("remove", "a.b", 1, None)]
    assert told(Edit("insert", "a[0]", 1)) == [("add", "a[0]", None, 1)]
    assert told(Edit("set", "a", 1)) == [("add", "a", None, 1)]
    assert told(Edit("set", "top p", 1, 2, target="parameter")) == [("change", "parameter top p", 2, 1)]
    assert told(Edit("set", "", "new", "old", target="system")) == [("change", "system prompt", "old", "new")]
    moved = edit_changes(Edit("move", "a", old=1, to="b"))
    assert [(each.op, each.old_path, each.path) for each in moved] == [("move", "a", "b")]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc. []", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(old=st.dictionaries(st.text(max_size=3), values, max_size=4), new=values, in_text=st.booleans())
def test_what_is_told_of_an_edit_is_what_differs(old: dict[str, object], new: object, in_text: bool) -> None:
    """Made one after another, the changes that are told make of the old value the new one."""
    if not isinstance(new, dict):
        new = {**old, "last": new}
    state = {"at": json.dumps(old) if in_text else old}
    wanted = {"at": json.dumps(new) if in_text else new}
    (edit,) = with_old_values(state, [Edit("set", "at", wanted["at"])])
    changes = edit_changes(edit)
    if any(change.op not in ("add", "remove", "change") or change.old_path for change in changes):
        return
    for change in changes:
        op = "delete" if change.op == "remove" else "set"
        if "[" in change.path:  # positions depend on the order in which items come and go
            return
        state = apply_edits(state, [Edit(op, change.path, change.new)])
    assert (json.loads(state["at"]) if in_text else state["at"]) == new
