"""What can be asked of how a run ended, in one line."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.codec.encode import encode
from agent_tt.errors import InvalidExpression
from agent_tt.model import ErrorInfo
from agent_tt.querying.expressions.values import MISSING
from agent_tt.querying.predicates import parse_predicate
from agent_tt.querying.watches.step_search import Watch

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


def holds(text: str, state: object = STATE, **did: object) -> bool:
    """Whether it holds at the last step of a run that ended with a state."""
    source = MemorySource()
    source.add("run", [Did("first"), Did("last", state=state, **did)])  # type: ignore[arg-type]
    return Watch(source, "run", parse_predicate(text).expression).holds_at(2)


@pytest.mark.parametrize(
    ("text", "expected"),
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
        ("missing", False),
    ],
)
def test_a_comparison_holds_or_does_not(text: str, expected: bool) -> None:
    assert holds(text) is expected


def test_state_in_front_is_understood_as_other_questions_say_it() -> None:
    assert holds("state.budget < 0", {"budget": -1})
    assert not holds("state.budget < 0", {"budget": 1})
    assert not holds("state.budget < 0", {"budget": 1, "state": {"budget": -1}})
    assert holds("state.state.budget < 0", {"budget": 1, "state": {"budget": -1}})


def test_a_name_means_the_steps_fact_as_everywhere_also_where_the_state_has_such_a_key() -> None:
    state = {"error": "none so far", "tool": "hammer", "step": 9, "result": {"total": 1}}
    assert not holds("error", state)
    assert holds("error", state, error=ErrorInfo("ValueError", "no"))
    assert holds('tool == "search"', state, tool="search")
    assert not holds('tool == "hammer"', state, tool="search")
    assert holds('state.tool == "hammer"', state, tool="search")
    assert holds("step == 2 and state.step == 9", state)
    assert holds("result.total == 5", state, tool="search", result={"total": 5})
    assert holds('result == {"total": 5}', state, tool="search", result={"total": 5})
    assert parse_predicate("error").compares
    assert parse_predicate("tokens > 500").path is None


def test_what_a_fact_does_not_hold_is_asked_of_the_state() -> None:
    state = {"error": {"code": 7}, "status": {"code": 3}, "call": {"to": "Ann"}}
    assert holds("error.code == 7 and status.code == 3", state)
    assert holds('call.to == "Ann"', state)
    assert parse_predicate("error.code").look(state) == 7


@pytest.mark.parametrize(
    "text",
    [
        "budget < 0 and len(items) == 2",
        "not missing and ok",
        '"Os" in city',
        "20 in [items[0].price, 30]",
        "items[-1].price == 30",
        "budget * 2 == -2",
        "changed(budget)",
        'city =~ "^O"',
        "exists(items) and not exists(gone)",
    ],
)
def test_the_states_keys_stand_bare_in_any_expression(text: str) -> None:
    assert holds(text)


def test_odd_keys_are_written_as_edits_write_them() -> None:
    assert holds("my-key < 3", {"my-key": 1, "my": 9, "key": 1})
    assert holds("my - key == 8", {"my-key": 1, "my": 9, "key": 1})
    assert parse_predicate('["odd < key"]').look(STATE) == 7


def test_a_path_alone_is_looked_up_and_null_is_something() -> None:
    asked = parse_predicate(" items[0].price ")
    assert (asked.text, asked.compares, asked.look(STATE)) == ("items[0].price", False, 20)
    assert parse_predicate("nothing").look(STATE) is None
    assert parse_predicate("missing").look(STATE) is MISSING


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is nothing to ask"),
        ("budget = 0", "write `==`"),
        ("budget < zero", "there is no `zero`"),
        ("city == Oslo", "there is no `Oslo`"),
        ("budget <", "it ends where a value is expected"),
        ("< 0", "'<' is not a value"),
        ("budget[ < 0", "in brackets stands"),
        ("__import__('os').system('true')", "there is no function"),
        ("a" * 3000 + " < 1", "2,000 are the most"),
        ("budget < 0 and nobody == someone", "there is no `someone`"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_says_where(text: str, why: str) -> None:
    with pytest.raises(InvalidExpression, match=why) as caught:
        parse_predicate(text)
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


def test_values_nested_deeper_than_python_goes_can_be_compared() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = [deep]
    assert parse_predicate("deep").look({"deep": deep}) is deep  # type: ignore[dict-item]


def test_what_is_more_than_a_comparison_has_no_path() -> None:
    asked = parse_predicate("state.budget < 0 and len(messages) > 4")
    assert asked.path is None
    assert asked.compares
    assert asked.look({"budget": 1}) is MISSING


def test_a_text_without_quotes_is_named_as_such() -> None:
    with pytest.raises(InvalidExpression) as caught:
        parse_predicate("city == Oslo")
    assert caught.value.hint == 'A text stands in quotes: "Oslo". A value of the state is state.Oslo.'
