"""What timeline and scrubber make of a run: overview, folds, columns, buckets."""

import pytest
from fake_source import FakeSource, refund_loop, step
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.viewmodel.debugger.folding import Below, Fold, Rows, alike_runs, around, fold
from agent_tt_tui.viewmodel.debugger.overview import Overview
from agent_tt_tui.viewmodel.debugger.strip import StripLayout
from agent_tt_tui.viewmodel.debugger.timeline import TimelineColumns
from agent_tt_tui.viewmodel.debugger.timeline_columns import COLUMNS, StepFacts, bar_length


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


CHOICES = (None, (), ("cost", "gap"), tuple(COLUMNS), tuple(reversed(COLUMNS)))


def taken(columns):
    tracks = columns.rails * columns.rail if columns.rails else 1
    return 1 + columns.number + 1 + tracks + 1 + sum(placed.width + 1 for placed in columns.placed) + 2


@pytest.mark.parametrize("width", range(10, 200, 7))
@pytest.mark.parametrize("lanes", [1, 4, 9])
@pytest.mark.parametrize("chosen", CHOICES)
def test_the_columns_of_a_row_never_take_more_than_there_is_and_none_is_cut(width, lanes, chosen):
    for longest in (0, 9, 30):
        columns = TimelineColumns.plan(width, last=1240, lanes=lanes, depth=0, longest=longest, chosen=chosen)
        assert taken(columns) <= width or columns.width_of("name") == 1
        for name, found in columns.placed:
            assert name == "name" or COLUMNS[name].width <= found <= COLUMNS[name].most
        assert {placed.name for placed in columns.placed} | {*columns.left_out} == {
            *(chosen or ()),
            "name",
        } or not chosen


@pytest.mark.parametrize("longest", [0, 11, 30])
def test_columns_of_one_width_go_by_what_matters_least(longest):
    for width in range(20, 220):
        columns = TimelineColumns.plan(width, last=21, lanes=1, depth=0, longest=longest, chosen=tuple(COLUMNS))
        for left in map(COLUMNS.get, columns.left_out):
            for name, _ in columns.placed:
                kept = COLUMNS[name]
                assert kept.keep <= left.keep or kept.width < left.width
    assert columns.left_out == ()


def test_columns_stand_in_the_order_that_was_chosen_and_one_that_has_no_room_is_left_out_whole():
    columns = TimelineColumns.plan(46, last=21, lanes=1, depth=0, longest=11, chosen=("cost", "took"))
    assert [placed.name for placed in columns.placed] == ["name", "cost", "took"]
    columns = TimelineColumns.plan(29, last=21, lanes=1, depth=0, longest=11, chosen=("cost", "name", "took"))
    assert [placed.name for placed in columns.placed] == ["name", "took"]
    assert columns.left_out == ("cost",)
    assert columns.width_of("name") >= 11


def test_agents_get_the_columns_of_their_names_where_there_are_some():
    def width(columns, longest_agent):
        found = TimelineColumns.plan(columns, last=21, lanes=2, depth=0, longest=9, longest_agent=longest_agent)
        return found.width_of("agent")

    assert [width(columns, 15) for columns in (48, 80)] == [15, 15]
    assert [width(80, longest) for longest in (0, 4, 60)] == [7, 7, 18]


def test_what_was_asked_stands_behind_the_name_where_names_leave_room():
    def width_of(columns, longest, name="asked", **more):
        found = TimelineColumns.plan(columns, last=21, lanes=1, depth=0, longest=longest, has_asked=True, **more)
        return found.width_of(name)

    assert [width_of(44, longest) for longest in (4, 11, 14, 20, 30)] == [20, 15, 12, 0, 0]
    assert width_of(44, 11, "bar") == 0
    assert width_of(30, 11) == 0
    assert width_of(80, 11) == 22
    assert width_of(80, 11, "waterfall") > 0
    assert width_of(44, 11, chosen=("name", "bar")) == 0


def test_what_a_step_asked_is_its_first_argument_or_not_known():
    def said(asked):
        facts = StepFacts(step(1), overview_of([step(1)]), SECOND, 0, False, False, ASCII, asked)
        return "".join(piece.text for piece in COLUMNS["asked"].cell(facts, 8))

    assert [said('"refund policy"'), said('"a"'), said(""), said(None)] == ['"refund>', '"a"', "", "-"]


def test_a_narrow_timeline_gives_up_bars_then_agents_and_keeps_the_name():
    assert TimelineColumns.plan(44, last=21, lanes=1, depth=0).width_of("bar") > 0
    assert TimelineColumns.plan(44, last=21, lanes=1, depth=0, longest=30).width_of("bar") == 0
    assert TimelineColumns.plan(30, last=21, lanes=1, depth=0).width_of("bar") == 0
    assert TimelineColumns.plan(48, last=21, lanes=4, depth=0).width_of("agent") > 0
    assert TimelineColumns.plan(31, last=21, lanes=4, depth=0).width_of("agent") == 0
    assert TimelineColumns.plan(31, last=21, lanes=4, depth=0).width_of("name") >= 6


SECOND = 1_000_000


def cell(name, steps, number, columns=8):
    """What a column says of one of some steps."""
    overview = overview_of(steps)
    facts = StepFacts(steps[number - 1], overview, SECOND, 0, waits=False, is_live=False, glyphs=ASCII)
    return "".join(piece.text for piece in COLUMNS[name].cell(facts, columns))


def timed(number, began, ended, **facts):
    return step(number, started_us=began * SECOND, ended_us=ended and ended * SECOND, **facts)


def test_a_gap_is_what_lies_between_two_steps_of_a_lane_and_nothing_where_they_ran_at_once():
    steps = [
        timed(1, 1, 2, agent="a"),
        timed(2, 3, 9, agent="b"),
        timed(3, 5, 6, agent="a"),
        timed(4, 7, 8, agent="b"),
        timed(5, 6, None, agent="a", status="ok"),
        timed(6, 9, 9, agent="a"),
    ]
    assert [cell("gap", steps, number) for number in range(1, 7)] == ["", "", "3.0 s", "", "0 ms", "-"]
    assert cell("began", steps, 3) == "4.0 s"
    assert cell("took", steps, 5) == "-"


def test_a_time_that_is_too_long_for_its_column_is_rounded_and_keeps_its_blank():
    steps = [step(n, started_us=SECOND, ended_us=SECOND + us) for n, us in enumerate((14_400_000, 198_000, 99), 1)]
    assert [cell("took", steps, number, 7) for number in (1, 2, 3)] == ["14.4 s", "198 ms", "<1 ms"]
    assert [cell("took", steps, number, 5) for number in (1, 2, 3)] == ["14 s", "0.2 s", "<1 ms"]


def test_what_is_not_known_of_a_model_call_is_said_and_of_a_tool_nothing_is_missing():
    steps = [step(1, kind="llm"), step(2, kind="read"), step(3, kind="llm", tokens_in=0, cost_usd=0.0)]
    for name in ("tokens", "tokens-bar", "context", "cost"):
        assert [cell(name, steps, number) for number in (1, 2)] == ["-", ""], name
    assert [cell(name, steps, 3) for name in ("tokens", "cost")] == ["0", "$0.00"]
    steps = [step(1, kind="llm", cost_usd=123_456.789)]
    assert cell("cost", steps, 1, 7) == "$123,457"[:8]


def test_the_context_is_a_line_whose_heavy_end_is_what_came_since_the_last_call_of_its_lane():
    tokens = [100, None, 200, 800, 400]
    steps = [step(n, kind="llm" if t else "read", tokens_in=t) for n, t in enumerate(tokens, 1)]
    found = [cell("context", steps, number) for number in range(1, 6)]
    assert found == ["=", "", "-=", "--======", "----"]


def test_tokens_that_came_back_are_the_heavy_part_of_their_bar():
    steps = [step(1, tokens_in=300, tokens_out=100), step(2, tokens_in=100, tokens_out=1), step(3, tokens_in=40)]
    assert [cell("tokens-bar", steps, number) for number in (1, 2, 3)] == ["------==", "-=", "-"]
    assert cell("tokens", steps, 1) == "400"


def test_a_bar_longer_than_most_says_that_it_is_cut():
    assert bar_length(100, 100, 14) == (13, False)
    assert bar_length(101, 100, 14) == (14, True)
    assert bar_length(1, 100_000, 14) == (1, False)
    assert bar_length(None, 100, 14) == (0, False)


def bars(*durations):
    """The bars of steps that took so many seconds, one after the other."""
    steps = [timed(number, 1, 1 + seconds) for number, seconds in enumerate(durations, 1)]
    return [len(cell("bar", steps, number, 14)) for number in range(1, len(steps) + 1)]


def test_the_longest_step_is_a_full_bar_and_one_slightly_longer_than_the_others_is_not_cut():
    assert bars(*[4] * 20, 5) == [*[round(4 / 5 * 13)] * 20, 13]
    assert bars(1, 2, 4) == [3, 6, 13]


def test_one_call_that_takes_far_longer_does_not_make_the_others_all_alike():
    assert bars(1, 2, 3, 15) == [4, 9, 13, 14]
    assert bars(1) == [13]


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


@settings(max_examples=200)
@given(st.integers(1, 2000), st.integers(30, 200), st.sets(st.integers(0, 2000)), st.booleans())
def test_the_columns_of_many_steps_are_those_of_each(last, width, drawn, every):
    layout = StripLayout.plan(width, last, 9)
    steps = list(range(last + 1)) if every else sorted(number for number in drawn if number <= last)
    assert layout.columns_of(steps) == {layout.column(number) for number in steps}


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
