"""However a live state is changed in place, its shadow says exactly what changed, and nothing else."""

from __future__ import annotations

import copy
import random
import signal
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.mutations import Mutator
from tests.core.reference_digest import reference_digest
from tests.core.strategies import Plan, values

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import Encoded
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import apply

some = settings(max_examples=60, deadline=None)


def stored(ops: list[Any]) -> list[Any]:
    """The operations as a file gives them back."""
    return orjson.loads(orjson.dumps(ops))


@some
@given(st.integers(0, 10**9), st.booleans())
def test_every_checkpoint_of_a_mutated_state_is_exact(seed: int, exotic: bool) -> None:
    mutator = Mutator(random.Random(seed), exotic=exotic, large=True)
    state, shadow, built = mutator.state(), Shadow(), None
    for seq in range(12):
        ops, digest = shadow.step(state, seq)
        built = apply(built, stored(ops))
        wire = encode(state)
        assert tlv(built) == tlv(wire), f"checkpoint {seq}: {ops}"
        assert digest == reference_digest(wire)
        for _ in range(mutator._random.randrange(4)):
            mutator.mutate(state)


@some
@given(st.integers(0, 10**9))
def test_nothing_is_said_of_what_did_not_change(seed: int) -> None:
    mutator = Mutator(random.Random(seed), exotic=True, large=True)
    state, shadow = mutator.state(), Shadow()
    for seq in range(0, 8, 2):
        shadow.step(state, seq)
        assert shadow.step(copy.copy(state), seq + 1)[0] == []
        mutator.mutate(state)


@some
@given(st.integers(0, 10**9))
def test_wire_values_that_share_parts_are_compared_exactly(seed: int) -> None:
    draw = random.Random(seed)

    def item() -> Any:
        text = str(draw.random()) * draw.randrange(40)
        return draw.choice([text, draw.randrange(5), {"$type": "made", "$v": [text]}, {"text": text, "parts": [1, {}]}])

    items, shadow, built = [item() for _ in range(draw.choice([3, 63, 64, 130]))], Shadow(), None
    for seq in range(12):
        state: Any = {"items": list(items), "count": len(items), "by": {"last": items[-1]}}
        ops, digest = shadow.step(Encoded(state), seq)
        built = apply(built, stored(ops))
        assert tlv(built) == tlv(state), f"checkpoint {seq}: {ops}"
        assert digest == reference_digest(state)
        for _ in range(draw.randrange(3)):
            at = draw.randrange(len(items))
            how = draw.choice(["append", "copy", "other", "insert", "remove", "same object twice"])
            if how == "copy":
                items[at] = copy.deepcopy(items[at])
            elif how == "other":
                items[at] = item()
            elif how == "remove":
                del items[: draw.randrange(len(items))]
            else:
                where = len(items) if how == "append" else at
                items.insert(where, items[at] if how == "same object twice" else item())


@some
@given(values, values)
def test_any_value_can_follow_any_other(first: object, second: object) -> None:
    shadow = Shadow()
    built = apply(None, stored(shadow.step(first, 0)[0]))
    ops, digest = shadow.step(second, 1)
    built = apply(built, stored(ops))
    assert tlv(built) == tlv(encode(second))
    assert digest == reference_digest(encode(second))


@some
@given(st.integers(0, 10**9))
def test_a_shadow_made_from_a_stored_state_goes_on_as_the_one_that_stored_it(seed: int) -> None:
    mutator = Mutator(random.Random(seed), exotic=True, large=True)
    state, shadow = mutator.state(), Shadow()
    shadow.step(state, 0)
    fork = Shadow.from_wire(encode(state), shadow.append_only_births)
    mutator.mutate(state)
    assert stored(list(fork.step(state, 1)[0])) == stored(list(shadow.step(state, 1)[0]))
    assert fork.append_only_births == shadow.append_only_births


def test_a_large_dataclass_is_looked_into() -> None:
    state = Plan("go", [{"role": "user", "content": "x" * 200} for _ in range(100)])
    shadow = Shadow()
    shadow.step(state, 0)
    state.steps.append("next")
    state.goal = "stay"
    ops, digest = shadow.step(state, 1)
    assert sorted(ops) == [["a", ["$v", "steps"], 100, ["next"]], ["s", ["$v", "goal"], "stay"]]
    assert digest == reference_digest(encode(state))
    assert shadow.append_only_births == {("$v", "steps"): 0}


def test_text_that_streams_in_is_appended() -> None:
    state = {"answer": "Once upon a time"}
    shadow = Shadow()
    shadow.step(state, 0)
    state["answer"] += ", there was"
    assert shadow.step(state, 1)[0] == [["t", ["answer"], 16, ", there was"]]


@pytest.mark.parametrize("padding", [0, 9000])
def test_a_state_that_contains_itself_is_cut_at_the_same_place_each_time(padding: int) -> None:
    state: dict[str, Any] = {"pad": ["x" * 50] * (padding // 50), "docs": {"d": "y" * padding}, "n": 0}
    shadow = Shadow()
    built = apply(None, stored(shadow.step(state, 0)[0]))
    for seq, key in enumerate(["self", "docs", "pad"], 1):
        state[key] = state if key != "pad" else [state]
        ops, digest = shadow.step(state, seq)
        built = apply(built, stored(ops))
        assert tlv(built) == tlv(encode(state))
        assert digest == reference_digest(encode(state))
        assert shadow.step(state, seq)[0] == []


def test_depth_is_counted_from_the_root_of_the_state() -> None:
    deep: Any = "bottom"
    for _ in range(196):
        deep = [deep]
    state = {"pad": {f"k{n}": "x" * 100 for n in range(90)}, "a": {"pad": "y" * 5000, "b": {"pad": "y" * 5000, "c": 1}}}
    shadow = Shadow()
    built = apply(None, stored(shadow.step(state, 0)[0]))
    for seq, new in enumerate((deep, [deep], [[deep]]), 1):
        state["a"]["b"]["c"] = new  # type: ignore[index]
        built = apply(built, stored(shadow.step(state, seq)[0]))
        assert tlv(built) == tlv(encode(state))


def test_after_an_interruption_the_next_step_says_the_whole_state() -> None:
    class Interrupting:
        def __repr__(self) -> str:
            signal.raise_signal(signal.SIGINT)  # Ctrl-C meanwhile; one that the object raised itself would be its own
            return "".join(str(n) for n in range(9))

    state: dict[str, Any] = {"a": 1, "pad": {f"k{n}": "x" * 100 for n in range(90)}}
    shadow = Shadow()
    shadow.step(state, 0)
    state["a"] = 2
    state["b"] = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        shadow.step(state, 1)
    del state["b"]
    assert shadow.step(state, 1)[0] == [["s", [], state]]


def test_a_list_is_append_only_until_anything_else_happens_to_it() -> None:
    state: dict[str, Any] = {"messages": [], "log": {"lines": ["a"]}, "queue": [{"n": 1}]}
    shadow = Shadow()
    shadow.step(state, 0)
    assert shadow.append_only_births == {("messages",): 0, ("log", "lines"): 0, ("queue",): 0}
    state["messages"].append("hello")
    state["queue"][0]["n"] = 2
    shadow.step(state, 1)
    assert shadow.append_only_births == {("messages",): 0, ("log", "lines"): 0}
    state["log"] = {"lines": []}
    state["messages"].append("world")
    state["messages"].pop(0)
    shadow.step(state, 2)
    assert shadow.append_only_births == {("log", "lines"): 2}


def test_changes_of_a_root_list_end_its_being_append_only() -> None:
    shadow = Shadow()
    state: list[Any] = [{"n": 1}]
    shadow.step(state, 0)
    assert shadow.append_only_births == {(): 0}
    state[0]["n"] = 2
    shadow.step(state, 1)
    assert shadow.append_only_births == {}


def filled(skeleton: Any, references: list[Any], blobs: dict[str, bytes], history: list[Any]) -> Any:
    """Reads a keyframe back; append-only lists come from the history of operations."""
    for place, kind, what in references:
        if kind == "b":
            part = orjson.loads(blobs[what])
        elif kind == "l":
            part = [item for name in what for item in orjson.loads(blobs[name])]
        elif kind == "g":
            part = {key: item for name in what for key, item in orjson.loads(blobs[name]).items()}
        else:
            part = collected(place, history[what:])
        if not place:
            return part
        parent = skeleton
        for step in place[:-1]:
            parent = parent[step]
        assert parent[place[-1]] is None
        parent[place[-1]] = part
    return skeleton


def collected(place: list[Any], rows: list[list[Any]]) -> list[Any]:
    """An append-only list from the row that set it and the appends after it."""
    items: list[Any] = []
    for number, ops in enumerate(rows):
        for op in ops:
            if op[0] == "s" and place[: len(op[1])] == op[1] and number == 0:
                value = op[2]
                for step in place[len(op[1]) :]:
                    value = value[step]
                items = list(value)
            elif op[0] == "a" and op[1] == place:
                items.extend(op[3])
    return items


@some
@given(st.integers(0, 10**9), st.booleans())
def test_a_keyframe_holds_the_whole_state(seed: int, exotic: bool) -> None:
    mutator = Mutator(random.Random(seed), exotic=exotic, large=True)
    state, shadow, history = mutator.state(), Shadow(), []
    for seq in range(6):
        history.append(stored(shadow.step(state, seq)[0]))
        blobs: dict[str, bytes] = {}

        def put(plain: bytes, blobs: dict[str, bytes] = blobs) -> str:
            blobs[str(len(blobs))] = plain
            return str(len(blobs) - 1)

        skeleton, references = shadow.keyframe(put)
        read = filled(stored([skeleton])[0], stored(references), blobs, history)
        assert tlv(read) == tlv(encode(state))
        mutator.mutate(state)


def test_an_append_only_list_is_not_in_the_keyframe() -> None:
    state: dict[str, Any] = {"messages": [{"content": "x" * 100} for _ in range(200)], "n": 1}
    shadow = Shadow()
    shadow.step(state, 0)
    skeleton, references = shadow.keyframe(lambda plain: "never")
    assert (skeleton, references) == ({"messages": None, "n": 1}, [[["messages"], "a", 0]])
    assert shadow.weight() >= 20_000


def test_the_step_of_a_sliding_window_is_small() -> None:
    state: dict[str, Any] = {"messages": []}
    shadow = Shadow()
    for n in range(400):
        state["messages"].append({"content": f"message {n} " * 9})
        state["messages"][:] = state["messages"][-50:]
        ops, _ = shadow.step(state, n)
        assert n < 60 or len(orjson.dumps(ops)) < 400


def test_the_operations_of_a_step_are_the_diff_of_its_states() -> None:
    mutator = Mutator(random.Random(7), large=False)
    state, shadow = mutator.state(), Shadow()
    shadow.step(state, 0)
    for seq in range(1, 200):
        before = encode(state)
        mutator.mutate(state)
        assert len(shadow.step(state, seq)[0]) == len(diff(before, encode(state)))


@some
@given(values)
def test_any_value_can_follow_plain_data_at_any_place(value: object) -> None:
    state: dict[str, Any] = {"a": {"b": 1}, "pad": {f"k{n}": "x" * 100 for n in range(90)}, "list": ["y" * 100] * 90}
    shadow = Shadow()
    built = apply(None, stored(shadow.step(state, 0)[0]))
    for seq, key in enumerate(["a", "pad", "list"], 1):
        state[key] = value
        ops, digest = shadow.step(state, seq)
        built = apply(built, stored(ops))
        assert tlv(built) == tlv(encode(state))
        assert digest == reference_digest(encode(state))


@pytest.mark.parametrize("place", [0, 49, 50, 57, 58, 63, 64, 71, 130, 139])
@pytest.mark.parametrize("step", [1, 3, 9])
def test_a_change_anywhere_in_a_list_that_grew_bit_by_bit_is_seen(place: int, step: int) -> None:
    shadow, state = Shadow(), [{"text": "x" * 100, "n": number} for number in range(50)]
    built = apply(None, stored(shadow.step(state, 0)[0]))
    while len(state) < 140:
        state += [{"text": "y" * 100, "n": len(state) + more} for more in range(step)]
        ops, _ = shadow.step(state, 1)
        assert [op[0] for op in ops] == ["a"]
        built = apply(built, stored(ops))
    assert shadow.step(state, 2)[0] == []
    assert built == state
    state[place]["n"] = float(place)
    ops, digest = shadow.step(state, 3)
    built = apply(built, stored(ops))
    assert tlv(built) == tlv(state)
    assert digest == reference_digest(encode(state))
    del state[place]
    assert apply(built, stored(shadow.step(state, 4)[0])) == state
    assert shadow.step(state, 5)[0] == []
