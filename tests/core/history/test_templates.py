"""Headers of messages that repeat are kept once, and come back as they were."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.errors import Damaged
from agent_tt.history.payloads.templates import Templates, filled

NAMES = st.lists(st.sampled_from(["date", "server", "content-type", "x-request-id", "via"]), min_size=1, max_size=6)
LONG = "x" * 300


def damaged(found: Any) -> Damaged:
    return Damaged(f"not headers: {found!r}"[:80], hint="")


def headers(names: list[str], values: list[str], *, is_object: bool) -> Any:
    return (
        dict(zip(names, values, strict=True)) if is_object else [list(pair) for pair in zip(names, values, strict=True)]
    )


@given(NAMES, st.data(), st.booleans())
def test_what_is_split_comes_back_as_it_was_and_saves_room(
    names: list[str], data: st.DataObject, is_object: bool
) -> None:
    names = list(dict.fromkeys(names)) if is_object else names
    templates = Templates()
    value = st.sampled_from(["", "a", "bb", LONG])
    for _ in range(5):
        given_values = data.draw(st.lists(value, min_size=len(names), max_size=len(names)))
        message = headers(names, given_values, is_object=is_object)
        split = templates.split(message)
        if split is None:
            continue
        template, values = split
        back = filled(orjson.loads(template), values, damaged)
        assert orjson.dumps(back) == orjson.dumps(message)
        saved = len(orjson.dumps(message)) - len(orjson.dumps(values))
        assert saved > 64


def test_the_values_that_ever_changed_are_given_with_each_message_and_the_template_stays_the_same() -> None:
    templates = Templates()

    def split(one: str, other: str) -> Any:
        found = templates.split([["kept", LONG], ["one", one], ["other", other]])
        return found if found is None else (orjson.loads(found[0]), found[1])

    assert split("1", "2") is None  # the first is only remembered
    assert split("1", "2") == ([["kept", LONG], ["one", "1"], ["other", "2"]], [])
    assert split("1", "3") == ([["kept", LONG], ["one", "1"], ["other", None]], ["3"])
    assert split("4", "3") == ([["kept", LONG], ["one", None], ["other", None]], ["4", "3"])
    assert split("1", "2") == ([["kept", LONG], ["one", None], ["other", None]], ["1", "2"])


def test_an_object_and_a_list_of_the_same_names_are_of_two_kinds() -> None:
    templates = Templates()
    assert templates.split({"a": LONG}) is None
    assert templates.split([["a", LONG]]) is None
    assert templates.split({"a": LONG}) == (orjson.dumps({"a": LONG}), [])
    assert templates.split([["a", LONG]]) == (orjson.dumps([["a", LONG]]), [])


@pytest.mark.parametrize(("kept", "is_worth_it"), [(146, False), (147, True)])
def test_a_template_is_made_only_where_it_saves_more_than_naming_it_takes(kept: int, is_worth_it: bool) -> None:
    templates = Templates()
    # Each text takes three more bytes than it has letters, and naming the template takes 100: 64 must be left.
    message = {"name": "x" * kept, "b": ""}
    templates.split(message)
    assert (templates.split(message) is not None) is is_worth_it


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "text",
        1,
        {},
        [],
        [["a"]],
        [["a", "b", "c"]],
        ["ab"],
        [["a", "b"], "cd"],
        {"a": 1},
        [["a", None]],
        [[1, "b"]],
    ],
)
def test_what_is_no_list_of_texts_is_kept_as_it_is(odd: Any) -> None:
    templates = Templates()
    templates.split(odd)
    assert templates.split(odd) is None


def test_only_so_many_kinds_are_remembered() -> None:
    templates = Templates()
    for number in range(64):
        templates.split({f"name-{number}": LONG})
    templates.split({"one more": LONG})
    assert templates.split({"one more": LONG}) is None
    assert templates.split({"name-63": LONG}) is not None


@pytest.mark.parametrize(
    ("template", "given_values"),
    [
        ([["a", None]], []),
        ([["a", None]], ["1", "2"]),
        ([["a", "x"]], ["1"]),
        ([["a", None]], "1"),
        ([["a"]], ["1"]),
        ([["a", None], "bc"], ["1"]),
        ({"a": None}, None),
        ({"a": None, "b": None}, ["1"]),
        (7, []),
        (None, []),
        ([["a", None]], [None]),
    ],
)
def test_values_that_do_not_fit_their_template_are_damaged(template: Any, given_values: Any) -> None:
    with pytest.raises(Damaged, match="not headers"):
        filled(template, given_values, damaged)


def test_a_template_that_was_not_read_stands_for_itself() -> None:
    assert filled("<not read>", ["1"], damaged) == "<not read>"
    assert filled({"a": None, "b": "x"}, ["1"], damaged) == {"a": "1", "b": "x"}
