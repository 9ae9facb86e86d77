"""What `compare` writes of the lanes of two runs: where each parts and rejoins, and how it ended in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui import format as shown
from agent_tt_tui.cli.terminal import Cell, Column, facts
from agent_tt_tui.format import counted
from agent_tt_tui.viewmodel.runs.comparison import lane_fate

if TYPE_CHECKING:
    from agent_tt.comparing.runs.comparison import Comparison
    from agent_tt.comparing.runs.lane_ends import LaneEnd
    from agent_tt.comparing.runs.rows import LanePair
    from agent_tt_tui.cli.terminal import Terminal

__all__ = ["print_lanes"]

_MOST_EQUAL: Final = 12
"""So many lanes in which nothing differs are listed beside the others."""


def print_lanes(terminal: Terminal, comparison: Comparison) -> None:
    """Write a line for each lane and, below it, how it ended; nothing where there is but one, or nothing differs."""
    lanes = comparison.lanes
    different = [lane for lane in lanes if _differs(lane)]
    if len(lanes) < 2 or not different:
        return
    listed = lanes if len(lanes) - len(different) <= _MOST_EQUAL else different
    terminal.line()
    terminal.line(Cell(f"LANES  {len(different)} of {len(lanes)} differ", "strong"))
    columns = (Column("", flexible=True), Column(""), Column("", flexible=True), Column(""))
    terminal.table(columns, [_cells(terminal, lane) for lane in listed], [_below(terminal, lane) for lane in listed])
    if len(listed) < len(lanes):
        terminal.line(Cell(f"{terminal.glyphs.same} {counted(len(lanes) - len(listed), 'lane')} alike", "muted"))


def _differs(lane: LanePair) -> bool:
    return lane.diverged_at is not None or bool(lane.final_changes)


def _cells(terminal: Terminal, lane: LanePair) -> list[Cell]:
    glyphs = terminal.glyphs
    counts = (
        (lane.same, glyphs.same),
        (lane.different, glyphs.differs),
        (lane.only_a, glyphs.only_a),
        (lane.only_b, glyphs.only_b),
    )
    name = lane.a if lane.a == lane.b else f"{lane.a or '-'} {glyphs.dot} {lane.b or '-'}"
    parted = "" if lane.diverged_at is None else f"parted at {lane.diverged_at}"
    return [
        Cell(name or ""),
        Cell(parted),
        Cell(lane_fate(lane)),
        Cell("  ".join(f"{count} {glyph}" for count, glyph in counts if count), "muted"),
    ]


def _below(terminal: Terminal, lane: LanePair) -> list[list[Cell | str]]:
    """How the lane ended, on either side."""
    ends = [f"{side} {_ended(terminal, end)}" for side, end in (("A", lane.outcome_a), ("B", lane.outcome_b)) if end]
    state = f"states differ in {counted(lane.final_changes, 'path')}" if lane.final_changes else None
    text = facts([*ends, state], terminal.glyphs.dot)
    return [[Cell(f"   {terminal.short(text, terminal.columns - 3)}", "muted")]]


def _ended(terminal: Terminal, end: LaneEnd) -> str:
    duration = "" if end.duration_us is None else f", {shown.duration(end.duration_us / 1e6)}"
    status = end.error.short if end.error is not None else end.status
    return f"{counted(end.steps, 'step')}{duration}, step {end.last} {terminal.safe(status)}"
