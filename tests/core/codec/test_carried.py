"""What is known of objects that one value after another holds: it must be what looking again would tell."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from agent_tt.codec.carried import Carried
from agent_tt.history.changes.diff import diff
from agent_tt.history.payloads.damage import find_placeholder, placeholder
from agent_tt.redaction import values
from agent_tt.redaction.marks import MARK
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.values import Redactor, redact

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "sk-proj-" + "A1b2C3d4E5f6G7h8" * 3
PARTS: list[Any] = [
    {"role": "user", "content": "hello"},
    {"content": f"it is {KEY}"},
    {"first": "hunter2hunter2", "more": {"value": "hunter2hunter2"}},
    {"name": "api_key", "value": "hunter2hunter2"},
    {"args": ["--token", {"x": 1}, "hunter2hunter2"]},
    {"$type": "tuple", "$v": [{"first": "hunter2hunter2"}]},
    {"lost": [placeholder("lost")]},
    placeholder("lost"),
    "--token",
    "Authorization",
    "hunter2hunter2",
    7,
]
"""Objects that are the very same in all values that hold them."""
ITEMS = st.lists(st.sampled_from(PARTS), max_size=5)
VALUES = st.dictionaries(st.sampled_from(["messages", "password", "log"]), ITEMS | st.sampled_from(PARTS), max_size=3)
STEPS = st.lists(st.tuples(st.sampled_from(["main", "other"]), VALUES), min_size=2, max_size=6)


@settings(max_examples=300, deadline=None)
@for_all(STEPS)
def test_shared_objects_tell_what_fresh_ones_do(steps: list[tuple[str, Any]]) -> None:
    redactor, whole = Redactor(), Carried[bool]()
    before: Any = {}
    for lane, value in steps:
        redactor.begin(lane)
        whole.begin(lane)
        assert redactor.redact(value) == redact(deepcopy(value))
        assert (find_placeholder(value, whole) is None) is (find_placeholder(value) is None)
        assert diff(before, value) == diff(before, deepcopy(value))
        before = value


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    clean: Callable[[str], str] = values.redact_text
    monkeypatch.setattr(values, "redact_text", lambda text: (found.append(text), clean(text))[1])
    return found


def test_a_conversation_that_grows_is_gone_through_once_in_each_lane(searched: list[str]) -> None:
    messages = [{"content": f"message {number}", "parts": [{"text": "a"}]} for number in range(200)]
    redactor = Redactor()
    for length in range(1, 201):
        for lane in ("main", "other"):
            redactor.begin(lane)
            redactor.redact({"messages": messages[:length]})
            redactor.redact({"messages": messages[: length - 1], "tools": []})
    assert sum(text.startswith("message ") for text in searched) <= 2 * 200


def test_what_became_secret_meanwhile_is_taken_out() -> None:
    value: Any = {"messages": [{"visit": "ward seven"}]}
    redactor = Redactor()
    redactor.begin("main")
    assert redactor.redact(value) == value
    OWN.use(Rules(fields=("visit",)))  # the tests' own fixture takes the rules back
    assert redactor.redact(value) == redact(value) == {"messages": [{"visit": MARK}]}
