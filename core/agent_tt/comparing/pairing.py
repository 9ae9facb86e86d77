"""Which step of one run belongs beside which of the other, lane by lane."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from agent_tt.comparing.sequence import align

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.comparing.moves import Move


@dataclass(frozen=True, slots=True)
class Couple:
    """Two moves side by side, or one that the other run has nothing beside."""

    a: Move | None
    b: Move | None


def pair_moves(a: Sequence[Move], b: Sequence[Move]) -> list[Couple]:
    """Pair the moves of two runs; within a lane the order is kept, and every move comes once.

    Moves that did the same are paired first, as many as can be; between those, moves that did the same kind of thing;
    and where a lane parts for the first time, the two moves that were made instead of each other.

    Args:
        a: The moves of the one run, in order.
        b: The moves of the other.

    Returns:
        The couples in the order in which `a` made its moves; what only `b` did follows what its lane did before it.
    """
    ranked: list[tuple[tuple[int, int, int], Couple]] = []
    for lane_a, lane_b in _lanes(a, b):
        last_a = -1
        for couple in _pair_lane(lane_a, lane_b):
            if couple.a is not None:
                last_a = couple.a.number
                ranked.append(((last_a, 0, 0), couple))
            elif couple.b is not None:
                ranked.append(((last_a, 1, couple.b.number), couple))
    ranked.sort(key=lambda item: item[0])
    return [couple for _, couple in ranked]


def _lanes(a: Sequence[Move], b: Sequence[Move]) -> Iterator[tuple[list[Move], list[Move]]]:
    """Lanes that belong together: those of one name, then those that begin with the same move."""
    lanes_a, lanes_b = _by_lane(a), _by_lane(b)
    for name in [name for name in lanes_a if name in lanes_b]:
        yield lanes_a.pop(name), lanes_b.pop(name)
    for moves_a in lanes_a.values():
        twin = next((name for name, moves_b in lanes_b.items() if moves_b[0].did == moves_a[0].did), None)
        yield moves_a, lanes_b.pop(twin) if twin is not None else []
    for moves_b in lanes_b.values():
        yield [], moves_b


def _by_lane(moves: Sequence[Move]) -> dict[str, list[Move]]:
    lanes: dict[str, list[Move]] = {}
    for move in moves:
        lanes.setdefault(move.step.lane, []).append(move)
    return lanes


def _pair_lane(a: Sequence[Move], b: Sequence[Move]) -> Iterator[Couple]:
    equal = align([move.did for move in a], [move.did for move in b])
    parted = False
    for (from_a, from_b), (to_a, to_b) in pairwise([(-1, -1), *equal, (len(a), len(b))]):
        gap_a, gap_b = a[from_a + 1 : to_a], b[from_b + 1 : to_b]
        if gap_a or gap_b:
            yield from _pair_gap(gap_a, gap_b, first=not parted)
            parted = True
        if to_a < len(a):
            yield Couple(a[to_a], b[to_b])


def _pair_gap(a: Sequence[Move], b: Sequence[Move], *, first: bool) -> Iterator[Couple]:
    """Pair moves of which no two did the same."""
    alike = align([move.alike for move in a], [move.alike for move in b])
    if first and a and b and (not alike or (alike[0][0] > 0 and alike[0][1] > 0)):
        alike.insert(0, (0, 0))
    for (from_a, from_b), (to_a, to_b) in pairwise([(-1, -1), *alike, (len(a), len(b))]):
        yield from (Couple(move, None) for move in a[from_a + 1 : to_a])
        yield from (Couple(None, move) for move in b[from_b + 1 : to_b])
        if to_a < len(a):
            yield Couple(a[to_a], b[to_b])
