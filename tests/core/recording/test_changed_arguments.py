"""What a function does to its arguments is part of its answer."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.replaying.recorded import record

import agent_tt
from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.history.digest import digest
from agent_tt.model.facts import CallFacts
from agent_tt.recording.calls.arguments import bring_to
from agent_tt.recording.links import Link, Place
from agent_tt.recording.session import SESSION


@dataclasses.dataclass
class Order:
    lines: list[int]
    paid: bool = False


@agent_tt.tool(effect="write")
def answer(messages: list[dict[str, Any]], *rest: Any, **named: Any) -> str:
    messages[0]["seen"] = True
    messages.append({"role": "assistant"})
    for part in rest:
        part.append(1)
    for part in named.values():
        part["done"] = part.pop("open")
    return "answered"


@agent_tt.tool(effect="write")
def pay(order: Order, log: deque[str], by_day: dict[str, list[int]], found: set[int], kept: dict[str, int]) -> None:
    order.lines.insert(0, 9)
    order.paid = True
    log.append("paid")
    by_day["monday"].append(1)
    found.discard(1)
    kept["last"] = kept.pop("first")
    raise ValueError("after all")


def agent() -> Any:
    first: dict[str, Any] = {"role": "user"}
    messages, rest, task = [first], [0], {"open": 2}
    lines = [1]
    order, log, found = Order(lines), deque(["begun"], maxlen=5), {1, 2}
    by_day: dict[str, list[int]] = defaultdict(list)
    kept = OrderedDict(first=1, second=2)
    said = answer(messages, rest, task=task)
    with pytest.raises(ValueError, match="after all"):
        pay(order, log, by_day, found, kept)
    assert messages[0] is first
    assert order.lines is lines
    return said, messages, rest, task, order, log, by_day, found, kept


def test_a_replay_does_to_the_arguments_what_the_function_did(tmp_path):
    recorded = record(tmp_path, agent)
    result, replay = recorded.replay(agent)
    assert replay.findings == ()
    assert result == recorded.result
    assert list(result[-1]) == ["second", "last"]
    assert [list(call.meta[CallFacts.args_after.key]) for call, _ in recorded.calls] == [
        ["messages", "rest", "named"],
        ["order", "log", "by_day", "found", "kept"],
    ]


def test_who_shares_what_is_changed_meanwhile_finds_it_as_it_was(tmp_path):
    @agent_tt.tool(effect="read")
    async def note(log, n):
        await asyncio.sleep(0.001 * (5 - n))
        log.append(n)

    async def notes():
        log: list[int] = []
        await asyncio.gather(*(note(log, n) for n in range(5)))
        return log

    recorded = record(tmp_path, notes)
    for _ in range(5):
        assert recorded.replay(notes)[0] == recorded.result


def test_an_argument_that_is_left_alone_is_not_written_twice(tmp_path):
    @agent_tt.tool(effect="read")
    def look(messages, client):
        return len(messages)

    recorded = record(tmp_path, lambda: look([{"role": "user"}], object()))
    assert CallFacts.args_after.key not in recorded.calls[0][0].meta


def test_a_request_that_a_fork_changed_was_not_changed_by_the_function(tmp_path):
    class EditApplier(Link):
        place = Place.EDITS

        def edit_call(self, *_: object) -> tuple[tuple[object, ...], dict[str, object]]:
            return ([{"role": "system", "content": "Be long."}],), {}

    @agent_tt.llm
    def ask(messages):
        return messages[0]["content"]

    def asks():
        with SESSION.joined(EditApplier()):
            return ask([{"role": "system", "content": "Be brief."}])

    recorded = record(tmp_path, asks)
    assert recorded.result == "Be long."
    assert CallFacts.args_after.key not in recorded.calls[0][0].meta


def test_a_secret_in_an_argument_stays_what_it_is(tmp_path):
    key = "sk-" + "a1B2c3D4" * 6

    @agent_tt.tool(effect="read")
    def note(state):
        state["log"].append("noted")

    def asks():
        state = {"api_key": key, "log": []}
        note(state)
        return state

    assert record(tmp_path, asks).replay(asks)[0] == {"api_key": key, "log": ["noted"]}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(_VALUES, max_size=5), st.lists(_VALUES, max_size=5))
def test_any_list_becomes_any_other(before, after):
    assert bring_to(before, encode(before), encode(after), decode)
    assert before == after
    assert digest(encode(before)) == digest(encode(after))  # which tells True from 1


def test_an_argument_of_which_only_the_text_is_recorded_is_not_changed_where_that_reads_otherwise(tmp_path):
    @agent_tt.tool(effect="write")
    def hold(lock: Any, task: dict[str, Any]) -> None:
        lock.acquire()
        task["held"] = True

    recorded = record(tmp_path, lambda: hold(threading.Lock(), {}))
    (call, _), *_ = recorded.calls
    assert call.args["lock"]["$type"] == "opaque"
    assert call.meta[CallFacts.args_after.key] == {"task": {"held": True}}
