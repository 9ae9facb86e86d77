"""Requests that repeat the conversation: each place counts, in any shape of search, and each text is kept once."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

from agent_tt.codec.texts import texts
from agent_tt.protocols import Capabilities
from agent_tt.querying.search import recorded
from agent_tt.querying.search.finder import Finder
from agent_tt.querying.search.query import parse
from agent_tt.querying.search.requests import Request, Requests, in_common, sizes_of

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call

WORDS = ["zebra", "horse", "zebra horse"]
MESSAGES = st.lists(st.one_of(st.sampled_from(WORDS), st.fixed_dictionaries({"content": st.sampled_from(WORDS)})))


@st.composite
def conversations(draw: st.DrawFn) -> list[Wire]:
    """Requests that grow, are cut at the front or the end, begin anew, or say the same again."""
    said: list[Any] = draw(MESSAGES)
    requests: list[Wire] = []
    for _ in range(draw(st.integers(1, 6))):
        match draw(st.sampled_from(["grow", "cut", "trim", "anew", "same", "plain"])):
            case "grow":
                said = [*said, *draw(MESSAGES)]
            case "cut":
                said = said[1:]
            case "trim":
                said = said[:-1]
            case "anew":
                said = draw(MESSAGES)
            case "plain":
                requests.append(draw(st.sampled_from(WORDS)))
                continue
        more = draw(st.dictionaries(st.sampled_from(["system", "zebra", "tools"]), st.sampled_from(WORDS), max_size=2))
        requests.append({"messages": list(said), **more})
    return requests


def counted(requests: list[Wire], word: str, first: int, last: int) -> list[int]:
    """The steps of all places, by looking at each request."""
    steps = range(first, min(last, len(requests)) + 1)
    return [step for step in steps for _, text in texts(requests[step - 1]) if word in text]


@given(conversations(), st.sampled_from(["zebra", "horse"]), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_every_place_of_every_request_counts(requests: list[Wire], word: str, one: int, other: int) -> None:
    source = MemorySource()
    source.add("run", [Did("ask", answer="yes", asked=asked) for asked in requests])
    first, last = min(one, other), max(one, other)
    with tempfile.TemporaryDirectory() as folder:
        for use_index in (True, False):
            with closing(Finder(source, use_index=use_index, folder=Path(folder))) as finder:
                for bounds, (low, high) in (("", (1, 99)), (f" step:{first}-{last}", (first, last))):
                    query = parse(f"in:arguments {word}{bounds}")
                    steps = counted(requests, word, low, high)
                    by_step = finder.found(query, ["run"], by="step", limit=1_000)
                    assert [hit.step for hit in by_step.hits] == steps
                    assert by_step.total == len(steps)
                    by_rank = finder.found(query, ["run"], limit=1_000)
                    assert sum(hit.times for hit in by_rank.hits) == len(steps)
                    assert max((hit.last for hit in by_rank.hits), default=0) == max(steps, default=0)
                    assert list(by_rank.steps) == sorted(set(steps))


@pytest.mark.parametrize("use_index", [True, False])
def test_a_long_conversation_is_indexed_once_and_counted_whole(use_index: bool, tmp_path: Path) -> None:
    source = MemorySource()
    said = [f"zebra number {number}" for number in range(60)]
    source.add("run", [Did("ask", answer="yes", asked={"messages": said[: n + 1]}) for n in range(60)])
    with closing(Finder(source, use_index=use_index, folder=tmp_path)) as finder:
        found = finder.found(parse("zebra"), ["run"], limit=1_000)
        assert (found.total, len(found.hits)) == (60 * 61 // 2, 60)
        assert [hit.last for hit in found.hits] == [60] * 60
        source.append("run", Did("ask", answer="yes", asked={"messages": said[:2]}))
        again = finder.found(parse("zebra"), ["run"], limit=1_000)
        assert again.total == found.total + 2


def test_requests_of_steps_that_were_over_late_keep_their_texts() -> None:
    asked = [{"m": ["a"]}, {"m": ["a", "b"]}, {"m": ["a", "b", "c"]}, {"m": ["a", "b", "d"]}]
    kept = [{}, in_common(asked[0], asked[1]), in_common(asked[1], asked[2]), in_common(asked[1], asked[3])]
    before = [None, (1, 1), (2, 1), (2, 1)]
    known = Requests(Request(n + 1, 1, 0, before[n], kept[n], sizes_of(asked[n])) for n in range(4))
    assert [each.step for each in known.again(1, 1, "m[0]", 0, 99)] == [2, 3, 4]
    assert [each.step for each in known.again(2, 1, "m[1]", 0, 99)] == [3, 4]
    assert known.again(3, 1, "m[2]", 0, 99) == []


def test_a_run_that_is_indexed_further_holds_the_calls_of_a_few_steps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = MemorySource()
    run = source.add(
        "run", [Did("ask", answer="yes", asked={"messages": ["zebra"] * n}) for n in range(1, 9)] + [Did("look")] * 12
    )
    ranges: list[tuple[int, int | None]] = []
    heads = source.call_heads

    def call_heads(run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        ranges.append((start, stop))
        return heads(run_id, start, stop)

    monkeypatch.setattr(source, "capabilities", Capabilities(pages=True))
    monkeypatch.setattr(source, "call_heads", call_heads)
    monkeypatch.setattr(recorded, "_HEADS_AT_ONCE", 3)
    source.append("run", Did("ask", answer="yes", asked={"messages": ["zebra"] * 9}))
    (step,) = source.steps(run.id, 21, 22)
    further = recorded.RunTexts(source, source.run(run.id), 21)
    further.step(step)
    assert [stop - start for start, stop in ranges if stop is not None] == [3] * 6 + [2]
    whole = recorded.RunTexts(source, source.run(run.id))
    for each in source.steps(run.id, 1, 22):
        whole.step(each)
    assert further.requests == whole.requests
    assert further.requests[0].before == (8, 1)
