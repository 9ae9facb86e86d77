"""Who wrote a value, what it was before, and the way back to what caused it."""

from __future__ import annotations

import inspect
import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource
from tests.core.mutations import Mutator
from tests.core.store.recordings import begin, fork, new_store, step
from tests.effort import Effort

import agent_tt
from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.errors import AgentTTError, PathNotFound
from agent_tt.model import NewFork
from agent_tt.querying.places import read_path
from agent_tt.querying.provenance.blaming import blame_value
from agent_tt.querying.provenance.trail import trail_of
from agent_tt.querying.provenance.writes import Write, first_place, writes_of
from agent_tt.querying.watches.tracked_value import identical

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


def nodes(value: Any) -> Any:
    yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(item)


def holds(state: Any, wanted: Any) -> bool:
    return any(type(node) is type(wanted) and identical(node, wanted) for node in nodes(state))


def shuffle(choose: random.Random, state: Any) -> None:
    """What agents do to what they have: sort, reverse, trim, rename."""
    lists = [node for node in nodes(state) if isinstance(node, list) and len(node) > 1]
    dicts = [node for node in nodes(state) if isinstance(node, dict) and node and node is not state]
    match choose.randrange(4):
        case 0 if lists:
            choose.choice(lists).reverse()
        case 1 if lists:
            choose.shuffle(choose.choice(lists))
        case 2 if lists:
            del choose.choice(lists)[0]
        case 3 if dicts:
            of = choose.choice(dicts)
            of[f"renamed{choose.randrange(10**6)}"] = of.pop(choose.choice(list(of)))


def check_write(write: Write, states: list[Any]) -> None:
    """What a write says is what the states hold."""
    if write.what == "removed":
        assert identical(write.old, value(states[write.step - 1], write.path))
        assert not present(states[write.step], parse_path(write.path))
        return
    assert identical(write.new, value(states[write.step], write.path))
    assert write.began == (write.what == "added")
    if not write.began:
        assert identical(write.old, value(states[write.step - 1], write.old_path))
    if write.what == "moved":
        assert identical(write.old, write.new)
        assert write.path != write.old_path


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
@example(seed=9948071, finished=False, shuffled=False)  # an element went while the one behind it changed
@example(seed=165, finished=False, shuffled=False)  # and lost its first
def test_the_writes_of_a_value_are_those_of_a_scan(tmp_path_factory, seed, finished, shuffled):
    choose = random.Random(seed)
    mutator = Mutator(choose)
    store = new_store(tmp_path_factory.mktemp("blame"))
    state: Any = mutator.state()
    writer = begin(store, state)
    last = 0
    for number in range(choose.randrange(2, 90)):
        for _ in range(choose.randrange(3)):
            mutator.mutate(state)
        if shuffled and choose.random() < 0.4:
            shuffle(choose, state)
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
        # The index may name a step that wrote what is around it, and left it as it was.
        assert writes[0].step <= store.last_write(run_id, last, path)
        for write in writes:
            check_write(write, states)
        # Between two writes the value is in every state, and just before the later one it is where that says.
        for later, earlier in itertools.pairwise(writes):
            if not later.began and "removed" not in (later.what, earlier.what):
                assert identical(later.old, earlier.new)
                assert all(holds(states[n], earlier.new) for n in range(earlier.step, later.step))
        assert writes[-1].began
        # What is unique was first written where it first was in a state, and it was in all states since.
        found, where, _ = first_place(store, run_id, path, last)
        own = get(states[last], path)
        assert identical(get(states[found], where), own)
        if isinstance(own, int) and not isinstance(own, bool) and own > 1_000_000:
            assert all(holds(states[n], own) for n in range(found, last + 1))
            if not shuffled:
                assert not found or not holds(states[found - 1], own)
        if all(isinstance(part, str) for part in path):  # no list that it could move in: every change is a write
            kept = [write.step for write in writes if write.path == format_path(path)]
            differs = [n for n in range(min(kept) + 1, last + 1) if not same(states[n - 1], states[n], path)]
            there = [n for n in differs if present(states[n - 1], path) or present(states[n], path)]
            assert set(there) <= set(numbers)
    store.close()


def present(state: Any, path: Any) -> bool:
    try:
        get(state, path)
    except AgentTTError:
        return False
    return True


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

    fork_id = store.begin_fork(NewFork(writer.run_id, 1, state={"city": "Oslo"}, new=NewRun(""), edits=edits))
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
    made = found.trail.made
    assert (made.step, made.kind, made.name, made.path, made.value) == (6, "result", "price_order", "total", 13684)
    assert found.to_json()["made"] == {"step": 6, "call": 2, "kind": "result", "name": "price_order", "path": "total"}
    (argument,) = [link for link in found.trail.links if link.name == "price_order" and link.kind == "argument"]
    assert {other.name for other in argument.others} == {"load_cart", "quote_shipping"}
    assert agent_tt.blame("flaky-checkout", "payment.refusals", "@error").value == ["insufficient_funds"]
    assert agent_tt.find_steps("flaky-checkout", "error") == [7, 8, 9]
    told = found.to_json()
    assert json.loads(json.dumps(told)) == told
    assert set(told) == {"run", "step", "path", "value", "made", "trail", "ends", "writes", "more"}
    assert set(told["writes"][0]) == {*Write.__dataclass_fields__}
    bisected = agent_tt.bisect("flaky-checkout", "state.payment.amount > 1500")
    assert (bisected.first, bisected.last_without, bisected.is_monotone) == (6, 5, True)
    assert bisected.to_json()["spans"] == [[6, 10]]


@pytest.mark.parametrize("function", [agent_tt.blame, agent_tt.find_steps, agent_tt.bisect])
def test_the_examples_of_the_python_api_run(monkeypatch, capsys, function):
    monkeypatch.setenv("AGENT_TT_STORE", str(SAMPLES))
    (example,) = re.findall(r"```python\n(.*?)```", inspect.getdoc(function), re.DOTALL)
    exec(example, {"agent_tt": agent_tt})
    for line in example.splitlines():
        said, comment, expected = line.partition("  # ")
        if comment and not said.startswith("print"):
            assert repr(eval(said, {"agent_tt": agent_tt})) == expected
    if function is agent_tt.bisect:
        assert capsys.readouterr().out == "6 5 True\n"


def test_a_value_that_was_taken_away_is_told_of(tmp_path):
    store = new_store(tmp_path)
    state: Any = {"a": "first life", "plan": {"goal": "fly"}, "rows": [{"id": 1}]}
    writer = begin(store, state)
    del state["a"]
    step(writer, state)
    state["a"] = "second life"
    last = step(writer, state)
    told = [(write.step, write.what, write.old, write.new) for write in writes_of(store, writer.run_id, ("a",), last)]
    assert told == [
        (2, "added", None, "second life"),
        (1, "removed", "first life", None),
        (0, "added", None, "first life"),
    ]
    for path, at, message, hint in [
        ("a", 1, "there is no a after step 1: step 1 (step 1) took it away", "It is there up to step 0"),
        ("goal", 2, "there is no goal", "Did you mean plan.goal?"),
        ("plan.gaol", 2, "there is no plan.gaol", "Did you mean plan.goal?"),
        ("plan.x", 2, "there is no plan.x", "plan has goal."),
        ("rows[7]", 2, "there is no rows[7]: rows has 1 elements, numbered from 0", ""),
        ("rows[7].goal", 2, "there is no rows[7]", ""),
        ("rows[-7]", 2, "there is no rows[-7]", ""),
    ]:
        with pytest.raises(PathNotFound) as caught:
            blame_value(store, writer.run_id, path, at)
        assert message.partition(" (")[0] in caught.value.message
        assert hint in caught.value.hint
    store.close()


def test_odd_keys_are_offered_in_quotes_and_shown_by_name(tmp_path):
    store = new_store(tmp_path)
    state: Any = {"odd key": {"x": "a text to find"}, 7: "seven"}  # kept as pairs
    writer = begin(store, state)
    state["odd key"]["x"] = "another text"
    state["new key"] = state.pop("odd key")
    last = step(writer, state)
    with pytest.raises(AgentTTError) as caught:
        blame_value(store, writer.run_id, "new key.x", last)
    assert caught.value.hint == 'Did you mean ["new key"].x?'
    found = blame_value(store, writer.run_id, '["new key"].x', last)
    assert found.path == '["new key"].x'
    assert [write.path for write in found.writes] == ['["new key"].x']
    store.close()


def test_a_list_that_was_sorted_and_a_key_that_was_renamed_are_followed(tmp_path):
    store = new_store(tmp_path)
    state: Any = {
        "messages": [{"id": f"m{n}", "content": f"message number {n}"} for n in range(5)],
        "old": {"x": "a text"},
    }
    writer = begin(store, state)
    state["messages"][3]["content"] = "edited"
    step(writer, state)
    state["messages"] = state["messages"][2:]  # trimmed
    step(writer, state)
    state["messages"] = [{"id": "s", "content": "a summary"}, *state["messages"][1:]]
    step(writer, state)
    state["messages"].reverse()
    state["new"] = state.pop("old")
    last = step(writer, state)
    run = writer.run_id

    def told(path: str) -> list[tuple[int, str, str]]:
        return [(w.step, w.what, w.path) for w in blame_value(store, run, path, last).writes]

    assert told("messages[1]") == [(1, "changed", "messages[3]"), (0, "added", "messages[3]")]
    assert told("messages[0].content") == [(4, "moved", "messages[0].content"), (0, "added", "messages[4].content")]
    assert told("messages[2]") == [(3, "added", "messages[0]")]
    assert told("new.x") == [(4, "moved", "new.x"), (0, "added", "old.x")]
    assert blame_value(store, run, "new.x", last).trail.ends == "it came with the input"
    store.close()


def test_what_a_person_edited_for_a_fork_is_named_in_the_writes_of_its_forks_too(tmp_path):
    from agent_tt.model import Edit, NewRun

    store = new_store(tmp_path)
    writer = begin(store, {"city": "Lisbon", "n": 0})
    step(writer, {"city": "Lisbon", "n": 1})
    writer.finish("succeeded")
    parent = writer.run_id
    for city, old in (("Oslo", "Lisbon"), ("Rome", "Oslo")):
        edits = (Edit("set", "city", city, old),)
        parent = store.begin_fork(NewFork(parent, 1, state={"city": city, "n": 1}, new=NewRun(""), edits=edits))
    writes = blame_value(store, parent, "city", 1).writes
    assert [(write.step, write.what, write.by) for write in writes][:1] == [(1, "edited", store.run(parent).name)]
    store.close()


def test_a_hostile_run_does_not_make_the_trail_endless():
    source = MemorySource()
    wide = [{f"k{n}": f"text number {n}" for n in range(400)} for _ in range(20)]
    dids = [Did("s", tool="t", args=wide, result=wide, state={"x": "text number 7 and more"}) for _ in range(60)]
    source.add("run", dids, state={})
    source.last_write = lambda run_id, step, path: step  # type: ignore[attr-defined]
    assert len(trail_of(source, "run", ("x",), 60, "text number 7 and more").links) <= 12


def test_a_long_answer_to_a_long_request_is_traced_with_bounded_work():
    source = MemorySource()
    prose = " ".join(f"word{n % 97}" for n in range(20_000))
    request = {"messages": [{"role": "user", "content": f"{n} {prose}"} for n in range(60)]}
    answer = {"content": " ".join(f"word{n * n % 97}" for n in range(5_000))}
    source.add("run", [Did("s", answer=answer, asked=request, state={"x": answer["content"]})], state={})
    source.last_write = lambda run_id, step, path: step  # type: ignore[attr-defined]
    with Effort() as effort:
        links = trail_of(source, "run", ("x",), 1, answer["content"]).links
    assert effort.lines < 8_000_000
    assert [link.kind for link in links[:2]] == ["value", "answer"]
