"""The clock of a run in columns: where moments lie, its ticks, and where idle time is left out."""

from __future__ import annotations

from fake_source import step
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tt_tui.viewmodel.debugger.clock_axis import ClockAxis
from agent_tt_tui.viewmodel.debugger.overview import Overview

SECOND = 1_000_000


def labels(axis: ClockAxis) -> list[str]:
    return [tick.label for tick in axis.ticks]


def test_ticks_are_round_times_of_which_there_are_as_many_as_have_room() -> None:
    assert labels(ClockAxis(0, 20 * SECOND, 22)) == ["0s", "5", "10", "15", "20"]
    assert labels(ClockAxis(0, 20 * SECOND, 14)) == ["0s", "10", "20"]
    assert labels(ClockAxis(0, 249_000, 22)) == ["0ms", "50", "100", "150", "200"]
    assert labels(ClockAxis(0, 3 * 3600 * SECOND, 22)) == ["0h", "1", "2", "3"]
    assert labels(ClockAxis(7, 8, 22))[0] == "0ms"


def test_a_long_time_in_which_nothing_ran_is_left_out_and_said_by_two_columns() -> None:
    axis = ClockAxis(0, 100 * SECOND, 22, [(10 * SECOND, 90 * SECOND)])
    assert axis.breaks == [10]
    assert axis.column(10 * SECOND) == 10
    assert axis.column(90 * SECOND) == 12
    assert axis.column(50 * SECOND) == 10
    assert {10, 11} <= axis.behind
    assert ClockAxis(0, 100 * SECOND, 22, [(10 * SECOND, 20 * SECOND)]).breaks == []


@settings(max_examples=200)
@given(
    st.integers(1, 10**13),
    st.integers(1, 60),
    st.lists(st.integers(0, 10**13), max_size=12),
    st.lists(st.integers(0, 10**13), min_size=2, max_size=20),
)
def test_later_moments_never_lie_before_earlier_ones_and_all_lie_inside(length, columns, edges, moments) -> None:
    edges = sorted({edge for edge in edges if edge <= length})
    idle = list(zip(edges[::2], edges[1::2], strict=False))
    axis = ClockAxis(5, 5 + length, columns, [(5 + first, 5 + last) for first, last in idle])
    found = [axis.column(moment) for moment in sorted(moments)]
    assert found == sorted(found)
    assert all(0 <= column < columns for column in found)
    ticks = [tick.column for tick in axis.ticks]
    assert ticks == sorted(set(ticks))
    assert all(0 <= column < columns for column in ticks)


def test_idle_times_are_those_in_which_no_step_of_any_lane_ran() -> None:
    overview = Overview()
    times = [(1, 3), (2, 10), (4, 5), (60, 61), (61, None), (99, 100)]
    overview.add(
        [
            step(number, started_us=began * SECOND, ended_us=ended and ended * SECOND)
            for number, (began, ended) in enumerate(times, 1)
        ]
    )
    axis = overview.axis(SECOND, 0, 22)
    assert axis is not None
    assert len(axis.breaks) == 1
    assert axis.column(10 * SECOND) <= axis.breaks[0]
    assert axis.column(60 * SECOND) == axis.breaks[0] + 2
    assert axis is overview.axis(SECOND, 0, 22)
    assert Overview().axis(0, 0, 22) is None
