"""Values that later rows replace: a state is the same without reading them."""

from __future__ import annotations

import copy
import random
from typing import Any, cast

import orjson
import pytest
from logs import MemoryLog

from agent_tt.history.log.states import load
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.history.rows import row_key
from agent_tt.store.tables.definitions import DELTAS


def large(words: str) -> str:
    return f"{words} " * 1_500


def blobs_read(log: MemoryLog) -> int:
    return sum(" FROM blobs " in sql for sql in log.rows.asked)


@pytest.mark.parametrize("rows", [4, 128], ids=["with keyframes", "without"])
def test_what_was_replaced_is_not_read(rows: int) -> None:
    log = MemoryLog(rows=rows)
    states = [
        {
            "n": n,
            "texts": [{"id": m, "text": large(f"{n // 3} {m}")} for m in range(5)],
            "other": large(f"other {n // 2}"),
        }
        for n in range(20)
    ]
    track = log.track_of(copy.deepcopy(states))
    for seq, state in enumerate(states):
        reader = log.fresh()
        log.rows.asked.clear()
        found = load(reader, track, seq)
        assert found.value == state
        assert found.whole
        assert blobs_read(log) <= 7  # each value one, or what a keyframe holds of them together


def test_a_value_that_was_replaced_does_no_harm_where_it_is_damaged() -> None:
    log = MemoryLog()
    states = [{"text": large("first"), "kept": large("kept")}, {"text": large("second"), "kept": large("kept")}]
    log.track_of(copy.deepcopy(states))
    for words, harmed in (("first", (0,)), ("kept", (0, 1))):
        log.rows.connection.execute("DELETE FROM blobs WHERE hash = ?", (log.log.blobs.put(log.tx, _json(words)),))
        for seq in (0, 1):
            found = load(log.fresh(), 1, seq)
            assert found.whole is (seq not in harmed)
            assert is_placeholder(found.value["text"]) is (seq == 0)  # type: ignore[index, call-overload]


def test_places_that_are_none_do_no_harm() -> None:
    log = MemoryLog()
    log.track_of([{"text": large("first")}, {"text": large("second")}, {"text": large("third")}])
    name = log.log.blobs.put(log.tx, _json("second")).hex()
    plain = orjson.dumps({"o": [["s", ["text"], {"x": None}]], "r": [[[0, ["unhashable"], "x"], "b", name]]})
    DELTAS.change(log.tx, "id = ?", (row_key(1, 1),), {"size": len(plain), "ops": log.log.frames.compress(plain)})
    assert load(log.fresh(), 1, 1).value == {"text": {"x": large("second")}}
    assert load(log.fresh(), 1, 2).value == {"text": large("third")}


def _json(words: str) -> bytes:
    return f'"{large(words)}"'.encode()


def changed(state: Any, drawn: random.Random) -> None:
    """Change a state in one of many ways, large values among them, and things inside of these."""
    key = drawn.choice("abc")
    way = drawn.randrange(11)
    if way == 0:
        state[key] = large(f"text {drawn.random()}")
    elif way == 1:
        state[key] = {f"k{n}": f"value {drawn.random()} " * 20 for n in range(60)}  # a blob as a whole
    elif way == 2:
        state[key] = [large(f"item {drawn.random()}"), {"deep": large(f"deep {drawn.random()}")}]
    elif way == 3 and isinstance(state.get(key), dict) and state[key]:
        state[key][drawn.choice([*state[key]])] = drawn.choice([1, large("inside")])
    elif way == 4 and isinstance(state.get(key), list):
        state[key].append(drawn.choice([2, large("appended")]))
    elif way == 5 and isinstance(state.get(key), list) and state[key]:
        state[key][drawn.randrange(len(state[key]))] = drawn.choice([3, large("item")])
    elif way == 6 and isinstance(state.get(key), list) and state[key]:
        del state[key][drawn.randrange(len(state[key]))]
    elif way == 7 and isinstance(state.get(key), str):
        state[key] += " more"
    elif way == 8:
        state.pop(key, None)
    elif way == 9 and key in state:
        state[drawn.choice("def")] = state.pop(key)
    else:
        for name in [*state][::-1]:
            state[name] = state.pop(name)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rows", [7, 128], ids=["with keyframes", "without"])
def test_every_state_is_what_was_recorded(seed: int, rows: int) -> None:
    drawn = random.Random(seed)
    state: dict[str, Any] = {}
    states = []
    for _ in range(30):
        for _ in range(drawn.randrange(1, 3)):
            changed(state, drawn)
        states.append(copy.deepcopy(state))
    log = MemoryLog(rows=rows)
    track = log.track_of(copy.deepcopy(states))
    fork = log.fork(track, 17, {"edited": large("edited"), **states[17]}).track
    for seq, expected in enumerate(states):
        found = load(log.fresh(), track, seq)
        assert found.value == expected
        assert [*cast("dict[str, Any]", found.value)] == [*expected]
        assert found.whole
    assert load(log.fresh(), fork, 17).value == {"edited": large("edited"), **states[17]}
