"""Who wrote a value, what it was before, and the way back to what caused it."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.memory_source import Did, MemorySource
from tests.core.mutations import Mutator
from tests.core.store.recordings import begin, fork, new_store, step

import agent_tt
from agent_tt.codec.paths import get, parse_path, to_wire_path
from agent_tt.errors import AgentTTError, PathNotFound
from agent_tt.querying.blaming import blame_value, read_path, writes_of
from agent_tt.querying.followed import identical
from agent_tt.querying.trail import trail_of

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"


@pytest.fixture(scope="module")
def samples():
    source = agent_tt.open_source(SAMPLES, read_only=True)
    yield source
    source.close()


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from leaves(item, (*path, at))
    else:
        yield path


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9), st.booleans())
def test_the_writes_of_a_value_are_those_of_a_scan(tmp_path_factory, seed, finished):
    choose = random.Random(seed)
    mutator = Mutator(choose)
    store = new_store(tmp_path_factory.mktemp("blame"))
    state: Any = mutator.state()
    writer = begin(store, state)
    last = 0
    for number in range(choose.randrange(2, 90)):
        for _ in range(choose.randrange(3)):
            mutator.mutate(state)
        state["count"] = number // 4
        if number == 40:
            _, writer = fork(store, writer.run_id, last, store.state(writer.run_id, last))
        last = step(writer, state)
    if finished:
        writer.finish("succeeded")
    run_id = writer.run_id
    states = [store.state(run_id, number) for number in range(last + 1)]
    paths = list(leaves(states[last]))
    for path in [*choose.sample(paths, min(6, len(paths))), ("count",)]:
        writes = list(writes_of(store, run_id, path, last))
        numbers = [write.step for write in writes]
        assert numbers == sorted(set(numbers), reverse=True)
        assert writes[0].step == store.last_write(run_id, last, path)
        for write in writes:
            assert identical(write.new, value(states[write.step], write.path))
            if not write.began:
                assert identical(write.old, value(states[write.step - 1], write.old_path))
        assert writes[-1].began
        if all(isinstance(part, str) for part in path):  # no list that it could move in: every change is a write
            differs = [n for n in range(numbers[-1] + 1, last + 1) if not same(states[n - 1], states[n], path)]
            assert set(differs) <= set(numbers)
    store.close()


def value(state: Any, path: str) -> Any:
    return get(state, to_wire_path(state, parse_path(path)))


def same(before: Any, after: Any, path: Any) -> bool:
    try:
        return identical(get(before, path), get(after, path))
    except AgentTTError:
        return False


def test_an_item_is_followed_through_the_list_that_it_moves_in(tmp_path):
    store = new_store(tmp_path)
    state: Any = {"queue": [{"id": n, "tries": 0} for n in range(4)]}
    writer = begin(store, state)
    state["queue"][3]["tries"] = 1
    step(writer, state)
    state["queue"].pop(0)
    step(writer, state)
    state["queue"].insert(0, {"id": 99, "tries": 7})
    step(writer, state)
    state["queue"].pop(1)
    last = step(writer, state)
    path = read_path(state, "queue[-1].tries")
    told = [(write.step, write.path, write.old, write.new) for write in writes_of(store, writer.run_id, path, last)]
    assert told == [(1, "queue[3].tries", 0, 1), (0, "queue[3].tries", None, 0)]
    store.close()


def test_from_its_wrong_answer_the_trail_of_flaky_checkout_leads_to_the_result_that_caused_it(samples):
    run = samples.run("flaky-checkout")
    links = blame_value(samples, run.id, "answer", 10).trail.links
    assert [(link.kind, link.step, link.name, link.path) for link in links[:5]] == [
        ("value", 10, "", "answer"),
        ("answer", 10, "checkout_model", "message.content"),
        ("error", 9, "charge_card", ""),
        ("argument", 9, "charge_card", "amount"),
        ("result", 6, "price_order", "total"),
    ]
    assert links[2].shared == "bank refused the payment"
    assert links[4].value == 13684
    assert all(link.call is not None for link in links[1:5])


def test_the_trail_ends_where_the_input_said_it(samples):
    run = samples.run("refund-loop")
    links = blame_value(samples, run.id, "messages[-1].content", 3).trail.links
    assert [(link.kind, link.step) for link in links] == [("value", 3), ("result", 3), ("argument", 3), ("input", 0)]
    assert links[-1].path == "messages[1].content"
    assert links[-1].shared == "refund policy"


def test_what_no_call_brought_was_made_by_the_agents_code(samples):
    run = samples.run("refund-loop")
    found = blame_value(samples, run.id, "attempts", 5)
    assert [link.kind for link in found.trail.links] == ["value", "code"]
    assert [(write.old, write.new) for write in found.writes[:2]] == [(4, 5), (3, 4)]
    assert [link.kind for link in blame_value(samples, run.id, "order.id", 5).trail.links] == ["value"]


def test_an_edit_of_a_person_ends_the_trail(tmp_path):
    store = new_store(tmp_path)
    state: Any = {"city": "Lisbon"}
    writer = begin(store, state)
    step(writer, state)
    writer.finish("succeeded")
    edits = (agent_tt.model.Edit("set", "city", "Oslo", "Lisbon"),)
    from agent_tt.model import NewRun

    fork_id = store.begin_fork(writer.run_id, 1, state={"city": "Oslo"}, new=NewRun(""), edits=edits)
    links = trail_of(store, fork_id, ("city",), 1, "Oslo").links
    assert [(link.kind, link.step) for link in links] == [("value", 1), ("edit", 1)]
    store.close()


def test_who_no_longer_wants_to_know_is_told_nothing_wrong(samples):
    run = samples.run("flaky-checkout")
    found = blame_value(samples, run.id, "answer", 10, cancelled=lambda: True)
    assert [link.kind for link in found.trail.links] == ["value"]
    assert (found.writes, found.more) == ((), True)


def test_a_path_that_leads_nowhere_is_said(samples):
    run = samples.run("refund-loop")
    for path in ("messages[-99]", "nobody", "budget[-1]"):
        with pytest.raises(PathNotFound):
            blame_value(samples, run.id, path, 3)


def test_a_path_may_begin_as_expressions_say_it(samples):
    run = samples.run("flaky-checkout")
    last = samples.step_count(run.id)
    assert blame_value(samples, run.id, "state.answer", last) == blame_value(samples, run.id, "answer", last)
    with pytest.raises(PathNotFound):
        blame_value(samples, run.id, "state", last)


def test_the_python_api(monkeypatch):
    monkeypatch.setenv("AGENT_TT_STORE", str(SAMPLES))
    found = agent_tt.blame("flaky-checkout", "payment.amount")
    assert (found.last.step, found.last.old, found.last.new) == (6, None, 13684)
    assert agent_tt.blame("flaky-checkout", "payment.refusals", "@error").value == ["insufficient_funds"]
    assert agent_tt.find_steps("flaky-checkout", "error") == [7, 8, 9]
    bisected = agent_tt.bisect("flaky-checkout", "state.payment.amount > 1500")
    assert (bisected.first, bisected.last_without, bisected.is_monotone) == (6, 5, True)


def test_a_hostile_run_does_not_make_the_trail_endless():
    source = MemorySource()
    wide = [{f"k{n}": f"text number {n}" for n in range(400)} for _ in range(20)]
    dids = [Did("s", tool="t", args=wide, result=wide, state={"x": "text number 7 and more"}) for _ in range(60)]
    source.add("run", dids, state={})
    source.last_write = lambda run_id, step, path: step  # type: ignore[attr-defined]
    assert len(trail_of(source, "run", ("x",), 60, "text number 7 and more").links) <= 12


def test_a_long_answer_to_a_long_request_is_traced_in_bounded_time():
    source = MemorySource()
    prose = " ".join(f"word{n % 97}" for n in range(20_000))
    request = {"messages": [{"role": "user", "content": f"{n} {prose}"} for n in range(60)]}
    answer = {"content": " ".join(f"word{n * n % 97}" for n in range(5_000))}
    source.add("run", [Did("s", answer=answer, asked=request, state={"x": answer["content"]})], state={})
    source.last_write = lambda run_id, step, path: step  # type: ignore[attr-defined]
    started = time.process_time()
    links = trail_of(source, "run", ("x",), 1, answer["content"]).links
    assert time.process_time() - started < 5
    assert [link.kind for link in links[:2]] == ["value", "answer"]
