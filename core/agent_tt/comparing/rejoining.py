"""Where two runs that have parted meet again: by their states, else by their moves.

- *States*: the first step of both after which the states are equal, once they differed. By then it does not matter how
  each got there. Where no step of one run stands beside one of the other there, that counts only for the end of both.
- *Moves*: the first step from which both make the same moves again: two or more in a row, or all that are left when
  both runs are over. A single step of a loop may well come up again on another way. In runs of several lanes no lane
  that has parted may still be on its own way.

In a store of agent-tt the digests of all states are read at once; of a file in which each has to be made first, no more
than 2,000 steps behind the parting are looked at.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.rows import Lanes, Row
    from agent_tt.comparing.side import Side

__all__ = ["rejoining_by_moves", "rejoining_by_state"]

_CERTAIN: Final = 2
"""How many equal moves in a row are more than chance."""

_MOST_STATES: Final = 2_000
"""Steps of which the state is made to compare it."""


def rejoining_by_state(a: Side, b: Side, rows: Sequence[Row], parting: int) -> tuple[int, int] | None:
    """The first step of both, behind where they part, after which their states are equal after they differed.

    Args:
        a: The one run.
        b: The other.
        rows: All rows of the comparison.
        parting: Index of the row at which they part.

    Returns:
        Its number in A and in B; None where there is no such step, or the states are not known.
    """
    behind = rows[parting:]
    if a.pages is None or b.pages is None:
        behind = behind[:_MOST_STATES]
    start_a = min((row.a for row in behind if row.a is not None), default=0)
    start_b = min((row.b for row in behind if row.b is not None), default=0)
    last: dict[Lanes, tuple[int, int]] = {}
    for row in rows[:parting]:
        if row.a is not None and row.b is not None:
            last[row.lanes] = (row.a, row.b)
    differed = side_by_side = False
    at_the_end: tuple[int, int] | None = None
    for index, row in enumerate(behind):
        if row.kind == "pending":
            at_the_end = None
            continue
        was = last.get(row.lanes)
        at = (row.a or (was and was[0]), row.b or (was and was[1]))
        if at[0] is None or at[1] is None:
            continue
        last[row.lanes] = (at[0], at[1])
        a.check()
        one, other = a.digest(at[0], start=start_a), b.digest(at[1], start=start_b)
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
    ended = (a.steps and a.steps[-1].number, b.steps and b.steps[-1].number)
    return at_the_end if at_the_end == ended else None


def rejoining_by_moves(rows: Sequence[Row], parting: int, *, over: bool) -> tuple[int, int] | None:
    """The first step, behind where they part, from which both make the same moves again.

    Args:
        rows: All rows of the comparison.
        parting: Index of the row at which they part.
        over: Whether both runs have ended.

    Returns:
        Its number in A and in B; None where there is none.
    """
    known = [row for row in rows[parting:] if row.kind != "pending"]
    after = _next_in_lane(known)
    again = _same_again(known, after, over=over)
    parted: set[Lanes] = set()
    on_their_way: set[Lanes] = set()
    for index, row in enumerate(known):
        if again[index] and not on_their_way and row.a is not None and row.b is not None:
            return row.a, row.b
        if row.kind != "same":
            parted.add(row.lanes)
        if row.lanes in parted:
            following = after[index]
            (on_their_way.discard if following is None or again[following] else on_their_way.add)(row.lanes)
    return None


def _next_in_lane(rows: Sequence[Row]) -> list[int | None]:
    """For each row the index of the next one in its lane."""
    following: list[int | None] = [None] * len(rows)
    seen: defaultdict[Lanes, int | None] = defaultdict(lambda: None)
    for index in range(len(rows) - 1, -1, -1):
        following[index] = seen[rows[index].lanes]
        seen[rows[index].lanes] = index
    return following


def _same_again(rows: Sequence[Row], after: Sequence[int | None], *, over: bool) -> list[bool]:
    """For each row whether enough of the same moves begin there, in its lane."""
    lengths = [0] * len(rows)
    to_the_end = [False] * len(rows)
    for index in range(len(rows) - 1, -1, -1):
        following = after[index]
        if rows[index].kind == "same":
            lengths[index] = 1 + (lengths[following] if following is not None else 0)
            to_the_end[index] = following is None or to_the_end[following]
    return [length >= _CERTAIN or (length > 0 and over and to_the_end[i]) for i, length in enumerate(lengths)]
