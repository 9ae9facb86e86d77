"""The times of the shipped runs: those of an agent with real services, recorded while nobody waited for any."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import pytest

from agent_tt import samples
from agent_tt.store import open_store

pytestmark = pytest.mark.warm

PREBUILT = [sample for sample in samples.names() if sample.prebuilt]
SECOND = 1_000_000


@pytest.fixture(scope="module")
def shipped():
    with closing(open_store(samples.folder() / samples.SHIPPED_RUNS, read_only=True)) as store:
        yield store


def calls_of(store, name):
    """All calls of a run, each with its step."""
    run = store.run(name)
    return [(step, call) for step in store.steps(run.id) for call in store.calls(run.id, step.number)]


def seconds(timed):
    return (timed.ended_us - timed.started_us) / SECOND


def times_of(store, name):
    """When everything in a run began and ended, in order."""
    run = store.run(name)
    timed = [run, *store.steps(run.id), *(call for _, call in calls_of(store, name))]
    return [(each.started_us, each.ended_us) for each in timed]


@pytest.mark.parametrize("name", [sample.name for sample in PREBUILT])
def test_calls_lie_within_steps_within_their_parents_within_the_run(shipped, name):
    run = shipped.run(name)
    steps = {step.number: step for step in shipped.steps(run.id)}
    inside = [(run, step) for step in steps.values()]
    inside += [(steps[step.parent], step) for step in steps.values() if step.parent is not None]
    inside += calls_of(shipped, name)
    assert len(inside) >= 2 * run.steps
    for around, within in inside:
        assert around.started_us < within.started_us < within.ended_us < around.ended_us


@pytest.mark.parametrize("name", [sample.name for sample in PREBUILT])
def test_what_is_recorded_later_is_later_and_what_follows_in_a_lane_waits_for_what_is_before_it(shipped, name):
    calls = [call for _, call in calls_of(shipped, name)]
    delivered = sorted(calls, key=lambda call: call.delivered)
    assert all(one.ended_us < other.ended_us for one, other in pairwise(delivered))
    begun = [step.started_us for step in shipped.steps(shipped.run(name).id)]
    assert begun == sorted(set(begun))
    for lane in {call.lane for call in calls}:
        in_turn = sorted((call for call in calls if call.lane == lane), key=lambda call: call.lane_seq)
        assert all(one.ended_us < other.started_us for one, other in pairwise(in_turn))


@pytest.mark.parametrize("name", [sample.name for sample in PREBUILT])
def test_models_take_seconds_by_what_they_write_and_searches_a_fraction_of_one(shipped, name):
    calls = [call for _, call in calls_of(shipped, name)]
    models = [call for call in calls if call.kind == "llm"]
    assert all(0.8 < seconds(call) < 6 for call in models)
    most, least = (choose(models, key=lambda call: call.meta["tokens_out"]) for choose in (max, min))
    assert most.meta["tokens_out"] == least.meta["tokens_out"] or seconds(most) > seconds(least)
    searches = [call for call in calls if "search" in call.name and call.kind == "tool"]
    assert all(0.08 < seconds(call) < 0.41 for call in searches)


def test_a_page_that_never_comes_takes_its_15_seconds_while_other_lanes_go_on(shipped):
    ((waiting, call),) = [(step, call) for step, call in calls_of(shipped, "research-team") if call.status == "error"]
    assert 15 < seconds(call) < 15.1
    assert call.error.short == "TimeoutError: no answer within 15 s: owners-forum.example/t/1974"
    beside = [
        step
        for step, _ in calls_of(shipped, "research-team")
        if step.lane != waiting.lane and waiting.started_us < step.started_us < step.ended_us < waiting.ended_us
    ]
    assert {step.agent for step in beside} == {"web", "papers"}


def test_the_checkout_waits_twice_as_long_before_each_new_payment(shipped):
    steps = shipped.steps(shipped.run("flaky-checkout").id)
    gaps = [(later.started_us - step.ended_us) / SECOND for step, later in pairwise(steps)]
    assert [round(gap) for gap in gaps] == [0, 0, 0, 0, 0, 0, 5, 10, 0]


def test_shipped_runs_say_that_their_clock_was_simulated(shipped):
    assert {run.metadata.get("clock") for run in shipped.runs()} == {"simulated"}


def test_recorded_twice_a_sample_has_the_same_times_and_takes_none(shipped, tmp_path):
    recorded = []
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        path, _ = samples.record_run(
            samples.find("research-team"), tmp_path / place, through=("simulated_time.py", "1773651840000000")
        )
        with closing(open_store(path, read_only=True)) as store:
            recorded.append(times_of(store, "research-team"))
    assert recorded[0] == recorded[1]
    began, ended = recorded[0][0]
    assert 1773651840 * SECOND < began < ended < 1773651900 * SECOND
