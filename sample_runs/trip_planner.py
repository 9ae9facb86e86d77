"""A travel agent that plans a trip, books it and pays: a healthy loop over tools that read and tools that write.

The agent works through a checklist; the model decides how: trains for a place nearby and flights for one far away,
entry rules where a border is checked, an exchange rate where another money is used. Nothing is booked that exceeds the
budget.

Every tool that writes appends one line to a ledger, a file that proves what really happened: the one named by the
environment variable TRIP_PLANNER_LEDGER, else `trip-planner-<user id>.jsonl` in the folder for temporary files.

Run it: `python trip_planner.py`.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agent_tt
from sample_model import Answer, Message, ask_for, hosted, requested, say, takes, tool_message

if TYPE_CHECKING:
    from collections.abc import Callable

State = dict[str, Any]
Facts = dict[str, Any]

MODEL = {"model": "rules-1", "temperature": 0.0, "max_tokens": 300, "prompt_version": "planner-7"}

TRAIN_REACH_KM = 700
GOOD_RATING = 4.0


@dataclass(frozen=True, slots=True)
class Place:
    """A place one can travel to from Hamburg, and its hotels as (name, euros a night, rating of 5)."""

    country: str
    borders: str
    currency: str
    km: int
    weather: str
    hotels: tuple[tuple[str, int, float], ...]


PLACES = {
    "Lisbon": Place("PT", "open", "EUR", 2200, "22 °C, dry", (("Pensão Graça", 64, 3.4), ("Casa do Bairro", 82, 4.5))),
    "Munich": Place(
        "DE", "open", "EUR", 610, "17 °C, showers", (("Hotel Isar", 96, 4.1), ("Am Viktualienmarkt", 131, 4.7))
    ),
    "Prague": Place("CZ", "open", "CZK", 490, "18 °C, cloudy", (("Penzion Vltava", 55, 4.2), ("U Zvonu", 90, 4.6))),
    "London": Place(
        "GB", "checked", "GBP", 720, "16 °C, rain", (("Bloomsbury Rooms", 118, 4.0), ("The Lamb", 160, 4.4))
    ),
    "Tokyo": Place("JP", "checked", "JPY", 9000, "23 °C, humid", (("Asakusa Inn", 71, 3.9), ("Yanaka House", 88, 4.8))),
}

EUROS_FOR_ONE = {"CZK": 0.04, "GBP": 1.17, "JPY": 0.0061}


@agent_tt.tool(effect="read")
def find_traveller(name: str) -> dict[str, Any]:
    """A traveller's profile."""
    takes(0.08, 0.15)
    return {"name": name, "passport": "DE", "card": "card_4417", "seat": "window"}


@agent_tt.tool(effect="read")
def find_place(name: str) -> dict[str, Any]:
    """Where a place is.

    Raises:
        LookupError: the agency does not go there.
    """
    takes(0.1, 0.2)
    if name not in PLACES:
        raise LookupError(f"no place called {name!r}: there are {', '.join(PLACES)}")
    place = PLACES[name]
    return {
        "name": name,
        "country": place.country,
        "borders": place.borders,
        "currency": place.currency,
        "km": place.km,
    }


@agent_tt.tool(effect="read")
def check_weather(place: str, month: int) -> dict[str, Any]:
    """What the weather usually is like in a month (1 to 12)."""
    takes(0.15, 0.4)
    return {"place": place, "month": month, "usually": PLACES[place].weather}


@agent_tt.tool(effect="read")
def entry_rules(country: str, passport: str) -> dict[str, Any]:
    """What a traveller needs to be let in."""
    takes(0.15, 0.4)
    papers = {"GB": "an electronic travel authorisation", "JP": "nothing but the passport, for up to 90 days"}
    return {"country": country, "passport": passport, "needs": papers.get(country, "an identity card")}


@agent_tt.tool(effect="read")
def exchange_rate(currency: str) -> dict[str, Any]:
    """How many euros one unit of a currency costs."""
    takes(0.1, 0.25)
    return {"currency": currency, "euros": EUROS_FOR_ONE[currency]}


@agent_tt.tool(effect="read")
def search_flights(to: str, day: str) -> list[dict[str, Any]]:
    """Flights on a day, there and back, cheapest first."""
    takes(0.25, 0.4)
    fare = 40 + PLACES[to].km * 8 // 100
    return [
        {"id": f"HF{number}", "to": to, "day": day, "departs": departs, "euros": fare * percent // 100}
        for number, departs, percent in ((411, "06:10", 100), (417, "11:45", 120), (423, "18:30", 135))
    ]


@agent_tt.tool(effect="read")
def search_trains(to: str, day: str) -> list[dict[str, Any]]:
    """Trains on a day, there and back, cheapest first."""
    takes(0.25, 0.4)
    fare = 20 + PLACES[to].km * 11 // 100
    return [
        {"id": f"EC{number}", "to": to, "day": day, "departs": departs, "euros": fare * percent // 100}
        for number, departs, percent in ((171, "05:51", 100), (175, "08:51", 115), (179, "14:51", 110))
    ]


@agent_tt.tool(effect="read")
def search_hotels(place: str, nights: int) -> list[dict[str, Any]]:
    """Hotels with a free room, cheapest first."""
    takes(0.2, 0.4)
    return [{"name": name, "euros": euros * nights} for name, euros, _ in PLACES[place].hotels]


@agent_tt.tool(effect="read")
def hotel_rating(place: str, hotel: str) -> dict[str, Any]:
    """What guests think of a hotel, from 0 to 5."""
    takes(0.08, 0.2)
    rating = next(rating for name, _, rating in PLACES[place].hotels if name == hotel)
    return {"hotel": hotel, "rating": rating}


@agent_tt.tool(effect="write")
def book_flight(flight: str, traveller: str) -> dict[str, Any]:
    """Book a flight."""
    return _enter("book_flight", flight=flight, traveller=traveller)


@agent_tt.tool(effect="write")
def book_train(train: str, traveller: str) -> dict[str, Any]:
    """Book a train."""
    return _enter("book_train", train=train, traveller=traveller)


@agent_tt.tool(effect="write")
def book_hotel(hotel: str, arrival: str, nights: int) -> dict[str, Any]:
    """Book a room."""
    return _enter("book_hotel", hotel=hotel, arrival=arrival, nights=nights)


@agent_tt.tool(effect="write")
def charge_card(card: str, euros: int) -> dict[str, Any]:
    """Take money from a card."""
    return _enter("charge_card", card=card, euros=euros)


TOOLS: dict[str, Callable[..., Any]] = {
    tool.__name__: tool
    for tool in (
        find_traveller,
        find_place,
        check_weather,
        entry_rules,
        exchange_rate,
        search_flights,
        search_trains,
        search_hotels,
        hotel_rating,
        book_flight,
        book_train,
        book_hotel,
        charge_card,
    )
}


@agent_tt.llm(model="rules-1")
@hosted
def travel_model(messages: list[Message], item: str, trip: dict[str, Any], facts: Facts) -> Answer:
    """The policy: which tool settles this item of the checklist, given what is known; or the closing words."""
    place, there = facts.get("place", {}), trip["destination"]
    departs = trip["departs"].isoformat()
    by_train = place.get("km", 0) <= TRAIN_REACH_KM
    match item:
        case "traveller":
            return ask_for(messages, "find_traveller", name=trip["traveller"])
        case "place":
            return ask_for(messages, "find_place", name=there)
        case "weather":
            return ask_for(messages, "check_weather", place=there, month=trip["departs"].month)
        case "papers":
            passport = facts["traveller"]["passport"]
            return ask_for(messages, "entry_rules", country=place["country"], passport=passport)
        case "money":
            return ask_for(messages, "exchange_rate", currency=place["currency"])
        case "getting there":
            tool, why = (
                ("search_trains", "near enough for a train") if by_train else ("search_flights", "too far for a train")
            )
            return ask_for(messages, tool, f"{there} is {place['km']} km away: {why}.", to=there, day=departs)
        case "hotels":
            return ask_for(messages, "search_hotels", place=there, nights=trip["nights"])
        case "rating":
            hotel = next(offer["name"] for offer in facts["hotels"] if offer["name"] not in facts["ratings"])
            return ask_for(messages, "hotel_rating", place=there, hotel=hotel)
        case "book travel":
            ticket, traveller = facts["getting there"][0]["id"], trip["traveller"]
            if by_train:
                return ask_for(messages, "book_train", train=ticket, traveller=traveller)
            return ask_for(messages, "book_flight", flight=ticket, traveller=traveller)
        case "book hotel":
            return ask_for(messages, "book_hotel", hotel=chosen_hotel(facts), arrival=departs, nights=trip["nights"])
        case "pay":
            return ask_for(messages, "charge_card", card=facts["traveller"]["card"], euros=price(facts))
        case _:
            return say(messages, closing_words(trip, facts))


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the checklist: what it is called, and whether it is still open given what is known."""

    name: str
    is_open: Callable[[Facts], bool]


CHECKLIST = (
    Item("traveller", lambda facts: "traveller" not in facts),
    Item("place", lambda facts: "place" not in facts),
    Item("weather", lambda facts: "weather" not in facts),
    Item("papers", lambda facts: facts["place"]["borders"] == "checked" and "papers" not in facts),
    Item("money", lambda facts: facts["place"]["currency"] != "EUR" and "money" not in facts),
    Item("getting there", lambda facts: "getting there" not in facts),
    Item("hotels", lambda facts: "hotels" not in facts),
    Item("rating", lambda facts: chosen_hotel(facts) is None and len(facts["ratings"]) < len(facts["hotels"])),
    Item("book travel", lambda facts: "book travel" not in facts),
    Item("book hotel", lambda facts: "book hotel" not in facts),
    Item("pay", lambda facts: "pay" not in facts),
)

BOOKING = ("book travel", "book hotel", "pay")


def main(state: State | None = None) -> State:
    """Plan, book and pay one trip."""
    state = state or new_trip()
    with agent_tt.record("trip-planner", state=state, model=MODEL, version="3") as run:
        while state["answer"] is None:
            forget_other_places(state)
            item = next_item(state)
            with run.step(item, state) as step:
                answer = travel_model(state["messages"], item, state["trip"], state["facts"])
                state["messages"].append(answer["message"])
                request = requested(answer)
                if request is None:
                    step.decision = "done"
                    state["answer"] = answer["message"]["content"]
                    continue
                tool, arguments = request
                step.decision = tool
                try:
                    result = TOOLS[tool](**arguments)
                except Exception as error:  # noqa: BLE001  whatever stops a tool is an answer to the model
                    result = {"error": str(error)}
                    state["facts"]["problem"] = f"{tool}: {error}"
                else:
                    learn(state, item, result)
                state["messages"].append(tool_message(answer, result))
    return state


def forget_other_places(state: State) -> None:
    """What was found out about another destination does not hold for this one."""
    destination = state["trip"]["destination"]
    if state["facts"]["about"] != destination:
        state["facts"] = {"about": destination, "ratings": {}}


def next_item(state: State) -> str:
    """The first open line of the checklist; `reply` when all are done, something failed, or it costs too much."""
    facts = state["facts"]
    if "problem" in facts:
        return "reply"
    item = next((item.name for item in CHECKLIST if item.is_open(facts)), "reply")
    too_dear = item in BOOKING and price(facts) > state["trip"]["budget_euros"]
    return "reply" if too_dear else item


def learn(state: State, item: str, result: Any) -> None:
    """Keep what a tool came back with."""
    if item == "rating":
        state["facts"]["ratings"][result["hotel"]] = result["rating"]
    else:
        state["facts"][item] = result
    if item in BOOKING:
        state["bookings"].append(result["reference"])


def chosen_hotel(facts: Facts) -> str | None:
    """The cheapest hotel with a good rating; the best one where all have been rated and none is good."""
    ratings: dict[str, float] = facts["ratings"]
    good = [offer["name"] for offer in facts["hotels"] if ratings.get(offer["name"], 0.0) >= GOOD_RATING]
    if good:
        return str(good[0])
    return max(ratings, key=ratings.__getitem__) if len(ratings) == len(facts["hotels"]) else None


def price(facts: Facts) -> int:
    """Euros for the cheapest way there and back and the chosen hotel."""
    hotel = chosen_hotel(facts)
    room = next(offer["euros"] for offer in facts["hotels"] if offer["name"] == hotel)
    return int(facts["getting there"][0]["euros"] + room)


def closing_words(trip: dict[str, Any], facts: Facts) -> str:
    """What the traveller is told in the end."""
    if "problem" in facts:
        return f"Your trip to {trip['destination']} could not be booked: {facts['problem']}."
    if "pay" not in facts:
        return (
            f"Your trip would cost {price(facts)} euros, and you can spend {trip['budget_euros']}: nothing is booked."
        )
    back = trip["departs"] + timedelta(days=trip["nights"])
    there = facts["getting there"][0]
    return (
        f"You go to {trip['destination']} on {trip['departs']:%d %B} with {there['id']} at {there['departs']}, stay "
        f"{trip['nights']} nights at {chosen_hotel(facts)} and are back on {back:%d %B}. {price(facts)} euros are paid."
    )


def new_trip() -> State:
    """What the agent starts from."""
    return {
        "messages": [
            {"role": "system", "content": "You plan trips from Hamburg, book them within the budget and pay."},
            {"role": "user", "content": "Please book me four nights in Lisbon from 14 May. I can spend 800 euros."},
        ],
        "trip": {
            "traveller": "Mira Olsen",
            "destination": "Lisbon",
            "departs": date(2026, 5, 14),
            "nights": 4,
            "budget_euros": 800,
        },
        "facts": {"about": "Lisbon", "ratings": {}},
        "bookings": [],
        "answer": None,
    }


def ledger() -> Path:
    """The file that every writing tool adds a line to."""
    named = os.environ.get("TRIP_PLANNER_LEDGER")
    return Path(named) if named else Path(tempfile.gettempdir()) / f"trip-planner-{os.getuid()}.jsonl"


def _enter(tool: str, **arguments: object) -> dict[str, Any]:
    takes(0.8, 1.6)
    with ledger().open("a", encoding="utf-8") as file:
        file.write(json.dumps({"tool": tool, **arguments}) + "\n")
    return {"status": "confirmed", "reference": f"{tool.upper()}-{sum(map(ord, str(arguments))):05d}"}


if __name__ == "__main__":
    main()
