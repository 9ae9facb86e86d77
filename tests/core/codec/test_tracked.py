"""Tracked dicts and lists pass for plain ones, whatever is done with them."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from typing import Any

import orjson
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.history.tracked_programs import Program

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.codec.track_reader import TrackReader, tracked
from agent_tt.codec.tracked import TrackedDict, TrackedList

VALUE: dict[str, Any] = {"messages": [{"role": "user", "content": "é", "parts": [[1], {}]}], "n": 1.5, "none": None}


def test_a_tracked_state_is_a_dict_with_lists_and_dicts() -> None:
    state = tracked(VALUE)
    assert state == VALUE
    assert isinstance(state, dict)
    assert isinstance(state["messages"], list)
    assert repr(state) == repr(VALUE)
    assert encode(state) == VALUE


@pytest.mark.parametrize("dumps", [json.dumps, orjson.dumps], ids=["json", "orjson"])
def test_it_is_written_as_json_as_a_plain_one_is(dumps: Any) -> None:
    assert dumps(tracked(VALUE)) == dumps(VALUE)


def test_orjson_gives_it_to_the_default_where_it_is_told_to_pass_on_subclasses() -> None:
    option = orjson.OPT_PASSTHROUGH_SUBCLASS
    assert orjson.loads(orjson.dumps(tracked(VALUE), default=_plain, option=option)) == VALUE
    with pytest.raises(TypeError):
        orjson.dumps(tracked(VALUE), option=option)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, dict) else list(value)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it)), lambda it: it.copy()],
    ids=["copy", "deepcopy", "pickle", "its own"],
)
def test_its_copies_are_plain_and_of_their_own(copied: Any) -> None:
    state = tracked(VALUE)
    other = copied(state)
    assert other == VALUE
    assert type(other) is dict
    other["n"] = 2
    assert state["n"] == 1.5


def test_a_deep_copy_holds_nothing_tracked() -> None:
    other = copy.deepcopy(tracked(VALUE))
    assert type(other["messages"]) is list
    assert type(other["messages"][0]) is dict
    assert type(other["messages"][0]["parts"][0]) is list


def test_a_deep_copy_and_a_pickle_hold_a_cycle_as_it_is() -> None:
    state: Any = tracked({"a": []})
    state["a"].append(state)
    for other in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert other["a"][0] is other


def test_sums_slices_and_unions_are_plain() -> None:
    state = tracked({"a": [1, 2], "b": 1})
    assert type(state["a"] + [3]) is list
    assert type(state["a"][:1]) is list
    assert type(state["a"] * 2) is list
    assert type(state | {"c": 1}) is dict


def test_pydantic_takes_it_strictly() -> None:
    class Model(pydantic.BaseModel):
        messages: list[dict[str, Any]]
        n: float

    found = Model.model_validate(tracked(VALUE), strict=True)
    assert found.messages == VALUE["messages"]
    assert orjson.loads(Model.model_construct(**tracked(VALUE)).model_dump_json())["messages"] == VALUE["messages"]


def test_what_it_holds_twice_its_tracked_copy_holds_twice() -> None:
    shared = [1]
    state = tracked({"a": shared, "b": shared})
    assert state["a"] is state["b"]
    assert state["a"] is not shared


def test_what_somebody_else_holds_stays_that_very_object() -> None:
    state, mine, reader = tracked({}), {"x": [1]}, TrackReader()
    state["mine"] = mine
    reader.begin()
    reader.take(state)
    assert state["mine"] is mine
    mine["x"].append(2)
    assert state == {"mine": {"x": [1, 2]}}
    del mine
    reader.begin()
    reader.take(state)
    assert isinstance(state["mine"], TrackedDict)
    assert isinstance(state["mine"]["x"], TrackedList)


def test_only_the_part_that_nobody_else_holds_becomes_tracked() -> None:
    state, calls, reader = tracked({"messages": []}), [1], TrackReader()
    state["messages"].append({"role": "assistant", "calls": calls})
    reader.begin()
    reader.take(state)
    assert isinstance(state["messages"][0], TrackedDict)
    assert state["messages"][0]["calls"] is calls


def test_what_is_not_counted_exactly_stays_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a Python without a lock around all."""
    monkeypatch.setattr(sys.modules["agent_tt.codec.track_reader"], "_HELD_ONCE", -1)
    state, reader = tracked({}), TrackReader()
    state["a"] = []
    reader.begin()
    reader.take(state)
    assert type(state["a"]) is list


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda it: it["d"].pop("x"), KeyError),
        (lambda it: it["l"].pop(9), IndexError),
        (lambda it: it["l"].remove(9), ValueError),
        (lambda it: it["l"].__setitem__(9, 1), IndexError),
        (lambda it: it["l"].__setitem__(slice(0, 4, 2), [1]), ValueError),
        (lambda it: it["l"].sort(), TypeError),
        (lambda it: it["d"].__setitem__([], 1), TypeError),
        (lambda it: it["d"].__delitem__("x"), KeyError),
        (lambda it: tracked({}).popitem(), KeyError),
    ],
)
def test_what_a_plain_one_refuses_it_refuses_in_the_same_words(write: Any, error: type[Exception]) -> None:
    value = {"d": {"y": 1}, "l": [2, "x", None]}
    with pytest.raises(error) as plain:
        write(value)
    with pytest.raises(error) as ours:
        write(tracked(value))
    assert str(ours.value).replace("TrackedList", "list") == str(plain.value)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_any_program_does_the_same_with_it(seed: int) -> None:
    ours, plain = Program(seed, tracked), Program(seed, dict)
    for _ in range(12):
        ours.step()
        plain.step()
    assert tlv(encode(ours.state)) == tlv(encode(plain.state))
