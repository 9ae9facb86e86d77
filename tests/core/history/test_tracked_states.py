"""What tracked containers noted gives the very operations' result and digest that comparing all of a state gives."""

from __future__ import annotations

import copy
import heapq
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.history.test_shadow_admits import PAD, admit, changed
from tests.core.history.tracked_programs import Program

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.codec.track_reader import tracked
from agent_tt.history.changes import audit
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.history.changes.ops import apply
from agent_tt.history.digest import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire

BIG = {"messages": [{"role": "user", "content": "words " * 30, "n": n} for n in range(100)], "queue": [], **PAD}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 20))
def test_programs_of_random_writes_are_followed_exactly_and_raise_no_alarm(seed: int, often: int) -> None:
    ours, plain = Program(seed, tracked), Program(seed, dict)
    shadow, every = Shadow(), pytest.MonkeyPatch()
    stored: Wire = None
    with every.context() as patch:
        patch.setattr(audit, "_LEAST", often)
        patch.setattr(audit, "_PACE", 10**9)
        for seq in range(20):
            ops, found = shadow.step(ours.state, seq)
            stored, want = apply(stored, copy.deepcopy(ops)), encode(plain.state)
            assert tlv(stored) == tlv(want)
            assert found == digest(want)
            assert shadow.unnoticed is None
            ours.step()
            plain.step()
        assert shadow.look_again() is None


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_may_not_be_kept_of_a_tracked_state_is_not_kept(choose: Any) -> None:
    state = tracked({"deep": {"entry": {}, **PAD}, "list": [], "said": "", **PAD})
    shadow = Shadow(admit=admit)
    stored: Wire = None
    for seq in range(20):
        ops, found = shadow.step(state, seq)
        stored = apply(stored, copy.deepcopy(ops))
        assert "secret" not in str(stored).replace("a secret key", "")
        assert found == digest(stored)
        assert shadow.unnoticed is None
        changed(choose, state)


def test_a_step_looks_only_at_what_was_written() -> None:
    state, shadow = tracked(BIG), Shadow()
    for seq in range(3):
        state["messages"].append({"role": "assistant", "content": f"answer {seq}"})
        shadow.step(state, seq)
    encoded: list[object] = []
    shadow._walk._admit = lambda wire, _field: encoded.append(wire) or wire  # type: ignore[func-returns-value]
    state["messages"].append({"role": "user", "content": "more"})
    state["messages"][7]["n"] = -1
    ops, _ = shadow.step(state, 3)
    assert sorted(op[0] for op in ops) == ["a", "s"]
    assert len(encoded) == 2


def test_adding_to_a_list_that_is_assigned_again_is_an_append() -> None:
    state, shadow = tracked(BIG), Shadow()
    for seq in range(3):
        shadow.step(state, seq)
    state["messages"] += [{"role": "user"}]
    ops, _ = shadow.step(state, 3)
    assert ops == [["a", ["messages"], 100, [{"role": "user"}]]]


def test_two_who_follow_one_state_both_see_every_write() -> None:
    state, one, other = tracked(BIG), Shadow(), Shadow()
    for seq in range(6):
        state["messages"][seq]["n"] = -seq
        for shadow in (one, other):
            _, found = shadow.step(state, seq)
            assert found == digest(encode(state))


@pytest.mark.parametrize(
    "write",
    [
        lambda state: dict.__setitem__(state["messages"][-1], "n", -1),
        lambda state: dict.__setitem__(state, "new", 1),
        lambda state: dict.pop(state, "pad3"),
        lambda state: list.append(state["messages"], {"n": 0}),
        lambda state: list.insert(state["messages"], 3, {"n": 0}),
        lambda state: list.__setitem__(state["messages"], 5, {"n": 0}),
        lambda state: dict.update(state["deep"]["a"]["b"], c=2),
        lambda state: heapq.heappush(state["queue"], 1),
    ],
    ids=["an element", "a key", "a pop", "an append", "an insert", "an item", "deep", "a heap"],
)
def test_a_write_around_the_methods_is_found_said_and_recorded(write: Callable[[Any], Any]) -> None:
    state, shadow = tracked({**BIG, "deep": {"a": {"b": {"c": 1}}}}), Shadow()
    stored: Wire = None
    found: list[int] = []
    for seq in range(160):
        ops, now = shadow.step(state, seq)
        stored = apply(stored, copy.deepcopy(ops))
        if shadow.unnoticed is not None:
            found.append(seq)
        if found:  # and from here on nothing is taken on trust
            assert now == digest(stored) == digest(encode(state))
            assert shadow.is_certain
        if seq == 20:
            write(state)
        if seq > 140:
            dict.__setitem__(state["messages"][2], "n", seq)
    assert len(found) == 1


def test_a_write_around_the_methods_may_be_found_by_chance_long_before_all_is_looked_at() -> None:
    state = tracked({"lists": {"messages": [{"text": "words " * 60, "n": n} for n in range(20)]}, "n": 0})
    shadow, found = Shadow(), None
    for seq in range(audit._LEAST - 1):
        _, now = shadow.step(state, seq)
        if shadow.unnoticed is not None:
            assert (shadow.unnoticed, found) == (("lists", "messages", 7, "n"), None)
            found = seq
        if seq < 4 or found is not None:
            assert now == digest(encode(state))
        if seq == 4:
            dict.__setitem__(state["lists"]["messages"][7], "n", -1)
    assert found is not None


def test_a_write_around_the_methods_is_found_at_the_end_of_a_short_run() -> None:
    state, shadow = tracked(BIG), Shadow()
    for seq in range(3):
        shadow.step(state, seq)
    state["messages"][0]["n"] = "noted, and after the last step"
    assert shadow.look_again() is None
    state, shadow = tracked(BIG), Shadow()
    for seq in range(3):
        shadow.step(state, seq)
    dict.__setitem__(state["messages"][7], "n", -1)
    assert shadow.look_again() == ("messages", 7, "n")


def test_what_another_thread_writes_meanwhile_is_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    state, shadow, look = tracked(BIG), Shadow(), audit.Audit.look_at_all

    def written_meanwhile(self: Any, node: Any, value: Any) -> Any:
        state["messages"][3]["n"] += 1000
        return look(self, node, value)

    monkeypatch.setattr(audit.Audit, "look_at_all", written_meanwhile)
    monkeypatch.setattr(audit, "_LEAST", 1)
    monkeypatch.setattr(audit, "_PACE", 10**9)
    stored: Wire = None
    for seq in range(9):
        ops, found = shadow.step(state, seq)
        stored = apply(stored, copy.deepcopy(ops))
        assert found == digest(stored)
        assert shadow.unnoticed is None
    monkeypatch.undo()
    ops, _ = shadow.step(state, 9)
    assert apply(stored, ops) == state
