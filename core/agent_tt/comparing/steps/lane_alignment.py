"""Which lane of one run belongs beside which lane of another.

Lanes of one name belong together, unless the name was made by counting (`main/worker.3`, the id of a task): which
worker got which piece of work is chance, and one that was left out moves the names of all after it. Such lanes are a
*family*, known by the name without its numbers, and within it the lanes are matched at the least cost. What then is
left over on both sides may be lanes under other names: these are matched at the least cost too, where any of their
moves belong together at all.

| lanes of a family | matched |
|---|---|
| up to 8 by 8, of up to a million couples of moves | so that their alignments together cost least (see `costs`) |
| up to 200 by 200 | equal ones first, then greedily those with the most in common, near matches counted half |
| more | equal ones first, then those of one name, then those that begin with the same move |

Among equals the same name wins, then the order in which the lanes began. Lanes that began before a fork left its parent
are one and the same in both, whatever they did since.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.alignment import align_moves, alignment_cost
from agent_tt.comparing.steps.costs import ALONE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from agent_tt.comparing.steps.costs import Costs
    from agent_tt.comparing.steps.moves import Move

__all__ = ["Lane", "family_of", "match_lanes"]

_COUNTED: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{12,}|\d+", re.IGNORECASE)
"""What is a number, or an id, in a name."""

_EXACT: Final = 64
"""Couples of lanes of which each is aligned."""

_EXACT_MOVES: Final = 1_000_000
"""Couples of moves that this may take."""

_MOST: Final = 40_000
"""Couples of lanes of which each is looked at."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The moves of one lane of one run, in order; `place` is its number in the order in which the lanes began."""

    name: str
    moves: tuple[Move, ...]
    place: int


Couple: TypeAlias = "tuple[Lane | None, Lane | None]"

_Measure: TypeAlias = "tuple[int, int, int]"
"""Ranks a choice of couples, smallest first: its cost, minus the number of couples, and how far apart their names and
places are."""


def match_lanes(
    a: Sequence[Move],
    b: Sequence[Move],
    costs: Costs,
    begun: Collection[str] = (),
    check: Callable[[], None] = lambda: None,
) -> list[Couple]:
    """Match the lanes of two runs; each lane comes once, and those without a partner stand alone.

    Args:
        a: The moves of the one run.
        b: The moves of the other.
        costs: Where costs that were found before are kept.
        begun: Names of lanes that are one and the same in both runs, because they began before these became two.
        check: Called now and then; what it raises ends the matching.
    """
    left, right = _families(a, begun), _families(b, begun)
    couples: list[Couple] = []
    for name in begun:
        ours, theirs = left.pop(name, None), right.pop(name, None)
        if ours or theirs:
            couples.append((ours[0] if ours else None, theirs[0] if theirs else None))
    rest: tuple[list[Lane], list[Lane]] = ([], [])
    for family in dict.fromkeys([*left, *right]):
        ours, theirs = left.get(family, []), right.get(family, [])
        found = _match(ours, theirs, costs, check, named=True)
        couples += found
        alone_a, alone_b = _left(ours, theirs, found)
        rest[0].extend(alone_a)
        rest[1].extend(alone_b)
    for lanes in rest:
        lanes.sort(key=lambda lane: lane.place)  # whatever order the families came in
    found = _match(*rest, costs, check, named=False)
    alone_a, alone_b = _left(*rest, found)
    return [*couples, *found, *((lane, None) for lane in alone_a), *((None, lane) for lane in alone_b)]


def _left(a: Sequence[Lane], b: Sequence[Lane], found: Sequence[tuple[Lane, Lane]]) -> tuple[list[Lane], list[Lane]]:
    """What found no partner on each side."""
    taken_a, taken_b = {ours.place for ours, _ in found}, {theirs.place for _, theirs in found}
    return [lane for lane in a if lane.place not in taken_a], [lane for lane in b if lane.place not in taken_b]


def _families(moves: Sequence[Move], begun: Collection[str]) -> dict[str, list[Lane]]:
    """The lanes of a run by the names of their families; one of `begun` is a family of its own."""
    by_name: defaultdict[str, list[Move]] = defaultdict(list)
    for move in moves:
        by_name[move.step.lane].append(move)
    families: defaultdict[str, list[Lane]] = defaultdict(list)
    for place, (name, own) in enumerate(by_name.items()):
        family = family_of(name, begun)
        families[family].append(Lane(name, tuple(own), place))
    return families


def family_of(name: str, begun: Collection[str] = ()) -> str:
    """The name of a lane without its numbers; the name itself where it has none, or the lane is one of `begun`."""
    return name if name in begun else _COUNTED.sub("#", name)


def _match(
    a: list[Lane], b: list[Lane], costs: Costs, check: Callable[[], None], *, named: bool
) -> list[tuple[Lane, Lane]]:
    """Match lanes that may belong together; with `named`, as they are of one family, also where no move says so."""
    if not a or not b:
        return []
    if len(a) == len(b) == 1 and named:
        return [(a[0], b[0])]
    # In an order of their own, so that ties are decided alike whichever side comes first.
    turned = _order(a) > _order(b)
    one, other = (b, a) if turned else (a, b)
    moves = [sum(len(lane.moves) for lane in lanes) for lanes in (one, other)]
    if len(one) * len(other) <= _EXACT and moves[0] * moves[1] <= _EXACT_MOVES:
        found = _least(one, other, costs, check, named=named)
    else:
        found = _in_turn(one, other, lambda lane: (lane.name, _dids(lane)), _dids)
        left = _left(one, other, found)
        if len(left[0]) * len(left[1]) <= _MOST:
            found += _greedy(*left, check, named=named)
        else:
            found += _in_turn(*left, lambda lane: lane.name, lambda lane: lane.moves[0].alike)
    return [(theirs, ours) if turned else (ours, theirs) for ours, theirs in found]


def _order(lanes: Iterable[Lane]) -> list[tuple[list[bytes], list[bytes], str]]:
    return [([move.did for move in lane.moves], [move.came_back for move in lane.moves], lane.name) for lane in lanes]


def _least(
    a: Sequence[Lane], b: Sequence[Lane], costs: Costs, check: Callable[[], None], *, named: bool
) -> list[tuple[Lane, Lane]]:
    """Match so that all alignments together cost the least; there may be few lanes only.

    Lane by lane of `a`, for each choice of lanes of `b` that may be taken by then: the best way to take them. The best
    costs the least, then leaves the fewest lanes alone, then has the nearest names and places.
    """
    best: dict[frozenset[int], tuple[_Measure, list[tuple[Lane, Lane]]]] = {frozenset(): ((0, 0, 0), [])}
    for ours in a:
        measures = [_beside(ours, theirs, costs, check, named=named) for theirs in b]
        before = list(best.items())  # with `ours` alone
        for taken, ((cost, couples, apart), found) in before:
            for j, measure in enumerate(measures):
                if measure is None or j in taken:
                    continue
                reached = (cost + measure[0], couples + measure[1], apart + measure[2])
                if taken | {j} not in best or reached < best[taken | {j}][0]:
                    best[taken | {j}] = (reached, [*found, (ours, b[j])])
    return min(best.values(), key=lambda way: way[0])[1]


def _beside(ours: Lane, theirs: Lane, costs: Costs, check: Callable[[], None], *, named: bool) -> _Measure | None:
    """Measure one couple: its cost is that of its alignment minus that of both lanes alone; None if nothing fits."""
    check()
    pairs = align_moves(ours.moves, theirs.moves, costs, check)
    if not pairs and not named:
        return None
    cost = alignment_cost(ours.moves, theirs.moves, pairs, costs) - ALONE * (len(ours.moves) + len(theirs.moves))
    return cost, -1, 0 if ours.name == theirs.name else 1 + abs(ours.place - theirs.place)


def _in_turn(a: Sequence[Lane], b: Sequence[Lane], *keys: Callable[[Lane], Hashable]) -> list[tuple[Lane, Lane]]:
    """Match lanes that have a key in common, in the order in which they began: the first key, then the next one."""
    found: list[tuple[Lane, Lane]] = []
    for key in keys:
        left_a, left_b = _left(a, b, found)
        waiting: defaultdict[Hashable, deque[Lane]] = defaultdict(deque)
        for lane in left_b:
            waiting[key(lane)].append(lane)
        found += [(ours, waiting[key(ours)].popleft()) for ours in left_a if waiting[key(ours)]]
    return found


def _dids(lane: Lane) -> tuple[bytes, ...]:
    return tuple(move.did for move in lane.moves)


def _greedy(a: Sequence[Lane], b: Sequence[Lane], check: Callable[[], None], *, named: bool) -> list[tuple[Lane, Lane]]:
    """Match the two lanes that have the most in common, then the next two."""
    of_a, of_b = ([_counted(lane) for lane in lanes] for lanes in (a, b))
    ranked = []
    for i, ours in enumerate(a):
        check()
        for j, theirs in enumerate(b):
            same, alike = (_in_common(of_a[i][kind], of_b[j][kind]) for kind in (0, 1))
            if same or alike or named:
                unlike = len(ours.moves) + len(theirs.moves) - same - alike  # those that are the same count in both
                ranked.append((unlike, -same, ours.name != theirs.name, abs(ours.place - theirs.place), i, j))
    ranked.sort()
    return list(_first_come(a, b, ((i, j) for *_, i, j in ranked)))


def _counted(lane: Lane) -> tuple[Counter[Hashable], Counter[Hashable]]:
    return Counter(move.did for move in lane.moves), Counter(move.alike for move in lane.moves)


def _in_common(one: Counter[Hashable], other: Counter[Hashable]) -> int:
    return sum(min(count, other[key]) for key, count in one.items() if key in other)


def _first_come(a: Sequence[Lane], b: Sequence[Lane], pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[Lane, Lane]]:
    """Those couples of which neither was matched before."""
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    for i, j in pairs:
        if i not in taken_a and j not in taken_b:
            taken_a.add(i)
            taken_b.add(j)
            yield a[i], b[j]
