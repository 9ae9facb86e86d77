"""Which step of one run belongs beside which of the other, lane by lane."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.comparing.sequences.sequence import gaps
from agent_tt.comparing.steps.alignment import align_moves
from agent_tt.comparing.steps.costs import Costs
from agent_tt.comparing.steps.lane_alignment import family_of, match_lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from agent_tt.comparing.runs.rows import Lanes
    from agent_tt.comparing.steps.moves import Move

__all__ = ["Couple", "find_moved", "pair_moves"]


@dataclass(frozen=True, slots=True)
class Couple:
    """Two moves side by side, or one that the other run has nothing beside.

    Attributes:
        a: What the one run did.
        b: What the other did.
        lanes: Names of the lanes that they are in, in A and in B.
    """

    a: Move | None
    b: Move | None
    lanes: Lanes = ("main", "main")


def pair_moves(
    a: Sequence[Move], b: Sequence[Move], begun: Collection[str] = (), check: Callable[[], None] = lambda: None
) -> list[Couple]:
    """Pair the moves of two runs; within a lane the order is kept, and every move comes once.

    The lanes are matched (`agent_tt.comparing.steps.lane_alignment`) and each two aligned at the least cost
    (`agent_tt.comparing.steps.alignment`). Where a lane diverges for the first time, and each run did something else
    there, the two moves stand side by side, which costs as much as each alone. An edit of the state before them stands
    alone: it is nothing that the other run did otherwise.

    Which of several workers takes a piece of work is chance: what is then left over in lanes of one family, and another
    lane of it did in the other run, belongs together too.

    Args:
        a: The moves of the one run, in order.
        b: The moves of the other.
        begun: Names of lanes that are one and the same in both, because they began before the runs became two.
        check: Called now and then; what it raises ends the pairing.

    Returns:
        The couples in the order in which `a` made its moves. What only `b` did follows what its lane did before it, and
        in a lane of its own what the others had done by then.
    """
    costs = Costs()
    by_lanes: dict[Lanes, list[Couple]] = {}
    matched: list[tuple[Lanes, Sequence[Move], Sequence[Move]]] = []
    for lane_a, lane_b in match_lanes(a, b, costs, begun, check):
        check()
        ours: Sequence[Move] = () if lane_a is None else lane_a.moves
        theirs: Sequence[Move] = () if lane_b is None else lane_b.moves
        names = (None if lane_a is None else lane_a.name, None if lane_b is None else lane_b.name)
        matched.append((names, ours, theirs))
        by_lanes[names] = list(_pair_lane(ours, theirs, names, costs, check))
    shared_out = _shared_out([couple for own in by_lanes.values() for couple in own], begun)
    taken_a = {couple.a.number for couple in shared_out if couple.a is not None}
    taken_b = {couple.b.number for couple in shared_out if couple.b is not None}
    for names, ours, theirs in matched if shared_out else ():
        left_a = [move for move in ours if move.number not in taken_a]
        left_b = [move for move in theirs if move.number not in taken_b]
        if len(left_a) < len(ours) or len(left_b) < len(theirs):
            check()
            by_lanes[names] = list(_pair_lane(left_a, left_b, names, costs, check))
    return _in_order([*(couple for own in by_lanes.values() for couple in own), *shared_out])


def _shared_out(couples: Sequence[Couple], begun: Collection[str]) -> list[Couple]:
    """Moves that both runs made in lanes of one family, though in lanes that do not belong together."""
    apart = [each for each in couples if each.a is None or each.b is None or each.a.did != each.b.did]
    found: list[Couple] = []
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    for with_result in (True, False):  # of equal questions first the one that came back alike
        waiting: defaultdict[tuple[str, bytes, bytes], dict[Lanes, deque[Move]]] = defaultdict(dict)
        for lanes, move in ((each.lanes, each.b) for each in apart if each.b is not None):
            if move.number not in taken_b and (place := _shareable(move, begun, with_result=with_result)):
                waiting[place].setdefault(lanes, deque()).append(move)
        for lanes, move in ((each.lanes, each.a) for each in apart if each.a is not None):
            place = None if move.number in taken_a else _shareable(move, begun, with_result=with_result)
            there = {} if place is None else waiting.get(place, {})
            # Those of its own lane stand there in another order, which is no chance.
            origin = next((each for each, moves in there.items() if moves and each != lanes), None)
            if origin is not None:
                other = there[origin].popleft()
                taken_a.add(move.number)
                taken_b.add(other.number)
                found.append(Couple(move, other, origin if None in lanes and None not in origin else lanes))
    return found


def _shareable(move: Move, begun: Collection[str], *, with_result: bool) -> tuple[str, bytes, bytes] | None:
    """Give the key of moves that any worker of a pool could have made; None for a lane with a name of its own."""
    family = family_of(move.step.lane, begun)
    if family == move.step.lane or move.is_edit:
        return None
    return family, move.did, move.came_back if with_result else b""


def find_moved(couples: Sequence[Couple]) -> list[tuple[int, int]]:
    """The steps of A that B took as well, at another place in the lane: (number in A, number in B), in order of A."""
    waiting: defaultdict[tuple[Lanes, bytes], list[int]] = defaultdict(list)
    apart = [each for each in couples if each.a is None or each.b is None or each.a.did != each.b.did]
    for couple in reversed(apart):
        if couple.b is not None:
            waiting[couple.lanes, couple.b.did].append(couple.b.number)
    return [
        (couple.a.number, there.pop())
        for couple in apart
        if couple.a is not None and (there := waiting.get((couple.lanes, couple.a.did)))
    ]


def _pair_lane(
    a: Sequence[Move], b: Sequence[Move], names: Lanes, costs: Costs, check: Callable[[], None]
) -> Iterator[Couple]:
    pairs = align_moves(a, b, costs, check)
    parted = False
    for from_a, to_a, from_b, to_b in gaps(pairs, len(a), len(b)):
        if not parted and from_a < to_a and from_b < to_b:
            did_a, did_b = _behind_edits(a, from_a, to_a), _behind_edits(b, from_b, to_b)
            yield from (Couple(move, None, names) for move in a[from_a:did_a])
            yield from (Couple(None, move, names) for move in b[from_b:did_b])
            yield Couple(a[did_a], b[did_b], names)
            from_a, from_b, parted = did_a + 1, did_b + 1, True  # noqa: PLW2901  these are said
        yield from (Couple(move, None, names) for move in a[from_a:to_a])
        yield from (Couple(None, move, names) for move in b[from_b:to_b])
        parted = parted or from_a < to_a or from_b < to_b
        if to_a < len(a):
            yield Couple(a[to_a], b[to_b], names)
            parted = parted or a[to_a].did != b[to_b].did


def _behind_edits(moves: Sequence[Move], start: int, stop: int) -> int:
    """The index of the first move in a stretch that is no edit of the state; of its first one if all are."""
    return next((index for index in range(start, stop) if not moves[index].is_edit), start)


def _in_order(couples: Sequence[Couple]) -> list[Couple]:
    """Merge the lanes again."""
    beside = sorted((each.b.number, each.a.number) for each in couples if each.a is not None and each.b is not None)
    numbers_b = [b for b, _ in beside]
    # By then: the furthest step of A beside what B had done, whatever order B's lanes took turns in.
    furthest: list[int] = []
    for _, a in beside:
        furthest.append(max(a, furthest[-1]) if furthest else a)
    first_a: dict[Lanes, int] = {}
    for couple in couples:
        if couple.a is not None:
            first_a.setdefault(couple.lanes, couple.a.number)
    last_a: dict[Lanes, int] = {}
    ranked: list[tuple[tuple[int, int], Couple]] = []  # by a step of A, and what stands behind it by that of B
    for couple in couples:
        if couple.a is not None:
            last_a[couple.lanes] = couple.a.number
            ranked.append(((couple.a.number, 0), couple))
        elif couple.b is not None:
            after = last_a.get(couple.lanes)
            if after is None:
                index = bisect_left(numbers_b, couple.b.number)
                after = furthest[index - 1] if index else -1
                if couple.lanes in first_a:
                    after = min(after, first_a[couple.lanes] - 1)
            ranked.append(((after, couple.b.number), couple))
    ranked.sort(key=lambda item: item[0])
    return [couple for _, couple in ranked]
