"""A model call beside any other one: added, dropped, changed and cut."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.context.against import against
from agent_tt.context.reading import read_contexts
from agent_tt.context.words import cut_words
from agent_tt.sources import open_source

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"
RULE = "Never promise a refund before the warehouse has looked at the machine."
LONG = "The manual says: descale it once a month, " + "and do not open the boiler. " * 8


def call(*texts: str) -> Did:
    messages = [{"role": "user", "content": text} for text in texts]
    return Did("ask", answer={"role": "assistant", "content": "Yes."}, asked={"messages": messages})


def calls(*every: tuple[str, ...]):
    source = MemorySource()
    source.add("run", [call(*texts) for texts in every])
    return read_contexts(source, "run").calls


@pytest.fixture(scope="module")
def refunds():
    with closing(open_source(SAMPLES)) as source:
        yield read_contexts(source, source.run("refund-loop").id).calls


def test_the_last_call_of_the_lane_gives_what_is_said_without_a_choice(refunds):
    for before, context in pairwise(refunds):
        found = against(context, before)
        assert found.before == context.before == before.place
        assert [item.mark for item in found.items] == [item.mark for item in context.items]
        assert (found.cuts, found.same, found.added, found.removed) == (
            context.cuts,
            context.same,
            context.added,
            context.removed,
        )


def test_what_is_there_and_what_is_only_there_are_the_same_seen_from_both_sides(refunds):
    one, other = refunds[3], refunds[9]
    there, back = against(other, one), against(one, other)
    new = [item.part for item in there.items if item.mark == "new"]
    assert [cut.item.part for cut in back.cuts] == new
    assert there.added == back.removed > 0
    assert not there.cuts
    assert not any(item.mark == "new" for item in back.items)


def test_a_call_beside_itself_is_all_the_same(refunds):
    found = against(refunds[4], refunds[4])
    assert found.same == len(found.items)
    assert (found.cuts, found.added, found.removed) == ((), 0, 0)


def test_a_shortened_item_says_what_it_was_and_a_dropped_rule_is_named():
    first, _, last = calls((RULE, LONG, "One?"), (RULE, LONG, "Two?"), (LONG[:60], "Three?"))
    found = against(last, first)
    assert [item.mark for item in found.items] == ["shortened", "new"]
    assert found.items[0].tokens_before == first.items[1].tokens
    assert found.gone[0].words == RULE
    assert cut_words(found) == "2 items of step 1 that step 3 lacks"


def test_of_a_later_call_nothing_is_said_to_be_gone():
    first, last = calls(("One?",), (RULE, "Two?"))
    found = against(first, last)
    assert [cut.item.part.text for cut in found.cuts] == [RULE, "Two?"]
    assert found.gone == ()
