"""What a model was shown, call by call: sizes, origins, changes, and what a compaction dropped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource
from tests.core.querying.compacted_session import RULE, write_session

from agent_tt.context.reading import read_contexts
from agent_tt.context.weighing import divide
from agent_tt.model import Call
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.context.shown import CallContext, Item, RunContexts

SYSTEM = "You answer for a shop that sells lamps and nothing else."
FILE = "LAMP-07 is made of brass.\nIt is sold with a bulb of 40 watts.\n"
STOCK = "there are 12 brass lamps in the warehouse of Kassel"
QUESTION = "Is the brass lamp in stock today, and what is it made of?"


def system(text: str = SYSTEM) -> Wire:
    return {"role": "system", "content": text}


def user(text: str) -> Wire:
    return {"role": "user", "content": text}


def said(text: str) -> Wire:
    return {"role": "assistant", "content": text}


def asks(name: str, **args: Wire) -> Wire:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": f"id of {name}", "name": name, "args": args}]}


def gave(name: str, text: str) -> Wire:
    return {"role": "tool", "tool_call_id": f"id of {name}", "content": text}


def contexts(*steps: Did, state: Wire = None) -> RunContexts:
    source = MemorySource()
    source.add("run", [*steps], state=state)
    return read_contexts(source, "run")


def model(*messages: Wire, answer: Wire = None, **facts: Wire) -> Did:
    did = Did("ask", answer=said("Yes.") if answer is None else answer, asked={"messages": [*messages]})
    made = did.calls
    did.calls = lambda step: [Call(**{**_fields(call), "meta": facts}) for call in made(step)]  # type: ignore[method-assign]
    return did


def _fields(call: Call) -> dict[str, object]:
    return {name: getattr(call, name) for name in call.__dataclass_fields__}


def origins(item: Item) -> list[tuple[str, int, str]]:
    return [(origin.kind, origin.step, origin.name) for origin in item.origins]


SHOP = (
    model(system(), user(QUESTION), answer=asks("read_file", path="lamp.txt")),
    Did("read", tool="read_file", args={"path": "lamp.txt"}, result=FILE),
    Did("stock", tool="stock", args={"sku": "lamp-07"}, result={"says": STOCK}),
    model(
        *(system(), user(QUESTION), asks("read_file", path="lamp.txt"), gave("read_file", FILE)),
        *(asks("stock", sku="lamp-07"), gave("stock", f'{{"says": "{STOCK}"}}')),
    ),
)


def test_system_file_tool_model_and_user_texts_are_each_traced_to_where_they_came_from():
    last = contexts(*SHOP, state={"question": QUESTION}).calls[-1]
    assert [item.kind for item in last.items] == ["system", "user", "model", "file", "unknown", "result"]
    assert [origins(item) for item in last.items] == [
        [("system", 1, "")],
        [("user", 0, "the input")],
        [("model", 1, "model")],
        [("file", 2, "lamp.txt")],
        [],
        [("result", 3, "stock")],
    ]


def test_a_text_that_two_tools_gave_names_both_and_a_known_id_decides():
    twice = [Did("one", tool="first", result=STOCK), Did("two", tool="second", result=STOCK)]
    last = contexts(*twice, model(user(f"They say: {STOCK}"))).calls[-1]
    (tile,) = [tile for tile in last.items[0].tiles if tile.kind == "result"]
    assert {origin.name for origin in tile.origins} == {"first", "second"}
    assert last.items[0].part.text[tile.start : tile.end].strip() == STOCK


def test_what_is_new_and_cut_and_shortened_since_the_last_call_in_the_lane_is_told():
    long = FILE * 20
    first = model(system(), user(QUESTION), user("an old remark that goes away"), gave("read_file", long))
    second = model(system(), user(QUESTION), gave("read_file", long[:300]), user("and something new"))
    before, now = contexts(first, second).calls
    assert [item.mark for item in before.items] == ["new"] * 4
    assert [item.mark for item in now.items] == ["same", "same", "shortened", "new"]
    assert [(cut.item.part.text, cut.after) for cut in now.cuts] == [("an old remark that goes away", 1)]
    assert (now.before, now.same) == (before.place, 2)
    assert now.removed == sum(item.tokens for item in before.items[2:]) - now.items[2].tokens
    assert now.added == now.items[3].tokens


def test_the_result_of_a_tool_is_no_origin_of_what_is_asked_inside_of_it():
    outer = Call(1, 1, "tool", "sub_agent", "ok", args={}, result=STOCK)
    between = Call(1, 2, "tool", "helper", "ok", args={}, result=None, meta={"inside": {"step": 1, "call": 1}})
    inner = Call(
        *(1, 3, "llm", "m", "ok"),
        args={"messages": [said(STOCK)]},
        result=said("Yes."),
        meta={"inside": {"step": 1, "call": 2}},
    )
    did, after = Did("work"), model(user(STOCK))
    did.calls = lambda _: [outer, between, inner]  # type: ignore[method-assign]
    first, second = contexts(did, after).calls
    assert first.items[0].origins == ()
    assert origins(second.items[0]) == [("result", 1, "sub_agent")]


def test_words_of_the_user_that_a_shorter_form_lacks_are_gone():
    long = "Please fix the parser of dates as soon as you can. Leave the public names of the module alone."
    before, after = contexts(model(system(), user(long)), model(system(), user(long[:60]))).calls
    assert [item.mark for item in after.items] == ["same", "shortened"]
    assert [gone.words for gone in after.gone] == ["Leave the public names of the module alone."]
    assert before.gone == ()


def test_lanes_do_not_stand_against_one_another():
    steps = [model(system(), user("one")), model(system("Another one."), user("two")), model(system(), user("one"))]
    steps[1].lane = "main/other.0"
    *_, last = contexts(*steps).calls
    assert last.before == (1, 1)
    assert {item.mark for item in last.items} == {"same"}


def test_a_call_that_asks_something_else_between_does_not_hide_the_conversation():
    talk = [system(), user(QUESTION)]
    aside = model(system("Give this a title."), user(QUESTION))
    *_, last = contexts(model(*talk), aside, model(*talk, said("Yes."), user("Good."))).calls
    assert last.before == (1, 1)
    assert [item.mark for item in last.items] == ["same", "same", "new", "new"]


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**4), min_size=1, max_size=20))
def test_what_is_divided_adds_up(total, weights):
    parts = divide(total, weights)
    assert sum(parts) == total
    assert all(part >= 0 for part in parts)


REQUEST = st.lists(st.sampled_from([system(), user(QUESTION), said(STOCK), gave("stock", FILE), user("\u00e9" * 30)]))


@given(REQUEST, st.none() | st.integers(0, 5_000), st.integers(0, 400), st.none() | st.integers(0, 6_000))
def test_tokens_and_costs_by_origin_add_up_to_those_of_the_call(messages, tokens, written, cached):
    facts: dict[str, Wire] = {"model": "gpt-4o", "tokens_out": written, "cost_usd": 0.5}
    facts |= {"tokens_in": tokens} if tokens is not None else {}
    facts |= {"tokens_cached": cached} if cached is not None else {}
    (found,) = contexts(model(user("first"), *messages, **facts)).calls
    assert sum(share.tokens for share in found.shares) == found.tokens
    assert sum(item.tokens for item in found.items) + found.rest == found.tokens
    assert tokens in (None, 0, found.tokens)
    for item in found.items:
        assert "".join(item.part.text[tile.start : tile.end] for tile in item.tiles) == item.part.text
    costs = [share.cost_usd for share in found.shares]
    if found.answer_cost_usd is not None:
        assert math.isclose(found.answer_cost_usd + sum(cost or 0.0 for cost in costs), 0.5)
    else:
        assert set(costs) <= {None}


def test_what_the_provider_counted_beyond_all_that_is_recorded_is_not_known():
    (found,) = contexts(model(user("Say this is a test."), tokens_in=20_000)).calls
    assert found.items[0].tokens < 20
    assert found.rest == 20_000 - found.items[0].tokens
    assert [(share.kind, share.tokens) for share in found.shares][-1] == ("unknown", found.rest)


def test_the_arguments_of_a_function_without_messages_are_its_items():
    prompt = "Tell me what of this text is wrong, in one word."
    steps = [Did("ask", answer="nothing", asked={"prompt": prompt, "text": FILE, "notes": []}) for _ in range(2)]
    read = Did("read", tool="read_file", args={"path": "lamp.txt"}, result=FILE)
    first, second = contexts(read, *steps).calls
    assert [(item.part.role, item.part.name, item.part.where) for item in first.items] == [
        ("argument", "prompt", "prompt"),
        ("argument", "text", "text"),
    ]
    assert [item.kind for item in first.items] == ["unknown", "file"]
    assert [item.mark for item in second.items] == ["same", "same"]


def test_a_call_without_messages_says_why_there_is_nothing():
    assert contexts(model()).calls[0].why_empty == "this call was asked with nothing that can be read as text"
    found = contexts(Did("ask", answer=said("Yes."))).calls[0]
    assert (found.items, found.why_empty) == ((), "what this call was asked with was not recorded")


# ---------------------------------------------------------------- compaction

OLD = [
    user("Fix the date parser. Please do not touch the public names of the module."),
    said("I will."),
    gave("read_file", FILE),
    user("The invoice number to look for is INV-20943."),
]
SUMMARY = "So far: the date parser rejects 29 February, and a test is missing."


def compacted(answer: Wire = None, **facts: Wire) -> list[CallContext]:
    wrote = model(system("Summarise."), user("what was said"), answer=said(SUMMARY))
    before = model(system(), *OLD)
    after = model(system(), user(f"Summary of the conversation: {SUMMARY}"), answer=answer, **facts)
    return [*contexts(before, wrote, after).calls]


def test_a_compaction_names_the_summary_and_the_words_of_the_user_that_are_gone():
    last = compacted()[-1]
    assert last.summary is not None
    assert last.summary.part.text.endswith(SUMMARY)
    assert "summary" in [share.kind for share in last.shares]
    assert len(last.cuts) == len(OLD)
    assert [gone.words for gone in last.gone] == [
        "Please do not touch the public names of the module.",
        "The invoice number to look for is INV-20943.",
    ]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (said("I looked for INV-20943 and found nothing."), "INV-20943"),
        (said("I renamed the public names of the module."), "Please do not touch the public names of the module."),
    ],
)
def test_a_dropped_fact_that_a_later_answer_needed_is_named(answer, what):
    last = compacted(answer)[-1]
    assert what in [needed.what for needed in last.needed]
    needed = next(needed for needed in last.needed if needed.what == what)
    assert (needed.step, needed.call) == (3, 1)
    assert "its request does not" in needed.why


@pytest.mark.parametrize(
    ("left", "why"),
    [
        ("Go on.", "it is asked for again: what it gave was cut"),
        (f"You know already that {STOCK}.", "it is asked for again after it was cut"),
    ],
)
def test_what_a_tool_gave_is_only_said_to_be_cut_where_the_request_says_it_nowhere(left: str, why: str):
    again = asks("stock", sku="lamp-07")
    before = model(system(), user(QUESTION), again, gave("stock", STOCK), answer=said("Yes."))
    found = contexts(before, model(system(), user(QUESTION), user(left), answer=again)).calls[-1]
    assert [needed.why for needed in found.needed if needed.what.startswith("stock(")] == [why]


def test_an_answer_that_needs_nothing_of_what_was_dropped_names_nothing():
    assert compacted(said("The test is written."))[-1].needed == ()


def test_a_session_of_a_coding_agent_says_what_its_compaction_dropped_and_what_came_back(tmp_path: Path):
    source = open_source(write_session(tmp_path / "compacted.jsonl"))
    found = read_contexts(source, source.runs()[0].id).calls
    after = next(context for context in found if context.compaction is not None)
    assert after.summary is not None
    assert [origin.kind for origin in after.summary.origins] == ["summary"]
    assert [(needed.what, needed.why) for needed in after.needed if RULE in needed.what] == [
        (RULE, "it was asked for again after it was cut")
    ]
    assert not any(context.is_whole for context in found)
