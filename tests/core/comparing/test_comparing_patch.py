"""Differences as JSON Patches (RFC 6902)."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from tests.core.comparing.state_laws import exactly_equal, states

from agent_tt.comparing.values.patch import pointer, to_json_patch

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire


def patched(document: Any, patch: list[dict[str, Any]]) -> Any:
    """RFC 6902, for the operations that are used; what is not allowed fails."""
    document = copy.deepcopy(document)
    for operation in copy.deepcopy(patch):
        value = operation.get("value")
        if operation["op"] == "move":
            parent, last = place(document, operation["from"])
            assert not operation["path"].startswith(operation["from"] + "/")
            value = parent.pop(last)
        if not operation["path"]:
            document = value
            continue
        parent, last = place(document, operation["path"], room=operation["op"] in ("add", "move"))
        if operation["op"] == "remove":
            del parent[last]
        elif operation["op"] == "replace" or isinstance(parent, dict):
            assert operation["op"] != "replace" or isinstance(parent, list) or last in parent
            parent[last] = value
        else:
            parent.insert(last, value)
    return document


def place(document: Any, text: str, *, room: bool = False) -> tuple[Any, Any]:
    """What a JSON pointer (RFC 6901) leads to: the container, and the key or position in it."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]
    for step in steps[:-1]:
        document = document[int(step)] if isinstance(document, list) else document[step]
    if isinstance(document, dict):
        return document, steps[-1]
    assert steps[-1] == "0" or not steps[-1].startswith("0")
    at = int(steps[-1])
    assert at < len(document) + room
    return document, at


@given(states, states)
@settings(max_examples=70)
def test_a_patch_turns_the_old_state_into_the_new_one(a: Wire, b: Wire) -> None:
    before = copy.deepcopy((a, b))
    patch = json.loads(json.dumps(to_json_patch(a, b)))
    assert exactly_equal(patched(a, patch), b)
    assert exactly_equal(list(before), [a, b])
    assert bool(patch) == (not exactly_equal(a, b))


def test_what_moved_is_moved_and_what_was_edited_is_changed_inside() -> None:
    old = {"l": [{"id": n, "text": f"number {n}"} for n in range(50)]}
    new = {"l": [*old["l"][1:20], {"id": 19.5}, *old["l"][20:], old["l"][0]]}
    new = copy.deepcopy(new)
    new["l"][30]["text"] = "edited"
    assert to_json_patch(old, new) == [
        {"op": "move", "from": "/l/0", "path": "/l/49"},
        {"op": "add", "path": "/l/19", "value": {"id": 19.5}},
        {"op": "replace", "path": "/l/30/text", "value": "edited"},
    ]
    assert patched(old, to_json_patch(old, new)) == new


def test_a_renamed_entry_is_moved() -> None:
    assert to_json_patch({"a/b": ["long"]}, {"a~b": ["long"]}) == [{"op": "move", "from": "/a~1b", "path": "/a~0b"}]


def test_a_list_with_nothing_in_common_or_in_no_order_is_replaced() -> None:
    assert to_json_patch({"l": [{"a": 1}, []]}, {"l": ["x", 2.5, None]}) == [
        {"op": "replace", "path": "/l", "value": ["x", 2.5, None]}
    ]
    shuffled = [index * 7 % 1009 for index in range(1009)]
    [only] = to_json_patch(list(range(1009)), shuffled)
    assert (only["op"], only["path"]) == ("replace", "")


def test_a_typed_value_is_patched_inside_its_envelope_and_the_order_of_keys_needs_nothing() -> None:
    old = {"p": {"$type": "tuple", "$v": [1, 2]}, "d": {"$type": "dict", "$v": [[1, "a"], [2, "b"]]}}
    new = {"d": {"$type": "dict", "$v": [[2, "b"], [1, "a"]]}, "p": {"$type": "tuple", "$v": [1, 2.0]}}
    assert to_json_patch(old, new) == [{"op": "replace", "path": "/p/$v/1", "value": 2.0}]


def test_pointers_escape_what_they_are_made_of() -> None:
    assert pointer(("a/b", 0, "c~d", "")) == "/a~1b/0/c~0d/"
