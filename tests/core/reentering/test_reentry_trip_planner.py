"""Each kind of edit on the sample `trip-planner`, whose steps and state are named: by restore where that does, else by
replay."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.core.reentering.support import Project
from tests.patience import PATIENCE_SECONDS

from agent_tt.model import Edit

pytestmark = pytest.mark.warm

SAMPLES = Path(__file__).parents[3] / "sample_runs"
TRIP = "trip-planner"


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The trip, recorded once: 11 steps, with three entries in the ledger."""
    made = Project(tmp_path_factory.mktemp("trip"))
    for name in ("trip_planner.py", "sample_model.py"):
        shutil.copy(SAMPLES / name, made.folder)
    environment = {**os.environ, "AGENT_TT_STORE": str(made.store_path), "TRIP_PLANNER_LEDGER": str(ledger(made))}
    command = [sys.executable, "trip_planner.py"]
    subprocess.run(command, cwd=made.folder, env=environment, check=True, timeout=PATIENCE_SECONDS)
    assert len(ledger(made).read_text().splitlines()) == 3
    return made


@pytest.fixture(autouse=True)
def nothing_is_booked(trip: Project, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("TRIP_PLANNER_LEDGER", str(ledger(trip)))
    return None


def ledger(project: Project) -> Path:
    return project.folder / "ledger"


def tools(project: Project, run: object) -> list[str]:
    return [call.name for call in project.calls(run) if call.kind == "tool"]  # type: ignore[arg-type]


def test_a_result_is_edited_in_a_part_of_it(trip: Project) -> None:
    before = ledger(trip).read_text()
    fork = trip.forked(TRIP, results={"4[0].euros": 700})
    assert (fork.way_back_in, fork.fork_step, fork.status) == ("replay", 3, "succeeded")
    assert str(trip.state(fork)["answer"]).endswith("you can spend 800: nothing is booked.")  # type: ignore[index]
    assert tools(trip, fork) == ["search_flights", "search_hotels", "hotel_rating", "hotel_rating"]
    assert ledger(trip).read_text() == before


def test_an_error_is_given_in_place_of_a_result(trip: Project) -> None:
    fork = trip.forked(TRIP, errors={"5": "LookupError: no hotel has a room"})
    assert trip.state(fork)["answer"] == (  # type: ignore[index]
        "Your trip to Lisbon could not be booked: search_hotels: no hotel has a room."
    )
    assert fork.steps == 6


def test_the_models_answer_is_edited_as_words_and_as_a_tool_call(trip: Project) -> None:
    fork = trip.forked(TRIP, answers={"3": "No trip today."})
    assert (fork.steps, trip.state(fork)["answer"]) == (3, "No trip today.")  # type: ignore[index]
    asked = [{"name": "check_weather", "arguments": {"place": "Prague", "month": 1}}]
    other = trip.forked(TRIP, answers={"3": asked})
    assert trip.state(other, 3)["facts"]["weather"]["place"] == "Prague"  # type: ignore[index]
    message = trip.state(other, 3)["messages"][-2]  # type: ignore[index]
    assert message["tool_calls"][0]["id"] == trip.state(trip_run(trip), 3)["messages"][-2]["tool_calls"][0]["id"]  # type: ignore[index]


def trip_run(project: Project) -> object:
    from contextlib import closing

    with closing(project.store) as store:
        return store.run(TRIP)


@pytest.mark.parametrize("by", ["restore", "replay"])
def test_state_messages_and_steps_are_edited_either_way(trip: Project, by: str) -> None:
    edits = [
        Edit("delete", "messages[3]"),
        Edit("mute", "", target="step", step=3),
        Edit("set", "trip.budget_euros", 100),
    ]
    fork = trip.forked(TRIP, 4, edits, by=by)
    assert (fork.way_back_in, fork.status) == (by, "succeeded")
    state = trip.state(fork, 4)
    assert "weather" not in state["facts"]  # type: ignore[index]
    assert len(state["messages"]) == 10 - 1 - 2  # type: ignore[index]
    assert "check_weather" in tools(trip, fork)  # it is found out anew
    assert str(trip.state(fork)["answer"]).endswith("you can spend 100: nothing is booked.")  # type: ignore[index]


@pytest.mark.parametrize("by", ["restore", "replay"])
def test_later_requests_are_edited_either_way(trip: Project, by: str) -> None:
    fork = trip.forked(TRIP, 9, system="Hurry.", parameters={"temperature": 0}, by=by)
    asked = [call for call in trip.calls(fork) if call.kind == "llm"]
    assert {call.args["messages"][0]["content"] for call in asked} == {"Hurry."}  # type: ignore[index,call-overload]
    assert any("takes no parameter temperature" in note for note in trip.notes(fork))
    kept = trip.state(fork)["messages"][0]["content"]  # type: ignore[index]
    assert kept.startswith("You plan trips")  # what the agent holds is its own


def test_a_tool_that_is_allowed_is_called_once(trip: Project) -> None:
    before = len(ledger(trip).read_text().splitlines())
    fork = trip.forked(TRIP, 9, allow=["charge_card"], by="replay")
    assert (fork.status, fork.steps) == ("succeeded", 11)
    assert len(ledger(trip).read_text().splitlines()) == before + 1
