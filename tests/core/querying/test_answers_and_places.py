"""What a model's answer was taken from in its request, and places in a state as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.memory_store import Did
from tests.core.querying.trails import Past, look, tool

from agent_tt.codec.paths import get
from agent_tt.errors import InvalidPath, PathNotFound
from agent_tt.model import Call
from agent_tt.querying.places import leads_to, path_in, read_path, text_path, written_path
from agent_tt.querying.provenance.model_reading import answer_text, best_part, places_in_common, places_read
from agent_tt.querying.provenance.searching import Search


def messages(*said: tuple[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in said]}


def at(number: int) -> tuple[str, int, str]:
    return ("messages", number, "content")


@pytest.mark.parametrize(
    ("request_", "answer", "expected"),
    [
        (
            messages(("user", "Which?"), ("tool", "seat WK-4711 is free"), ("tool", "WK-4711 and WK-4712")),
            "You get WK-4711",
            [(at(2), 2.12, "WK-4711", "the same name", False), (at(1), 2.12, "WK-4711", "the same name", False)],
        ),
        (messages(("tool", "it is 1,299.00 today")), "It costs 1299", [(at(0), 4.0, "1299", "the same figure", False)]),
        (messages(("tool", "we go on 14 May")), "2026-05-14", [(at(0), 4.0, "2026-05-14", "the same day", False)]),
        (messages(("tool", 1299.5)), "so 1,299.50", [(at(0), 4.0, "1,299.50", "the same figure", False)]),
        (messages(("human", "ref QX7Z9A")), "on QX7Z9A", [(at(0), 3.0, "QX7Z9A", "the same name", True)]),
        (
            messages(("tool", "zebras live in Kenya")),
            "Kenya has zebras",
            [(at(0), 2.0, "zebras", "the words zebras, kenya", False)],
        ),
        (
            messages(
                ("tool", "zebras live in Kenya"), ("assistant", "zebras in Kenya"), ("ai", "Kenya"), ("model", "zebras")
            ),
            "Kenya has zebras",
            [(at(0), 2.0, "zebras", "the words zebras, kenya", False)],
        ),
        (messages(("tool", "zebras live")), "Kenya has zebras", []),
        ({"messages": [{"type": "ai", "content": "zebras live in Kenya"}]}, "Kenya has zebras", []),
        (
            {"messages": [{"type": "human", "content": "zebras live in Kenya"}]},
            "Kenya has zebras",
            [(at(0), 2.0, "zebras", "the words zebras, kenya", True)],
        ),
        (messages(("tool", "14 of zebras")), "14 zebras", [(at(0), 2.5, "14", "the same figure", False)]),
        (messages(("tool", "there are 14 of them"), ("tool", "14")), "so 14 it is", []),
        (messages(("tool", 14)), "so 14 it is", []),
        (messages(("tool", True)), "so true it is", []),
        ({"tools": [{"name": "QX7Z9A"}], "functions": ["QX7Z9A"], "model": "QX7Z9A"}, "on QX7Z9A", []),
        ({"tool_choice": "QX7Z9A", "response_format": {"x": "QX7Z9A"}}, "on QX7Z9A", []),
        ({"id": "QX7Z9A", "type": "QX7Z9A"}, "on QX7Z9A", []),
        ({"input": "QX7Z9A"}, "on QX7Z9A", [(("input",), 3.0, "QX7Z9A", "the same name", False)]),
        (["QX7Z9A"], "on QX7Z9A", [((0,), 3.0, "QX7Z9A", "the same name", False)]),
        ("QX7Z9A", "on QX7Z9A", [((), 3.0, "QX7Z9A", "the same name", False)]),
        (
            messages(*[("tool", f"WK-4711 and AB-{n:04}") for n in range(10)]),
            "WK-4711 AB-0003",
            [(at(3), 3.95, "AB-0003", "the same name", False)],
        ),
        (
            messages(("tool", "one two three zebras lions tigers"), ("tool", "one two three zebras")),
            "one two three zebras lions tigers",
            [
                (at(0), 6.0, "", "the same value", False),
                (at(1), 2.0, "one two three zebras", "it holds the words", False),
            ],
        ),
        (
            messages(("tool", "same WK-4711"), ("tool", "same WK-4711")),
            "WK-4711",
            [(at(1), 3.0, "WK-4711", "the same name", False), (at(0), 3.0, "WK-4711", "the same name", False)],
        ),
        (None, "on QX7Z9A", []),
    ],
)
def test_the_places_of_a_request_that_an_answer_may_be_from(request_: Any, answer: str, expected: list[Any]) -> None:
    found = places_read(request_, answer)
    assert [(read.path, round(read.score, 2), read.shared, read.why, read.is_person) for read in found] == expected
    assert all(read.value == get(request_, read.path) for read in found)


def test_so_many_places_are_given_and_so_much_is_looked_at() -> None:
    many = messages(*[("tool", f"ZX-{n:04} here") for n in range(12)])
    answer = " ".join(f"ZX-{n:04}" for n in range(12))
    assert [read.path[1] for read in places_read(many, answer)] == [11, 10, 9, 8, 7, 6, 5, 4]
    filler = ("tool", "x" * 99_999)
    assert places_read(messages(("tool", "QX7Z9A"), *[filler] * 10), "QX7Z9A")
    assert not places_read(messages(("tool", "QX7Z9A"), *[filler] * 10, ("tool", "y" * 5)), "QX7Z9A")
    assert places_read(["QX7Z9A", *range(1_999)], "QX7Z9A")
    assert not places_read(["QX7Z9A", *range(2_000)], "QX7Z9A")


@pytest.mark.parametrize(
    ("result", "answer", "expected"),
    [
        ({"a": "QX7Z9A", "b": "WK-4711 zebras"}, "zebras WK-4711", (("b",), "WK-4711")),
        ({"a": "QX7Z9A"}, "QX7Z9A", ((), "")),
        ({"total": 14, "count": 14}, "the count is 14", (("count",), "14")),
        ({"a_total": 1299, "b": 1299}, "a total of 1,299", (("a_total",), "1,299")),
        ({"b": 1299, "a_total": 1299}, "a total of 1,299", (("a_total",), "1,299")),
        ({"zebras": "x", "b": "zebras"}, "zebras", (("b",), "zebras")),
        ([["zebras lions"], ["zebras"]], "zebras and lions", ((0, 0), "lions")),
        ({"a": True, "b": "zebras"}, "zebras true", (("b",), "zebras")),
        ({"a": "x", "b": "y"}, "none", ((), "")),
        ({"a": 14, "b": "zebras lions"}, "14 zebras lions", (("b",), "lions")),
        ({"a": 1499, "b": "zebras lions tigers"}, "1499 zebras lions tigers", (("a",), "1499")),
    ],
)
def test_the_part_of_a_result_that_an_answer_has(result: Any, answer: str, expected: tuple[Any, str]) -> None:
    assert best_part(result, answer) == expected


@pytest.mark.parametrize(
    ("request_", "answer", "expected", "is_all"),
    [
        (
            messages(("user", "zebras 14"), ("assistant", "zebras"), ("tool", "no")),
            "zebras 14",
            [(at(1), "zebras", "it has 'zebras' too"), (at(0), "14", "it has '14' too")],
            True,
        ),
        (messages(("user", "an ok")), "ok then", [(at(0), "ok", "it has 'ok' too")], True),
        (messages(("user", "an ok " + "x" * 54)), "ok then", [(at(0), "ok", "it has 'ok' too")], True),
        (messages(("user", "an ok " + "x" * 55)), "ok then", [], True),
        ({"tools": [{"about": "zebras"}]}, "zebras", [(("tools", 0, "about"), "zebras", "it has 'zebras' too")], True),
        ({"x": "y" * 100_000}, "zebras", [], True),
        ({"x": "y" * 100_001}, "zebras", [], False),
        ({"x": "y"}, "z" * 100_000, [], True),
        ({"x": "y"}, "z" * 100_001, [], False),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_an_answer_has_in_common_with_its_request(
    request_: Any, answer: str, expected: list[Any], is_all: bool
) -> None:
    found, whole = places_in_common(request_, answer)
    assert [(read.path, read.shared, read.why) for read in found] == expected
    assert whole is is_all
    assert all(read.score == 0 and read.value == get(request_, read.path) for read in found)


def test_of_many_places_the_newest_are_given() -> None:
    found, _ = places_in_common(messages(*[("user", f"zebras {n}") for n in range(12)]), "zebras")
    assert [read.path[1] for read in found] == [11, 10, 9, 8, 7, 6, 5, 4]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"a": {"b": "longest text"}, "id": "x" * 50, "c": "no"}, "longest text"),
        ([], None), ({}, None), ({"content": None, "x": 5}, None), (1.5, "1.5"), (["a", ["bbb"]], "bbb"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "bb"}], "bb"),
        ({"$type": "pydantic", "$v": {"content": "hi"}}, "hi"),
        ({"content": [{"type": "reasoning", "text": "long thoughts"}, {"text": "yes"}]}, "yes"),
    ],
)  # fmt: skip
def test_the_words_of_an_answer(answer: Any, words: str | None) -> None:
    assert answer_text(answer) == words


# ---------------------------------------------------------------- places


def pairs(*given: tuple[Any, Any]) -> dict[str, Any]:
    return {"$type": "dict", "$v": [[*pair] for pair in given]}


STATE: dict[str, Any] = {
    "m": [{"a": 1}, {"a": 2}],
    "state": {"x": 5},
    "p": pairs(("k", [1, 2]), (7, "seven")),
    "sub": {"$type": "sub", "base": "dict", "$v": [["k", 1]]},
    "t": {"$type": "tuple", "$v": [1, 2, 3]},
    "zz": 1,
}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("m[-1]", ("m", 1)), ("m[-2].a", ("m", 0, "a")), ("t[-1]", ("t", "$v", 2)), ("t[0]", ("t", "$v", 0)),
        ("p.k", ("p", "$v", 0, 1)), ("p.k[-1]", ("p", "$v", 0, 1, 1)), ("state.x", ("state", "x")),
        ("m[0].a", ("m", 0, "a")),
    ],
)  # fmt: skip
def test_a_place_is_read_as_people_write_it(text: str, path: Any) -> None:
    assert read_path(STATE, text) == path
    assert path_in(STATE, text) == path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m[-3]", "there is no m[-3]: m has no such element"),
        ("m[-0]", "there is no m[-0]: m has no such element"),
        ("m[-x]", "there is no m[-x]: m has no such element"),
        ("zz[-1]", "there is no zz[-1]: zz has no such element"),
        ("[-1]", "there is no [-1]: the state has no such element"),
        ("m[-1].zz", "there is no m[-1].zz"),  # though there is a zz
        ("m[-1].a.b", "there is no m[-1].a.b"),
    ],
)
def test_a_place_that_is_not_there_is_named_as_it_was_asked(text: str, message: str) -> None:
    with pytest.raises(PathNotFound) as caught:
        read_path(STATE, text)
    assert caught.value.message == message


@pytest.mark.parametrize("text", ["m[-1", "[-", "m[-1][-"])
def test_a_bracket_that_is_not_closed_is_said(text: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        read_path(STATE, text)
    assert caught.value.message == f"path {text!r} cannot be read: a bracket is not closed"
    assert (caught.value.text, caught.value.position) == (text, len(text))


def test_a_path_may_begin_as_in_an_expression_unless_the_state_has_such_a_key() -> None:
    assert path_in(STATE, "state.m") == ("m",)
    assert path_in(STATE, "state.x") == ("state", "x")
    assert path_in({"x": 1}, "state.x") == ("x",)
    for text in ("state.none", "none", "states.m"):
        with pytest.raises(PathNotFound):
            path_in(STATE, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("p", "$v", 0, 1), "p.k"), (("p", "$v", 0, 1, 1), "p.k[1]"), (("p", "$v", 1, 1), "p[1][1]"),
        (("p", "$v", 0, 0), "p[0][0]"), (("t", "$v", 1), "t[1]"), (("m", 0, "a"), "m[0].a"),
        (("p", "$v", 9, 1), "p[9][1]"),
        (("p", "$v"), "p"), (("p", "$v", 0), "p[0]"), (("sub", "$v", 0, 1), "sub.k"),
        (("none", "$v", 0, 1), "none[0][1]"),
        ((), ""),
    ],
)  # fmt: skip
def test_a_place_is_written_as_people_do(path: Any, text: str) -> None:
    assert written_path(STATE, path) == text
    source = Past()
    source.add("run", [], state=STATE)
    assert text_path(source, "run", 0, path) == text


def test_where_the_state_cannot_be_read_a_place_is_written_by_its_positions() -> None:
    source = Past()
    source.add("run", [], state=STATE)
    assert text_path(source, "run", 5, ("p", "$v", 0, 1)) == "p[0][1]"


@pytest.mark.parametrize(
    ("edited", "path", "leads"),
    [
        ("x", "x", True),
        ("", "x", True),
        ("x", "x.y", True),
        ("x", "x[0]", True),
        ("x", "xy", False),
        ("x.y", "x", False),
    ],
)
def test_a_path_leads_to_what_is_in_it(edited: str, path: str, leads: bool) -> None:
    assert leads_to(edited, path) is leads


# ---------------------------------------------------------------- searching


def search(*dids: Did, state: Any = None, **facts: Any) -> Search:
    source = Past(**facts)
    source.add("run", list(dids), state=state or {})
    return Search(source, "run", lambda: False)


@pytest.mark.parametrize(
    ("held", "value", "found"),
    [
        ("ok", "ok", True), ("it is ok now", "ok", True), ("okay", "ok", False), ("3.5", 5, False), ("a 5.", 5, True),
        ("5.5", 5, False), ("v5", 5, False), (5, "5", True), (5, 5, True), (True, True, True), ("True", True, True),
        ("true", True, True), (True, 1, False), (1, True, False), (True, "True", False), ("", "", True),
        ('""', "", True), ("x", "", False), ("null", None, True), ("None", None, True), ([1], [1], True),
        ("[1]", [1], True), ("x" * 20_000 + " ok", "ok", False), (5.5, "5.5", True),
        ({"a": ['{"b": [5]}']}, 5, True), ([], "ok", False),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_a_result_may_hold_a_common_value_written_out(held: Any, value: Any, found: bool) -> None:
    places = search(tool("t", "zebras", held)).candidates(value, 1)
    assert bool(places) is found


def test_candidates_are_the_nearest_and_then_what_people_said() -> None:
    dids = [tool(f"t{n}", "zebras", {"n": 7}) for n in range(9)]
    made = search(*dids, state={"x": [7]})
    assert [place.name for place in made.candidates(7, 9)] == ["t8", "t7", "t6", "t5", "t4", "t3", "t2"]
    assert [(place.step, place.name, place.path) for place in made.candidates(7, 2)] == [
        (2, "t1", "n"),
        (1, "t0", "n"),
        (0, "input", "x[0]"),
    ]
    asker = made.of_step(2)[0]
    assert [place.name for place in made.candidates(7, 2, asker)] == ["t0", "input"]
    failed = search(tool("t", "zebras", 7), calls_are={(1, 1): {"status": "error"}})
    assert failed.candidates(7, 1) == []


def test_numbers_are_those_of_the_nearest_calls_and_of_the_input() -> None:
    made = search(
        tool("a", "x", {"n": 1, "no": True, "t": "5", "j": '{"k": 6}'}),
        tool("b", "x", [2, 3.5]),
        state={"m": 4, "b": False},
    )
    found = [(None if call is None else call.name, path, number) for call, path, number in made.numbers(2)]
    assert found == [("b", (0,), 2), ("b", (1,), 3.5), ("a", ("n",), 1), ("a", ("j",), 6), (None, ("m",), 4)]
    many = search(tool("a", "x", [*range(30)]), tool("b", "x", [*range(30)]), state=[1] * 9)
    assert len(many.numbers(2)) == 40
    assert len(many.numbers(1)) == 39
    assert len(search(tool("a", "x", [*range(35)]), state=[1] * 9).numbers(1)) == 40


def test_what_was_drawn_is_named_once() -> None:
    kinds = ["clock", "rng", "id", "env", "tool", "clock"]
    made = search(
        *[look(args={"q": n}) for n in range(6)],
        calls_are={(n, 1): {"kind": kind, "name": f"by {kind}"} for n, kind in enumerate(kinds, 1)},
    )
    assert made.drawn({6, 5, 4, 3, 2, 1}) == ["by clock", "by rng", "by id", "by env"]
    assert made.drawn({2, 5}) == ["by rng"]


def test_whole_results_are_told_the_last_first() -> None:
    made = search(
        Did("s", answer={"content": "ok"}, asked={"q": 1}, tool="t", args={"q": 2}, result="ok"),
        tool("u", "x", "ok"),
        tool("v", "x", "not ok"),
        tool("w", "x", "ok"),
        calls_are={(4, 1): {"status": "error"}, (2, 1): {"ended_us": 50}},
    )
    found = [(each.call.name, each.like.path, each.like.why) for each in made.whole_results("ok", {1, 2, 3, 4})]
    assert found == [
        ("u", (), "the whole result of a call of that step"),
        ("t", (), "the whole result of a call of that step"),
        ("model", ("content",), "all that a model said in that step"),
    ]
    assert [each.call.name for each in made.whole_results("ok", {2}, until_us=50)] == ["u"]
    assert made.whole_results("ok", {2}, until_us=49) == []
    assert made.whole_results("", {1}) == []


def test_of_the_calls_of_one_step_the_last_is_taken_and_the_others_are_named() -> None:
    class Several(Past):
        def calls(self, run_id: str, step: int) -> list[Call]:
            held = ["zebras run", {"a": "see: zebras run"}, {"b": "zebras run"}, "lions", {"c": ["zebras run"]}]
            return [Call(step, n, "tool", f"t{n}", "ok", args={"q": n}, result=each) for n, each in enumerate(held, 1)]

    source = Several()
    source.add("run", [Did("s", tool="t")], state={})
    found = Search(source, "run", lambda: False).origin("zebras run", 1)
    assert found is not None
    assert (found.call.name, found.like.path) == ("t5", ("c", 0))
    assert [(place.call, place.path) for place in found.others] == [(3, "b"), (2, "a"), (1, "")]


def test_large_results_count_as_many_and_the_search_ends_when_it_was_enough() -> None:
    made = search(tool("a", "x", [0] * 4_000), tool("b", "x", "zebras run"))
    assert made.origin("zebras run", 2) is not None
    before = made.looks
    assert before == 42  # the nearer one counts 1, the other 41: 1 for each 100 values
    made.looks = 5_000
    assert made.origin("zebras run", 2) is not None
    made.looks = 5_001
    assert made.origin("zebras run", 2) is None
    assert made.candidates("zebras run", 2) == []
