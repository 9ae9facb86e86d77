"""What is watched: every step at which it holds, as a scan of all states says, also in runs that go on."""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.interop import graphs
from tests.core.memory_store import Did, MemorySource
from tests.core.querying.test_querying_watch import by_scan
from tests.core.store.recordings import begin, call, new_store, step

from agent_tt.errors import InvalidExpression, NotFound, ReadOnlySource, UsageError
from agent_tt.forking.breaking import StateBreaks
from agent_tt.model import NewStep, StepEnd
from agent_tt.querying.expressions import parse
from agent_tt.querying.watches import live_watch as watched_module
from agent_tt.querying.watches.kept_watches import (
    asks_moments,
    change_watch,
    find_watch,
    keep_watch,
    kept_watches,
    remove_watch,
)
from agent_tt.querying.watches.live_watch import LiveWatch
from agent_tt.querying.watches.reasons import reasons, reasons_in_words
from agent_tt.querying.watches.step_ranges import StepRanges
from agent_tt.querying.watches.watchpoints import Watchpoints
from agent_tt.sources import marks_of, open_source
from agent_tt.store import open_store


def look_at_all(watched: LiveWatch, source: Any, run_id: str) -> list[int]:
    while watched.look(source.run(run_id)):
        pass
    return list(watched.found.steps())


@settings(max_examples=60)
@given(st.lists(st.integers(0, 30)), st.integers(-1, 31))
def test_stretches_are_a_set_of_steps(added, here):
    found = StepRanges()
    for number in added:
        found.add(number)
    known = sorted(set(added))
    assert list(found.steps()) == known
    assert (len(found), found.first, found.last) == (len(known), min(known, default=None), max(known, default=None))
    assert (here in found) is (here in known)
    assert found.after(here) == next((each for each in known if each > here), None)
    assert found.before(here) == next((each for each in reversed(known) if each < here), None)
    begins = [each for each in known if each - 1 not in known]
    assert [first for first, _ in found.spans()] == begins
    assert found.begin_after(here) == next((each for each in begins if each > here), None)
    assert found.begin_before(here) == next((each for each in reversed(begins) if each < here), None)
    assert found.any_in(here, here + 3) is any(here <= each <= here + 3 for each in known)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9))
def test_the_steps_are_those_of_a_scan_after_each_growth_and_breakpoints_stop_where_they_begin(
    tmp_path_factory, monkeypatch, seed
):
    choose = random.Random(seed)
    monkeypatch.setattr(watched_module, "_FIRST_PAGE", choose.choice([1, 3, 64]))
    store = new_store(tmp_path_factory.mktemp("watched"))
    state: dict[str, Any] = {"n": choose.randrange(4), "said": []}
    writer = begin(store, state)
    texts = ["state.n > 1", "changed(state.n)", "len(state.said) > 2", "not state.n"]
    watched = {text: LiveWatch(store, writer.run_id, text) for text in texts}
    still_open: list[int] = []
    for _ in range(choose.randrange(1, 4)):
        for _ in range(choose.randrange(1, 25)):
            state["n"] = choose.randrange(4)
            state["said"] += [choose.randrange(9)] * choose.randrange(2)
            if choose.random() < 0.05:
                still_open.append(writer.open_step(NewStep("long")))
            elif still_open and choose.random() < 0.2:
                writer.close_step(still_open.pop(0), StepEnd("ok"), state, track="main")
            else:
                step(writer, state)
        for text, each in watched.items():
            found = look_at_all(each, store, writer.run_id)
            expected = [number for number in by_scan(store, writer.run_id, text) if number not in still_open]
            assert found == expected, text
            assert each.looked == store.step_count(writer.run_id)
    for number in still_open:
        writer.close_step(number, StepEnd("ok"), state, track="main")
    writer.finish("succeeded")
    last = store.step_count(writer.run_id)
    for text, each in watched.items():
        held = look_at_all(each, store, writer.run_id)
        assert held == by_scan(store, writer.run_id, text), text
        assert each.holds_now(last) is (last in held)
        at_each = text.startswith("changed")
        stops = [number for number in held if number and (at_each or number - 1 not in held)]
        here = choose.randrange(last + 1)
        assert each.stop_after(here) == next((number for number in stops if number > here), None)
        assert each.stop_before(here) == next((number for number in reversed(stops) if number < here), None)
        assert each.stops_at(here) is (here in stops)
    store.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state.budget < 0", False),
        ("exists(state.plan) and not state.done", False),
        ("changed(state.plan)", True),
        ('tool == "charge"', True),
        ("error", True),
        ("state.n > 1 or (lower(name) =~ 'pl' and true)", True),
    ],
)
def test_only_what_asks_the_state_alone_goes_on_to_hold(text, expected):
    assert asks_moments(parse(text)) is expected


def test_in_a_lane_with_a_state_of_its_own_it_begins_where_it_did_not_hold_there_before(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    lanes = {"main": [5, 6, 0, 7], "other": [0, 8, 9, 0]}
    for turn in range(4):
        for track, values in lanes.items():
            number = writer.open_step(NewStep("go", lane=track))
            writer.close_step(number, StepEnd("ok"), {"n": values[turn]}, track=track)
    watched = LiveWatch(store, writer.run_id, "state.n > 1")
    assert look_at_all(watched, store, writer.run_id) == [1, 3, 4, 6, 7]
    assert list(watched.stops()) == [1, 4, 7]
    assert [watched.stop_before(number) for number in (8, 7, 4, 1)] == [7, 4, 1, None]
    assert [number for number in range(9) if watched.stops_at(number)] == [1, 4, 7]
    breaks = StateBreaks(store, store.run(writer.run_id), ["state.n > 1"])
    assert [number for number in range(1, 9) if breaks.why(number)] == [1, 4, 7]
    store.close()


def test_work_that_was_done_is_not_done_again(tmp_path, monkeypatch):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for number in range(100):
        step(writer, {"n": number})
    watched = LiveWatch(store, writer.run_id, "state.n == 70")
    assert look_at_all(watched, store, writer.run_id) == [71]
    asked = []
    read = store.steps
    monkeypatch.setattr(store, "steps", lambda run, start=1, stop=None: asked.append(start) or read(run, start, stop))
    step(writer, {"n": 70})
    assert look_at_all(watched, store, writer.run_id) == [71, 101]
    assert min(asked) == 101
    store.close()


def test_a_page_that_was_cancelled_is_looked_at_again(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    for number in range(10):
        step(writer, {"n": number})
    watched = LiveWatch(store, writer.run_id, "state.n > 4")
    answers = iter([False] * 7)
    assert watched.look(store.run(writer.run_id), lambda: next(answers, True)) is False
    assert (watched.looked, len(watched.found), watched.error) == (-1, 0, None)
    assert look_at_all(watched, store, writer.run_id) == [6, 7, 8, 9, 10]
    store.close()


def test_what_takes_too_long_is_given_up_with_the_reason(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"text": "a" * 200})
    for number in range(200):
        step(writer, {"text": "a" * 200, "n": number})
    ticks = iter(range(10**9))
    slow = LiveWatch(store, writer.run_id, "state.n > 4", clock=lambda: next(ticks) / 20)
    look_at_all(slow, store, writer.run_id)
    assert slow.error.why.startswith("it takes too long: given up after 64 steps")
    assert slow.look(store.run(writer.run_id)) is False
    hostile = LiveWatch(store, writer.run_id, 'state.text =~ "(((a{1,30}){1,30})b|c){0,500}$"')
    look_at_all(hostile, store, writer.run_id)
    assert isinstance(hostile.error, InvalidExpression)
    unreadable = LiveWatch(store, writer.run_id, "__import__('os')")
    assert isinstance(unreadable.error, InvalidExpression)
    assert look_at_all(unreadable, store, writer.run_id) == []
    store.close()


# ---------------------------------------------------------------- kept


def test_watches_are_kept_changed_and_taken_away(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    run = writer.run_id
    first = keep_watch(store, run, " state.n > 1 ", name="much", breaks=True)
    second = keep_watch(store, run, "error")
    assert [(each.letter, each.where, each.label) for each in kept_watches(store, run)] == [
        ("A", "state.n > 1", "much"),
        ("B", "error", "B"),
    ]
    with pytest.raises(UsageError, match="another watch of this run is called 'much'"):
        keep_watch(store, run, "state.n", name="much")
    with pytest.raises(InvalidExpression):
        keep_watch(store, run, "state.n >")
    assert store.notes(run)[0].kind == "watch"
    changed = change_watch(store, run, type(second)(second.id, "B", "state.n > 2", "more", breaks=True, on=False))
    assert kept_watches(store, run) == [first, changed]
    assert find_watch(kept_watches(store, run), "more") == find_watch(kept_watches(store, run), "B") == changed
    assert find_watch(kept_watches(store, run), "state.n > 1") == first
    remove_watch(store, first)
    remove_watch(store, first)
    with pytest.raises(NotFound, match="much is gone"):
        change_watch(store, run, first)
    assert keep_watch(store, run, "error").letter == "A"
    store.close()


def test_what_a_file_says_of_watches_is_never_trusted(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    step(writer, {"n": 1})
    run = writer.run_id
    bodies = [
        "no json",
        '{"where": 3}',
        '{"letter": "A", "where": "state.n"}',
        '{"letter": "A", "where": "state.n > 0", "name": "%s", "break": 1, "off": "no"}' % ("x" * 500),
        '{"letter": "ZZ", "where": "%s"}' % ("(" * 100_000),
        '{"letter": "\\u001b[31m", "where": "changed("}',
    ]
    for body in [*bodies, *['{"where": "error"}'] * 60]:
        store.add_note(run, None, "watch", body)
    found = kept_watches(store, run)
    assert [each.letter for each in found] == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert (found[1].name, found[1].breaks, found[1].on) == (None, False, True)
    with pytest.raises(UsageError, match="26 watches are kept"):
        keep_watch(store, run, "state.n")
    board = Watchpoints(store, run)
    assert board.read()
    assert not board.read()
    while board.look(store.run(run)):
        pass
    assert [list(row.found.steps()) for row in board.rows[:4]] == [[1], [1], [], []]
    assert [row.error is None for row in board.rows[:4]] == [True, True, False, False]
    assert len({id(row.watched) for row in board.rows[4:]}) == 1
    assert store.notes(run)[0].body == "no json"
    store.close()


def test_of_runs_that_are_only_read_they_lie_in_the_own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own" / "runs.db"))
    file = tmp_path / "graph.db"
    with graphs.saver(file) as checkpointer:
        graph = graphs.chain("a", "b").compile(checkpointer=checkpointer)
        graph.invoke({"log": []}, graphs.thread())
        before = file.read_bytes()
        with closing(open_source(file)) as source:
            run = source.runs()[0]
            kept = keep_watch(marks_of(source), run.id, "len(state.log) > 1", breaks=True)
            board = Watchpoints(source, run.id)
            board.read()
            while board.look(source.run(run.id)):
                pass
            expected = by_scan(source, run.id, kept.where)
            assert list(board.rows[0].found.steps()) == expected != []
            assert file.read_bytes() == before
            graph.invoke({"log": ["c"]}, graphs.thread())
            while board.look(source.run(run.id)):
                pass
            assert list(board.rows[0].found.steps()) == by_scan(source, run.id, kept.where)
            assert board.rows[0].found.last > expected[-1]
            change_watch(marks_of(source), run.id, type(kept)(kept.id, "A", "state.log", "log"))
            board.read()
            assert (board.rows[0].watch.label, board.rows[0].watched.looked) == ("log", -1)
            remove_watch(marks_of(source), kept)
            assert kept_watches(source, run.id) == []


def test_those_that_lie_in_a_store_that_is_only_read_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own" / "runs.db"))
    store = new_store(tmp_path, "theirs.db")
    run = begin(store, {"n": 0}).run_id
    theirs = keep_watch(store, run, "state.n")
    store.close()
    with closing(open_source(tmp_path / "theirs.db", read_only=True)) as source:
        marks = marks_of(source)
        with pytest.raises(ReadOnlySource):
            change_watch(marks, run, type(theirs)(theirs.id, "A", "state.n", on=False))
        own = keep_watch(marks, run, "state.n > 1")
        assert [each.letter for each in kept_watches(source, run)] == ["A", "B"]
        assert change_watch(marks, run, type(own)(own.id, "B", "state.n > 2")).where == "state.n > 2"
        assert kept_watches(source, run)[1].where == "state.n > 2"
    with closing(open_store(tmp_path / "theirs.db")) as store:
        assert kept_watches(store, run) == [theirs]


def test_why_it_holds_is_said_with_the_values_and_of_calls_with_those_of_the_first(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 0})
    number = writer.open_step(NewStep("pay"))
    call(writer, number, {"amount": 5}, "paid", name="charge")
    call(writer, number, {"amount": 500}, "paid", name="charge")
    writer.close_step(number, StepEnd("ok"), {"n": -3}, track="main")
    run = writer.run_id

    def said(text: str) -> str:
        return reasons_in_words(reasons(store, run, text, 1))

    assert said("state.n < 0") == "state.n = -3"
    assert said('tool == "charge" and args.amount > 100') == 'tool = "charge", args.amount = 500'
    assert said("changed(state.n) and not state.plan") == "state.n = -3, state.plan is missing"
    assert said("state.n > 0") == ""
    store.close()


def test_that_it_holds_no_longer_is_not_known_at_a_step_that_was_not_kept():
    source = MemorySource()
    source.add("run", [Did("a", state={"n": 1}), Did("b", is_kept=False), Did("c", state={"n": 0})])
    watched, named = LiveWatch(source, "run", "state.n == 1"), LiveWatch(source, "run", 'name == "a"')
    assert look_at_all(watched, source, "run") == look_at_all(named, source, "run") == [1]
    assert [watched.is_known(step) for step in (1, 2, 3)] == [True, False, True]
    assert [watched.holds_now(last) for last in (1, 2, 3)] == [True, None, False]
    assert [named.holds_now(last) for last in (1, 2, 3)] == [True, False, False]
