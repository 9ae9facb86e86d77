"""Which steps fed a step: what the recording says, apart from what equal texts suggest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.core.memory_store import Did, MemorySource

from agent_tt.context.causes import Causes, Fed
from agent_tt.context.reading import read_contexts
from agent_tt.model import Step

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.context.shown import Join

STOCK = "there are 12 brass lamps in the warehouse of Kassel"
QUESTION = "Is the brass lamp in stock today, and what is it made of?"


def system() -> Wire:
    return {"role": "system", "content": "You answer for a shop that sells lamps and nothing else."}


def user(text: str) -> Wire:
    return {"role": "user", "content": text}


def said(text: str) -> Wire:
    return {"role": "assistant", "content": text}


def asks(by: str, name: str, **args: Wire) -> Wire:
    function = {"name": name, "arguments": json.dumps(args)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": by, "type": "function", "function": function}]}


def gave(by: str, text: str) -> Wire:
    return {"role": "tool", "tool_call_id": by, "content": text}


def ask(*messages: Wire, answer: Wire) -> Did:
    return Did("ask", answer=answer, asked={"messages": [*messages]})


def tool(name: str, args: Wire, result: Wire, **facts: Wire) -> Did:
    did = Did(name, tool=name, args=args, result=result)
    made = did.calls
    did.calls = lambda step: [replace(call, meta=facts) for call in made(step)]  # type: ignore[method-assign]
    return did


def causes(*steps: Did, state: Wire = None) -> Causes:
    source = MemorySource()
    source.add("run", [*steps], state=state)
    return Causes(read_contexts(source, "run"))


def kinds(joins: object) -> list[tuple[int, int, str]]:
    found: list[Join] = list(joins)  # type: ignore[call-overload]
    return [(join.source[0], join.fed[0], join.kind) for join in found]


SHOP = (
    ask(user(QUESTION), answer=asks("a1", "stock", sku="lamp-07")),
    tool("stock", {"sku": "lamp-07"}, STOCK, answers="a1"),
    ask(user(QUESTION), asks("a1", "stock", sku="lamp-07"), gave("a1", STOCK), answer=said("Yes, twelve of them.")),
)


def test_ids_of_tool_calls_are_recorded_links():
    found = causes(*SHOP)
    assert found.of(2).sources == Fed(recorded=(1,))
    assert found.of(3).sources == Fed(recorded=(1, 2))
    assert found.of(1).fed == Fed(recorded=(2, 3))
    assert {(1, 2, "asked"), (1, 3, "shown")} <= set(kinds(found.joins(1)[1]))
    assert (2, 3, "result") in kinds(found.joins(3)[0])


def test_the_input_fed_what_has_its_words():
    found = causes(*SHOP, state={"messages": [user(QUESTION)]})
    assert found.of(0).fed == Fed(inferred=(1, 3))
    assert found.of(1).sources == Fed(inferred=(0,))


def test_text_without_an_id_is_only_inferred():
    found = causes(Did("stock", tool="stock", args={}, result=STOCK), ask(user(f"Known: {STOCK}"), answer=said("Yes.")))
    assert found.of(2).sources == Fed(inferred=(1,))
    assert kinds(found.joins(2)[0]) == [(1, 2, "text")]


def test_several_that_gave_the_same_are_all_named_and_none_as_the_one():
    twice = [Did("stock", tool="stock", args={}, result=STOCK)] * 2
    found = causes(*twice, ask(user(f"Known: {STOCK}"), answer=said("Yes.")))
    assert found.of(3).sources == Fed(perhaps=(1, 2))
    assert {join.one_of for join in found.joins(3)[0]} == {2}


def test_an_id_that_several_models_gave_says_nothing_for_sure():
    again = ask(user(QUESTION), answer=asks("a1", "stock", sku="lamp-07"))
    found = causes(SHOP[0], again, SHOP[1])
    assert found.of(3).sources == Fed(inferred=(2,))
    assert kinds(found.joins(3)[0]) == [(2, 3, "alike")]


def test_a_tool_that_was_called_without_an_id_was_asked_for_by_the_last_model_that_named_just_this():
    found = causes(SHOP[0], tool("stock", {"sku": "lamp-07"}, STOCK))
    assert found.of(2).sources == Fed(inferred=(1,))
    other = causes(SHOP[0], tool("stock", {"sku": "bulb-e27"}, STOCK))
    assert other.of(2).sources == Fed()


def test_a_result_that_a_later_tool_is_given_fed_it():
    found = causes(tool("find", {}, {"card": "card_4417_of_mira"}), tool("pay", {"card": "card_4417_of_mira"}, "paid"))
    assert found.of(2).sources == Fed(inferred=(1,))
    assert kinds(found.joins(1)[1]) == [(1, 2, "argument")]


def test_a_short_argument_that_several_results_have_says_nothing():
    found = causes(tool("a", {}, "DE"), tool("b", {}, "DE"), tool("quote", {"to": "DE"}, 4))
    assert found.of(3).sources == Fed()


def test_calls_inside_of_calls_and_steps_inside_of_steps_are_recorded():
    found = causes(
        tool("outer", {}, 1),
        tool("inner", {}, 2, inside={"step": 1, "call": 1}),
        tool("late", {}, 3, outlives={"step": 1, "call": 1}),
    )
    assert found.of(1).fed == Fed(recorded=(2, 3))
    assert kinds(found.joins(1)[1]) == [(1, 2, "inside"), (1, 3, "started")]
    source = MemorySource()
    run = source.add("run", [Did("one"), Did("two")])
    source.save(run.id, Step(2, "two", "ok", parent=1))
    nested = Causes(read_contexts(source, "run"))
    assert nested.of(2).sources == Fed(recorded=(1,))


def test_a_program_that_says_the_same_again_is_not_fed_by_its_own_words():
    found = causes(ask(system(), user("One?"), answer=said("1")), ask(system(), user("Two?"), answer=said("2")))
    assert found.of(2).sources == Fed()


def test_a_hostile_number_of_a_step_takes_no_room():
    source = MemorySource()
    run = source.add("run", [Did("one"), Did("two")])
    source.save(run.id, Step(2, "two", "ok", parent=1 << 60))
    found = Causes(read_contexts(source, "run"))
    assert found.of(2).sources == Fed(recorded=(1 << 60,))
