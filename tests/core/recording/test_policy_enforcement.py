"""The link that carries out a policy: what it answers and refuses, also of calls that nothing records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import agent_tt
from agent_tt.errors import ToolDenied, UsageError
from agent_tt.intercepting.policy import EVERYTHING_LIVE, ToolPolicy
from agent_tt.intercepting.policy_enforcement import NotRecorded, PolicyEnforcement
from agent_tt.intercepting.rules import read_rule
from agent_tt.model import NewCall
from agent_tt.model.facts import CallFacts
from agent_tt.recording.links import Link, Place, Unrecorded
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from fake_store import FakeStore

    from agent_tt.recording.calls.answers import Question

SITE = {"file": "shop.py", "line": 7}
WRITES = NewCall("tool", "send", {}, "00" * 16, "write", meta=SITE)
READS = NewCall("http", "GET https://host/", {}, "00" * 16, "read")


class Watch(Link):
    """Keeps what it is told of calls that nothing records."""

    place = Place.WATCH

    def __init__(self) -> None:
        self.told: list[Unrecorded] = []

    def made_unrecorded(self, call: Unrecorded) -> None:
        self.told.append(call)


class CannotGive:
    """Stands in for nothing: no answer that a person wrote fits."""

    def given(self, *_asked: Any) -> Any:
        raise UsageError("its answer is not a number", hint="write a number")

    def recorded(self, _question: Any) -> None:
        """Nothing recorded answers it."""

    def not_recorded(self, question: Question) -> NotRecorded:
        return NotRecorded(f"nothing recorded answers {question.name}", "ask about it")


def policy(**rules: str) -> ToolPolicy:
    return ToolPolicy(tuple((name, read_rule(rule)) for name, rule in rules.items()))


def unrecorded(rules: ToolPolicy, new: NewCall = WRITES, *, is_own_doing: bool = False) -> list[Unrecorded]:
    """Make a call where nothing records it; gives what the links that watch are told."""
    watch, link = Watch(), PolicyEnforcement(rules)
    with SESSION.joined(watch, link):
        if any(rule.word == "deny" and name == new.name for name, rule in rules.rules):
            with pytest.raises(ToolDenied, match=f"^{new.name} was not run") as caught:
                link.unrecorded_call(new, is_own_doing=is_own_doing)
            assert caught.value.tool == new.name
        else:
            link.unrecorded_call(new, is_own_doing=is_own_doing)
    return watch.told


@pytest.mark.parametrize("is_own_doing", [False, True])
def test_a_denied_call_that_nothing_records_is_told_and_not_made(is_own_doing: bool) -> None:
    told = unrecorded(policy(send="deny"), is_own_doing=is_own_doing)
    assert told == [Unrecorded("tool", "send", "write", "denied", "you", SITE)]


def test_a_call_that_nothing_records_goes_out_by_the_rule_for_its_name_and_that_is_told() -> None:
    assert unrecorded(policy(send="live")) == [Unrecorded("tool", "send", "write", "sent", "you", SITE)]
    assert unrecorded(EVERYTHING_LIVE)[0].happened == "sent"
    assert unrecorded(policy(other="deny"), is_own_doing=True) == [], "nobody denies it, so it is not told"


def test_where_no_rule_is_given_nobody_is_said_to_have_decided() -> None:
    assert [(call.happened, call.because) for call in unrecorded(ToolPolicy(), READS)] == [("sent", "")]


def refused(link: PolicyEnforcement, call: Callable[[], object]) -> ToolDenied:
    with SESSION.joined(link), agent_tt.record("run") as run, run.step("pay"), pytest.raises(ToolDenied) as caught:
        call()
    return caught.value


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def send(sent: list[str]) -> Callable[[], object]:
    return agent_tt.tool(effect="write", name="send")(lambda: sent.append("send"))


@pytest.fixture
def look(sent: list[str]) -> Callable[[], object]:
    return agent_tt.tool(effect="read", name="look")(lambda: sent.append("look"))


def test_what_cannot_be_answered_here_is_refused_with_the_reason(
    store: FakeStore, send: Callable[[], object], sent: list[str]
) -> None:
    error = refused(PolicyEnforcement(policy(send="stub:5")), send)
    assert (error.tool, error.hint) == ("send", "let the agent's own process call it")
    assert error.message == "send was not run: its policy is stub:5, which a process of the agent's cannot give"
    stubs: Any = CannotGive()
    error = refused(PolicyEnforcement(policy(send="stub:5"), stubs), send)
    assert (error.tool, error.message) == ("send", "send was not run: its answer is not a number")
    assert (error.hint, sent) == ("write a number", [])


def test_a_call_that_simply_runs_has_no_rule_written_beside_it(
    store: FakeStore, send: Callable[[], object], look: Callable[[], object], sent: list[str]
) -> None:
    with SESSION.joined(PolicyEnforcement(policy(send="live"))), agent_tt.record("run") as run, run.step("pay"):
        send()
        look()
    assert sent == ["send", "look"]
    rules = [call.new.meta.get(CallFacts.policy.key) for call in store.only.calls]
    assert rules == [{"word": "live", "source": "you"}, None]


def test_where_nothing_recorded_answers_the_next_link_is_asked_or_the_agent_is_halted_for_good(
    store: FakeStore, send: Callable[[], object], look: Callable[[], object], sent: list[str]
) -> None:
    nothing: Any = CannotGive()
    asking = PolicyEnforcement(policy(send="recorded-or-ask"), nothing)
    with SESSION.joined(asking), agent_tt.record("asks") as run, run.step("pay"):
        send()
    assert sent == ["send"], "no link is there that asks: so it is made"
    link = PolicyEnforcement(policy(send="recorded"), nothing)
    with SESSION.joined(link), agent_tt.record("halts") as run, run.step("pay"):
        for call in (send, look):  # the agent catches what halts it, and goes on
            with pytest.raises(NotRecorded, match=r"^nothing recorded answers send$"):
                call()
    assert sent == ["send"]
