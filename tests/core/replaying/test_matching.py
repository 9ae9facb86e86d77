"""Which recorded lane a lane goes along that has no namesake: one beside it, of its function, that was answered."""

from __future__ import annotations

from agent_tt.model import Call, ErrorInfo, Run
from agent_tt.replaying.matching import Matching
from agent_tt.replaying.tape import lay_out

CANCELLED = ErrorInfo("asyncio.exceptions:CancelledError", "")


def call(number: int, lane: str, *, error: ErrorInfo | None = None) -> tuple[Call, list]:
    status, meta = ("ok", {}) if error is None else ("error", {"cancelled": True})
    return Call(1, number, "llm", "ask", status, lane=lane, lane_seq=1, signature="q", error=error, meta=meta), []


def chosen(calls: list[tuple[Call, list]], *lanes: str) -> list[str]:
    matching = Matching(lay_out(Run("r", "r", "succeeded", 0), calls))
    return [matching.find(lane, "q").lane.id for lane in lanes]


def test_a_lane_of_the_same_function_comes_before_an_earlier_one_of_another():
    calls = [call(1, "main/ask.3"), call(2, "main/one.0"), call(3, "main/one.1")]
    assert chosen(calls, "main/one.8", "main/one.9", "main/one.10") == ["main/one.0", "main/one.1", "main/ask.3"]


def test_a_lane_beside_it_comes_before_one_of_the_same_function_elsewhere():
    calls = [call(1, "main/team.0/one.0"), call(2, "main/team.1/ask.0")]
    assert chosen(calls, "main/team.1/one.0") == ["main/team.1/ask.0"]


def test_a_question_that_was_never_answered_is_the_last_choice():
    calls = [call(1, "main/ask.0", error=CANCELLED), call(2, "main/ask.1"), call(3, "main/ask.2", error=CANCELLED)]
    assert chosen(calls, "main/deeper.0", "main/deeper.1") == ["main/ask.1", "main/ask.0"]


def test_the_namesake_is_taken_even_if_it_was_never_answered():
    calls = [call(1, "main/ask.0", error=CANCELLED), call(2, "main/ask.1")]
    assert chosen(calls, "main/ask.0", "main/ask.1") == ["main/ask.0", "main/ask.1"]


def test_an_ordinal_that_no_recorder_counted_to_is_a_name():
    calls = [call(1, f"main/ask.{'9' * 5000}"), call(2, "main/ask.2")]
    assert chosen(calls, "main/ask.1") == ["main/ask.2"]
