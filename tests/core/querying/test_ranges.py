"""A range of steps: what these alone took, cost, wrote and changed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.errors import RunNotFound, StepNotFound, UsageError
from agent_tt.model import Step
from agent_tt.querying.ranges import find_range, range_base, range_changes, read_range, why_no_changes
from agent_tt.sources import open_source

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"


@pytest.fixture
def samples():
    with closing(open_source(SAMPLES)) as source:
        yield source


def three(**last: object) -> MemorySource:
    source = MemorySource()
    said = Did("three", answer={"role": "assistant", "content": "Yes."}, asked={"messages": []})
    run = source.add("run", [Did("one"), Did("two", tool="book", args={}, result="ok"), said])
    facts = {
        "started_us": 10,
        "ended_us": 40,
        "tokens_in": 5,
        "tokens_out": 2,
        "cost_usd": 0.5,
        "kind": "llm",
        "calls": 1,
    }
    source.save(run.id, Step(1, "one", "ok", **facts))
    source.save(run.id, Step(3, "three", "error", **{**facts, "started_us": 60, "ended_us": 90, **last}))
    return source


def test_the_parts_of_a_run_add_up_to_it(samples):
    run = samples.run("flaky-checkout")
    one, other = read_range(samples, run, 1, 5), read_range(samples, run, 6, 10)
    whole = one.usage + other.usage
    assert (whole.tokens_in, whole.tokens_out) == (run.tokens_in, run.tokens_out)
    assert whole.cost_usd == pytest.approx(run.cost_usd)
    assert (one.steps, other.steps, one.errors, other.errors) == (5, 5, 0, 3)
    assert [row.happened for row in other.effects.rows] == ["failed"] * 3
    assert not one.effects.rows
    assert (one.base, other.base) == (0, 5)
    assert one.took_us + other.took_us <= run.ended_us - run.started_us


def test_a_range_counts_from_its_first_step_to_its_last_and_nothing_beside():
    source = three()
    run = source.run("run")
    found = read_range(source, run, 3, 3)
    assert (found.steps, found.errors, found.took_us, found.usage.tokens_in) == (1, 1, 30, 5)
    assert not found.effects.rows
    assert [row.name for row in read_range(source, run, 2, 3).effects.rows] == ["book"]
    assert read_range(source, run, 0, 0).steps == 0


def test_what_nobody_told_is_not_known_and_never_nothing():
    source = three(tokens_in=None, tokens_out=None, cost_usd=None, ended_us=None)
    run = source.run("run")
    alone = read_range(source, run, 3, 3)
    assert (alone.took_us, alone.usage.tokens_in, alone.usage.cost_usd, alone.uncounted) == (None, None, None, 1)
    both = read_range(source, run, 1, 3)
    assert (both.took_us, both.usage.tokens_in, both.usage.cost_usd, both.uncounted) == (None, 5, 0.5, 1)


def test_the_state_before_is_that_of_the_history_in_which_the_range_ends(samples):
    run = samples.run("research-team")  # web and papers keep states of their own
    assert samples.base_step(run.id, 9) == range_base(samples, run.id, 9, 9)
    assert range_base(samples, run.id, 7, 9) == samples.base_step(run.id, 7)
    assert range_base(samples, run.id, 10, 13) == samples.base_step(run.id, 12) == 5


@pytest.mark.parametrize(
    ("run", "steps", "expected"),
    [
        ("refund-loop", "3..7", (3, 7)),
        ("refund-loop@3..7", None, (3, 7)),
        ("refund-loop", "..@error", (1, 21)),
        ("refund-loop@19..@error", None, (19, 21)),
        ("refund-loop", "~2..", (19, 21)),
        ("refund-loop", "5", None),
        ("refund-loop@5", None, None),
        ("refund-loop", None, None),
    ],
)
def test_either_end_is_any_name_of_a_step_and_may_be_left_out(samples, run, steps, expected):
    found = find_range(samples, run, steps)
    assert (None if found is None else found[1:]) == expected


def test_a_run_whose_name_looks_like_a_range_is_a_run():
    source = MemorySource()
    source.add("a@1..2", [Did("one")])
    assert find_range(source, "a@1..2", None) is None
    assert find_range(source, "a@1..2", "0..1")[1:] == (0, 1)
    assert find_range(source, "a@1..2@0..1", None)[1:] == (0, 1)


@pytest.mark.parametrize(
    ("run", "steps", "error"),
    [("refund-loop", "7..3", UsageError), ("refund-loop", "3..99", StepNotFound), ("none", "3..4", RunNotFound)],
)
def test_what_is_no_range_is_refused(samples, run, steps, error):
    with pytest.raises(error):
        find_range(samples, run, steps)


def test_what_a_range_changed_is_not_known_where_its_last_state_was_not_kept():
    source = MemorySource()
    run = source.add("run", [Did("one", state={"n": 1}), Did("two", is_kept=False), Did("three", state={"n": 1})])
    lost = read_range(source, run, 2, 2)
    assert range_changes(source, run, lost) is None
    assert why_no_changes(source, run, lost) == "no checkpoint is kept of step 2"
    kept = read_range(source, run, 2, 3)
    assert (range_changes(source, run, kept), why_no_changes(source, run, kept)) == ([], "")
