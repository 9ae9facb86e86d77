"""The agents' models decide from what they are handed."""

from __future__ import annotations

import asyncio

import pytest


def test_support_model_searches_for_the_words_of_the_question(agent):
    refund = agent("refund_loop")
    messages = [{"role": "user", "content": "How do I return goods?"}]
    answer = refund.support_model(messages, tools=["search_docs"])
    assert refund.requested(answer) == ("search_docs", {"query": "return goods"})


def test_support_model_says_that_there_is_nothing_where_it_may_not_search(agent):
    refund = agent("refund_loop")
    answer = refund.support_model([{"role": "user", "content": "What is your refund policy?"}], tools=[])
    assert refund.requested(answer) is None
    assert "no article about “refund policy”" in answer["message"]["content"]


def test_search_docs_finds_only_articles_that_hold_every_word(agent):
    refund = agent("refund_loop")
    assert refund.search_docs("refund policy") == {"docs": [], "count": 0}
    assert [doc["title"] for doc in refund.search_docs("return goods")["docs"]] == ["Returning goods"]


@pytest.mark.parametrize(
    ("destination", "tools"),
    [
        ("Lisbon", {"search_flights"}),
        ("Munich", {"search_trains"}),
        ("Prague", {"search_trains", "exchange_rate"}),
        ("London", {"search_flights", "exchange_rate", "entry_rules"}),
    ],
)
def test_travel_model_takes_the_tools_that_fit_the_place(agent, tmp_path, store_path, ledger, destination, tools):
    planner = agent("trip_planner")
    state = planner.new_trip()
    state["trip"]["destination"] = destination
    planner.main(state)
    asked = {call["function"]["name"] for message in state["messages"] for call in message.get("tool_calls", ())}
    assert asked & {"search_flights", "search_trains", "exchange_rate", "entry_rules"} == tools
    assert destination in state["answer"]


def test_trip_planner_books_nothing_above_the_budget(agent, store_path, ledger):
    planner = agent("trip_planner")
    state = planner.new_trip()
    state["trip"]["budget_euros"] = 300
    planner.main(state)
    assert "nothing is booked" in state["answer"]
    assert not ledger.exists()


def test_trip_planner_tells_the_traveller_about_a_place_it_does_not_know(agent, store_path, ledger):
    planner = agent("trip_planner")
    state = planner.new_trip()
    state["trip"]["destination"] = "Atlantis"
    planner.main(state)
    assert "no place called 'Atlantis'" in state["answer"]
    assert not ledger.exists()


def test_flaky_checkout_goes_through_when_the_amount_is_in_euros(agent):
    checkout = agent("flaky_checkout")
    assert checkout.charge_card("card_8802", 136.84)["receipt"]
    with pytest.raises(checkout.PaymentError, match="402 insufficient_funds"):
        checkout.charge_card("card_8802", 13684)


def test_research_team_reports_on_what_was_asked(agent, store_path):
    team = agent("research_team")
    state = team.new_question()
    state["messages"][-1]["content"] = "Is a solar panel on our roof a saving?"
    report = asyncio.run(team.main(state))["report"]
    assert "6 kW" in report
    assert "900 kWh" in report
    assert "heat pump" not in report


def test_critic_objects_to_claims_without_a_figure_and_to_sellers(agent):
    team = agent("research_team")
    claims = [
        {"text": "It takes 3 radiators.", "source": "advice.example"},
        {"text": "It is always good.", "source": "blog.example"},
        {"text": "It saves 90 %.", "source": "shop.example"},
    ]
    answer = asyncio.run(team.critic_model(claims, ["a doubt"]))
    assert team.words_of(answer) == ["blog.example", "shop.example"]


def test_watch_model_raises_an_alarm_and_clears_it_after_two_quiet_hours(agent):
    watch = agent("long_haul")

    def said(*litres: int, alarm: bool) -> str:
        messages = [{"role": "user", "content": f"{value} litres"} for value in litres]
        return watch.watch_model(messages, alarm=alarm)["message"]["content"]

    assert said(12, 36, alarm=False) == "fine"
    assert said(12, 140, alarm=False) == "alarm"
    assert said(140, 12, alarm=True) == "still open"
    assert said(12, 12, alarm=True) == "clear"
