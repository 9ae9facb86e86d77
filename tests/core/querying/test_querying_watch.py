"""Where an expression holds: as a scan of every state says, whatever the agent did to its state."""

from __future__ import annotations

import datetime as dt
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.interop import graphs
from tests.core.memory_store import Did, MemorySource
from tests.core.mutations import Mutator
from tests.core.store.recordings import begin, fork, new_store, step

import agent_tt
from agent_tt.errors import StepNotFound
from agent_tt.querying.expressions import parse
from agent_tt.querying.expressions.evaluator import holds
from agent_tt.querying.expressions.values import MISSING, at, plain
from agent_tt.querying.oddities import find_oddities
from agent_tt.querying.provenance.blaming import blame_value
from agent_tt.querying.watches.step_search import Span, Watch
from agent_tt.querying.watches.tracked_value import identical

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"


class Scan:
    """The facts of a step, read from whole states."""

    def __init__(self, source: Any, run_id: str, number: int) -> None:
        self.now = source.state(run_id, number)
        base = source.base_step(run_id, number)
        self.before = None if base is None else (source.state(run_id, base),)

    def value(self, root: str, place: Any) -> Any:
        assert root == "state"
        return at(self.now, place)

    def changed(self, place: Any) -> bool:
        return self.before is not None and not identical(at(self.before[0], place), at(self.now, place))


def scans(source: Any, run_id: str) -> list[Scan]:
    return [Scan(source, run_id, number) for number in range(source.step_count(run_id) + 1)]


def by_scan(source: Any, run_id: str, text: str, steps: list[Scan] | None = None) -> list[int]:
    """The steps where it holds; of states that were read before, where many questions are asked of a run."""
    expression = parse(text)
    return [number for number, step in enumerate(steps or scans(source, run_id)) if holds(expression, step)]


def random_place(choose: random.Random, state: Any) -> str:
    """A path of a state as text; sometimes one that leads nowhere, or counts from the end."""
    value, written = state, "state"
    for _ in range(choose.randrange(1, 5)):
        value = plain(value)
        if isinstance(value, dict) and value:
            key = choose.choice(list(value))
            written, value = f'{written}["{key}"]', value[key]
        elif isinstance(value, list) and value:
            position = choose.randrange(-len(value), len(value) + 1)
            written, value = f"{written}[{position}]", at(value, (position,))
        else:
            break
    return written if value is not MISSING or choose.random() < 0.5 else "state.messages"


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
def test_the_answers_are_those_of_a_scan(tmp_path_factory, seed, exotic, finished):
    choose = random.Random(seed)
    mutator = Mutator(choose, exotic=exotic)
    store = new_store(tmp_path_factory.mktemp("watch"))
    state: Any = mutator.state()
    state["count"] = 0
    writer = begin(store, state)
    places = {"state.count", "state.messages[-1].content", "state.messages"}
    last = 0
    for number in range(choose.randrange(2, 60)):
        for _ in range(choose.choice([0, 0, 1, 3])):
            mutator.mutate(state)
        if isinstance(state.get("messages"), list) and choose.random() < 0.4:
            state["messages"].append({"content": f"{number}"})
        if isinstance(state.get("count"), int):
            state["count"] += choose.choice([0, 0, 1, -1])
        if number == 30:
            if finished:
                writer.finish("succeeded")
            _, writer = fork(store, writer.run_id, last, store.state(writer.run_id, last))
        last = step(writer, state)
        if len(places) < 8:
            places.add(random_place(choose, store.state(writer.run_id, last)))
    if finished:
        writer.finish("succeeded")
    run_id = writer.run_id
    steps = scans(store, run_id)
    for place in sorted(places):
        for text in (place, f"exists({place})", f"changed({place})", f"len({place}) > 2", f"{place} == state.count"):
            expected = by_scan(store, run_id, text, steps)
            watch = Watch(store, run_id, text)
            assert list(watch.steps()) == expected, text
            here = choose.randrange(last + 1)
            assert watch.holds_at(here) is (here in expected)
            assert watch.next(here) == next((each for each in expected if each > here), None)
            assert watch.previous(here) == next((each for each in reversed(expected) if each < here), None)
    store.close()


@pytest.fixture(scope="module")
def samples():
    source = agent_tt.open_source(SAMPLES, read_only=True)
    yield source
    source.close()


@pytest.mark.parametrize(
    ("run", "text", "steps"),
    [
        ("flaky-checkout", "state.payment.amount > 1000", [6, 7, 8, 9, 10]),
        ("flaky-checkout", 'tool == "charge_card" and args.amount > 100', [7, 8, 9]),
        ("flaky-checkout", 'tool == "charge_card" and args.amount < 100', []),
        ("flaky-checkout", "error", [7, 8, 9]),
        ("flaky-checkout", "not error and step > 8", [10]),
        ("flaky-checkout", 'call.error =~ "^PaymentError.*rq_\\d+"', [7, 8, 9]),
        ("flaky-checkout", "result.total == 13684", [6]),
        ("flaky-checkout", "changed(state.payment.refusals)", [7, 8, 9]),
        ("refund-loop", "tokens > 300 and step < 6", [4, 5]),
        ("refund-loop", "state.order.price == 249 and step == 0", [0]),
        ("refund-loop", 'state.order.delivered < "2026-04" and step == 1', [1]),
        ("research-team", 'agent == "web" and error', [8]),
    ],
)
def test_questions_about_sample_runs(samples, run, text, steps):
    assert list(Watch(samples, samples.run(run).id, text).steps()) == steps


def test_where_it_began_and_stopped_to_hold(samples):
    run = samples.run("flaky-checkout")
    assert list(Watch(samples, run.id, "error or step < 2").spans()) == [Span(0, 1), Span(7, 9)]
    assert list(Watch(samples, run.id, "step > 100").spans()) == []
    holes = "step == 1 or step == 3 or step == 4 or step == 6"  # one step between parts them
    assert list(Watch(samples, run.id, holes).spans()) == [Span(1, 1), Span(3, 4), Span(6, 6)]


def test_a_step_that_is_not_there_is_said(samples):
    with pytest.raises(StepNotFound):
        Watch(samples, samples.run("flaky-checkout").id, "error").holds_at(99)


def test_all_parts_about_calls_are_about_one_call():
    source = MemorySource()
    did = Did("pay", tool="charge", args={"amount": 5}, result=1, answer={"content": "x"}, asked={"amount": 500})
    source.add("run", [did], state={})
    assert list(Watch(source, "run", 'tool == "charge" and args.amount > 100').steps()) == []
    assert list(Watch(source, "run", "args.amount > 100").steps()) == [1]


def test_a_search_can_be_ended(samples):
    watch = Watch(samples, samples.run("refund-loop").id, "step > 0", cancelled=lambda: True)
    assert list(watch.steps()) == []
    assert watch.previous(20) is None


def test_a_langgraph_database_is_asked_like_a_store(tmp_path):
    path = tmp_path / "checkpoints.db"
    with graphs.saver(path) as checkpointer:
        graphs.forks(checkpointer)
    with closing(agent_tt.open_source(path)) as source:
        for run in source.runs():
            for text in ("changed(state.log)", "len(state.log) > 1", "state.log[-1]", "not exists(state.log)"):
                assert list(Watch(source, run.id, text).steps()) == by_scan(source, run.id, text), (run.id, text)
            last = source.step_count(run.id)
            found = blame_value(source, run.id, "log[-1]", last)
            assert found.last is not None
            assert found.value == found.last.new
            assert find_oddities(source, run) == []


def test_dates_that_an_agent_keeps_are_asked_about_as_dates(tmp_path):
    path = tmp_path / "runs.db"
    state: Any = {"due": dt.datetime(2025, 12, 31, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-1)))}
    with agent_tt.record("bills", state=state, store=path) as run:
        for hours in (0, 1, 48):
            with run.step(f"put off by {hours} hours"):
                state["due"] += dt.timedelta(hours=hours)
    # 23:30 an hour west of Greenwich is 0:30 of the next day there.
    assert agent_tt.find_steps("bills", 'state.due < "2026-01-01T00:00Z"', store=path) == []
    assert agent_tt.find_steps("bills", 'state.due < "2026-01-01"', store=path) == [0, 1]
    assert agent_tt.find_steps("bills", 'state.due >= "2026-01-02"', store=path) == [3]
