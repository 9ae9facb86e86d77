"""Whether what was hoped with a fork came: yes, no, and unknown wherever it cannot be judged."""

from __future__ import annotations

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.querying.expecting import judge

STATE = {"paid": True, "answer": "refunded", "mail": "<redacted>", "note": "for ~email2abc~"}


def came(text: str, **about: object) -> tuple[str, str]:
    """What is said of an expression about a run that ended with a state."""
    did = {key: about.pop(key) for key in ("unpriced", "usage") if key in about}
    source = MemorySource()
    source.add("run", [Did("first"), Did("last", state=STATE, **did)], **about)  # type: ignore[arg-type]
    found = judge(source, source.run("run"), text)
    return found.came, found.why


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("paid == true", "came"),
        ("paid", "came"),
        ('"refund" in state.answer', "came"),
        ("not error", "came"),
        ("paid == false", "did not come"),
        ("nowhere == 1", "did not come"),
        ("exists(state.nowhere)", "did not come"),
        ('tool == "charge"', "did not come"),
    ],
)
def test_an_expectation_is_asked_of_the_last_step(text, expected):
    assert came(text) == (expected, "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cost < 1", "cost"),
        ("not (cost_usd > 1)", "cost_usd"),
        ("paid or tokens > 2", "tokens"),
        ('mail != "a@b.example"', "mark"),
        ('"a@b.example" in state.note', "mark"),
        ("paid ==", "cannot be asked"),
    ],
)
def test_what_nobody_knows_is_never_said_to_have_come_or_not(text, why):
    found, said = came(text)
    assert found == "unknown"
    assert why in said


@pytest.mark.parametrize("status", ["running", "interrupted", "crashed", "unknown"])
def test_a_run_that_came_to_no_end_of_its_own_is_not_judged(status):
    assert came("paid", status=status)[0] == "unknown"


def test_a_failed_run_is_judged_by_its_last_step_unless_it_took_none():
    assert came("paid", status="failed") == ("came", "")
    source = MemorySource()
    source.add("base", [Did("first", state=STATE)])
    source.add("fork", [], parent="base", fork_step=1, status="failed")
    assert judge(source, source.run("fork"), "paid").why == "it failed before its first step"


def test_a_last_state_that_cannot_be_read_leaves_it_unknown(monkeypatch):
    from agent_tt.errors import Damaged

    source = MemorySource()
    source.add("run", [Did("last", state=STATE)])

    def damaged(*_: object) -> None:
        raise Damaged("state 1 is damaged")

    monkeypatch.setattr(source, "state", damaged)
    found = judge(source, source.run("run"), "paid == false")
    assert (found.came, found.to_json()["came"], found.why) == ("unknown", None, "state 1 is damaged")


@pytest.mark.parametrize("text", ["paid == true", "paid", "nowhere == 1", "changed(state.paid)", "not paid"])
def test_a_last_state_that_was_not_kept_leaves_it_unknown(text):
    source = MemorySource()
    source.add("run", [Did("first", state=STATE), Did("last", is_kept=False)])
    found = judge(source, source.run("run"), text)
    assert (found.came, found.why) == ("unknown", "no checkpoint is kept of the last step")
    assert judge(source, source.run("run"), 'name == "last"').came == "came"
