"""Finding a text in a run, and naming a checkpoint."""

from __future__ import annotations

import pytest
from tests.core.memory_source import Did, MemorySource

from agent_tt.errors import UsageError
from agent_tt.model import ErrorInfo
from agent_tt.querying.checkpoints import parse_checkpoint
from agent_tt.querying.find import Hit, find

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


def places(hits: list[Hit]) -> list[tuple[int, str, str]]:
    return [(hit.step, hit.where, hit.path) for hit in hits]


def test_a_text_is_found_where_it_came_from_and_not_in_every_later_step(source: MemorySource) -> None:
    assert places(list(find(source, "run", "refund policy"))) == [
        (0, "state", "messages[0].content"),
        (1, "arguments", "messages[0].content"),
        (1, "arguments", "query"),
    ]
    assert places(list(find(source, "run", "no documents"))) == [
        (1, "state", "messages[1].content"),
        (2, "arguments", "messages[1].content"),
    ]


def test_names_decisions_errors_results_numbers_keys_and_typed_values_are_searched(source: MemorySource) -> None:
    assert places(list(find(source, "run", "search refunds"))) == [(1, "name", "")]
    assert places(list(find(source, "run", "give up"))) == [(2, "decision", "")]
    assert places(list(find(source, "run", "timed out"))) == [(2, "error", "")]
    assert places(list(find(source, "run", "404"))) == [(1, "result", "count")]
    assert places(list(find(source, "run", "when"))) == [(2, "state", "when")]
    assert places(list(find(source, "run", "03:04"))) == [(2, "state", "when")]


def test_upper_case_counts_only_where_it_was_typed(source: MemorySource) -> None:
    assert {hit.step for hit in find(source, "run", "Refund")} == {0, 1}
    assert "query" not in {hit.path for hit in find(source, "run", "Refund")}


def test_the_excerpt_shows_what_was_found(source: MemorySource) -> None:
    source.add("long", [Did(name="x" * 500 + "needle" + "y" * 500)])
    (hit,) = find(source, "long", "needle")
    assert hit.excerpt[hit.start : hit.start + hit.length] == "needle"
    assert len(hit.excerpt) < 100


def test_what_is_looked_for_is_no_pattern(source: MemorySource) -> None:
    assert list(find(source, "run", "re.und")) == []


def test_nothing_cannot_be_looked_for(source: MemorySource) -> None:
    with pytest.raises(UsageError, match="nothing to look for"):
        find(source, "run", "")


def test_hits_come_one_by_one_and_the_search_can_be_given_up(source: MemorySource) -> None:
    source.add("many", [Did(name="work", tool="look", args="x", result="found it") for _ in range(300)])
    hits = find(source, "many", "found it")
    assert next(hits).step == 1
    assert source.calls_read <= 1
    given_up = find(source, "many", "found it", cancelled=lambda: source.calls_read >= 5)
    assert len(list(given_up)) <= 5


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
