"""Where a value was before a step carried it elsewhere: in a sorted list, under another key, in another list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agent_tt.history.changes.diff import diff
from agent_tt.querying.provenance.moved_values import place_by_content
from agent_tt.querying.provenance.writes import _place_before

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path

A = {"id": "a", "t": "first text here"}
B = {"id": "b", "t": "second text here"}
C = {"id": "c", "t": "third text here"}


def P(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    """A mapping with keys of other types, as it is kept."""
    return {"$type": "dict", "$v": [[*pair] for pair in pairs]}


@pytest.mark.parametrize(
    ("before", "after", "path", "expected"),
    [
        ({"l": [A, B, C]}, {"l": [C, B, A]}, ("l", 0), ("l", 2)),
        ({"l": [A, B, C]}, {"l": [C, B, A]}, ("l", 0, "t"), ("l", 2, "t")),
        ({"l": [A, B, C]}, {"l": [C, B, A]}, ("l", 1, "t"), ("l", 1, "t")),
        ({"l": [A, B]}, {"l": [B, {**A, "t": "edited"}]}, ("l", 1, "t"), ("l", 0, "t")),
        ({"l": [A, A]}, {"l": [B, A]}, ("l", 0), None),
        ({"l": [A, B]}, {"l": [B, A, {**A, "t": "copy"}]}, ("l", 2, "t"), None),
        ({"l": [A, B]}, {"l": [B, A, {**A, "t": "copy"}]}, ("l", 1, "t"), ("l", 0, "t")),
        ({"l": [A, B]}, {"l": [C, A]}, ("l", 0, "t"), None),
        ({"l": ["one long text", "two long text"]}, {"l": ["two long text", "one long text"]}, ("l", 0), ("l", 1)),
        ({"l": ["ok", "no", "ok"]}, {"l": ["no", "ok", "ok"]}, ("l", 1), ("l", 0)),
        ({"l": ["ok", "no", "ok"]}, {"l": ["no", "ok"]}, ("l", 1), ("l", 2)),
        ({"l": ["ok", "no"]}, {"l": ["no", "ok", "ok"]}, ("l", 2), ("l", 1)),
        ({"l": ["one long text"] * 2}, {"l": ["x", "one long text"]}, ("l", 1), ("l", 1)),
        ({"old": {"x": "a long text"}}, {"new": {"x": "a long text"}}, ("new", "x"), ("old", "x")),
        ({"old": {"x": 1}}, {"new": {"x": 1}}, ("new", "x"), None),
        ({"old": "long text a", "old2": "long text a"}, {"new": "long text a"}, ("new",), None),
        ({"old": "long text a"}, {"old": "long text a", "new": "long text a"}, ("new",), None),
        (
            {"m": P((1, "a long text"), (2, "b long text"))},
            {"m": P((2, "b long text"), (1, "a long text"))},
            ("m", "$v", 0, 1),
            ("m", "$v", 1, 1),
        ),
        (
            {"m": P((1, "a long text"), (2, "b long text"))},
            {"m": P((3, "a long text"), (2, "b long text"))},
            ("m", "$v", 0, 1),
            ("m", "$v", 0, 1),
        ),
        ({"m": P((1, "a long text"))}, {"m": P((1, "changed"))}, ("m", "$v", 0, 1), ("m", "$v", 0, 1)),
        ({"todo": [A], "done": []}, {"todo": [], "done": [A]}, ("done", 0, "t"), ("todo", 0, "t")),
        ({"todo": [A], "done": []}, {"todo": [A], "done": [A]}, ("done", 0), None),
        ({"todo": ["tiny"], "done": []}, {"todo": [], "done": ["tiny"]}, ("done", 0), None),
        ({"todo": ["tiny text"], "done": []}, {"todo": [], "done": ["tiny text"]}, ("done", 0), ("todo", 0)),
        ({"a": 1}, {"a": 2}, ("a",), ("a",)),
        ({"a": 1}, {"a": 1, "b": 2}, ("b",), None),
        ({"a": [1]}, {"a": {"x": 1}}, ("a", "x"), None),
        ({"a": {"x": 1}}, {"a": {"x": 2}}, ("a", "x"), ("a", "x")),
        ({"l": [{"id": 1}, {"id": 2}]}, {"l": [{"id": 2}, {"id": 1}]}, ("l", 0), ("l", 1)),
        ({"l": [{"id": True, "x": 1}]}, {"l": [{"id": True, "x": 2}]}, ("l", 0, "x"), ("l", 0, "x")),
        ({"l": [{"id": "", "x": "q"}]}, {"l": [{"id": "", "x": "r"}]}, ("l", 0, "x"), ("l", 0, "x")),
        (
            {"l": [{"tool_call_id": "z", "x": "q"}, 0]},
            {"l": [0, {"tool_call_id": "z", "x": "r"}]},
            ("l", 1, "x"),
            ("l", 0, "x"),
        ),
        ({"l": [5, [700001, 700002], 6]}, {"l": [[700001, 700002, None], 6]}, ("l", 0, 1), ("l", 1, 1)),
        ({"l": [4, [500001, 600001, 700001]]}, {"l": [[600001, 700001]]}, ("l", 0, 1), ("l", 1, 2)),
        ({"l": [4, [500001, 600001]]}, {"l": [[600001, 700001, 800001]]}, ("l", 0, 2), None),
        ({"l": [[600001], [700001]]}, {"l": [[700001, None]]}, ("l", 0, 0), ("l", 1, 0)),
        ({"l": [5, {"k": 700001}]}, {"l": [{"k": 700001, "n": 1}]}, ("l", 0, "k"), ("l", 1, "k")),
        ({"l": [5, [700001], [700001]]}, {"l": [[700001, None]]}, ("l", 0, 0), None),
        ({"l": [[1, 2], [3, 4]]}, {"l": [[3, 4], [1, 2]]}, ("l", 0, 1), ("l", 1, 1)),
    ],
)
def test_where_a_value_was_is_told_by_what_it_is(before: Any, after: Any, path: Path, expected: Path | None) -> None:
    ops = diff(before, after)
    assert place_by_content(before, after, path, lambda place: _place_before(ops, place)) == expected
