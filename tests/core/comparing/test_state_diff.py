"""Two states under rules that let some differences pass: what passes, what is said of it, and what never does."""

from __future__ import annotations

import copy
import itertools
import json
import random
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.comparing.state_laws import exactly_equal, states
from tests.core.comparing.test_comparing_patch import patched

from agent_tt.codec.encode import encode
from agent_tt.codec.paths import get, parse_path
from agent_tt.comparing.values import loose_equality
from agent_tt.comparing.values.ignoring import Ignoring
from agent_tt.comparing.values.patch import to_json_patch
from agent_tt.comparing.values.state_diff import StateDiff, diff_states
from agent_tt.errors import InvalidPath, UsageError

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

NEAR = Decimal("0.5")
rules = st.builds(
    Ignoring,
    order=st.booleans(),
    paths=st.sampled_from([(), (("list", None, "n"),), ((None, "a"), ("other", 1)), ((None, None),)]),
    tolerance=st.sampled_from([None, Decimal(0), NEAR]),
    types=st.booleans(),
)


def differences(a: object, b: object, **said: Any) -> StateDiff:
    return diff_states(encode(a), encode(b), Ignoring.of(**said))


def equal(a: Wire, b: Wire, rule: Ignoring, at: tuple[str | int, ...] = ()) -> bool:
    """The rules as they read, by trying every order: what the product does in a cleverer way."""
    if a == b == 0 and not rule.types and rule.tolerance is None:
        return repr(a) == repr(b)
    numeric = all(type(one) in (int, float) for one in (a, b))
    if numeric and (rule.types or type(a) is type(b)):
        return abs(Fraction(repr(a)) - Fraction(repr(b))) <= (rule.tolerance or 0)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        ones, others = ({key: value for key, value in side.items() if not hit(rule, (*at, key))} for side in (a, b))
        return ones.keys() == others.keys() and all(equal(ones[key], others[key], rule, (*at, key)) for key in ones)
    if isinstance(a, list) and isinstance(b, list):
        rows = [[(n, item) for n, item in enumerate(side) if not hit(rule, (*at, n))] for side in (a, b)]
        if len(rows[0]) != len(rows[1]):
            return False
        orders = itertools.permutations(rows[1]) if rule.order else [rows[1]]
        return any(
            all(equal(one, other, rule, (*at, n)) for (n, one), (_, other) in zip(rows[0], order, strict=True))
            for order in orders
        )
    return a == b


def hit(rule: Ignoring, at: tuple[str | int, ...]) -> bool:
    return any(
        len(pattern) == len(at) and all(want in (None, step) for want, step in zip(pattern, at, strict=True))
        for pattern in rule.paths
    )


few = st.recursive(
    st.sampled_from([0, 0.0, -0.0, 0.25, 0.75, 1, 1.0, 1.25, True, None, "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(few, few, rules)
@settings(max_examples=150)
def test_states_are_called_equal_when_and_only_when_the_rules_make_them_so(a: Wire, b: Wire, rule: Ignoring) -> None:
    positions = [pattern for pattern in rule.paths if any(isinstance(step, int) for step in pattern)]
    if rule.order and positions:
        return  # which items have that position is another question where order does not count
    assert diff_states(a, b, rule).differ == (not equal(a, b, rule))


@given(states, states, rules)
@settings(max_examples=60)
def test_every_format_leads_from_the_old_state_to_the_new_one_with_the_same_left_out(
    a: Wire, b: Wire, rule: Ignoring
) -> None:
    before = copy.deepcopy((a, b))
    found = diff_states(a, b, rule)
    assert exactly_equal(patched(a, to_json_patch(found.old, found.kept)), found.kept)
    assert exactly_equal(with_delta(a, found), found.kept)
    assert bool(found.to_deepdiff()) == found.differ == (not exactly_equal(a, found.kept))
    if not any(isinstance(step, int) for pattern in rule.paths for step in pattern):  # positions of `a`, and of `b`
        assert not diff_states(found.kept, b, rule).differ, "what was set back is what the rules let pass"
    assert bool(found.ignored) or exactly_equal(found.kept, b)
    assert exactly_equal(list(before), [a, b])


@given(states, states)
@settings(max_examples=60)
def test_without_rules_nothing_passes(a: Wire, b: Wire) -> None:
    found = diff_states(a, b, Ignoring())
    assert (found.ignored, found.unknown, found.kept) == ((), (), b)
    assert exactly_equal(with_delta(a, found), b)


def with_delta(old: Wire, found: StateDiff) -> Wire:
    """The old state and the Delta, as a user of DeepDiff's puts them together: from JSON, without pickle."""
    from deepdiff import Delta
    from deepdiff.serialization import json_loads

    made: Wire = old + Delta(json.dumps(found.to_delta()), deserializer=json_loads, raise_errors=True)
    return made


@given(states, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_a_state_whose_lists_are_shuffled_is_equal_where_order_does_not_count(a: Wire, chance: random.Random) -> None:
    b = shuffled(a, chance)
    found = diff_states(a, b, Ignoring(order=True))
    assert not found.differ
    assert bool(found.ignored) == (json.dumps(a) != json.dumps(b))


@given(st.lists(st.fixed_dictionaries({"n": st.integers(0, 12), "x": st.sampled_from("ab")}), max_size=8), st.randoms())
def test_numbers_may_be_off_inside_items_whose_order_does_not_count(rows: list[Any], chance: random.Random) -> None:
    """DeepDiff has no tolerance there, and pairs the nearest first: then a pair can be missing at the end."""
    moved = [{**row, "n": row["n"] + chance.choice((-1, 0, 1))} for row in rows]
    chance.shuffle(moved)
    assert not differences(rows, moved, ignore_order=True, tolerance=1).differ
    assert differences(rows, [*moved, {"n": 0, "x": "c"}], ignore_order=True, tolerance=1).differ


def shuffled(value: Wire, chance: random.Random) -> Wire:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    if isinstance(value, list):
        items = [shuffled(item, chance) for item in value]
        chance.shuffle(items)
        return items
    return value


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"ignore_order": True}, {"ignore_order": True, "report_repetition": True}),
        ({"tolerance": 0.5}, {"math_epsilon": 0.5}),
        ({"ignore_type": True}, {"ignore_numeric_type_changes": True}),
        (
            {"ignore": ["a", "rows[*].id"]},
            {"exclude_regex_paths": [r"^root\['a'\]", r"^root\['rows'\]\[\d+\]\['id'\]"]},
        ),
    ],
)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "rows": [{"id": 1, "n": 5}]}, {"a": 2, "rows": [{"id": 2, "n": 5}]}),
        ({"a": 1, "rows": [{"id": 1, "n": 5}]}, {"a": 1.0, "rows": [{"id": 1, "n": 5.0}]}),
        ({"rows": [1, 2, [3, 4]]}, {"rows": [[4, 3], 2, 1]}),
        ({"rows": [1, 1, 2]}, {"rows": [1, 2, 2]}),
        ({"rows": [1.0, 2.0]}, {"rows": [1.5, 2.25]}),
        ({"rows": [1.0, 2.0]}, {"rows": [1.5, 2.75]}),
        ({"rows": [1, 2]}, {"rows": [1, 2, 3]}),
    ],
)
def test_the_rules_mean_what_those_of_deepdiff_mean(
    ours: dict[str, Any], theirs: dict[str, Any], one: dict[str, Any], other: dict[str, Any]
) -> None:
    from deepdiff import DeepDiff

    assert differences(one, other, **ours).differ == bool(DeepDiff(one, other, **theirs))


def test_how_often_an_item_is_there_counts_whatever_its_order() -> None:
    found = differences([1, 1, 2], [2, 1, 2], ignore_order=True)
    assert found.differ
    assert [(change.op, change.old, change.new) for change in found] == [("change", 1, 2)]


def test_a_change_is_told_at_its_place_in_the_new_state_although_the_items_stand_elsewhere() -> None:
    old = {
        "rows": [{"id": "a", "text": "one two three"}, {"id": "b", "text": "four five six"}, {"id": "c", "text": ""}]
    }
    new = {"rows": [{"id": "d"}, old["rows"][2], {"id": "b", "text": "four five seven"}, old["rows"][0]]}
    found = differences(old, new, ignore_order=True)
    assert {(change.op, change.path, change.old_path) for change in found} == {
        ("change", "rows[2].text", "rows[1].text"),
        ("add", "rows[0]", None),
    }
    for change in found:
        assert get(encode(new), parse_path(change.path)) == change.new
    assert [(one.path, one.why) for one in found.ignored] == [("rows", "order")]


def test_what_is_at_an_ignored_path_counts_for_nothing_there_or_not() -> None:
    old = {"id": 1, "rows": [{"id": 1, "n": 5}, {"n": 6}], "gone": 1, "kept": 2}
    new = {"id": 2, "rows": [{"id": 7, "n": 5}, {"id": 8, "n": 6}], "kept": 2}
    found = differences(old, new, ignore=["id", "rows[*].id", "gone", "typo[0].x"])
    assert (found, found.differ) == ([], False)
    assert [one.path for one in found.ignored] == ["id", "rows[0].id", "rows[1].id", "gone"]
    assert {one.why for one in found.ignored} == {"path"}
    assert found.unmatched == ("typo[0].x",)
    assert found.remarks() == [
        "ignored: 4 differences at ignored paths",
        "there is nothing to ignore at typo[0].x, in neither state",
    ]
    assert found.kept == encode(old)


def test_an_ignored_position_is_said_also_where_only_what_is_around_it_moved() -> None:
    for order in (True, False):
        found = differences(["a", "b"], ["a", "b", "a"], ignore=["[1]"], ignore_order=order)
        assert [(change.op, change.new) for change in found] == [("add", "a")]
        assert found.kept == ["a", "b", "a"] or [one.why for one in found.ignored] == ["path"]


def test_items_that_differ_at_ignored_paths_alone_are_the_same_wherever_they_stand() -> None:
    old = [{"id": 1, "n": 5}, {"id": 2, "n": 6}]
    assert not differences(old, [{"id": 8, "n": 6}, {"id": 9, "n": 5}], ignore_order=True, ignore=["[*].id"]).differ
    put_in = differences(old, [{"id": 3, "n": 4}, {"id": 8, "n": 5}, {"id": 9, "n": 6}], ignore=["[*].id"])
    assert [(change.op, change.path) for change in put_in] == [("add", "[0]")]


def test_a_tolerance_is_about_numbers_as_they_are_written_and_of_one_type() -> None:
    assert not differences({"a": 1.0, "b": 10**30}, {"a": 1.1, "b": 10**30}, tolerance=0.1).differ
    assert differences(1.0, 1.1000001, tolerance="0.1").differ
    assert differences(10**12, 10**12 + 1, tolerance="0.1").differ, "a tolerance is not a share of the number"
    assert differences(1, 1.0, tolerance=1).differ
    assert not differences(1, 1.5, tolerance=1, ignore_type=True).differ
    assert differences(1, True, tolerance=1, ignore_type=True).differ
    assert not differences(Decimal("1.10"), Decimal("1.1"), tolerance=0).differ
    assert not differences(2**70, 2**70 + 1, tolerance=1).differ
    assert differences(Decimal("1E+999999999"), Decimal("1E+999999998"), tolerance=1).differ
    assert differences(float("nan"), 1.0, tolerance=1).differ


def test_types_do_not_count_where_the_values_are_the_same() -> None:
    import datetime as dt
    import enum
    import uuid
    from dataclasses import make_dataclass

    class Colour(enum.Enum):
        RED = "red"

    pairs: list[tuple[object, object]] = [
        (1, 1.0),
        (1, Decimal(1)),
        ((1, 2), [1, 2]),
        ({"a": (1,)}, {"a": [1.0]}),
        (frozenset({1}), {1}),
        (b"hi", "hi"),
        (dt.date(2026, 3, 2), "2026-03-02"),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (Colour.RED, "red"),
        (make_dataclass("Plan", [("goal", str)])("go"), {"goal": "go"}),
    ]
    for one, other in pairs:
        found = differences({"x": one}, {"x": other}, ignore_type=True)
        assert not found.differ, (one, other)
        assert {ignored.why for ignored in found.ignored} == {"type"}
        assert differences({"x": one}, {"x": other}).differ
    for one, other in [(1, "1"), (1, True), (None, 0), ({1, 2}, [1, 2]), ([1], {"0": 1}), (b"\xff", "/w==")]:
        assert differences({"x": one}, {"x": other}, ignore_type=True).differ, (one, other)


def test_dicts_with_other_keys_than_text_and_typed_values_are_looked_into() -> None:
    old, new = {"d": {1: 1.0, 2: 5, "k": 0}, "t": (1.0, [1, 2])}, {"d": {2: 6, 1: 1.1, "k": 3}, "t": (1.1, [2, 1])}
    found = differences(old, new, tolerance=".1", ignore=["d.k"], ignore_order=True)
    assert [(change.op, change.old, change.new) for change in found] == [("change", 5, 6)]
    assert sorted(one.why for one in found.ignored) == ["order", "order", "path", "tolerance", "tolerance"]
    swapped = differences({"d": {1: 2}}, {"d": {2: 1}}, ignore_order=True)
    assert swapped.differ


def test_objects_are_looked_into_inside_items_whose_order_does_not_count() -> None:
    from dataclasses import make_dataclass

    offer = make_dataclass("Offer", [("name", str), ("price", float)])
    old = [offer("a", 1.0), offer("b", 9.0)]
    assert not differences(old, [offer("b", 9.1), offer("a", 1.0)], ignore_order=True, tolerance="0.1").differ
    assert differences(old, [offer("b", 9.2), offer("a", 1.0)], ignore_order=True, tolerance="0.1").differ


def test_typed_values_are_looked_into_inside_items_whose_order_does_not_count() -> None:
    import datetime as dt

    day = dt.date(2026, 3, 2)
    old = {"rows": [{1: 1.0, 2: (5, 6)}, (1.0, {3, 4}), day, {"a"}]}
    new = {"rows": [{"a"}, day, (1.1, {4, 3}), {2: (6, 5), 1: 1.1}]}
    assert not differences(old, new, ignore_order=True, tolerance="0.1").differ
    assert differences(old, new, ignore_order=True, tolerance="0.05").differ
    for other in ({1: 1.0, 3: (5, 6)}, {1: 1.0}, {1: 1.0, 2: (5, 7)}):
        rows = [other, *new["rows"][:3]]
        assert differences(old, {"rows": rows}, ignore_order=True, tolerance="0.1").differ, other


def test_too_many_pairs_are_told_as_unknown_and_never_as_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four numbers to an item, each in a list of its own without order: nothing says which items to try."""
    chance = random.Random(1)
    old = [{"rows": [[chance.randint(0, 3)] for _ in range(4)]} for _ in range(40)]
    new = [{"rows": [[item[0] + chance.choice((0, 1))] for item in one["rows"]]} for one in old]
    chance.shuffle(new)
    monkeypatch.setattr(loose_equality, "MOST_WORK", 1_000)
    found = differences({"rows": old}, {"rows": new}, ignore_order=True, tolerance=1)
    assert (found.unknown, found.differ) == (("rows",), True)
    assert any("unknown" in remark and "rows" in remark for remark in found.remarks())
    monkeypatch.setattr(loose_equality, "MOST_WORK", 10_000_000)
    known = differences({"rows": old}, {"rows": new}, ignore_order=True, tolerance=1)
    assert (known.unknown, known.differ) == ((), False)


def test_long_lists_without_order_take_time_for_their_length_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loose_equality, "MOST_WORK", 200_000)
    old = [{"id": number, "text": f"word {number}", "score": number / 10} for number in range(3_000)]
    new = [{**item, "score": item["score"] + 0.01} for item in reversed(old)]
    assert not differences(old, old[::-1], ignore_order=True).differ
    found = differences(old, new, ignore_order=True, tolerance="0.02")
    assert (found.differ, found.unknown) == (False, ())


@pytest.mark.parametrize("tolerance", ["x", "", "nan", "inf", "-1", "1e999999"])
def test_a_tolerance_that_is_none_is_refused(tolerance: str) -> None:
    with pytest.raises(UsageError, match="tolerance"):
        Ignoring.of(tolerance=tolerance)


def test_a_path_that_cannot_be_read_or_is_empty_is_refused() -> None:
    with pytest.raises(InvalidPath):
        Ignoring.of(ignore=["a["])
    with pytest.raises(UsageError, match="empty") as caught:
        Ignoring.of(ignore=[""])
    assert caught.value.hint == "Name what is to be ignored: messages[*].id."
    with pytest.raises(InvalidPath):
        parse_path("a[*]")  # only what may stand for many places knows it


def test_what_deepdiff_cannot_write_is_refused_and_never_wrong() -> None:
    """Its paths have no way to write a key with both kinds of quotes."""
    found = differences({'it\'s "so"': 1}, {'it\'s "so"': 2})
    with pytest.raises(UsageError, match="no Delta"):
        found.to_delta()
    assert found.to_deepdiff()


def test_what_deepdiff_takes_for_equal_is_in_its_format_all_the_same() -> None:
    found = differences({"zero": 0.0, "list": [1, 2, 3]}, {"zero": -0.0, "list": [True, 2, 3.0]})
    said = found.to_deepdiff()
    assert set(said["type_changes"]) == {"root['list'][0]", "root['list'][2]"}
    assert set(said["values_changed"]) == {"root['zero']"}
    assert exactly_equal(with_delta(found.old, found), found.kept)
