"""Undoing a step: what goes, what stays and is named, and conversations that edits have torn apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agent_tt.errors import InvalidEdit
from agent_tt.forking.editing.edit_warnings import unanswered_calls
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.forking.editing.muting import mute

ASKED = {"role": "user", "content": "look around"}
USE_1 = {"role": "assistant", "content": [{"type": "tool_use", "id": "tu_1", "name": "look", "input": {}}]}
USE_2 = {"role": "assistant", "content": [{"type": "tool_use", "id": "tu_2", "name": "look", "input": {}}]}
DONE_1 = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tu_1", "content": "a"}]}
DONE_2 = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tu_2", "content": "b"}]}


def source(states: list[Any], sent: list[Any] | None = None) -> Any:
    """A run whose checkpoints are `states`; step 1 of it asked a model with the turns `sent`."""
    args = {
        "method": "POST",
        "url": "https://host/v1/messages",
        "body": {"model": "m", "max_tokens": 9, "messages": sent},
    }
    calls = [] if sent is None else [SimpleNamespace(kind="llm", args=args)]
    return SimpleNamespace(
        state=lambda _run, step: states[step],
        base_step=lambda _run, step: step - 1,
        calls=lambda _run, step: calls if step == 1 else [],
    )


STEPS: Any = [SimpleNamespace(number=number, name=f"move {number}") for number in (1, 2, 3)]


def test_an_answer_that_the_agent_sends_in_other_words_is_taken_out_with_its_results():
    reworded = {**USE_1, "content": [{**USE_1["content"][0], "caller": None}]}  # type: ignore[index, dict-item]
    now = {"messages": [ASKED, reworded, DONE_1, USE_2, DONE_2]}
    edits, stays = mute(source([None, {"messages": [ASKED, USE_1]}, now], [ASKED]), "run", STEPS, 1, 2, now)
    assert apply_edits(now, edits) == {"messages": [ASKED, USE_2, DONE_2]}
    assert (edits[0].op, stays) == ("mute", ())


def test_an_answer_in_words_alone_is_known_by_its_place():
    said = {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}
    now = {"messages": [ASKED, {"role": "assistant", "content": "Hello."}, ASKED]}
    edits, _ = mute(source([None, {"messages": [ASKED, said]}, now], [ASKED]), "run", STEPS, 1, 2, now)
    assert apply_edits(now, edits) == {"messages": [ASKED, ASKED]}
    other = {"messages": [{"role": "user", "content": "something else"}, said["content"], ASKED]}
    with pytest.raises(InvalidEdit, match="left nothing in the state"):
        mute(source([None, {"messages": [ASKED, said]}, other], [ASKED]), "run", STEPS, 1, 2, other)


def test_what_has_been_changed_since_stays_and_is_named():
    states = [{"n": 0, "seen": []}, {"n": 1, "seen": ["a"], "by": {"x": 1}}, {"n": 2, "seen": ["a"], "by": {"x": 2}}]
    edits, stays = mute(source(states), "run", STEPS, 1, 2, states[2])
    assert apply_edits(states[2], edits) == {"n": 2, "seen": [], "by": {"x": 2}}
    (said,) = stays
    assert said.startswith("step 1 move 1 is muted, but n, by have been changed since")


@pytest.mark.parametrize(
    ("left", "says"),
    [
        ([ASKED, DONE_1], "results of tool calls that are taken out"),
        ([ASKED, USE_1], "tool calls whose results are taken out"),
        ([ASKED], None),
        ([ASKED, USE_1, DONE_1, ASKED], None),
    ],
)
def test_calls_and_results_that_are_parted_are_said(left: list[Any], says: str | None):
    said = unanswered_calls({"messages": [ASKED, USE_1, DONE_1]}, {"messages": left})
    assert [says in line for line in said] == ([] if says is None else [True])  # type: ignore[operator]
