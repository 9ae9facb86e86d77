"""What the debugger reads of a run, and what it does when a part of it cannot be read."""

import copy
from contextlib import closing
from dataclasses import replace

from fake_source import FakeSource, refund_loop, step
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import MemoryStore

import agent_tt
from agent_tt.history.changes.diff import diff
from agent_tt.model import Call, Run
from agent_tt.store import open_store
from agent_tt_tui.viewmodel.debugger import runmodel
from agent_tt_tui.viewmodel.debugger.newest import Newest
from agent_tt_tui.viewmodel.debugger.runmodel import PAGE, RunModel
from agent_tt_tui.viewmodel.debugger.shared_states import advance
from agent_tt_tui.viewmodel.debugger.strip import StripLayout
from agent_tt_tui.viewmodel.past.bases import bases, choose, following, lanes_between
from agent_tt_tui.viewmodel.past.related import related_runs


def opened(source):
    model = RunModel(source, source.the_run)
    model.open()
    while model.scan():
        pass
    return model


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("abc", max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("pqrs"), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100)
@given(json_values, json_values)
def test_advancing_a_state_gives_the_next_and_leaves_the_one_before_as_it_was(before, after):
    kept = copy.deepcopy(before)
    assert advance(before, copy.deepcopy(diff(before, after))) == after
    assert before == kept


def test_neighbouring_states_share_what_did_not_change():
    before = {"big": {"list": [1, 2, 3]}, "small": 1}
    after = advance(before, [["s", ["small"], 2]])
    assert after == {"big": {"list": [1, 2, 3]}, "small": 2}
    assert after["big"] is before["big"]


def test_walking_on_reads_no_state_again():
    source = refund_loop()
    model = opened(source)
    model.load(4)
    source.asked.clear()
    for number in range(5, 21):
        assert model.load(number).state == MemoryStore.state(source, source.id, number)
    assert source.asked == []


def test_a_step_is_compared_with_the_one_before_and_on_wish_with_another():
    model = opened(refund_loop())
    assert [change.path for change in model.load(3).changes] == ["attempts", "messages[2]", "notes"]
    view = model.load(3, base=1)
    assert view.base == 1
    assert [change.path for change in view.changes if change.op == "add"] == ["messages[1]", "messages[2]"]


def test_the_input_has_a_state_and_neither_step_nor_changes():
    view = opened(refund_loop()).load(0)
    assert (view.step, view.base, view.changes) == (None, None, ())
    assert view.state == {"attempts": 0, "messages": [], "notes": "", "answer": None}


def test_a_state_that_cannot_be_read_says_why_and_its_neighbours_open():
    source = refund_loop()
    source.damaged = {7}
    model = opened(source)
    view = model.load(7)
    assert view.error == "checkpoint 7 cannot be read. verify says more"
    assert view.step is not None
    assert model.load(6).error is None


def test_steps_are_read_by_the_page():
    source = FakeSource([None] * 1001)
    model = RunModel(source, source.the_run)
    model.open()
    assert model.peek(600) is None
    model.fetch(600, 600)
    assert model.peek(600).number == 600
    assert model.has(PAGE * 2 + 1, PAGE * 3)
    assert not model.has(1, 600)


def test_as_many_pages_are_kept_as_a_narrowed_timeline_has_rows_that_are_far_apart(monkeypatch):
    monkeypatch.setattr(runmodel, "PAGE", 4)
    monkeypatch.setattr(runmodel, "_AROUND", 1)
    model = opened(FakeSource([None] * 241))
    rows = [*range(1, 241, 4)]
    for number in rows:
        model.fetch_around(number)
    assert all(model.peek(number) for number in rows)


def call(number=1, kind="tool", args=None):
    return Call(1, number, kind, "search", "ok", args=args)


@agent_tt.tool(effect="read")
def search(query):
    return query


def test_what_tools_were_asked_comes_with_the_steps_that_are_shown(tmp_path):
    with agent_tt.record("searches", state={}, store=tmp_path / "runs.db") as run:
        for query in ("policy", None, 7):
            with run.step("search"):
                if query is not None:
                    search(query)
    with closing(open_store(tmp_path / "runs.db", read_only=True)) as source:
        model = RunModel(source, source.runs()[0])
        model.open()
        assert model.arguments.lacks(1)
        model.fetch_shown([1, 2, 3], with_arguments=True)
        assert [model.arguments.of(step) for step in (1, 2, 3)] == ['"policy"', "", "7"]
        assert not any(map(model.arguments.lacks, (1, 2, 3)))


def test_what_a_step_that_still_ran_asked_is_known_once_it_has_asked():
    source = FakeSource([{}, {}], [step(1, status="running", ended_us=None)], status="running")
    model = opened(source)
    model.fetch_arguments([1])
    assert model.arguments.of(1) == ""
    source.save(source.id, call(args={"query": "policy", "limit": 3}))
    source.set_step(step(1, calls=1))
    assert model.refresh()
    assert model.arguments.of(1) == '"policy"'


def test_what_was_asked_of_tools_alone_counts_and_damage_is_not_known():
    calls = {1: [call(kind="llm", number=1), call(number=2, args={"id": 7})], 2: [call(kind="clock")], 3: [call()]}
    steps = [step(number, calls=len(calls.get(number, ()))) for number in (1, 2, 3, 4)]
    source = FakeSource([{}] * 5, steps, calls=calls)
    model = opened(source)
    source.with_values = lambda run, head: (  # type: ignore[method-assign]
        replace(head, damaged="it cannot be read") if head.step == 3 else MemoryStore.with_values(source, run, head)
    )
    model.fetch_arguments([1, 2, 3])
    assert [model.arguments.of(number) for number in (1, 2, 3, 4)] == ["7", "", None, ""]


def test_a_run_that_grows_is_followed_and_its_running_step_read_again():
    source = FakeSource(
        [{"n": n} for n in range(3)], [step(1), step(2, status="running", ended_us=None)], status="running"
    )
    model = opened(source)
    assert model.overview.unfinished == 2
    assert not model.refresh()
    source.set_step(step(2))
    source.set_step(step(3, status="error"), {"n": 3})
    assert model.refresh()
    while model.scan():
        pass
    assert model.last == 3
    assert model.overview.errors == [3]
    assert model.overview.unfinished is None
    assert model.peek(3) is None or model.peek(3).status == "error"


def test_a_state_that_was_read_before_the_run_grew_is_read_again():
    source = FakeSource([{"n": 0}, {"n": 1}], [step(1, status="running", ended_us=None)], status="running")
    model = opened(source)
    assert model.state(1) == {"n": 1}
    source.set_step(source.steps(source.id)[0], {"n": 7})
    assert model.refresh()
    assert model.state(1) == {"n": 7}


def test_a_run_whose_process_is_gone_is_noticed_though_nothing_was_written():
    source = FakeSource([{"n": 0}, {"n": 1}], [step(1, status="running", ended_us=None)], status="running")
    model = opened(source)
    assert not model.refresh()
    source.set_run(replace(source.the_run, status="crashed"))
    assert model.refresh()
    assert model.run.status == "crashed"
    assert not model.refresh()


def test_the_writes_of_a_path_are_seen_in_both_directions_and_its_birth_is_an_addition():
    states = [{}, {"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}, {"a": 3}]
    model = opened(FakeSource(states))
    expected = {1: "+", 3: "~", 5: "~"}
    for number in range(6):
        assert model.writes(number, ("a",), lambda: False).signs == expected
    assert model.write_from(4, ("a",), -1) == 3
    assert model.write_from(3, ("a",), -1) == 1
    assert model.write_from(3, ("a",), 1) == 5
    assert model.write_from(5, ("a",), 1) is None


def test_an_item_of_a_growing_list_was_written_by_the_step_that_added_it_and_by_none_before():
    model = opened(refund_loop())
    for number in range(22):
        assert model.writes(number, ("messages", 14), lambda: False).signs == {15: "+"}
    assert model.write_from(3, ("messages", 14), 1) == 15
    assert model.write_from(15, ("messages", 14), -1) is None
    assert model.write_from(14, ("messages", 14), -1) is None
    assert model.write_from(20, ("messages", 14), -1) == 15


def test_a_value_that_was_removed_and_came_back_was_written_by_all_the_steps_that_did_it():
    states = [{"a": 1}, {"a": 1}, {"b": 0}, {"b": 0}, {"a": 1, "b": 0}, {"a": 2, "b": 0}, {"a": 2}]
    model = opened(FakeSource(states))
    for number in range(7):
        assert model.writes(number, ("a",), lambda: False).signs == {2: "-", 4: "+", 5: "~"}


def test_writes_are_looked_for_so_far_around_a_step_and_it_is_known_how_far():
    writes = opened(FakeSource([{"n": number} for number in range(6001)])).writes(3000, ("n",), lambda: False)
    assert writes.cover(3000)
    assert writes.cover(2937)
    assert writes.cover(3064)
    assert not writes.cover(3065)
    assert not writes.cover(2936)
    assert {*range(2937, 3065)} <= {*writes.signs}


class CountingQuestions(FakeSource):
    """Counts how often it is asked who wrote a value."""

    questions = 0

    def last_write(self, run_id, step, path):
        self.questions += 1
        return super().last_write(run_id, step, path)

    def next_write(self, run_id, step, path):
        self.questions += 1
        return super().next_write(run_id, step, path)


def test_far_from_a_step_one_write_is_looked_for_in_each_place_that_shows_several_steps():
    states = [{"n": max(100, number), "m": number % 2} for number in range(6001)]
    asked = CountingQuestions(states)
    layout = StripLayout.plan(100, 6000, 9)
    writes = opened(asked).writes(3000, ("n",), lambda: False, layout.first_beside)
    shown = {layout.column(number) for number in writes.signs}
    assert shown == {layout.column(number) for number in range(101, 6001)}
    assert (writes.begun, writes.ended) == (0, 6000)
    assert asked.questions <= 2 * 64 + layout.columns + 2


def test_from_another_step_only_near_writes_are_looked_for_and_each_place_shows_what_it_did():
    asked = CountingQuestions([{"n": max(100, number), "m": number % 2} for number in range(6001)])
    layout, model = StripLayout.plan(100, 6000, 9), opened(asked)
    known = model.writes(3000, ("n",), lambda: False, layout.first_beside)
    for number in (3500, 0, 6000, 101, 2950):
        before, asked.questions = known, 0
        known = model.writes(number, ("n",), lambda: False, layout.first_beside, known)
        assert asked.questions <= 2 * 64 + 2
        assert known.cover(number)
        assert {*range(max(101, number - 63), min(6000, number + 64) + 1)} <= {*known.signs}
        assert {*map(layout.column, known.signs)} == {*map(layout.column, before.signs)}
        assert (known.begun, known.ended) == (0, 6000)
        assert len(known.signs) <= 2 * 64 + layout.columns


def test_marks_of_a_file_that_is_only_read_last_as_long_as_the_program():
    model = opened(FakeSource([{}, {}, {}], read_only=True))
    assert not model.bookmarks.kept
    assert model.toggle_mark(2) == "a"
    assert model.toggle_mark(1) == "b"
    assert model.bookmarks.step_of("a") == 2
    assert model.toggle_mark(2) is None
    assert model.bookmarks.letters == {1: "b"}


def test_forks_are_known_by_the_step_they_start_at():
    source = refund_loop()
    source.set_run(Run("RUN000000002", "run/fork-1", "running", 0, parent=source.id, fork_step=1))
    assert opened(source).forks == {1: ("run/fork-1",)}


def test_the_bases_go_round_and_a_step_without_the_wanted_one_has_the_usual():
    source = refund_loop()
    model = opened(source)
    model.toggle_mark(2)
    model.fetch(1, 21)
    assert [base.label for base in bases(model, 5)] == ["previous", "since mark a"]
    assert following(model, 5, None).kind == "mark"
    assert following(model, 5, "mark").kind == "previous"
    assert choose(model, 5, "mark").step == 2
    assert choose(model, 1, "mark").kind == "previous"


def test_steps_of_other_lanes_between_two_steps_are_named():
    agents = ["lead", "web", "papers", "web"]
    steps = [step(number, agent=agent) for number, agent in enumerate(agents, 1)]
    model = opened(FakeSource([{}] * 5, steps))
    assert bases(model, 4)[0].label == "previous in lane"
    assert lanes_between(model.overview, 2, 4) == "3 is another lane: papers"
    assert lanes_between(model.overview, 1, 2) == ""


def test_of_many_wishes_only_the_newest_waits():
    wishes = Newest()
    assert wishes.put(1)
    assert not wishes.put(2)
    assert not wishes.put(3)
    assert wishes.take() == 3
    assert not wishes.put(4)
    assert wishes.take() == 4
    assert wishes.take() is None
    assert wishes.put(5)


def test_runs_to_compare_with_begin_with_the_family():
    parent = Run("P", "run", "failed", 0)
    here = Run("A", "run/fork-1", "failed", 0, parent="P")
    sibling = Run("B", "run/fork-2", "succeeded", 0, parent="P")
    child = Run("C", "run/fork-1/fork-1", "running", 0, parent="A")
    stranger = Run("D", "other", "succeeded", 0)
    runs = [stranger, sibling, parent, here, child]
    assert related_runs(here, runs) == [
        (child, "its fork"),
        (parent, "its parent"),
        (sibling, "forked from the same run"),
        (stranger, ""),
    ]
