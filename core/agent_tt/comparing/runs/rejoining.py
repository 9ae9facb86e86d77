"""Where two runs that have parted meet again: by their states, else by their moves. Each lane is judged by itself.

A lane that has parted meets again

- by its *states*: at its first step on both sides after which the states are equal, once they differed. By then it does
  not matter how each got there. Where no step of one run stands beside one of the other there, that counts only for
  the end of the lane in both, once both runs are over.
- by its *moves*: at its first step from which both make the same moves again: two or more in a row, or all that are
  left when both runs are over. A single step of a loop may well come up again on another way. Of several lanes this
  counts only where the states are not known to differ on: a lane whose state is another one to the end has not met.

The runs meet again where every lane that ever parted has done so and none is apart. A lane that only one run has is
apart as long as it goes on. Whether the states are equal there is said of all lanes together, by the last state of
each: of lanes that share a state one of these may be older than what the other lanes have made of it since.

In a store of agent-tt the digests of all states are read at once; of a file in which each has to be made first, no more
than 2,000 steps of a lane behind its parting are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.comparing.runs.divergence_reason import differences
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.comparing.runs.rows import Lanes, Row
    from agent_tt.comparing.runs.run_view import RunView

__all__ = ["Meeting", "Rejoining", "rejoin_lanes", "rejoin_runs"]

_CERTAIN: Final = 2
"""How many equal moves in a row are more than chance."""

_MOST_STATES: Final = 2_000
"""Steps of which the state is made to compare it."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where two lanes, or two runs, meet again.

    Attributes:
        a: Number of the step in A.
        b: Number of the step in B.
        changes: In how many paths the states differ there; 0 where they are equal, None where that is not known.
        parted_again: Number of the step at which they part the next time (in A, or in B where A took none), None where
            they stay together.
    """

    a: int
    b: int
    changes: int | None
    parted_again: int | None = None


@dataclass(frozen=True, slots=True)
class Rejoining:
    """What becomes of one lane that parts.

    Attributes:
        lanes: Its names in A and in B.
        meeting: Where it meets again for the first time; None where it never does.
        same_moves: The steps in A and B from which it makes the same moves again, while its state differs to the end;
            None where it does not, or meets again.
        apart: Ranges of rows, as indexes into all rows, in which it is apart: the first of each, and the first
            behind it, None where it goes on to the end.
    """

    lanes: Lanes
    meeting: Meeting | None
    apart: tuple[tuple[int, int | None], ...]
    same_moves: tuple[int, int] | None = None

    def is_apart(self, index: int) -> bool:
        """Whether the lane is apart at a row."""
        return any(first <= index and (end is None or index < end) for first, end in self.apart)


def rejoin_lanes(a: RunView, b: RunView, rows: Sequence[Row], *, over: bool) -> dict[Lanes, Rejoining]:
    """Judge each lane that parts, in the order of the rows.

    Args:
        a: The one run.
        b: The other.
        rows: All rows of the comparison.
        over: Whether both runs have ended.
    """
    by_lane: dict[Lanes, list[int]] = {}
    for index, row in enumerate(rows):
        by_lane.setdefault(row.lanes, []).append(index)
    partings = {lanes: _first_parting([rows[index] for index in indexes]) for lanes, indexes in by_lane.items()}
    starts = {lanes: start for lanes, start in partings.items() if start is not None}
    # The digests of each run are read once, from the earliest step that any lane asks for.
    behind = [rows[index] for lanes, start in starts.items() for index in by_lane[lanes][start:]]
    first_a, first_b = (min(filter(None, numbers), default=0) for numbers in _numbers(behind))
    a.read_digests(first_a)
    b.read_digests(first_b)
    alone = len(by_lane) == 1
    return {
        lanes: _judge(a, b, lanes, rows, by_lane[lanes], start, over=over, alone=alone)
        for lanes, start in starts.items()
    }


def rejoin_runs(a: RunView, b: RunView, rows: Sequence[Row], lanes: Mapping[Lanes, Rejoining]) -> Meeting | None:
    """Where two runs meet again: every lane that ever parts has, and none is apart.

    Args:
        a: The one run.
        b: The other.
        rows: All rows of the comparison.
        lanes: What becomes of each lane that parts.
    """
    first_ends = [each.apart[0][1] for each in lanes.values()]
    begin = [end for end in first_ends if end is not None]
    if not begin or len(begin) < len(first_ends):
        return None
    for index in range(max(begin), len(rows)):
        row = rows[index]
        if row.kind == "pending" or any(each.is_apart(index) for each in lanes.values()):
            continue
        one = _met_at(rows, index, lanes)
        if one is None:
            continue
        return Meeting(*one, _apart_in_all(a, b, rows, index), _parting_behind(rows, index))
    return None


def _numbers(rows: Sequence[Row]) -> tuple[list[int | None], list[int | None]]:
    return [row.a for row in rows], [row.b for row in rows]


def _first_parting(rows: Sequence[Row]) -> int | None:
    return next((index for index, row in enumerate(rows) if row.kind not in ("same", "pending")), None)


def _judge(
    a: RunView,
    b: RunView,
    lanes: Lanes,
    rows: Sequence[Row],
    indexes: Sequence[int],
    start: int,
    *,
    over: bool,
    alone: bool,
) -> Rejoining:
    """Follow one lane from parting to meeting, and on to where it parts again."""
    own = [rows[index] for index in indexes]
    if None in lanes:
        return Rejoining(lanes, None, ((indexes[start], indexes[-1] + 1 if over else None),))
    apart: list[tuple[int, int | None]] = []
    first: Meeting | None = None
    parting: int | None = start
    while parting is not None:
        by_state = rejoining_by_state(a, b, own, parting, over=over)
        met = by_state or rejoining_by_moves(own, parting, over=over)
        changes = None if met is None else changes_between(a, b, *met)
        if met is None or (changes and not alone):
            apart.append((indexes[parting], None))
            return Rejoining(lanes, first, tuple(apart), met)
        at = max(place for place, row in enumerate(own) if row.a == met[0] or row.b == met[1])
        # Its state is another one until the step is over; its moves are the same from the step before on.
        apart.append((indexes[parting], indexes[at] if by_state else indexes[at - 1] + 1))
        again = next((n for n in range(at + 1, len(own)) if own[n].kind not in ("same", "pending")), None)
        if first is None:
            number = None if again is None else own[again].a or own[again].b
            first = Meeting(*met, changes, number)
        parting = again
    return Rejoining(lanes, first, tuple(apart))


def rejoining_by_state(
    a: RunView, b: RunView, rows: Sequence[Row], parting: int, *, over: bool
) -> tuple[int, int] | None:
    """The first step of both, behind where a lane parts, after which the states are equal after they differed.

    Args:
        a: The one run.
        b: The other.
        rows: All rows of the lane.
        parting: Index of the row at which it parts.
        over: Whether both runs have ended.

    Returns:
        Its number in A and in B; None where there is no such step, or the states are not known.
    """
    behind = rows[parting:]
    if not (a.gives_digests and b.gives_digests):
        behind = behind[:_MOST_STATES]
    at: tuple[int | None, int | None] = next(
        ((row.a, row.b) for row in reversed(rows[:parting]) if row.a is not None and row.b is not None), (None, None)
    )
    differed = side_by_side = False
    at_the_end: tuple[int, int] | None = None
    for index, row in enumerate(behind):
        if row.kind == "pending":
            continue
        at = (at[0] if row.a is None else row.a, at[1] if row.b is None else row.b)
        if at[0] is None or at[1] is None:
            continue
        a.check()
        one, other = a.digest(at[0]), b.digest(at[1])
        if one is None or other is None:
            continue
        at_the_end = None
        if one != other:
            differed = True
            side_by_side = side_by_side or (row.a is not None and row.b is not None)
        elif differed and index:
            if row.a is not None and row.b is not None:
                return row.a, row.b
            at_the_end = (at[0], at[1]) if side_by_side else None
    ended = tuple(max(filter(None, numbers), default=None) for numbers in _numbers(rows))
    return at_the_end if over and at_the_end == ended else None


def rejoining_by_moves(rows: Sequence[Row], parting: int, *, over: bool) -> tuple[int, int] | None:
    """The first step, behind where a lane parts, from which both make the same moves again.

    Args:
        rows: All rows of the lane.
        parting: Index of the row at which it parts.
        over: Whether both runs have ended.

    Returns:
        Its number in A and in B; None where there is none.
    """
    known = [row for row in rows[parting:] if row.kind != "pending"]
    again = _same_again(known, over=over)
    for index, row in enumerate(known):
        if again[index] and row.a is not None and row.b is not None:
            return row.a, row.b
    return None


def changes_between(a: RunView, b: RunView, step_a: int, step_b: int) -> int | None:
    """In how many paths the states differ after two steps; None where they cannot be read."""
    one, other = a.digest(step_a), b.digest(step_b)
    if one is not None and one == other:
        return 0
    if a.lacks_state(step_a) or b.lacks_state(step_b):
        return None
    try:
        return len(differences(a.state(step_a), b.state(step_b)))
    except AgentTTError:
        return None


def _same_again(rows: Sequence[Row], *, over: bool) -> list[bool]:
    """For each row of a lane whether enough of the same moves begin there."""
    found: list[bool] = []
    length, to_the_end = 0, True
    for row in reversed(rows):
        is_same = row.kind == "same"
        length = length + 1 if is_same else 0
        to_the_end = to_the_end and is_same
        found.append(length >= _CERTAIN or (is_same and over and to_the_end))
    return found[::-1]


def _met_at(rows: Sequence[Row], index: int, lanes: Mapping[Lanes, Rejoining]) -> tuple[int, int] | None:
    """The steps of both runs that a row stands for, if they can be said to meet there."""
    row = rows[index]
    if row.a is not None and row.b is not None:
        return row.a, row.b
    ends = next((each for each in lanes.values() if each.lanes == row.lanes), None)
    if ends is None or ends.meeting is None or (row.a not in (None, ends.meeting.a)):
        return None
    return (ends.meeting.a, ends.meeting.b) if row.b in (None, ends.meeting.b) else None


def _parting_behind(rows: Sequence[Row], index: int) -> int | None:
    """Number of the first step behind a row at which any lane parts again."""
    return next((row.a or row.b for row in rows[index + 1 :] if row.kind not in ("same", "pending")), None)


def _apart_in_all(a: RunView, b: RunView, rows: Sequence[Row], index: int) -> int | None:
    """In how many paths the last states of all lanes differ at a row, in those that both runs have.

    None where that is not known: a state cannot be read, or that of a lane which has done nothing since differs, and
    may be shared with a lane that has made it equal.
    """
    last: dict[Lanes, tuple[int | None, int | None]] = {}
    for row in rows[: index + 1]:
        was = last.get(row.lanes, (None, None))
        last[row.lanes] = (was[0] if row.a is None else row.a, was[1] if row.b is None else row.b)
    here = rows[index].lanes
    found = 0
    for lanes, (step_a, step_b) in last.items():
        if step_a is None or step_b is None:
            continue
        a.check()
        apart = changes_between(a, b, step_a, step_b)
        if apart is None or (apart and lanes != here):
            return None
        found += apart
    return found
