"""Forks of the shipped samples: the agents really run, from the state that they are handed."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import agent_tt
from agent_tt import samples

pytestmark = pytest.mark.warm


def tools_of(store, run, first=1):
    """Names of the tools that were called from a step on, with how each call ended."""
    return [
        (call.name, call.status)
        for step in store.steps(run.id, first)
        for call in store.calls(run.id, step.number)
        if call.kind == "tool"
    ]


def test_version_2_of_refund_loop_forked_at_step_1_ends_at_step_2(store_path, opened):
    original = samples.ensure("refund-loop", store_path)
    (second_version,) = samples.find("refund-loop").versions
    forked = agent_tt.fork(original, 1, store=store_path, agent=second_version).result()
    assert (forked.status, forked.steps, forked.parent) == ("succeeded", 2, original)
    store = opened()
    assert tools_of(store, forked, first=2) == []
    assert "no article" in store.value(forked.id, 2, ("answer",))


def test_refund_loop_answers_when_the_search_is_edited_to_have_found_something(store_path, opened):
    original = samples.ensure("refund-loop", store_path)
    found = json.dumps({"docs": [{"title": "Refunds", "text": "Within 30 days."}], "count": 1})
    forked = agent_tt.fork(original, 1, {"messages[3].content": found}, store=store_path).result()
    assert (forked.status, forked.steps) == ("succeeded", 2)
    assert "Within 30 days." in opened().value(forked.id, 2, ("answer",))


def test_trip_planner_with_another_destination_takes_other_tools_and_writes_nothing(store_path, opened, ledger):
    original = samples.ensure("trip-planner", store_path)
    forked = agent_tt.fork(original, 3, {"trip.destination": "Prague"}, store=store_path).result()
    store = opened()
    tools = dict(tools_of(store, forked, first=4))
    assert tools["search_trains"] == "ok"
    assert tools["exchange_rate"] == "ok"
    assert tools["book_train"] == "denied"
    assert not {"search_flights", "book_flight", "book_hotel", "charge_card"} & set(tools)
    assert not ledger.exists()
    assert "could not be booked" in store.value(forked.id, forked.steps, ("answer",))


def test_trip_planner_runs_each_write_tool_once_where_all_are_allowed(store_path, opened, ledger):
    original = samples.ensure("trip-planner", store_path)
    allowed = ("book_train", "book_hotel", "charge_card")
    forked = agent_tt.fork(original, 0, {"trip.destination": "Munich"}, store=store_path, allow=allowed).result()
    written = Counter(json.loads(line)["tool"] for line in ledger.read_text().splitlines())
    assert written == dict.fromkeys(allowed, 1)
    assert "are paid" in opened().value(forked.id, forked.steps, ("answer",))


def test_trip_planner_runs_only_the_write_tool_that_is_allowed(store_path, opened, ledger):
    original = samples.ensure("trip-planner", store_path)
    forked = agent_tt.fork(original, 7, store=store_path, allow=("book_flight",)).result()
    assert tools_of(opened(), forked, first=8) == [("book_flight", "ok"), ("book_hotel", "denied")]
    assert [json.loads(line)["tool"] for line in ledger.read_text().splitlines()] == ["book_flight"]


@pytest.mark.parametrize("amount", [136.84, 136])
def test_flaky_checkout_succeeds_with_the_right_amount_after_step_6(store_path, opened, amount):
    original = samples.ensure("flaky-checkout", store_path)
    changes = {"payment.amount": amount}
    allowed = ("charge_card", "place_order")
    forked = agent_tt.fork(original, 6, changes, store=store_path, allow=allowed).result()
    store = opened()
    assert (forked.status, forked.steps) == ("succeeded", 9)
    assert all(step.status == "ok" for step in store.steps(forked.id))
    assert store.value(forked.id, 9, ("answer",)) == f"Thank you! {amount} EUR are paid, order C-3391-1 is on its way."


def test_research_team_forked_after_its_plan_looks_for_something_else(store_path, opened):
    original = samples.ensure("research-team", store_path)
    forked = agent_tt.fork(original, 1, {"plan": ["solar", "panel", "roof"]}, store=store_path).result()
    assert forked.status == "succeeded"
    assert "900 kWh" in opened().value(forked.id, forked.steps, ("report",))
