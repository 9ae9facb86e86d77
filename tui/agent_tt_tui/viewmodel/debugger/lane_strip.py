"""The strips of a run with lanes: one for each lane, all on the clock of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from agent_tt_tui.viewmodel.debugger.overview import Overview

MOST_LANES = 5
MOST_STEPS = 2_000
"""With more steps than this a strip on the clock would be one thick line."""


class LaneCell(NamedTuple):
    """One column of a lane's strip.

    Attributes:
        step: The step that begins here, or that the lane is busy with; None where it waits.
        begins: Whether the step begins here.
        alive: Whether the lane has begun and not ended.
    """

    step: int | None = None
    begins: bool = False
    alive: bool = False


def has_lane_strips(overview: Overview) -> bool:
    """Whether a run is drawn lane by lane."""
    return len(overview.lanes) > 1 and 0 < overview.scanned <= MOST_STEPS and overview.span_us[1] > overview.span_us[0]


def lane_cells(overview: Overview, lane: int, columns: int) -> list[LaneCell]:
    """The strip of one lane.

    Args:
        overview: What is known of all steps.
        lane: Which of its lanes.
        columns: How long the strip is; all of it stands for the time from the first step's start to the last one's end.
    """
    first_us, last_us = overview.span_us
    scale = (columns - 1) / (last_us - first_us)
    cells = [LaneCell()] * columns
    numbers = overview.lane_steps(lane)
    spans = [(number, *overview.times_us(number)) for number in numbers]
    placed = [
        (number, round((start - first_us) * scale), round(((end or last_us) - first_us) * scale))
        for number, start, end in spans
        if start
    ]
    if not placed:
        return cells
    for column in range(placed[0][1], max(end for _, _, end in placed) + 1):
        cells[column] = LaneCell(alive=True)
    for number, start, end in placed:
        for column in range(start, end + 1):
            if not cells[column].begins:
                cells[column] = LaneCell(number, alive=True)
    for number, start, _ in placed:
        # Steps that begin in one column take the next free ones, so that each can be seen.
        free = next((at for at in range(start, columns) if not cells[at].begins), None)
        if free is not None:
            cells[free] = LaneCell(number, begins=True, alive=True)
    return cells
