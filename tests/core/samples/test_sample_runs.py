"""What a fresh run of each sample looks like in the store, and that the shipped runs are just such runs."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import closing

import pytest

from agent_tt import samples
from agent_tt.codec.decode import decode
from agent_tt.store import open_store

PREBUILT = [sample for sample in samples.names() if sample.prebuilt]


@pytest.fixture
def fresh(agent, opened, store_path, ledger):
    """Run a sample in this process; give the store and its run."""

    def run(name: str):
        module_name, _, function = samples.find(name).entry.removesuffix(".py").partition(".py:")
        result = getattr(agent(module_name), function)
        if name == "refund-loop":
            with pytest.raises(TimeoutError, match="gave up after 20 searches"):
                result()
        else:
            value = result()
            if inspect.iscoroutine(value):
                asyncio.run(value)
        store = opened()
        return store, store.run(name)

    return run


def outline(source, run):
    """Everything about a run that does not depend on when and where it ran."""
    steps = source.steps(run.id)
    return [
        (
            step.number,
            step.name,
            step.status,
            step.kind,
            step.agent,
            step.lane,
            step.parent,
            step.track,
            step.repeat_of,
            step.decision,
            step.tokens_in,
            step.tokens_out,
            step.cost_usd,
            step.error.short if step.error else None,
            [(call.kind, call.name, call.status, call.lane, call.args, call.result) for call in calls],
            source.digest(run.id, step.number),
        )
        for step in steps
        for calls in [source.calls(run.id, step.number)]
    ]


@pytest.mark.parametrize("sample", PREBUILT, ids=lambda sample: sample.name)
def test_shipped_run_equals_a_fresh_run_of_its_agent(sample, fresh):
    store, run = fresh(sample.name)
    with closing(open_store(samples.folder() / samples.SHIPPED_RUNS, read_only=True)) as shipped_store:
        shipped = shipped_store.run(sample.name)
        assert (shipped.status, shipped.steps) == (run.status, sample.steps)
        assert outline(shipped_store, shipped) == outline(store, run)
        for number in range(sample.steps + 1):
            assert shipped_store.state(shipped.id, number) == store.state(run.id, number)


def test_refund_loop_searches_twenty_times_for_the_same_and_times_out_at_step_21(fresh):
    store, run = fresh("refund-loop")
    assert (run.status, run.steps, run.error.short) == (
        "failed",
        21,
        "TimeoutError: gave up after 20 searches without an answer",
    )
    for step in store.steps(run.id, 1, 21):
        (search,) = [call for call in store.calls(run.id, step.number) if call.kind == "tool"]
        assert (search.name, search.args, search.result) == (
            "search_docs",
            {"query": "refund policy"},
            {"docs": [], "count": 0},
        )
        assert (step.name, step.kind, step.status) == ("search_docs", "read", "ok")
        assert step.tokens_in > 0
        assert step.cost_usd > 0
    last = store.steps(run.id, 21)[0]
    assert (last.status, [call.kind for call in store.calls(run.id, 21)]) == ("error", ["llm"])
    assert store.step_number(run, "@error") == 21


def test_trip_planner_reads_first_and_then_writes_each_thing_once(fresh, ledger):
    store, run = fresh("trip-planner")
    assert (run.status, run.steps) == ("succeeded", 11)
    tools = [call for step in store.steps(run.id) for call in store.calls(run.id, step.number) if call.kind == "tool"]
    writes = [call.name for call in tools if call.effect == "write"]
    assert writes == ["book_flight", "book_hotel", "charge_card"]
    assert [call.effect for call in tools] == ["read"] * 7 + ["write"] * 3
    assert len(ledger.read_text().splitlines()) == 3


def test_flaky_checkout_is_refused_three_times_from_step_7_and_blames_the_card(fresh):
    store, run = fresh("flaky-checkout")
    assert (run.status, run.steps) == ("succeeded", 10)
    assert [step.number for step in store.steps(run.id) if step.status == "error"] == [7, 8, 9]
    assert store.value(run.id, 6, ("payment", "amount")) == 13684
    assert "another card" in store.value(run.id, 10, ("answer",))


def test_research_team_works_at_once_in_lanes_of_its_own_and_in_nested_steps(fresh):
    store, run = fresh("research-team")
    steps = store.steps(run.id)
    assert (run.status, len(steps)) == ("succeeded", 15)
    assert {step.agent for step in steps} == {"lead", "web", "papers", "critic"}
    research = next(step for step in steps if step.name == "research")
    starters = [step for step in steps if step.name in {"search the web", "search papers", "list doubts"}]
    assert {step.parent for step in starters} == {research.number}
    assert len({step.lane for step in starters}) == 3
    pages = next(step for step in steps if step.name == "read the pages")
    assert [step.agent for step in steps if step.parent == pages.number] == ["web"] * 3
    assert len({step.track for step in steps}) == 4
    assert [step.name for step in steps if step.status == "error"] == ["read owners-forum.example"]


def test_states_hold_typed_values_that_come_back_as_they_were(fresh, agent):
    store, run = fresh("refund-loop")
    assert decode(store.state(run.id, 0)) == agent("refund_loop").new_conversation()
