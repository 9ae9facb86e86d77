"""What is known by the objects that a state consists of is never wrong, whatever is done to it in place."""

from __future__ import annotations

import copy
import random
import sys
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.reference_digest import reference_digest

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.history.changes.census import WORKS, Census, references_to
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.history.changes.forms import Form
from agent_tt.history.changes.ops import apply
from agent_tt.store.ingest_filter import admit

some = settings(max_examples=30, deadline=None)
pytestmark = pytest.mark.skipif(not WORKS, reason="this interpreter keeps objects elsewhere")


class Text(str):
    """A text of a class of its own."""

    __slots__ = ()


class Program:
    """Does to a state in place what code may do: each time something that is easily overlooked."""

    def __init__(self, seed: int, *, exotic: bool) -> None:
        self.draw = random.Random(seed)
        self.exotic = exotic
        self.state: dict[str, Any] = {
            "messages": [self.message(n) for n in range(self.draw.choice([130, 200]))],
            "groups": {f"group {g}": {f"item {n}": self.item(n) for n in range(12)} for g in range(20)},
            **{f"small {n}": self.item(n) for n in range(9)},
            **{f"list {n}": [n, [n], {"n": n}] for n in range(5)},
            "attributes": vars(SimpleNamespace(one=1, two={"three": 3}, four="x" * 40)),
            "texts": [f"text {n} " * 5 for n in range(140)],
            "count": 0,
        }

    def message(self, n: int) -> dict[str, Any]:
        return {"role": "user", "content": f"message {n} " * 8, "parts": [{"n": n}, []], "seen": False}

    def item(self, n: int) -> dict[str, Any]:
        return {"value": n, "name": f"name {n}", "score": 0.0, "deep": {"a": [1, 2], "b": {}}}

    def containers(self) -> list[Any]:
        found, seen = [self.state], {id(self.state)}
        for each in found:
            for item in each.values() if isinstance(each, dict) else each:
                if type(item) in (dict, list) and id(item) not in seen:
                    seen.add(id(item))
                    found.append(item)
        return found

    def value(self, found: list[Any]) -> Any:
        draw = self.draw
        plain = [0, 1, True, False, None, 0.0, -0.0, 1.0, "x", "", "user", 2**70, -1, [], {}, self.item(3), [[1]]]
        odd = [
            float("nan"),
            (1, 2),
            Text("x"),
            b"x",
            bytearray(b"x"),
            {1: 2},
            {"$type": 1},
            "\ud800",
            SimpleNamespace(),
        ]
        shared = [draw.choice(found)]
        return draw.choice(plain + (odd + shared if self.exotic else []))

    def change(self) -> None:
        draw, found = self.draw, self.containers()
        deep = [each for each in found if each is not self.state]
        each = draw.choice(deep)
        if isinstance(each, dict):
            self.change_dict(each, found)
        else:
            self.change_list(each, found)

    def change_dict(self, each: dict[str, Any], found: list[Any]) -> None:
        keys = list(each)
        how = self.draw.choice(["set", "new", "delete", "rename", "swap", "again", "turn", "exchange"])
        key = self.draw.choice(keys) if keys else "first"
        if how == "new" or not keys:
            each[f"key {self.draw.randrange(4)}"] = self.value(found)
        elif how == "set":
            each[key] = self.value(found)
        elif how == "delete":
            del each[key]
        elif how == "rename":  # the same values in the same order, by other keys
            entries = list(each.items())
            each.clear()
            each.update((f"{name}!" if name == key else name, item) for name, item in entries)
        elif how == "swap":  # the same keys, and the same values in another order
            other = self.draw.choice(keys)
            each[key], each[other] = each[other], each[key]
        elif how == "again":  # the same entries in another order
            each[key] = each.pop(key)
        elif how == "turn":
            item = each[key]
            each[key] = int(item) if type(item) is bool else bool(item) if type(item) is int else item
        else:  # an equal object in its place
            each[key] = copy.copy(each[key])

    def change_list(self, each: list[Any], found: list[Any]) -> None:
        at = self.draw.randrange(len(each) + 1)
        how = self.draw.choice(["append", "insert", "delete", "set", "reverse", "shift", "again"])
        if how == "append" or not each:
            each.append(self.value(found))
        elif how == "insert":
            each.insert(at, self.value(found))
        elif how == "set":
            each[at - 1] = self.value(found)
        elif how == "delete":
            del each[at - 1]
        elif how == "reverse":
            each.reverse()
        elif how == "shift":  # an element goes to a list beside it, so that both hold the same ones, one after another
            lists = [other for other in found if type(other) is list and other is not each]
            self.draw.choice(lists).insert(0, each.pop())
        else:
            each[at - 1] = self.message(at)


@some
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
def test_every_change_is_found_in_a_state_of_which_much_is_known(seed: int, exotic: bool, is_filtered: bool) -> None:
    program = Program(seed, exotic=exotic)
    shadow, built = Shadow(admit if is_filtered else None), None
    for seq in range(12):
        ops, digest = shadow.step(program.state, seq)
        built = apply(built, orjson.loads(orjson.dumps(ops)))
        wire = encode(program.state)
        if is_filtered:
            wire = admit(wire)
        assert tlv(built) == tlv(wire), f"checkpoint {seq}: {ops}"
        assert digest == reference_digest(wire)
        if seq > 2:  # by then it is known what the state consists of
            for _ in range(program.draw.randrange(4)):
                program.change()
            program.state["count"] = seq


@some
@given(st.integers(0, 10**9))
def test_a_part_of_which_nothing_is_said_is_as_it_was(seed: int) -> None:
    program = Program(seed, exotic=True)
    roots = [program.state[key] for key in program.state if key.startswith(("small", "list"))]
    census = Census(roots)
    assert census.is_sound
    for _ in range(20):
        before = [tlv(encode(root)) for root in roots]
        for _ in range(3):
            each = program.draw.choice([each for each in program.containers() if each is not program.state])
            (program.change_dict if isinstance(each, dict) else program.change_list)(each, program.containers())
        now = [tlv(encode(root)) for root in roots]
        changed = census.changed(roots)
        assert {number for number in range(len(roots)) if before[number] != now[number]} <= changed.keys()


def test_a_change_of_texts_and_numbers_is_named_and_forgotten() -> None:
    program = Program(1, exotic=False)
    roots = [program.item(n) for n in range(5)]
    census = Census(roots)
    assert census.changed(roots) == {}
    roots[3]["deep"]["a"][1] = True
    assert census.changed(roots) == {3: {id(roots[3]), id(roots[3]["deep"]), id(roots[3]["deep"]["a"])}}
    assert census.changed(roots) == {}
    assert not census.loose


def test_of_a_part_that_holds_other_containers_nothing_is_said_again() -> None:
    roots = [{"a": [n], "n": n} for n in range(5)]
    census = Census(roots)
    roots[2]["a"] = [2]
    assert census.changed(roots).keys() == {2}
    assert census.changed(roots).keys() == census.loose == {2}
    roots[4] = {"a": [4], "n": 4}
    assert census.changed(roots).keys() == census.loose == {2, 4}


@pytest.mark.parametrize(
    "odd", [(1,), b"x", Text("x"), {1: 2}, {Text("x"): 1}, SimpleNamespace(), bytearray()], ids=repr
)
def test_what_holds_anything_else_than_jsons_types_is_not_counted(odd: object) -> None:
    assert not Census([{"a": 1}, {"b": [odd]}]).is_sound


def test_what_has_no_end_is_not_counted() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    assert not Census([endless]).is_sound
    many: list[Any] = []
    for _ in range(20):
        many = [many, many]
    assert not Census([many]).is_sound


def test_parts_are_counted_as_one_again_and_again() -> None:
    roots: list[Any] = [[n, {"n": {"n": n}}] if n % 3 else "text" if n % 2 else {"n": n} for n in range(64)]
    parts = [Census(roots[at : at + 8]) for at in range(0, 64, 8)]
    while len(parts) > 1:
        parts = [one.joined(other) for one, other in zip(parts[::2], parts[1::2], strict=True)]
    (joined,) = parts
    assert len(joined) == 64
    assert joined.changed(roots) == {}
    for at in (2, 7, 8, 31, 32, 47, 62):
        each = roots[at]
        (each if isinstance(each, dict) else each[1]["n"])["n"] = -1
        assert joined.changed(roots).keys() == {at}
        assert joined.changed(roots) == {}


def test_a_look_at_what_is_known_reads_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"messages": [{"role": "user", "content": f"{n} " * 200} for n in range(640)]}
    shadow = Shadow()
    for seq in range(12):
        shadow.step(state, seq)
    looked_at: list[int] = []
    is_of = Form.is_of
    monkeypatch.setattr(Form, "is_of", lambda form, value: looked_at.append(len(value)) or is_of(form, value))
    state["messages"].append({"role": "user", "content": "last"})
    assert shadow.step(state, 12)[0] == [["a", ["messages"], 640, [{"role": "user", "content": "last"}]]]
    state["messages"][200]["content"] += "more"
    (said,) = shadow.step(state, 13)[0]
    assert looked_at == [1]
    assert said[:2] == ["t", ["messages", 200, "content"]]


def test_what_only_the_history_still_holds_can_be_told() -> None:
    state: dict[str, Any] = {"messages": [{"role": "user", "content": f"{n} " * 40} for n in range(160)]}
    state.update({f"small {n}": {"n": n, "text": "x" * 1000} for n in range(8)})
    shadow = Shadow()
    for seq in range(5):
        shadow.step(state, seq)
    for part in (state["messages"][3], state["small 2"]):
        known = references_to(part)
        assert known > 0
        before = sys.getrefcount(part)
        shadow.step({"messages": state["messages"][4:], "other": 1}, 6)
        shadow.step({"messages": []}, 7)
        assert references_to(part) == 0
        assert sys.getrefcount(part) == before - known
        for seq in range(5):
            shadow.step(state, seq)


def test_what_is_no_part_of_the_state_any_more_is_let_go() -> None:
    state: dict[str, Any] = {f"part {n}": {"n": n, "within": [n] * 9, "text": "x" * 600} for n in range(12)}
    shadow, seq = Shadow(), 0

    def go_on(steps: int) -> None:
        nonlocal seq
        for _ in range(steps):
            shadow.step(state, seq)
            seq += 1

    go_on(5)
    whole, within = state["part 3"], state["part 7"]["within"]
    assert references_to(whole)
    assert references_to(within)
    state["part 3"], state["part 7"]["within"] = {"n": 3}, []
    go_on(25)
    assert references_to(whole) == references_to(within) == 0
    assert references_to(state["part 7"]["within"])
