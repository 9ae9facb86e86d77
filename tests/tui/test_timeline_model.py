"""What timeline and scrubber make of a run: overview, folds, columns, buckets."""

import pytest
from fake_source import FakeSource, refund_loop, step
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt_tui.viewmodel.debugger.folding import Below, Fold, Rows, alike_runs, around, fold
from agent_tt_tui.viewmodel.debugger.overview import Overview
from agent_tt_tui.viewmodel.debugger.strip import StripLayout
from agent_tt_tui.viewmodel.debugger.timeline import TimelineColumns, bar_length


def overview_of(steps):
    overview = Overview()
    overview.add(steps)
    return overview


def test_the_repeats_of_a_loop_are_one_stretch_and_its_error_is_not_in_it():
    assert alike_runs(overview_of(refund_loop().steps(FakeSource.id))) == [(3, 20)]


def test_two_alike_steps_are_too_few_to_fold():
    steps = [step(1), step(2, repeat_of=1), step(3, repeat_of=1), step(4, "other")]
    assert alike_runs(overview_of(steps)) == []


def test_a_run_that_fits_is_not_folded():
    assert fold([(3, 20)], 0) == []


def test_only_as_many_steps_are_folded_as_do_not_fit():
    assert fold([(3, 20)], 2) == [Fold(18, 20, 3)]
    rows = Rows(21, fold([(3, 20)], 2))
    assert [rows[row] for row in range(17, 20)] == [17, Fold(18, 20, 3), 21]


def test_the_cursors_row_is_shown_inside_a_fold():
    rows = Rows(21, around([Fold(5, 20, 3)], 10))
    assert [rows[row] for row in range(4, 9)] == [4, Fold(5, 9, 3), 10, Fold(11, 20, 3), 21]


@st.composite
def folded_lists(draw):
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=12))
    last = sum(lengths)
    starts = [1 + sum(lengths[:at]) for at in range(len(lengths))]
    runs = [(start, start + length - 1) for start, length in zip(starts, lengths, strict=True) if length >= 3]
    below = draw(st.dictionaries(st.integers(1, last), st.integers(1, 3), max_size=6))
    return last, runs, draw(st.integers(-3, 80)), draw(st.integers(0, last)), below


@settings(max_examples=100)
@given(folded_lists())
def test_every_step_is_in_exactly_one_row_and_the_cursor_has_one_of_its_own(drawn):
    last, runs, surplus, cursor, below = drawn
    folds = around(fold(runs, surplus), cursor)
    rows = Rows(last, folds, below)
    covered, found = [], []
    for row in range(len(rows)):
        shown = rows[row]
        if isinstance(shown, Below):
            found.append(shown)
            assert rows.row_of(shown.step) == row - 1 - shown.index
            continue
        covered += range(shown.first, shown.last + 1) if isinstance(shown, Fold) else [shown]
    assert covered == list(range(last + 1))
    hidden = {number for fold in folds for number in range(fold.first, fold.last + 1)}
    assert found == [Below(step, at) for step in sorted({*below} - hidden) for at in range(below[step])]
    assert rows[rows.row_of(cursor)] == cursor
    for number in range(last + 1):
        shown = rows[rows.row_of(number)]
        assert shown == number or shown.first <= number <= shown.last


def test_a_step_that_ends_later_is_no_longer_running_and_may_have_failed():
    overview = overview_of([step(1), step(2, status="running", ended_us=None)])
    assert overview.unfinished == 2
    overview.add([step(2, status="error"), step(3)])
    assert overview.unfinished is None
    assert overview.errors == [2]
    assert overview.scanned == 3


def test_lanes_are_known_by_their_agents_and_walked_one_by_one():
    agents = ["lead", "web", "papers", "web", "lead"]
    overview = overview_of([step(n, agent=agent, lane=f"main/{n}") for n, agent in enumerate(agents, 1)])
    assert overview.lanes == ["lead", "web", "papers"]
    assert (overview.in_lane(2, 1), overview.in_lane(4, -1), overview.in_lane(4, 1)) == (4, 2, None)
    assert overview.lane_span(0) == (1, 5)


def test_nesting_is_as_deep_as_the_steps_around_a_step():
    overview = overview_of([step(1), step(2, parent=1), step(3, parent=2), step(4)])
    assert [overview.depth(n) for n in range(1, 5)] == [0, 1, 2, 0]


def test_errors_are_walked_in_both_directions():
    overview = overview_of([step(n, status="error" if n in (3, 7) else "ok") for n in range(1, 10)])
    assert (overview.next_error(0, 1), overview.next_error(3, 1), overview.next_error(7, 1)) == (3, 7, None)
    assert (overview.next_error(9, -1), overview.next_error(7, -1), overview.next_error(3, -1)) == (7, 3, None)


@pytest.mark.parametrize("width", range(10, 120, 7))
@pytest.mark.parametrize("lanes", [1, 4, 9])
def test_the_columns_of_a_row_never_take_more_than_there_is(width, lanes):
    columns = TimelineColumns.plan(width, last=1240, lanes=lanes, depth=0)
    tracks = columns.rails * columns.rail if columns.rails else 1
    taken = 1 + columns.number + 1 + tracks + 1 + columns.agent + columns.name + columns.bar + 1 + columns.duration + 3
    assert taken <= width or columns.name == 1


def test_a_narrow_timeline_gives_up_bars_then_agents_and_keeps_the_name():
    assert TimelineColumns.plan(44, last=21, lanes=1, depth=0).bar > 0
    assert TimelineColumns.plan(30, last=21, lanes=1, depth=0).bar == 0
    assert TimelineColumns.plan(48, last=21, lanes=4, depth=0).agent > 0
    assert TimelineColumns.plan(31, last=21, lanes=4, depth=0).agent == 0
    assert TimelineColumns.plan(31, last=21, lanes=4, depth=0).name >= 6


def test_a_bar_longer_than_most_says_that_it_is_cut():
    assert bar_length(100, 100, 14) == (13, False)
    assert bar_length(101, 100, 14) == (14, True)
    assert bar_length(1, 100_000, 14) == (1, False)
    assert bar_length(None, 100, 14) == (0, False)


@settings(max_examples=100)
@given(st.integers(1, 5000), st.integers(30, 200))
def test_every_step_has_a_place_on_the_strip_and_every_place_its_steps(last, width):
    layout = StripLayout.plan(width, last, 9)
    columns = [layout.column(number) for number in range(1, last + 1)]
    assert columns == sorted(columns)
    assert columns[0] == 0
    assert columns[-1] < layout.columns
    assert layout.start + layout.columns + 9 <= max(width, layout.start + 10)
    if layout.cell == 0:
        for number in range(1, last + 1, max(1, last // 50)):
            first, final = layout.steps(layout.column(number))
            assert first <= number <= final


def test_a_column_for_many_steps_shows_that_one_of_them_wrote():
    overview = overview_of([step(n, kind="write" if n == 40 else "read") for n in range(1, 101)])
    assert overview.rarest(31, 50) == "write"
    assert overview.rarest(41, 50) == ""


def test_a_click_on_the_strip_means_the_step_drawn_there():
    for last, width in ((21, 80), (21, 120), (1240, 120)):
        layout = StripLayout.plan(width, last, 9)
        for number in range(1, last + 1, 20 if layout.cell else 1):
            column = layout.column(number)
            assert layout.column(layout.step_at(column)) == column
        assert layout.step_at(-1) == 0


def test_a_run_without_steps_is_one_row():
    source = FakeSource([{"question": "?"}])
    assert len(Rows(source.step_count(source.id))) == 1
