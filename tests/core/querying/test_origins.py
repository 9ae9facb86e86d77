"""How alike two values are: the same, written otherwise, a part, some words; and which values say something at all."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tt.model import Call, ErrorInfo
from agent_tt.querying.provenance.origins import (
    Likeness,
    is_telling,
    key_of,
    leaves,
    likeness,
    looks_whole,
    read_json,
    said_by,
    scalar,
    weight,
)


def D(text: str) -> dict[str, str]:
    """A Decimal as it is recorded."""
    return {"$type": "Decimal", "$v": text}


@pytest.mark.parametrize(
    ("origin", "value", "how", "expected"),
    [
        ("abc def", "abc def", {}, (4.0, (), "the same value", "")),
        ({"a": ["zebras run"]}, "zebras run", {}, (4.0, ("a", 0), "the same value", "")),
        (5, 5, {}, None),
        (4711, 4711, {}, (4.0, (), "the same value", "")),
        (4711, 4711.0, {}, (4.0, (), "the same value", "")),
        ({"x": 4711.0}, 4711, {}, (4.0, ("x",), "the same value", "")),
        (True, True, {}, None),
        (
            {"paid": True},
            True,
            {"name": "paid", "near": True},
            (4.0, ("paid",), "the same value under the same name", ""),
        ),
        ({"paid": True}, True, {"name": "paid"}, None),
        ({"paid": True}, True, {"name": "was_paid", "near": True}, None),
        ({"count": 7}, 7, {"name": "count"}, (4.0, ("count",), "the same value under the same name", "")),
        ({"the_count": 7}, 7, {"name": "count_of"}, (4.0, ("the_count",), "the same value under the same name", "")),
        ({"other": 7}, 7, {"name": "count"}, None),
        ({"n": 7}, 7, {"name": "n"}, (4.0, ("n",), "the same value under the same name", "")),
        ({"n": 7}, 7, {"name": "m"}, None),
        ({"n": 7}, 7.0, {"name": "n"}, None),
        ({"count": 1}, 1, {"name": "count"}, None),
        ({"count": 1}, 1, {"name": "count", "near": True}, (4.0, ("count",), "the same value under the same name", "")),
        (
            {"x_count": 1},
            1,
            {"name": "count", "near": True},
            (4.0, ("x_count",), "the same value under the same name", ""),
        ),
        ({"w": "ok"}, "ok", {"name": "w"}, (4.0, ("w",), "the same value under the same name", "")),
        ({"w": ""}, "", {"name": "w", "near": True}, (4.0, ("w",), "the same value under the same name", "")),
        ({"w": None}, None, {"name": "w", "near": True}, (4.0, ("w",), "the same value under the same name", "")),
        ("say zebras now", "zebras", {}, None),
        ("say zebras now", "zebras", {"words": True}, (2.4, (), "a part of it", "zebras")),
        ("x" * 495 + " zebras", "zebras", {"words": True}, None),
        ("w " * 260 + "zebras", "zebras", {"words": True}, None),
        ("zebras", "say zebras now", {}, None),
        ("zebras", "say zebras now", {"words": True}, None),
        ("Zebras", "say Zebras now", {}, None),
        ("say Zebras now", "Zebras", {}, (2.4, (), "a part of it", "Zebras")),
        ("AB-1001", "see AB-1001 there", {}, (2.39, (), "it holds the words", "AB-1001")),
        ("see AB-1001 there", "AB-1001", {}, (2.39, (), "a part of it", "AB-1001")),
        ("heatpump", "heat", {}, None),
        ("a heatpump here", "heatpump", {}, (2.5, (), "a part of it", "heatpump")),
        ("zebras live in Kenya today", "many zebras live in Kenya too", {}, None),
        (
            "zebras live in Kenya today",
            "many zebras live in Kenya too",
            {"words": True},
            (1.57, (), "the same words", "zebras live in Kenya"),
        ),
        (
            "some of the very",
            "some of the very same",
            {"words": True},
            (2.73, (), "it holds the words", "some of the very"),
        ),
        ("two words here", "two words there", {"words": True}, None),
        ('"zebras run"', "zebras run", {}, (3.5, (), "written out as JSON", "")),
        ("zebras run", '"zebras run"', {}, (3.5, (), "written out as JSON", "")),
        ('{"a": "zebras run"}', "zebras run", {}, (2.5, (), "a part of it", "zebras run")),
        ("[4711]", 4711, {}, (3.5, (), "in the JSON of it, the same value", "")),
        ({"a": '{"b":{"c":4711}}'}, 4711, {}, (3.5, ("a",), "in the JSON of it, the same value", "")),
        ({"a": 1, "b": 2}, '{"b": 2, "a": 1}', {}, (3.5, (), "written out as JSON", "")),
        ([1, 2], "[1, 2]", {}, (3.5, (), "written out as JSON", "")),
        ({"a": 1}, {"a": 1}, {}, None),
        ({"x": {"a": 1, "b": 2}}, {"a": 1, "b": 2}, {}, (4.0, ("x",), "the same value", "")),
        ([0, {"x": ["zebras run"]}], ["zebras run"], {}, (4.0, (1, "x"), "the same value", "")),
        ('{"k": ["zebras run"]}', ["zebras run"], {}, (3.5, (), "in the JSON of it, the same value", "")),
        ({"j": '[[1,{"a":1,"b":2}]]'}, {"a": 1, "b": 2}, {}, (3.5, ("j",), "in the JSON of it, the same value", "")),
        ({"a": 1, "b": 2}, [1, 2], {}, None),
        ("€1,299.00 please", 1299, {}, (2.4, (), "the number is in the text", "1,299.00")),
        ("1,299.00", 1299, {}, (3.2, (), "the same number, written otherwise", "1,299.00")),
        ("1,299.00 EUR", 1299, {}, (3.2, (), "the same number, written otherwise", "1,299.00")),
        (1299, "1,299.00", {}, (3.2, (), "the same number, written otherwise", "1,299.00")),
        (1299, "costs 1,299.00 now", {}, None),
        (1299, "costs 1,299.00 now", {"words": True}, (2.4, (), "the number is in the text", "1,299.00")),
        (True, "costs True", {}, None),
        ("2026-05-14", "14 May 2026", {}, (3.2, (), "the same day, written otherwise", "14 May 2026")),
        ("on 2026-05-14 at noon", "14 May 2026", {}, (2.3, (), "the same day is in the text", "14 May 2026")),
        ("2026-05-14", "we go on 14 May", {}, (2.3, (), "the same day is in the text", "14 May")),
        ("we go on 14 May", "2026-05-14", {}, (2.3, (), "the same day is in the text", "2026-05-14")),
        ("2025-05-14", "14 May 2026", {}, None),
        ("ref QX7Z9A ok now", "booked qx7z9a for you", {}, None),
        ("1,299 and more", "1299.00 or so", {}, None),
        ("1299", "1,299.00", {}, (3.2, (), "the same number, written otherwise", "1,299.00")),
        (D("1299.00"), 1299, {}, (3.2, ("$v",), "the same number, written otherwise", "1299.00")),
        (1299, D("1299.00"), {}, (4.0, (), "the same value", "")),
        ({"x": D("1299.5")}, D("1299.5"), {}, (3.2, ("x", "$v"), "the same number, written otherwise", "1299.5")),
        ({"a": "zebras run", "b": "zebras run"}, "zebras run", {}, (4.0, ("a",), "the same value", "")),
        (
            {"a": "the zebras run", "b": "zebras run", "c": "zebras run off"},
            "zebras run",
            {},
            (4.0, ("b",), "the same value", ""),
        ),
        ({"a": "zebras run", "b": "zebras run"}, "zebras run", {"words": True}, (4.0, ("b",), "the same value", "")),
    ],
)
def test_how_something_in_a_value_is_like_another(
    origin: Any, value: Any, how: dict[str, Any], expected: tuple[float, Any, str, str] | None
) -> None:
    found = likeness(origin, value, **how)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (round(found.score, 2), found.path, found.why, found.shared) == expected


@pytest.mark.parametrize(
    "value",
    [999, 101, 1234, 12.5, "abcd", "zebra", "that with", "1234", "ab12", "a b c", ["zebra"], {"a": "zebra"},
     {"a": 1, "b": 2}, D("12.5"), [[0, {"a": 4711}]], [*[1] * 299, "zebra"]],
)  # fmt: skip
def test_what_says_something(value: Any) -> None:
    assert is_telling(value)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, 1, 10, 200, 1.5, 0.1, "", "abc", "with", "over", "12", [], ["ok"], {}, {"a": 1}, D("1"),
     [*[1] * 300, "zebra"]],
)  # fmt: skip
def test_what_is_found_everywhere(value: Any) -> None:
    assert not is_telling(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", (0, 0)), ("zebra", (0, 1)), ("zebra crossing", (0, 2)), ("AB-1001", (1, 0)), ("AB-1001 zebra", (1, 1)),
        ("with", (0, 0)), (1, (0, 0)), (1234, (1, 0)), (D("1234"), (1, 0)), ({"a": "zebra"}, (1, 0)), (None, (0, 0)),
    ],
)  # fmt: skip
def test_how_particular_a_value_is(value: Any, expected: tuple[int, int]) -> None:
    assert weight(value) == expected


@pytest.mark.parametrize(
    ("path", "name"),
    [((), ""), (("a",), "a"), (("a", 0), "a"), (("a", "$v", 0), "a"), ((0,), ""), (("a", "b", 1, 2), "b")],
)
def test_the_name_that_a_value_is_kept_under(path: Any, name: str) -> None:
    assert key_of(path) == name


def test_the_values_that_hold_no_others_are_given_in_order() -> None:
    assert [*leaves(5)] == [((), 5)]
    assert [*leaves({})] == [*leaves([])] == []
    assert [*leaves({"a": [1, {"b": 2}], "c": {"$type": "tuple", "$v": [3]}})] == [
        (("a", 0), 1),
        (("a", 1, "b"), 2),
        (("c", "$v", 0), 3),
    ]
    assert [*leaves([1], ("p",))] == [(("p", 0), 1)]
    assert len([*leaves([0] * 6_000)]) == 4_999
    assert [path for path, _ in leaves([[0] * 6_000])][:2] == [(0, 0), (0, 1)]


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        ("x" * 100_000, True),
        ("x" * 100_001, False),
        (["x" * 100_000] * 20, True),
        ([*["x" * 100_000] * 20, "x"], False),
        ([0] * 4_998, True),
        ([0] * 4_999, False),
        ([[]] * 4_998, True),
        ([[]] * 4_999, False),
        ({f"k{n}": [] for n in range(4_998)}, True),
        ({f"k{n}": [] for n in range(4_999)}, False),
        ({"a": {"b": [0] * 4_996}}, True),
        ({"a": {"b": [0] * 4_997}}, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_too_large_is_not_looked_at_whole(value: Any, whole: bool) -> None:
    assert looks_whole(value) is whole


def test_a_typed_value_counts_as_the_number_or_text_that_it_stands_for() -> None:
    assert scalar(D("1.5")) == 1.5
    assert scalar({"$type": "date", "$v": "2026-05-14"}) == "2026-05-14"
    for other in ({"$type": "tuple", "$v": [1]}, {"a": 1}, 5, {"$type": "opaque"}, [1]):
        assert scalar(other) is other


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("{}", {}), ("[1]", [1]), ('{"a":1}', {"a": 1}), ("1", None), ('"a"', None), ("{", None), (' {"a":1}', None),
        ("", None), ("[" * 30_000, None), ("[" + " " * 99_998 + "]", []), ("[" + " " * 99_999 + "]", None),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_only_a_list_or_a_mapping_is_read_from_a_text(text: str, read: Any) -> None:
    assert read_json(text) == read


LONG = "zebra crossing " * 6_666
"""A little less than 100,000 characters."""


def test_of_a_long_text_only_the_beginning_is_looked_at() -> None:
    assert likeness(LONG + "AB-1001", "AB-1001") is not None
    assert likeness(LONG + " " * 20 + "AB-1001", "AB-1001") is None
    assert likeness([LONG] * 20 + ["AB-1001"], "AB-1001") is not None
    assert likeness([LONG] * 20 + ["x" * 300 + "y", "AB-1001"], "AB-1001") is None
    words = " ".join(["x"] * 296 + ["alpha", "beta", "gamma", "delta", "epsilon"])
    found = likeness("so beta gamma delta there", words, words=True)
    assert found is not None
    assert found.shared == "beta gamma delta"
    assert likeness("so gamma delta epsilon there", words, words=True) is None


@pytest.mark.parametrize(
    ("facts", "value", "expected"),
    [
        ({"result": "AB-1001"}, "AB-1001", Likeness(4.0, (), "the same value")),
        ({"result": "AB-1001", "status": "pending"}, "AB-1001", None),
        ({"error": ErrorInfo("x:Y", "no AB-1001 here")}, "no AB-1001 here", Likeness(4.0, (), "the same text")),
        ({"error": ErrorInfo("x:Y", "no AB-1001 here"), "result": "AB-1001"}, 4711, None),
    ],
)
def test_a_call_that_failed_says_its_error_and_one_that_is_open_says_nothing(
    facts: dict[str, Any], value: Any, expected: Likeness | None
) -> None:
    call = Call(**({"step": 1, "number": 1, "kind": "tool", "name": "t", "status": "ok"} | facts))
    assert said_by(call, value) == expected


def test_a_call_of_the_step_that_wrote_it_may_bring_a_common_value_by_name() -> None:
    call = Call(1, 1, "tool", "t", "ok", result={"paid": True})
    assert said_by(call, True, name="paid") is None
    assert said_by(call, True, name="paid", near=True) == Likeness(4.0, ("paid",), "the same value under the same name")
