"""What a fork tells the process that runs its agent: which run to fill, and which tools may run."""

from __future__ import annotations

import pytest

import agent_tt
from agent_tt.errors import ToolDenied
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.intercepting.rules import Rule
from agent_tt.intercepting.run_handoff import RunHandoff, take_run
from agent_tt.recording.session import SESSION

RAN = []


@agent_tt.tool(effect="write")
def charge_card(amount):
    RAN.append(amount)


@agent_tt.tool(effect="write")
def book_hotel():
    RAN.append("hotel")
    return "booked"


@agent_tt.tool(effect="read")
def search():
    return "found"


@agent_tt.tool
def stream():
    RAN.append("stream")
    yield 1


@pytest.fixture(autouse=True)
def _nothing_ran():
    RAN.clear()


def deny_writes(store, *allow):
    policy = ToolPolicy(tuple((name, Rule("live")) for name in allow))
    SESSION.start(RunHandoff(store, "fork1"), PolicyEnforcement(policy))


def test_the_first_recording_fills_the_forks_run_and_the_second_is_ordinary(store):
    deny_writes(store)
    with agent_tt.record("agent", state={"a": 1}) as run, run.step("go") as step:
        assert run.id == "fork1"
        assert step.number == 4
    assert store.closed == 0
    with agent_tt.record("again") as run:
        assert run.id == "run1"
    assert not take_run()
    assert [recorded.status for recorded in store.runs] == ["succeeded", "succeeded"]


def test_a_denied_tool_does_not_run_and_agent_and_timeline_see_why(store):
    deny_writes(store, "book_hotel")
    with agent_tt.record("agent") as run, run.step("pay"):
        assert search() == "found"
        assert book_hotel() == "booked"
        with pytest.raises(ToolDenied) as denied:
            charge_card(5)
        with pytest.raises(ToolDenied):
            list(stream())
        assert run.llm(lambda: "answer") == "answer"
    message = "charge_card was not run: this fork denies it (allow it with --allow charge_card)"
    assert (str(denied.value), denied.value.tool) == (message, "charge_card")
    assert RAN == ["hotel"]
    calls = {call.name: call for call in store.only.calls}
    assert [calls[name].end.status for name in ("search", "book_hotel", "charge_card", "stream")] == [
        "ok",
        "ok",
        "denied",
        "denied",
    ]
    assert calls["charge_card"].end.error.message == message
    assert calls["charge_card"].new.args == {"amount": 5}
    assert store.only.status == "succeeded"


def test_a_denied_tool_outside_any_step_is_a_failed_step(store):
    deny_writes(store)
    with pytest.raises(ToolDenied), agent_tt.record("agent"):
        charge_card(5)
    (step,) = store.only.steps
    assert (step.name, step.end.status, step.calls[0].end.status) == ("charge_card", "error", "denied")
    assert (store.only.status, store.only.error.class_name) == ("failed", "agent_tt.errors:ToolDenied")


def test_the_policy_holds_before_beside_and_after_the_adopted_recording(store):
    deny_writes(store, "book_hotel")
    with pytest.raises(ToolDenied):
        charge_card(1)
    assert book_hotel() == "booked"
    assert search() == "found"
    with agent_tt.record("agent"):
        pass
    with agent_tt.record("second") as run, run.step("s"), pytest.raises(ToolDenied):
        charge_card(2)
    with pytest.raises(ToolDenied):
        charge_card(3)
    assert RAN == ["hotel"]


def test_an_ordinary_process_denies_nothing(store):
    with agent_tt.record("agent"):
        charge_card(1)
    charge_card(2)
    assert RAN == [1, 2]


@pytest.mark.parametrize(
    ("policy", "mapping"),
    [
        (ToolPolicy(), {"*write": "deny"}),
        (ToolPolicy((("*write", Rule("live", source="default")),)), {"*write": "live"}),
        (ToolPolicy((("a", Rule("live")), ("b", Rule("ask")))), {"*write": "deny", "a": "live", "b": "ask"}),
    ],
)
def test_a_policy_is_kept_as_plain_words(policy, mapping):
    assert policy.to_mapping() == mapping
    assert ToolPolicy.from_mapping(mapping) == policy


def test_what_a_stored_policy_does_not_say_is_denied():
    policy = ToolPolicy.from_mapping({"a": "sure", "b": "live"})
    assert [policy.decide("tool", name, "write").word for name in ("a", "b", "c")] == ["deny", "live", "deny"]
    assert policy.decide("tool", "c", "read").word == policy.decide("llm", "c", None).word == "live"
