"""What can be asked of a state in one line."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from agent_tt.codec.encode import encode
from agent_tt.errors import InvalidPredicate
from agent_tt.querying.expressions.values import MISSING
from agent_tt.querying.predicates import parse_predicate

STATE = {
    "budget": -1,
    "share": 0.5,
    "ok": True,
    "city": "Oslo",
    "odd < key": 7,
    "nothing": None,
    "items": [{"price": 20}, {"price": 30}],
    "pair": encode((1, 2)),
    "price": encode(Decimal("19.90")),
    "due": encode(dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)),
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("budget < 0", True),
        ("budget<0", True),
        ("budget >= 0", False),
        ("budget == -1", True),
        ("budget == -1.0", True),
        ("budget != -1", False),
        ("ok == 1", False),
        ("ok == true", True),
        ("ok < 2", False),
        ('city == "Oslo"', True),
        ('city > "Nice"', True),
        ("city < 3", False),
        ("items[1].price <= 30", True),
        ('items[0] == {"price": 20}', True),
        ('items[0] == {"price": true}', False),
        ('["odd < key"] == 7', True),
        ("pair[1] == 2", True),
        ("pair == [1, 2]", True),
        ("price < 20", True),
        ("price == 19.9", True),
        ('due < "2026-03-02"', True),
        ('due == "2026-03-01T11:00+01:00"', True),
        ("nothing == null", True),
        ("missing == null", False),
        ("missing != 1", False),
        ("nothing", True),
        ("missing", False),
    ],
)
def test_a_comparison_holds_or_does_not(text: str, holds: bool) -> None:
    assert parse_predicate(text).holds(STATE) is holds


def test_state_in_front_is_understood_as_other_questions_say_it() -> None:
    asked = parse_predicate("state.budget < 0")
    assert asked.holds({"budget": -1})
    assert not asked.holds({"budget": 1})
    assert not asked.holds({"budget": -1, "state": {"budget": 1}}), "a key of that name comes first"


def test_a_path_alone_is_looked_up_and_null_is_something() -> None:
    asked = parse_predicate(" items[0].price ")
    assert (asked.text, asked.compares, asked.look(STATE)) == ("items[0].price", False, 20)
    assert parse_predicate("nothing").look(STATE) is None
    assert parse_predicate("missing").look(STATE) is MISSING


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing is asked"),
        ("budget = 0", "= compares nothing"),
        ("budget < zero", "after < stands no JSON value"),
        ("budget <", "after < stands no JSON value"),
        ("< 0", "the path is missing"),
        ("budget[ < 0", "cannot be read"),
        ("budget < [1]", "compares numbers or texts"),
        ("budget < null", "compares numbers or texts"),
        ("__import__('os').system('true')", "cannot be read"),
        ("a" * 3000, "at most"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_says_where(text: str, why: str) -> None:
    with pytest.raises(InvalidPredicate, match=why) as caught:
        parse_predicate(text)
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


def test_values_nested_deeper_than_python_goes_can_be_compared() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    asked = parse_predicate("deep == 1")
    assert not asked.holds({"deep": deep})  # type: ignore[dict-item]


def test_what_is_more_than_a_comparison_is_an_expression_or_nothing() -> None:
    asked = parse_predicate("state.budget < 0 and len(state.messages) > 4")
    assert asked.path is None
    assert asked.compares
    assert asked.look({"budget": 1}) is MISSING
    assert parse_predicate("len(state.messages) > 4").path is None
    with pytest.raises(InvalidPredicate, match="after < stands no JSON value"):
        parse_predicate("budget < 0 and nobody")
