"""Objects that hold each other over and over are recorded in a moment, and what is not part of it is recorded whole."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson
import pytest

from agent_tt.codec.encode import encode
from agent_tt.codec.plain import is_tree_of_json_types
from agent_tt.history.changes.change_detector import Shadow

MANY = 1000


@dataclasses.dataclass
class Node:
    others: Any = None


def dense_lists() -> list[Any]:
    nodes: list[Any] = [[] for _ in range(MANY)]
    for node in nodes:
        node.extend(nodes)
    return nodes


def dense_dicts() -> dict[str, Any]:
    nodes: dict[str, Any] = {str(number): {} for number in range(MANY)}
    for node in nodes.values():
        node.update(nodes)
    return nodes


def dense_objects() -> list[Node]:
    nodes = [Node() for _ in range(MANY)]
    for node in nodes:
        node.others = tuple(nodes)
    return nodes


def doubled() -> dict[str, Any]:
    node: dict[str, Any] = {"x": 1}
    for _ in range(150):
        node = {"left": node, "right": node}
    return node


def laughs() -> list[Any]:
    node: list[Any] = ["lol"] * 10
    for _ in range(30):
        node = [node] * 10
    return node


@pytest.mark.parametrize("make", [dense_lists, dense_dicts, dense_objects, doubled, laughs])
def test_what_has_no_end_as_a_tree_is_cut_and_the_rest_is_kept(make: Any) -> None:
    rest = {"messages": [{"role": "user", "content": f"{number}"} for number in range(100)]}
    wire = encode({"before": rest, "tangle": make(), "after": rest["messages"]})
    assert isinstance(wire, dict)
    assert wire["before"] == rest
    text = orjson.dumps(wire, option=orjson.OPT_NON_STR_KEYS) if make is not doubled else b'"why":"shared"'
    assert b'"why":"shared"' in text
    assert len(text) < 50_000_000


@pytest.mark.parametrize("make", [dense_lists, dense_objects, laughs])
def test_the_next_checkpoints_of_it_end_too(make: Any) -> None:
    state = {"tangle": make(), "n": 0}
    shadow = Shadow()
    shadow.step(state, 0)
    state["n"] = 1
    ops, _ = shadow.step(state, 1)
    assert ["s", ["n"], 1] in ops


def test_what_is_shared_a_little_is_copied() -> None:
    config = {"names": list(range(50))}
    messages = [{"config": config, "number": number} for number in range(1000)]
    wire = encode({"messages": messages, "again": messages})
    assert wire == {"messages": messages, "again": messages}


def test_values_of_many_parts_that_are_not_shared_are_whole() -> None:
    state = [{"number": number, "parts": [[number]]} for number in range(200_000)]
    assert encode(state) == state


def test_a_tree_may_have_no_more_elements_than_it_is_compared_with() -> None:
    shared: list[Any] = [1, 2, 3]
    assert is_tree_of_json_types([shared, shared], most=8)
    assert not is_tree_of_json_types([shared, shared], most=7)
    assert not is_tree_of_json_types(dense_lists(), most=10_000)
