"""Who wrote a part of a text, in a session that was compacted; what the compaction dropped; where two sessions part."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did, MemorySource
from tests.core.querying.compacted_session import RULE, write_session

from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.errors import UsageError
from agent_tt.querying.provenance.blaming import blame_value
from agent_tt.querying.provenance.model_reading import places_in_common, places_read
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource

ANSWER = "messages[-1].content[0].text"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[RunSource]:
    with closing(open_source(write_session(tmp_path / "one.jsonl"))) as source:
        yield source


def test_words_that_several_results_hold_name_them_all(session: RunSource) -> None:
    blame = blame_value(session, "one", ANSWER, 6, words=RULE)
    assert blame.value == RULE
    result = next(link for link in blame.trail.links if link.kind == "result")
    assert (result.step, result.name) == (5, "Read")
    assert [(other.step, other.name) for other in result.others] == [(3, "Bash"), (2, "Grep")]


def test_words_of_a_summary_are_the_compaction_s_and_the_results_before_it_may_be_where_they_are_from(
    session: RunSource,
) -> None:
    trail = blame_value(session, "one", ANSWER, 6, words="The shop uses port 8081.").trail
    last = trail.links[-1]
    assert (last.kind, last.step, last.name) == ("request", 4, "compaction")
    assert [(other.step, other.name) for other in last.others] == [(1, "Read")]
    assert "not recorded" in trail.ends
    assert "user" not in trail.ends


@pytest.mark.parametrize(("path", "words"), [(ANSWER, "nobody said this"), (ANSWER, " "), ("messages", "port")])
def test_words_that_are_not_there_are_refused(path: str, words: str, session: RunSource) -> None:
    with pytest.raises(UsageError, match="is no text that says"):
        blame_value(session, "one", path, 6, words=words)


def test_a_compaction_says_how_much_it_dropped_and_its_changes_what(session: RunSource) -> None:
    step = session.steps("one")[3]
    assert (step.name, step.decision) == ("compaction", "dropped 7 of 7 messages")
    assert "port = 8081" in str(session.state("one", 3))
    assert "port = 8081" not in str(session.state("one", 4))


def test_two_sessions_of_one_task_part_where_one_looked_again(session: RunSource, tmp_path: Path) -> None:
    with closing(open_source(write_session(tmp_path / "two.jsonl", reads_again=False))) as other:
        found = compare_runs(session, session.run("one"), other, other.run("two"))
    assert found.diverged_at == 5


def test_what_a_request_does_not_show_has_the_results_before_it_as_candidates() -> None:
    answer = "Under an overcast sky it has 59 degrees."
    asked: Wire = {"messages": [{"role": "user", "content": "Well?"}]}
    source = MemorySource()
    source.add(
        "run",
        [
            Did("look", tool="weather", args={"at": "Berlin"}, result="59 degrees, overcast sky", state={"said": ""}),
            Did("say", asked=asked, answer={"role": "assistant", "content": answer}, state={"said": answer}),
        ],
    )
    trail = blame_value(source, "run", "said", 2).trail
    last = trail.links[-1]
    assert (last.kind, [(other.step, other.name) for other in last.others]) == ("candidates", [(1, "weather")])
    assert "does not say" in trail.ends


def test_a_version_that_stands_in_the_request_is_not_called_the_model_s_own() -> None:
    args: Wire = {"messages": [{"role": "user", "content": "now at 15.5.2"}]}
    places, _ = places_in_common(args, "Next 15.5.2")
    assert [read.shared for read in places] == ["15.5.2"]
    (read,) = places_read({"messages": [{"role": "user", "content": "It is AB CD EF now"}]}, "AB CD EF")
    assert read.why == "it holds just these words"
