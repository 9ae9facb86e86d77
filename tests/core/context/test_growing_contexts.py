"""Requests that go on from one another: each keeps what is its own, and has all of it when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from tests.core.memory_store import MemorySource

from agent_tt.context.causes import Causes
from agent_tt.context.reading import read_contexts
from agent_tt.context.shown import came_and_went
from agent_tt.model import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.context.shown import RunContexts

WORDS = st.sampled_from(
    ["the lamp is made of brass", "a refund of 40 euros is due", "ok", "[image image/png, 12 kB] of it"]
)
ROLES = st.sampled_from(["user", "assistant", "user", "system"])
MESSAGES = st.lists(st.builds(lambda role, text: {"role": role, "content": text}, ROLES, WORDS), max_size=4)
CHANGES = st.tuples(st.integers(0, 3), st.integers(0, 2), MESSAGES)
"""How many messages are left out at the end and at the beginning, and what is said then."""


class _Asked:
    """A step that asks a model."""

    def __init__(self, messages: Sequence[Wire], answer: str, tokens: int | None) -> None:
        self.name, self.agent, self.decision, self.error, self.status, self.state = "ask", None, None, None, "ok", {}
        self.lane, self.is_kept, self.tokens, self.cost_usd = "main", True, (None, None), None
        self._call = (messages, answer, tokens)

    def calls(self, step: int) -> list[Call]:
        messages, answer, tokens = self._call
        said: Wire = {"role": "assistant", "content": answer}
        meta: dict[str, Wire] = {} if tokens is None else {"tokens_in": tokens, "tokens_cached": tokens // 2}
        return [Call(step, 1, "llm", "m", "ok", args={"messages": [*messages]}, result=said, meta=meta)]


def requests(changes: Sequence[tuple[int, int, list[Wire]]]) -> list[list[Wire]]:
    messages: list[Wire] = [{"role": "system", "content": "You answer for a shop that sells lamps."}]
    found = []
    for at_end, at_start, said in changes:
        messages = [*messages[at_start : len(messages) - at_end], *said]
        found.append(messages)
    return found


def read(asked: Sequence[Sequence[Wire]], tokens: Sequence[int | None]) -> RunContexts:
    source = MemorySource()
    steps = [
        _Asked(each, f"this is answer number {at} of many", tokens[at % len(tokens)]) for at, each in enumerate(asked)
    ]
    source.add("run", steps, state=None)  # type: ignore[arg-type]
    return read_contexts(source, "run")


@given(st.lists(CHANGES, max_size=8), st.lists(st.none() | st.integers(0, 2_000), min_size=1, max_size=3))
def test_each_request_has_all_its_items_and_sums_however_it_goes_on(changes, tokens):
    asked = requests(changes)
    contexts = read(asked, tokens)
    for context, messages in zip(contexts.calls, asked, strict=True):
        assert sorted(item.part.text for item in context.items) == sorted(each["content"] for each in messages)
        assert [item.number for item in context.items] == list(range(len(messages)))
        for item in context.items:
            assert sum(tile.end - tile.start for tile in item.tiles) == len(item.part.text)
        assert sum(item.tokens for item in context.items) + context.rest == context.tokens
        assert sum(share.tokens for share in context.shares) == context.tokens
        assert (context.added, context.removed) == came_and_went(context.items, context.cuts)
        assert all(item.mark == "same" for item in context.items[: context.shared])
        assert list(context.own) == list(context.items)[context.shared :]
        assert context.items[: context.same] == tuple(context.items)[: context.same]


@given(st.lists(CHANGES, max_size=8))
def test_calls_that_hold_an_item_are_those_whose_items_say_the_same(changes):
    contexts = read(requests(changes), [None])
    texts = {item.part.text for context in contexts.calls for item in context.items}
    for text in texts:
        held = contexts.holding(lambda _, context, text=text: [i for i in context.own if i.part.text == text])
        expected = [[item.number for item in context.items if item.part.text == text] for context in contexts.calls]
        assert [[item.number for item in items] for items in held] == expected


@given(st.lists(CHANGES, max_size=8))
def test_the_steps_that_fed_a_step_are_those_of_the_joins_that_are_listed(changes):
    contexts = read(requests(changes), [None])
    causes = Causes(contexts)
    for context in contexts.calls:
        found, (sources, fed) = causes.of(context.step), causes.joins(context.step)
        assert {join.source[0] for join in sources} == {step for steps in found.sources for step in steps}
        assert {join.fed[0] for join in fed} == {step for steps in found.fed for step in steps}


def test_a_chat_that_grows_keeps_each_item_once():
    said: list[Wire] = [{"role": "user", "content": f"question number {at} about brass lamps"} for at in range(120)]
    contexts = read([said[: at + 1] for at in range(120)], [None, 900])
    assert sum(len(context.own) for context in contexts.calls) == len(said)
    assert len(contexts.calls[-1].items) == len(said)
