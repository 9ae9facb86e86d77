"""The way back from a value, by its content: what is found, what is not, and why it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.core.memory_store import Did, MemorySource
from tests.effort import Effort

from agent_tt.errors import Damaged
from agent_tt.model import Call, Edit, Step
from agent_tt.querying.provenance.arithmetic import computed
from agent_tt.querying.provenance.blaming import blame_value
from agent_tt.querying.provenance.entities import entities
from agent_tt.querying.provenance.links import Link, Trail


def trail(dids: list[Did], path: str, state: Any = None, source: MemorySource | None = None) -> Trail:
    source = source or MemorySource()
    source.add("run", dids, state=state or {})
    return blame_value(source, "run", path, len(dids)).trail


def places(found: Trail) -> list[tuple[str, int, str, str]]:
    return [(link.kind, link.step, link.name, link.path) for link in found.links]


def asked(*messages: tuple[str, str]) -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content} for role, content in messages]}


@pytest.mark.parametrize("value", [1, 0, True, None, "ok", "", "true", "done", 10, "yes", [], {}])
def test_what_is_found_everywhere_is_not_taken_for_a_copy(value):
    dids = [Did("a", tool="look", args={"q": "words to find"}, result={"count": value, "x": [value]}), Did("b")]
    dids[1].state = {"flag": value}
    found = trail(dids, "flag")
    assert [link.kind for link in found.links] == ["value", "candidates"]
    (place, *_) = found.links[1].others
    assert (place.step, place.name, place.path) == (1, "look", "count")
    assert found.ends == "such a value is so common that nothing says which it was"


def test_a_common_value_under_the_same_name_in_the_step_that_wrote_it_is_a_copy():
    found = trail(
        [Did("pay", tool="charge", args={"card": "c-99"}, result={"paid": True}, state={"paid": True})], "paid"
    )
    assert places(found)[:2] == [("value", 1, "", "paid"), ("result", 1, "charge", "paid")]


@pytest.mark.parametrize(
    ("said", "held", "shared"),
    [
        ("The total is €1,299.00, to be paid today.", 1299.0, "1,299.00"),
        ("Das macht 1.299,00 EUR.", 1299, "1.299,00"),
        ("You pay $136.84 now.", 13684, "136.84"),
        ("That is 12.5% more than before.", 0.125, "12.5"),
        ("You leave on 14 May.", "2026-05-14", "14 May"),
        ("You leave on May 14th, 2026.", "2026-05-14T06:10:00", "May 14th, 2026"),
        ("Your reference is QX7Z9A.", "BOOKED HA312 x3 ref QX7Z9A", "QX7Z9A"),
    ],
)
def test_figures_days_and_names_are_known_however_they_are_written(said, held, shared):
    result = {"id": 5, "found": held, "note": "nothing to see"}
    request = asked(("system", "You answer customers."), ("user", "What is it?"), ("tool", json.dumps(result)))
    steps = [
        Did("look", tool="look", args={"q": "an order of last week"}, result=result, state={"answer": None}),
        Did("answer", answer={"role": "assistant", "content": said}, asked=request, state={"answer": said}),
    ]
    found = trail(steps, "answer")
    assert places(found)[:3] == [
        ("value", 2, "", "answer"),
        ("answer", 2, "model", "content"),
        ("result", 1, "look", "found"),
    ]
    assert found.links[2].shared == shared


def test_other_figures_days_and_names_are_not():
    result = {"a": 1300.0, "b": "2026-05-15", "c": "QX7Z9B", "d": 1299.01}
    said = "The total is 1,299.00 on 14 May, see QX7Z9A."
    steps = [
        Did("look", tool="look", args={"q": "order"}, result=result),
        Did("answer", answer={"content": said}, asked=asked(("tool", json.dumps(result))), state={"answer": said}),
    ]
    found = trail(steps, "answer")
    assert [link.kind for link in found.links] == ["value", "answer"]
    assert found.ends == "the model's own words: nothing that it read has them"


def test_what_says_again_what_it_was_asked_has_not_brought_it():
    steps = [
        Did("find", tool="find", args={"name": "what the traveller said"}, result={"places": ["Zanzibar"]}),
        Did("weather", tool="weather", args={"place": "Zanzibar"}, result={"place": "Zanzibar", "degrees": 31}),
        Did("note", state={"place": "Zanzibar"}),
    ]
    found = trail(steps, "place")
    assert places(found)[1] == ("result", 1, "find", "places[0]")


def test_a_word_inside_of_another_word_is_no_copy():
    steps = [
        Did("search", tool="search", args={"q": "offers"}, result=["heatpump-shop.example/offers"]),
        Did("note", state={"word": "heat"}),
    ]
    assert [link.kind for link in trail(steps, "word").links] == ["value", "code"]


def test_the_nearest_of_several_sources_is_taken_and_the_others_are_named():
    steps = [Did("look", tool=f"look{n}", args={"n": n}, result={"ref": "AB-12345"}) for n in range(3)]
    found = trail([*steps, Did("note", state={"ref": "AB-12345"})], "ref")
    assert places(found)[1] == ("result", 3, "look2", "ref")
    assert [(other.step, other.name, other.path) for other in found.links[1].others] == [
        (2, "look1", "ref"),
        (1, "look0", "ref"),
    ]


def test_a_value_in_the_json_of_a_block_of_content_is_found():
    blocks = {"content": [{"type": "text", "text": '{"order": {"total": 4711, "lines": [1, 2]}}'}], "isError": False}
    steps = [Did("call", tool="mcp", args={"id": "order-17"}, result=blocks, state={})]
    for path, value in (("total", 4711), ("order", {"total": 4711, "lines": [1, 2]})):
        steps[0].state = {path: value}
        link = trail(steps, path).links[1]
        assert (link.kind, link.path) == ("result", "content[0].text")
        assert link.why.startswith("in the JSON of it, the same")


def test_a_sum_of_two_results_is_said_where_nothing_else_gives_it():
    steps = [
        Did("a", tool="price", args={"sku": "lamp-07"}, result={"cents": 129_950}),
        Did("b", tool="shipping", args={"to": "Oslo-1"}, result={"cents": 8_475, "days": 3}),
        Did("sum", state={"total": 138_425}),
    ]
    found = trail(steps, "total")
    assert places(found)[1:3] == [("computed", 3, "", ""), ("result", 2, "shipping", "cents")]
    assert found.links[1].why.startswith("8475 + 129950; no other numbers")
    assert [(other.step, other.name) for other in found.links[1].others] == [(1, "price")]


def test_a_sum_that_may_be_an_accident_is_not_said():
    steps = [Did("a", tool="t", args={"q": "x"}, result=[3, 4, 5, 6, 7, 11]), Did("sum", state={"total": 18})]
    found = trail(steps, "total")
    assert [link.kind for link in found.links] == ["value", "unknown"]
    assert "11 + 7" in found.links[1].why or "7 + 11" in found.links[1].why
    assert computed(138_425, [], None) == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (138_425, "8475 + 129950"), (121_475, "129950 - 8475"), (1_101_326_250, "8475 × 129950"),
        (15.33, "129950 ÷ 8475"), (6.52, "8475 ÷ 129950 × 100"), (0.0652, "8475 ÷ 129950"),
    ],
)  # fmt: skip
def test_arithmetic_of_two_recorded_numbers_is_shown(value, words):
    steps = [
        Did("a", tool="price", args={"sku": "lamp-07"}, result=json.dumps({"cents": 129_950})),
        Did("b", tool="shipping", args={"to": "Oslo-1"}, result={"cents": 8_475}),
        Did("sum", state={"total": value}),
    ]
    link = trail(steps, "total").links[1]
    assert link.kind == "computed"
    assert words in link.why


def test_a_total_that_grows_by_a_result_is_computed():
    steps = [
        Did("a", state={"total": 20_517}),
        Did("b", tool="price", args={"sku": "lamp"}, result={"cents": 1_337}, state={"total": 21_854}),
    ]
    link = trail(steps, "total").links[1]
    assert (link.kind, link.why.partition(";")[0]) == ("computed", "20517 + 1337")


def test_what_a_person_said_to_the_model_ends_the_way():
    request = asked(("system", "Help."), ("assistant", "Who are you?"), ("user", "Sure, it's sofia_kim_7287."))
    steps = [
        Did("ask", answer={"tool_calls": [{"name": "get", "args": {"user": "sofia_kim_7287"}}]}, asked=request),
        Did("get", tool="get", args={"user": "sofia_kim_7287"}, result={"card": "card ending in 9725"}),
        Did("note", state={"card": "card ending in 9725"}),
    ]
    found = trail(steps, "card")
    assert places(found)[-1] == ("input", 1, "model", "messages[2].content")
    assert found.ends == "a message of the user says it"


def test_what_a_model_thought_of_by_itself_is_said():
    steps = [
        Did(
            "ask",
            answer={"tool_calls": [{"name": "get", "args": {"user": "nobody_4711"}}]},
            asked=asked(("user", "Hi")),
        ),
        Did("get", tool="get", args={"user": "nobody_4711"}, result={"note": "no such customer here"}),
        Did("note", state={"note": "no such customer here"}),
    ]
    found = trail(steps, "note")
    assert found.links[-1].kind == "argument"
    assert found.ends == "model chose it at step 1: the model's own words: nothing that it read has them"


def test_a_result_that_a_person_edited_ends_the_way():
    source = MemorySource()
    steps = [
        Did("get", tool="get", args={"q": "price"}, result={"cents": 98_765}),
        Did("note", state={"cents": 98_765}),
    ]
    source.add("base", steps, state={})
    edit = Edit("set", "cents", 98_765, 1, target="result", step=1, call=1)
    source.add("fork", steps[1:], state={}, parent="base", fork_step=1, edits=(edit,))
    found = blame_value(source, "fork", "cents", 2).trail
    assert [(link.kind, link.step, link.call) for link in found.links] == [
        ("value", 2, None),
        ("result", 1, 1),
        ("edit", 1, 1),
    ]
    assert found.ends == "a person wrote it, for the fork fork"


def test_of_a_list_that_grew_the_newest_part_is_followed():
    first, second = "first thing that was found", "second thing that was found"
    steps = [
        Did("a", tool="look", args={"q": "aaaa"}, result=first, state={"notes": [first]}),
        Did("b", tool="look", args={"q": "bbbb"}, result=second, state={"notes": [first, second]}),
    ]
    assert trail(steps, "notes").links[1].step == 2


def test_links_are_json():
    found = trail(
        [Did("a", tool="t", args={"q": "x"}, result="a text of its own", state={"x": "a text of its own"})], "x"
    )
    shapes = [link.to_json() for link in found.links]
    assert json.loads(json.dumps(shapes)) == shapes
    assert set(shapes[0]) == {*Link.__dataclass_fields__}


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("10 200 0 1 2026 ok", set()),
        ("1500", {"n:1500"}),
        ("1.299", {"n:1299", "n:1.299"}),
        ("v1.2.3 and field-2023-114", {"w:v1.2.3", "w:field-2023-114"}),
        ("bob@example.com", {"w:bob@example.com"}),
        ("31.02.2026", set()),
        ("5/6/2026 or 14/5/2026", {"d:5-14"}),
        ("9" * 5_000, set()),
    ],
)
def test_entities(text, keys):
    assert {key for entity in entities(text) for key in entity.keys} == keys


def test_what_cannot_be_read_ends_the_way_and_is_said():
    source = MemorySource()
    changes = source.changes

    def damaged(run_id: str, step: int) -> Any:
        if step == 2:
            raise Damaged("step 2 of run is damaged")
        return changes(run_id, step)

    source.changes = damaged
    steps = [Did("a", state={"x": 1, "y": 5}), Did("b", state={"x": 2, "y": 5}), Did("c", state={"x": 2, "y": 6})]
    source.add("run", steps, state={"x": 0, "y": 5})
    found = blame_value(source, "run", "x", 3)
    assert (found.writes, found.more) == ((), True)
    assert found.trail.ends == "who wrote it cannot be read: step 2 of run is damaged"
    assert [(link.step, link.path, link.value) for link in found.trail.links] == [(3, "x", 2)]
    newest = blame_value(source, "run", "y", 3)
    assert [(write.step, write.old, write.new) for write in newest.writes] == [(3, 5, 6)]
    assert newest.more


def test_what_was_written_from_outside_of_a_graph_is_called_an_edit():
    class Graph(MemorySource):
        def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
            return [
                replace(step, extra={"source": "update" if step.name == "update" else "loop"})
                for step in super().steps(run_id, start, stop)
            ]

    source = Graph()
    source.add("run", [Did("plan", state={"n": 4711}), Did("update", state={"n": 815})], state={"n": 1})
    found = blame_value(source, "run", "n", 2)
    assert [(write.step, write.what, write.edited) for write in found.writes] == [
        (2, "edited", "edited by update_state"),
        (1, "changed", ""),
        (0, "added", ""),
    ]
    assert [link.kind for link in found.trail.links] == ["value", "edit"]
    assert found.trail.ends == "no node of the graph wrote it: somebody called update_state"


def test_what_another_lane_brought_only_afterwards_is_no_source():
    class Timed(MemorySource):
        def calls(self, run_id: str, step: int) -> list[Call]:
            times = {1: (0, 90), 2: (10, 20), 3: (30, 40)}
            return [
                replace(call, started_us=times[step][0], ended_us=times[step][1])
                for call in super().calls(run_id, step)
            ]

    steps = [
        Did("slow", tool="slow", args={"q": "the slow one"}, result={"ref": "AB-12345"}, lane="one"),
        Did("fast", tool="fast", args={"q": "the fast one"}, result={"ref": "AB-12345"}, lane="two"),
        Did("use", tool="use", args={"ref": "AB-12345"}, result="used, thank you", state={"note": "used, thank you"}),
    ]
    found = trail(steps, "note", source=Timed())
    assert places(found)[3] == ("result", 2, "fast", "ref")
    assert found.links[3].others == ()


def test_what_a_person_said_later_is_no_source():
    class Talk(MemorySource):
        def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
            return [
                replace(step, kind="human" if step.number == 2 else None) for step in super().steps(run_id, start, stop)
            ]

        def calls(self, run_id: str, step: int) -> list[Call]:
            return [Call(2, 1, "human", "input", "ok", args={"text": "Zanzibar, please"})] if step == 2 else []

    found = trail([Did("a", state={"x": "Zanzibar"}), Did("b", state={"x": "Zanzibar"})], "x", source=Talk())
    assert [link.kind for link in found.links] == ["value", "code"]


@pytest.mark.parametrize("part", ["9", "1,", "a.", "1" + " " * 300, "may ", "1-", "a@", "a/1/", "1.1,1'1 ", "a:"])
def test_entities_of_a_hostile_text_are_found_with_bounded_work(part):
    with Effort() as effort:
        assert len(entities((part * 100_000)[:100_000])) <= 2_000
    assert effort.lines < 4_000_000
