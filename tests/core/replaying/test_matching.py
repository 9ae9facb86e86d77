"""Which recorded lane a lane goes along that has no namesake: one beside it, of its function, that was answered."""

from __future__ import annotations

import pytest

from agent_tt.model import Call, ErrorInfo, Run
from agent_tt.replaying.tape.matching import Match, Matching
from agent_tt.replaying.tape.tape import Tape, lay_out

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


def test_jobs_of_a_lane_that_has_another_number_now_go_along_those_of_their_own_numbers():
    calls = [call(1, "main/work.8/job.0"), call(2, "main/work.8/job.1"), call(3, "main/work.8/job.2")]
    asked_now = ("main/work.7/job.1", "main/work.7/job.2", "main/work.7/job.0")
    assert chosen(calls, *asked_now) == ["main/work.8/job.1", "main/work.8/job.2", "main/work.8/job.0"]


def test_once_one_job_of_a_lane_went_along_another_lane_those_beside_it_do_too():
    calls = [call(1, "main/work.5/job.0"), call(2, "main/work.8/job.3"), call(3, "main/work.8/job.0")]
    assert chosen(calls, "main/work.7/job.3", "main/work.7/job.0") == ["main/work.8/job.3", "main/work.8/job.0"]


def test_a_question_that_was_never_answered_is_the_last_choice():
    calls = [call(1, "main/ask.0", error=CANCELLED), call(2, "main/ask.1"), call(3, "main/ask.2", error=CANCELLED)]
    assert chosen(calls, "main/deeper.0", "main/deeper.1") == ["main/ask.1", "main/ask.0"]


def test_the_namesake_is_taken_even_if_it_was_never_answered():
    calls = [call(1, "main/ask.0", error=CANCELLED), call(2, "main/ask.1")]
    assert chosen(calls, "main/ask.0", "main/ask.1") == ["main/ask.0", "main/ask.1"]


def test_an_ordinal_that_no_recorder_counted_to_is_a_name():
    calls = [call(1, f"main/ask.{'9' * 5000}"), call(2, "main/ask.2")]
    assert chosen(calls, "main/ask.1") == ["main/ask.2"]


def asked(number: int, lane: str, signature: str, place: int = 1) -> tuple[Call, list]:
    return Call(number, 1, "llm", "ask", "ok", lane=lane, lane_seq=place, signature=signature), []


def matching(*calls: tuple[Call, list]) -> tuple[Matching, Tape]:
    tape = lay_out(Run("r", "r", "succeeded", 0), list(calls))
    return Matching(tape), tape


def serve(found: Match) -> Match:
    assert found.call is not None
    found.call.served = True
    return found


def facts(found: Match) -> tuple[str, int | None, str, list[int], bool, int]:
    number = None if found.call is None else found.call.call.step
    return found.lane.id, number, found.how, [call.call.step for call in found.skipped], found.moved, found.alternatives


def test_a_lane_goes_along_the_recorded_one_of_its_id_from_call_to_call():
    match, tape = matching(asked(1, "main", "a", 1), asked(2, "main", "b", 2), asked(3, "main", "a", 3))
    assert facts(serve(match.find("main", "a"))) == ("main", 1, "next", [], False, 0)
    assert facts(serve(match.find("main", "b"))) == ("main", 2, "next", [], False, 0)
    assert facts(serve(match.find("main", "a"))) == ("main", 3, "next", [], False, 0)
    assert facts(match.find("main", "a")) == ("main", None, "next", [], False, 0)
    assert match.find("main", "a").lane is tape.lanes["main"]


def test_a_later_call_of_the_lane_answers_and_the_unserved_ones_before_it_are_named():
    match, _ = matching(*(asked(number, "main", signature, number) for number, signature in enumerate("abcd", 1)))
    serve(match.find("main", "a"))
    assert facts(serve(match.find("main", "d"))) == ("main", 4, "later", [2, 3], False, 0)
    assert facts(serve(match.find("main", "c"))) == ("main", 3, "later", [2], False, 0)


def test_a_call_of_a_lane_beside_it_answers_and_every_other_that_was_asked_the_same_is_counted():
    beside = [asked(2, "main/b.0", "q", 1), asked(3, "main/c.0", "q", 1), asked(4, "main/c.0", "q", 2)]
    match, _ = matching(asked(1, "main/a.0", "a", 1), *beside)
    serve(match.find("main/a.0", "a"))
    assert facts(serve(match.find("main/a.0", "q"))) == ("main/a.0", 2, "sibling", [], False, 2)
    # The one that was served may have been meant for this one as well.
    assert facts(serve(match.find("main/a.0", "q"))) == ("main/a.0", 3, "sibling", [], False, 2)
    assert facts(serve(match.find("main/a.0", "q"))) == ("main/a.0", 4, "sibling", [], False, 2)
    assert facts(match.find("main/a.0", "q")) == ("main/a.0", None, "next", [], False, 0)


@pytest.mark.parametrize(("asking", "other"), [("main/a.0", "main/b.0/c.0"), ("main", "other"), ("main", "main/a.0")])
def test_no_call_of_a_lane_that_is_not_beside_it_answers(asking: str, other: str):
    match, _ = matching(asked(1, asking, "a"), asked(2, other, "b", 1), asked(3, other, "q", 2))
    serve(match.find(asking, "a"))
    assert facts(match.find(asking, "q")) == (asking, None, "next", [], False, 0)


def test_a_lane_of_another_id_says_that_it_moved_once_and_how_many_others_fitted_as_well():
    match, tape = matching(
        *(asked(number, f"main/ask.{number}", "q") for number in (1, 2, 3)), asked(4, "main/ask.1", "r", 2)
    )
    assert facts(serve(match.find("main/ask.9", "q"))) == ("main/ask.1", 1, "next", [], True, 2)
    assert facts(serve(match.find("main/ask.9", "r"))) == ("main/ask.1", 4, "next", [], False, 0)
    assert facts(serve(match.find("main/ask.8", "q"))) == ("main/ask.2", 2, "next", [], True, 1)
    assert facts(serve(match.find("main/ask.7", "q"))) == ("main/ask.3", 3, "next", [], True, 0)
    assert [lane.is_bound for lane in tape.lanes.values()] == [True] * 3


def test_a_lane_that_nothing_was_recorded_of_is_its_own_and_has_no_answers():
    match, _ = matching(asked(1, "main", "a"))
    assert facts(match.find("main/new.0", "z")) == ("main/new.0", None, "next", [], False, 0)


def test_the_recorded_lane_of_its_id_is_kept_when_nothing_begins_with_its_question():
    match, _ = matching(asked(1, "main/a.0", "a", 1), asked(2, "main/a.0", "b", 2), asked(3, "main/b.0", "c"))
    assert facts(match.find("main/a.0", "z")) == ("main/a.0", None, "next", [], False, 0)
    assert facts(match.find("main/a.0", "a")) == ("main/a.0", 1, "next", [], False, 0)


def test_the_recorded_lane_of_its_id_is_not_taken_from_the_one_that_goes_along_it():
    match, tape = matching(asked(1, "main/a.0", "q", 1), asked(2, "main/a.0", "r", 2))
    assert serve(match.find("main/b.0", "q")).lane is tape.lanes["main/a.0"]
    found = match.find("main/a.0", "r")
    assert found.lane is not tape.lanes["main/a.0"]
    assert facts(found) == ("main/a.0", 2, "sibling", [], False, 0)


def test_where_a_lane_is_or_would_be_is_known_without_binding_it():
    match, tape = matching(asked(1, "main/a.0", "q"), asked(2, "main/b.0", "r"))
    assert match.bound("main/a.0") is tape.lanes["main/a.0"]
    assert match.bound("main/z.0") is None
    assert match.along("main/z.0", "r") is tape.lanes["main/b.0"]
    assert match.along("main/a.0", "q") is tape.lanes["main/a.0"]
    assert not any(lane.is_bound for lane in tape.lanes.values())
    assert match.bound("main/z.0") is None
    serve(match.find("main/z.0", "r"))
    assert match.bound("main/z.0") is tape.lanes["main/b.0"]
    assert match.along("main/z.0", "q") is tape.lanes["main/b.0"]


def test_a_lane_is_beside_another_of_its_parent_but_main_is_beside_none():
    match, _ = matching(asked(1, "one", "a"), asked(2, "other", "b", 1), asked(3, "other", "q", 2))
    serve(match.find("one", "a"))
    assert match.find("one", "q").call is None


def test_a_lane_whose_calls_were_all_given_to_one_beside_it_has_none_left():
    match, _ = matching(asked(1, "main/a.0", "a"), asked(2, "main/b.0", "q"))
    serve(match.find("main/a.0", "a"))
    serve(match.find("main/a.0", "q"))
    assert facts(match.find("main/b.0", "q")) == ("main/b.0", None, "next", [], False, 0)
