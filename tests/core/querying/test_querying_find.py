"""Finding a text in a run, and naming a checkpoint."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did, MemorySource
from tests.effort import Effort

from agent_tt.codec.encode import encode
from agent_tt.errors import InvalidExpression, UsageError
from agent_tt.model import ErrorInfo
from agent_tt.querying.checkpoints import parse_checkpoint
from agent_tt.querying.search.finder import Finder
from agent_tt.querying.search.hits import Gathered
from agent_tt.querying.search.query import parse
from agent_tt.querying.search.read import gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_tt.querying.search.hits import Hit

    Find = Callable[..., list[Hit]]

ASKED = {"role": "user", "content": "What is the Refund policy?"}
FOUND = {"role": "tool", "content": "no documents"}


@pytest.fixture
def source() -> MemorySource:
    made = MemorySource()
    made.add(
        "run",
        [
            Did(
                name="search refunds",
                tool="search_docs",
                args={"query": "refund policy"},
                result={"docs": [], "count": 404},
                answer={"content": "I will search"},
                asked={"messages": [ASKED]},
                state={"messages": [ASKED, FOUND]},
            ),
            Did(
                name="answer",
                decision="give up",
                answer={"content": "sorry"},
                asked={"messages": [ASKED, FOUND]},
                error=ErrorInfo("builtins:TimeoutError", "refund search timed out"),
                state={"messages": [ASKED, FOUND], "when": {"$type": "datetime", "$v": "2026-01-02T03:04:00"}},
            ),
        ],
        state={"messages": [ASKED]},
    )
    return made


@pytest.fixture(params=[True, False], ids=["by index", "by reading"])
def find(request: pytest.FixtureRequest, source: MemorySource, tmp_path: Path) -> Iterator[Find]:
    finder = Finder(source, use_index=request.param, folder=tmp_path)

    def search(run: str | None, text: str, *, by: str = "step", **how) -> list[Hit]:
        return list(finder.found(parse(text, **how), None if run is None else [run], by=by).hits)

    yield search
    assert finder.uses_index is request.param
    finder.close()


def places(hits: list[Hit]) -> list[tuple[int, str, str]]:
    return [(hit.step, hit.where, hit.path) for hit in hits]


def test_a_text_of_the_state_is_found_where_it_came_from_and_one_of_requests_in_each(find: Find) -> None:
    assert places(find("run", "refund policy")) == [
        (0, "state", "messages[0].content"),
        (1, "arguments", "messages[0].content"),
        (1, "arguments", "query"),
        (2, "arguments", "messages[0].content"),
    ]
    assert places(find("run", "no documents")) == [
        (1, "state", "messages[1].content"),
        (2, "arguments", "messages[1].content"),
    ]


def test_names_decisions_errors_results_numbers_keys_and_typed_values_are_searched(find: Find) -> None:
    assert places(find("run", "search refunds")) == [(1, "name", "")]
    assert places(find("run", "give up")) == [(2, "decision", "")]
    assert places(find("run", "timed out")) == [(2, "error", "")]
    assert places(find("run", "404")) == [(1, "result", "count")]
    assert places(find("run", "when")) == [(2, "state", "when")]
    assert places(find("run", "03:04")) == [(2, "state", "when")]


def test_upper_case_counts_only_where_it_was_typed(find: Find) -> None:
    assert {hit.step for hit in find("run", "Refund")} == {0, 1, 2}
    assert "query" not in {hit.path for hit in find("run", "Refund")}


def test_the_excerpt_shows_what_was_found(source: MemorySource, find: Find) -> None:
    source.add("long", [Did(name="x" * 500 + "needle" + "y" * 500)])
    (hit,) = find("long", "needle")
    assert hit.excerpt[hit.start : hit.start + hit.length] == "needle"
    assert len(hit.excerpt) < 100


def test_what_is_looked_for_is_a_pattern_only_where_that_is_said(find: Find) -> None:
    assert find("run", "re.und") == []
    assert places(find("run", "re.und (p|s)", regex=True))[0] == (0, "state", "messages[0].content")
    (hit,) = find("run", "time[a-z]+|d o", regex=True, fields=["error"])
    assert hit.where == "error"


def test_nothing_cannot_be_looked_for(find: Find) -> None:
    for nothing in ("", "  ", '""', "in:"):
        with pytest.raises(UsageError, match="nothing to search for"):
            find("run", nothing)


def test_words_stand_in_any_order_and_a_phrase_as_it_was_written(find: Find) -> None:
    assert places(find("run", "policy refund")) == places(find("run", "refund policy"))
    assert find("run", '"policy refund"') == []
    assert len(find("run", '"refund policy"')) == 4


def test_a_search_is_kept_to_fields_tools_agents_and_steps(source: MemorySource, find: Find) -> None:
    assert {hit.where for hit in find("run", "in:arguments refund")} == {"arguments"}
    assert {hit.where for hit in find("run", "refund", fields=["error", "name"])} == {"error", "name"}
    assert {hit.path[:8] for hit in find("run", "in:mes refund")} == {"messages"}
    assert {(hit.where, hit.call) for hit in find("run", "tool:search refund")} == {("arguments", 2)}
    assert {hit.step for hit in find("run", "step:1- refund")} == {1, 2}
    assert {hit.step for hit in find("run", "step:-0 refund")} == {0}
    source.add("same", [Did(name="same", agent=agent) for agent in ("ada", "bo", "ada", "bo", "ada")])
    assert [hit.step for hit in find("same", "same step:2-4")] == [2, 3, 4]
    assert [hit.step for hit in find("same", "same step:2-4 agent:ad")] == [3]
    assert {hit.where for hit in find("run", "in:error")} == {"error"}
    source.add("team", [Did(name="work", agent=agent, decision=f"ask {agent}") for agent in ("ada", "bo", "ada")])
    assert [hit.step for hit in find("team", "agent:ada in:decision ask")] == [1, 3]
    with pytest.raises(InvalidExpression, match="no field 'nothing'") as refused:
        find("run", "words in:nothing")
    assert refused.value.position == 9


def test_short_words_and_words_of_any_script_are_found(source: MemorySource, find: Find) -> None:
    texts = ["返金ポリシー", "Возврат денег", "naïve café", "ΣΊΣΥΦΟΣ", "x", "İstanbul", "a\0b", "👩‍🚀 up", "q7"]
    source.add("script", [Did(name=text) for text in texts])
    expected = {
        "返": 1,
        "金ポ": 1,
        "возврат": 2,
        "É": None,
        "é": 3,
        "ï": 3,
        "σίσυφος": 4,
        "x": 5,
        "q7": 9,
        "7": 9,
        "👩": 8,
    }
    for text, step in expected.items():
        assert [hit.step for hit in find("script", f"in:name {text}")] == ([] if step is None else [step]), text
    assert [hit.step for hit in find("script", "stanbul")] == [6]
    assert [hit.step for hit in find("script", "a in:name step:7")] == [7]


def test_a_text_with_half_of_a_pair_of_surrogates_is_searched_as_any(source: MemorySource, find: Find) -> None:
    half = encode("rocket \ud83d cut")
    asked = {"messages": [{"role": "user", "content": half}]}
    source.add("halves", [Did(answer=half, asked=asked, tool="look", args=encode({"\ud83d": "rocket 7"}), name="one")])
    assert sorted(places(find("halves", "rocket"))) == [
        (1, "arguments", "[0][1]"),
        (1, "arguments", "messages[0].content"),
        (1, "result", ""),
    ]


def test_the_best_come_first_and_equal_texts_are_one(source: MemorySource, find: Find) -> None:
    steps = [Did(name="look", tool="search", args={"q": "timeouts"}, result="no timeout here") for _ in range(5)]
    steps.append(Did(name="fail", error=ErrorInfo("builtins:ValueError", "a timeout"), state={"note": "timeout"}))
    source.add("ranked", steps, state={"seen": "mistimeouted"})
    found = find("ranked", "timeout", by="rank")
    assert [(hit.where, hit.step, hit.times, hit.last) for hit in found] == [
        ("error", 6, 1, 6),
        ("state", 6, 1, 6),
        ("result", 1, 5, 5),
        ("state", 0, 1, 0),
        ("arguments", 1, 5, 5),
    ]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_words_side_by_side_come_before_the_same_words_apart(source: MemorySource, find: Find) -> None:
    source.add("apart", [Did(name="policy for a refund"), Did(name="the refund policy")])
    assert [hit.step for hit in find("apart", "refund policy", by="rank")] == [2, 1]


def test_a_fork_has_what_its_parent_recorded_and_what_was_edited(source: MemorySource, find: Find) -> None:
    done = [Did(name=f"work {number}", state={"note": f"old {number}"}) for number in (1, 2, 3)]
    source.add("parent", done, state={"note": "begun"})
    source.add("parent/fork-1", [Did(name="other work", state={"note": "new"})], parent="parent", fork_step=2)
    assert [hit.step for hit in find("parent/fork-1", "work in:name")] == [1, 2, 3]
    assert find("parent/fork-1", "old step:3") == []
    assert [(hit.run, hit.step) for hit in find(None, '"other work"')] == [("parent/fork-1", 3)]
    everywhere = find(None, '"work 1"')
    assert [(hit.run, hit.step) for hit in everywhere] == [("parent", 1)]


def test_a_pattern_is_bounded_whatever_it_says(source: MemorySource, find: Find) -> None:
    source.add("hostile", [Did(name="a" * 200_000) for _ in range(3)])
    with Effort() as effort:
        assert find("hostile", "(a+)+b", regex=True) == []
        with pytest.raises(InvalidExpression, match="cannot be searched for"):
            find("hostile", "((a{500}){500})", regex=True)
        letters = random.Random(1)
        source.add("varied", [Did(name="".join(letters.choice("ab") for _ in range(60_000)))])
        with pytest.raises(InvalidExpression, match="takes too long"):
            find("varied", "a[ab]{200}c", regex=True)
    assert effort.lines < 60_000_000


@pytest.mark.parametrize(
    ("text", "run", "step"),
    [
        ("refund-loop@3", "refund-loop", "3"),
        ("latest@~1", "latest", "~1"),
        ("THREAD@1f0c9a3e@4", "THREAD@1f0c9a3e", "4"),
        ("refund-loop@error", "refund-loop", "@error"),
        ("refund-loop@@error", "refund-loop", "@error"),
        ("refund-loop~2@0", "refund-loop~2", "0"),
    ],
)
def test_a_checkpoint_is_read_from_its_last_at_sign(text: str, run: str, step: str) -> None:
    assert parse_checkpoint(text) == (run, step)


@pytest.mark.parametrize("text", ["refund-loop", "@3", "refund-loop@", "@error", ""])
def test_what_is_no_checkpoint_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="is not RUN@STEP") as refused:
        parse_checkpoint(text)
    assert "refund-loop@3" in refused.value.hint


def test_a_search_can_end_within_a_step_that_has_very_many_texts() -> None:
    source = MemorySource()
    source.add("run", [Did(name="wide", state={f"channel {number}": f"refund {number}" for number in range(5_000)})])
    looks = 0

    def cancelled() -> bool:
        nonlocal looks
        looks += 1
        return looks > 2

    gathered = Gathered(parse("refund"), "rank")
    assert list(gather(source, source.run("run"), 0, parse("refund"), gathered, cancelled=cancelled)) == [1]
    assert 0 < len(gathered) < 5_000
