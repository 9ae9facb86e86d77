"""Whatever an agent does to its state, every checkpoint reads back exactly, through forks of forks and reopening."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core import strategies
from tests.core.conformance.reading import check_source
from tests.core.mutations import Mutator
from tests.core.store.recordings import begin, chat, fork, many_keyframes, new_store, step
from tests.core.strategies import identical, values

from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.model import NewStep, StepEnd
from agent_tt.redaction.values import redact
from agent_tt.store import open_store

CLASSES = {f"{cls.__module__}:{cls.__qualname__}": cls for cls in strategies.CLASSES}
histories = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@histories
@given(st.integers(0, 10**9), st.booleans())
def test_every_checkpoint_of_a_mutated_state_loads_exactly(tmp_path_factory, seed, exotic):
    choose = random.Random(seed)
    mutator = Mutator(choose, exotic=exotic, large=True)
    truth: dict[tuple[str, int], Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        rows, weight = choose.choice([(4, 200), (16, 2000), (128, 1 << 16)])
        many_keyframes(patch, rows, weight)
        store = new_store(tmp_path_factory.mktemp("history"))
        state: Any = mutator.state()
        writer = begin(store, state)
        truth[writer.run_id, 0] = copy.deepcopy(state)
        at = 0
        for _ in range(choose.randrange(1, 40)):
            for _ in range(choose.randrange(4)):
                mutator.mutate(state)
            at = step(writer, state)
            truth[writer.run_id, at] = copy.deepcopy(state)
            if choose.random() < 0.08:
                parent, base = choose.choice(list(truth))
                state = copy.deepcopy(truth[parent, base])
                if choose.random() < 0.5:
                    mutator.mutate(state)
                if choose.random() < 0.5:
                    writer.finish("succeeded")
                run_id, writer = fork(store, parent, base, encode(state))
                truth[run_id, base] = copy.deepcopy(state)
                at = base
        store.close()
    store = open_store(store.path, read_only=True)
    for (run_id, number), expected in truth.items():
        assert tlv(store.state(run_id, number)) == tlv(encode(expected)), (run_id, number)
    assert store.verify() == []
    assert store.damaged_steps(writer.run_id) == []
    cursor = store.cursor(writer.run_id, at)
    for number in [*range(at, -1, -1), *range(at + 1)]:
        assert tlv(cursor.seek(number)) == tlv(store.state(writer.run_id, number))
    store.close()


_PLACES = st.sampled_from(
    [("list", number) for number in range(4)] + [("list",), ("a",), ("inner", "list", 0), ("inner",)]
)
_CHANGES = st.lists(st.tuples(_PLACES, st.integers(0, 9), st.booleans()), min_size=1, max_size=3)


@histories
@given(st.lists(_CHANGES, min_size=2, max_size=12))
def test_a_large_value_is_read_unless_a_later_step_replaced_that_very_one(tmp_path_factory, steps):
    """Large values lie apart and are left out where they are replaced later: at their own place, not at one like it."""
    store = new_store(tmp_path_factory.mktemp("replaced"))
    state: Any = {"list": [], "a": 0, "inner": {"list": [0]}}
    writer = begin(store, state)
    truth = [copy.deepcopy(state)]
    for changes in steps:
        for (*above, last), number, is_new in changes:
            holder, value = state, f"{number} of nine " * 1_000 if number > 3 else number
            for key in above:
                holder = holder[key]
            if last == "inner":
                holder[last] = {"list": [value]}
            elif last == "list":
                holder[last] = [*holder[last], value] if is_new else [value]
            elif isinstance(holder, dict) or last < len(holder):
                holder[last] = value
            else:
                holder.append(value)
        step(writer, state)
        truth.append(copy.deepcopy(state))
    store.close()
    store = open_store(store.path, read_only=True)
    cursor = store.cursor(writer.run_id, len(steps))
    for number, expected in reversed([*enumerate(truth)]):
        assert store.state(writer.run_id, number) == expected, number
        assert cursor.seek(number) == expected, number
        for path in (("a",), ("list",), ("list", 0), ("list", 1), ("list", 2), ("inner", "list", 0)):
            holder = expected
            for key in path[:-1]:
                holder = holder[key]
            is_there = not isinstance(holder, list) or path[-1] < len(holder)
            if is_there:
                assert store.value(writer.run_id, number, path) == holder[path[-1]], (number, path)
    store.close()


@histories
@given(values, values)
def test_a_state_of_any_supported_type_comes_back_through_the_file(tmp_path_factory, before, after):
    store = new_store(tmp_path_factory.mktemp("values"))
    writer = begin(store, before)
    step(writer, after)
    writer.finish("succeeded")
    store.close()
    store = open_store(store.path, read_only=True)
    for number, value in ((0, before), (1, after)):
        wire = encode(value)
        shown = redact(wire)  # a key may be one under which secrets stand
        expected = value if shown == wire else decode(shown, CLASSES)
        assert identical(decode(store.state(writer.run_id, number), CLASSES), expected)
    store.close()


@histories
@given(st.integers(0, 10**9), st.booleans())
def test_the_last_write_of_a_value_is_the_step_in_which_it_first_appeared(tmp_path_factory, seed, finished):
    choose = random.Random(seed)
    mutator = Mutator(choose)
    store = new_store(tmp_path_factory.mktemp("writes"))
    state: Any = mutator.state()
    writer = begin(store, state)
    born: dict[Any, int] = {}
    last = 0
    _note_new(born, state, last)
    for number in range(choose.randrange(2, 150)):
        for _ in range(choose.randrange(3)):
            mutator.mutate(state)
        if isinstance(state.get("messages"), list):
            if choose.random() < 0.3:
                state["messages"].append({"id": mutator.unique()})
            if choose.random() < 0.2 and state["messages"]:
                state["messages"].pop(0)
        if number == 70 and choose.random() < 0.5:
            if finished:
                writer.finish("succeeded")
            _, writer = fork(store, writer.run_id, last, store.state(writer.run_id, last))
        last = step(writer, state)
        _note_new(born, state, last)
    if finished:
        writer.finish("succeeded")
    numbers = [(path, value) for path, value in _leaves(state) if type(value) is int and value >= 1_000_003]
    for path, value in choose.sample(numbers, min(12, len(numbers))):
        found = store.last_write(writer.run_id, last, path)
        if found != born[value]:
            # Moved and rewritten around in one step: it was given as replaced, and so as written, then.
            assert found is not None
            assert found > born[value]
            assert any(op[0] in "xs" for op in store.changes(writer.run_id, found))
    store.close()


def _note_new(born: dict[Any, int], state: Any, number: int) -> None:
    for _, value in _leaves(state):
        if type(value) is int:
            born.setdefault(value, number)


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _leaves(item, (*path, at))
    else:
        yield path, value


def test_a_store_with_forks_of_forks_is_a_run_source(tmp_path, monkeypatch):
    many_keyframes(monkeypatch)
    store = new_store(tmp_path)
    run_id = chat(store, 30)
    parent = run_id
    for at in (20, 20, 23):
        state = store.state(parent, at)
        state["edited"] = state.get("edited", 0) + 1
        parent, writer = fork(store, parent, at, state)
        for number in range(5):
            state["messages"].append({"role": "user", "content": f"{parent} {number}"})
            step(writer, state, status="error" if number == 4 else "ok")
        writer.finish("failed")
    check_source(store)
    assert store.state(parent, 23)["edited"] == 3
    assert store.state(run_id, 23)["n"] == 23
    assert "edited" not in store.state(run_id, 23)


def test_a_value_is_followed_through_a_sliding_window_and_its_steps_stay_small(tmp_path):
    store = new_store(tmp_path)
    state: dict[str, Any] = {"m": []}
    writer = begin(store, state)
    for number in range(1, 401):
        state["m"].append({"c": f"message {number} " * 9})
        state["m"][:] = state["m"][-50:]
        step(writer, state)
    ((largest,),) = store.database.query("SELECT max(size) FROM deltas WHERE seq > 60")
    assert largest < 400
    assert store.last_write(writer.run_id, 400, ("m", 3, "c")) == 354
    assert store.next_write(writer.run_id, 360, ("m", 30, "c")) == 391
    assert store.next_write(writer.run_id, 390, ("m", 49, "c")) is None


def test_an_append_only_list_is_stored_once_however_many_keyframes_follow(tmp_path):
    store = new_store(tmp_path)
    noise = random.Random(1)
    state: dict[str, Any] = {"messages": [], "n": 0, "pad": {f"x{n}": "y" * 50 for n in range(100)}}
    writer = begin(store, state)
    total = 0
    for number in range(600):
        message = {"role": "user", "content": noise.randbytes(400).hex(), "i": number}
        total += len(tlv(message))
        state["messages"].append(message)
        state["n"] = number
        step(writer, state)
    ((stored, keyframes),) = store.database.query(
        "SELECT (SELECT sum(size) FROM deltas) + (SELECT sum(size) FROM keyframes)"
        " + ifnull((SELECT sum(size) FROM blobs), 0), (SELECT count(*) FROM keyframes)"
    )
    assert keyframes >= 4
    assert stored < 1.25 * total


def test_a_step_that_changes_thousands_of_paths_is_indexed_in_few_rows_and_answered_exactly(tmp_path):
    store = new_store(tmp_path)
    state = {"g": {f"a{i}": {f"b{j}": 0 for j in range(50)} for i in range(100)}}
    writer = begin(store, state)
    for inner in state["g"].values():
        for key in inner:
            inner[key] = 1
    step(writer, state)
    state["g"]["a7"]["b9"] = 2
    step(writer, state)
    for finished in (False, True):
        if finished:
            writer.finish("succeeded")
        assert store.last_write(writer.run_id, 2, ("g", "a7", "b9")) == 2
        assert store.last_write(writer.run_id, 2, ("g", "a8", "b9")) == 1
        assert store.last_write(writer.run_id, 1, ("g", "a7", "b9")) == 1
        assert store.next_write(writer.run_id, 0, ("g", "a7", "b9")) == 1
        assert store.next_write(writer.run_id, 1, ("g", "a7", "b9")) == 2
        assert store.next_write(writer.run_id, 1, ("g", "a8", "b9")) is None
    ((rows,),) = store.database.query("SELECT count(*) FROM changes")
    assert rows < 2 * 256


def test_keys_with_lone_surrogates_have_paths_that_answer(tmp_path):
    store = new_store(tmp_path)
    state = {"odd": {"\ud800": 1, "plain": 1}}
    writer = begin(store, state)
    state["odd"]["\ud800"] = 2
    step(writer, state)
    state["odd"]["plain"] = 3
    step(writer, state)
    pairs = store.state(writer.run_id, 2)["odd"]["$v"]
    at = next(n for n, (key, _) in enumerate(pairs) if isinstance(key, dict))
    assert store.value(writer.run_id, 2, ("odd", "$v", at, 1)) == 2
    assert store.last_write(writer.run_id, 2, ("odd", "$v", at, 1)) == 1
    writer.finish("succeeded")
    assert store.last_write(writer.run_id, 2, ("odd", "$v", at, 1)) == 1


def test_tracks_are_histories_of_their_own(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"plan": 0})
    web: dict[str, Any] = {"pages": []}
    for number in range(1, 7):
        if number % 2:
            web["pages"].append(number)
            step(writer, web, "browse", track="web")
        else:
            step(writer, {"plan": number}, "plan")
    run_id = writer.run_id
    expected = [("web", 0), ("main", 1), ("web", 1), ("main", 2), ("web", 2), ("main", 3)]
    assert [(s.track, s.seq) for s in store.steps(run_id)] == expected
    assert store.base_step(run_id, 1) is None
    assert store.base_step(run_id, 5) == 3
    assert store.base_step(run_id, 2) == 0
    assert store.state(run_id, 5) == {"pages": [1, 3, 5]}
    assert store.last_write(run_id, 5, ("pages", 1)) == 3
    fork_id, writer = fork(store, run_id, 4, {"plan": "edited"})
    web["pages"] = [1, 3, 77]
    assert step(writer, web, "browse", track="web") == 5
    assert store.state(fork_id, 5) == {"pages": [1, 3, 77]}
    assert store.changes(fork_id, 5) == [["a", ["pages"], 2, [77]]]
    assert store.base_step(fork_id, 5) == 3
    assert store.state(fork_id, 4) == {"plan": "edited"}
    assert store.state(fork_id, 3) == {"pages": [1, 3]}
    cursor = store.cursor(fork_id, 0)
    for number in [0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 5, 1]:
        assert cursor.seek(number) == store.state(fork_id, number)
    assert store.verify() == []


def test_a_fork_of_the_input_starts_from_its_edit(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 3)
    fork_id, writer = fork(store, run_id, 0, {"messages": ["other"], "n": 0})
    assert writer.first_step == 1
    assert store.state(fork_id, 0) == {"messages": ["other"], "n": 0}
    assert store.step_count(fork_id) == 0
    assert step(writer, {"messages": ["other", 1], "n": 1}) == 1
    assert store.changes(fork_id, 1) == [["a", ["messages"], 1, [1]], ["s", ["n"], 1]]
    assert store.run(fork_id).parent == run_id
    assert store.last_write(fork_id, 1, ("messages", 0)) == 0


def test_nested_steps_take_their_checkpoints_in_the_order_they_end(tmp_path):
    from agent_tt.model import NewStep, StepEnd

    store = new_store(tmp_path)
    state = {"n": 0}
    writer = begin(store, state)
    outer = writer.open_step(NewStep("outer"))
    inner = writer.open_step(NewStep("inner", parent=outer))
    state["n"] = 1
    writer.close_step(inner, StepEnd("ok"), state)
    state["n"] = 2
    writer.close_step(outer, StepEnd("ok"), state)
    run_id = writer.run_id
    assert [(s.number, s.seq, s.parent) for s in store.steps(run_id)] == [(1, 2, None), (2, 1, 1)]
    assert store.state(run_id, outer) == {"n": 2}
    assert store.base_step(run_id, outer) == inner
    assert store.last_write(run_id, outer, ("n",)) == outer
    assert store.next_write(run_id, 0, ("n",)) == inner


def test_a_block_of_the_index_that_is_half_written_is_no_damage_and_hides_nothing(tmp_path):
    store = new_store(tmp_path)
    state = {f"field {n}": {"value": 0} for n in range(700)}
    writer = begin(store, state)
    written: dict[int, int] = {}

    def go_on(steps: int) -> None:
        for _ in range(steps):
            number = writer.open_step(NewStep("step"))
            for field in range(number * 10 % 700, number * 10 % 700 + 10):
                state[f"field {field}"]["value"] = number
                written[field] = number
            writer.close_step(number, StepEnd("ok"), state)

    def check(last: int) -> None:
        assert store.verify() == []
        for field in range(0, 700, 23):
            assert store.last_write(writer.run_id, last, (f"field {field}", "value")) == written.get(field, 0)

    for last in (60, 64, 66, 75, 128, 131):  # the first block is full after 63
        go_on(last - len(store.steps(writer.run_id)))
        check(last)
    store.close()
    store = open_store(store.path)  # as after a crash
    check(131)
    writer = store.join_run(writer.run_id)
    go_on(3)
    writer.finish("succeeded")  # the index reaches into a block
    check(134)
    writer = store.join_run(writer.run_id)
    go_on(60)
    check(194)
    go_on(30)
    check(224)
