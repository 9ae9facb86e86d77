"""Which lane of one run belongs beside which lane of another.

Lanes of one name belong together, unless the name was made by counting (`main/worker.3`, the id of a task): which
worker got which piece of work is chance, and one that was left out moves the names of all after it. Such lanes are a
*family*, known by the name without its numbers, and within it the lanes are matched at the least cost. What then is
left over on both sides may be lanes under other names: these are matched at the least cost too, where any of their
moves belong together at all.

| lanes of a family | matched |
|---|---|
| up to 8 by 8 | so that the sum of what their alignments cost (`agent_tt.comparing.costs`) is the least |
| up to 200 by 200 | equal ones first, then greedily those with the most in common, near matches counted half |
| more | equal ones first, then those of one name, then those that begin with the same move |

Among equals the same name wins, then the order in which the lanes began. Lanes that began before a fork left its parent
are one and the same in both, whatever they did since.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.comparing.alignment import align_moves, alignment_cost
from agent_tt.comparing.costs import ALONE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from agent_tt.comparing.costs import Costs
    from agent_tt.comparing.moves import Move

__all__ = ["Lane", "match_lanes"]

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
        _leave(rest, ours, theirs, found)
    for lanes in rest:
        lanes.sort(key=lambda lane: lane.place)  # whatever order the families came in
    found = _match(*rest, costs, check, named=False)
    couples += found
    lonely: tuple[list[Lane], list[Lane]] = ([], [])
    _leave(lonely, *rest, found)
    return [*couples, *((lane, None) for lane in lonely[0]), *((None, lane) for lane in lonely[1])]


def _leave(
    rest: tuple[list[Lane], list[Lane]], ours: Sequence[Lane], theirs: Sequence[Lane], found: Sequence[Couple]
) -> None:
    """Put what found no partner to the rest of each side."""
    for side, lanes in enumerate((ours, theirs)):
        taken = {lane.place for couple in found if (lane := couple[side]) is not None}
        rest[side].extend(lane for lane in lanes if lane.place not in taken)


def _families(moves: Sequence[Move], begun: Collection[str]) -> dict[str, list[Lane]]:
    """The lanes of a run by the names of their families; one of `begun` is a family of its own."""
    by_name: defaultdict[str, list[Move]] = defaultdict(list)
    for move in moves:
        by_name[move.step.lane].append(move)
    families: defaultdict[str, list[Lane]] = defaultdict(list)
    for place, (name, own) in enumerate(by_name.items()):
        family = name if name in begun else _COUNTED.sub("#", name)
        families[family].append(Lane(name, tuple(own), place))
    return families


def _match(a: list[Lane], b: list[Lane], costs: Costs, check: Callable[[], None], *, named: bool) -> list[Couple]:
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
        found = _equal(one, other)
        left: tuple[list[Lane], list[Lane]] = ([], [])
        _leave(left, one, other, found)
        if len(left[0]) * len(left[1]) <= _MOST:
            found += _greedy(*left, check, named=named)
        else:
            found += _by_first(*left)
    return [(theirs, ours) if turned else (ours, theirs) for ours, theirs in found]


def _order(lanes: Iterable[Lane]) -> list[tuple[list[bytes], list[bytes], str]]:
    return [([move.did for move in lane.moves], [move.came_back for move in lane.moves], lane.name) for lane in lanes]


def _least(
    a: Sequence[Lane], b: Sequence[Lane], costs: Costs, check: Callable[[], None], *, named: bool
) -> list[tuple[Lane, Lane]]:
    """Match so that all alignments together cost the least."""
    # Below what any cost is: to be matched at all, then the same name, then the same place.
    lanes = len(a) + len(b)
    lonely = (lanes + 1) * (2 + max(lane.place for lane in (*a, *b)))
    far = (lanes + 1) * (lonely + 1)
    table: list[list[int]] = []
    for ours in a:
        row = []
        for theirs in b:
            check()
            pairs = align_moves(ours.moves, theirs.moves, costs, check)
            cost = alignment_cost(ours.moves, theirs.moves, pairs, costs)
            apart = 0 if ours.name == theirs.name else 1 + abs(ours.place - theirs.place)
            row.append(cost * far + (apart if pairs or named else 2 * lonely + 1))
        table.append(row)
    alone = [[ALONE * len(lane.moves) * far + lonely for lane in side] for side in (a, b)]
    return [(a[i], b[j]) for i, j in _assign(table, *alone)]


def _assign(table: Sequence[Sequence[int]], alone_a: Sequence[int], alone_b: Sequence[int]) -> list[tuple[int, int]]:
    """Match rows and columns at the least cost: each row with one column or alone, each column likewise.

    The Hungarian method with potentials (Kuhn 1955, in the form of Jonker and Volgenant), on the square table in which
    each row may also take a column of its own, which stands for being alone, and each column such a row.
    """
    rows, columns = len(alone_a), len(alone_b)
    size = rows + columns
    never = sum(map(sum, table)) + sum(alone_a) + sum(alone_b) + 1

    def cost(i: int, j: int) -> int:
        if i < rows:
            return table[i][j] if j < columns else alone_a[i] if j - columns == i else never
        if j < columns:
            return alone_b[j] if i - rows == j else never
        return 0

    row_of: list[int] = [-1] * (size + 1)
    potential_row, potential_column = [0] * (size + 1), [0] * (size + 1)
    for new in range(size):
        row_of[size] = new
        column = size
        least = [never * (size + 1)] * size
        way = [size] * size
        done = [False] * (size + 1)
        while row_of[column] != -1:
            done[column] = True
            row, step, nearest = row_of[column], never * (size + 2), -1
            for j in range(size):
                if done[j]:
                    continue
                reduced = cost(row, j) - potential_row[row] - potential_column[j]
                if reduced < least[j]:
                    least[j], way[j] = reduced, column
                if least[j] < step:
                    step, nearest = least[j], j
            for j in range(size + 1):
                if done[j]:
                    potential_row[row_of[j]] += step
                    potential_column[j] -= step
                elif j < size:
                    least[j] -= step
            column = nearest
        while column != size:
            row_of[column] = row_of[way[column]]
            column = way[column]
    return sorted((row_of[j], j) for j in range(columns) if row_of[j] < rows)


def _equal(a: Sequence[Lane], b: Sequence[Lane]) -> list[tuple[Lane, Lane]]:
    """Match lanes that did the same all the way, those of one name first."""
    waiting: defaultdict[Hashable, list[Lane]] = defaultdict(list)
    for lane in b:
        waiting[tuple(move.did for move in lane.moves)].append(lane)
    found: list[tuple[Lane, Lane]] = []
    for by_name in (True, False):
        taken = {ours.place for ours, _ in found}
        for ours in a:
            fits = waiting[tuple(move.did for move in ours.moves)]
            theirs = next((lane for lane in fits if not by_name or lane.name == ours.name), None)
            if theirs is not None and ours.place not in taken:
                fits.remove(theirs)
                found.append((ours, theirs))
    return found


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


def _by_first(a: Sequence[Lane], b: Sequence[Lane]) -> list[tuple[Lane, Lane]]:
    """Match lanes of one name, then those that begin alike, in order."""
    names = {lane.name: j for j, lane in enumerate(b)}
    pairs = [(i, names[lane.name]) for i, lane in enumerate(a) if lane.name in names]
    taken = {j for _, j in pairs}
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for j in range(len(b) - 1, -1, -1):
        if j not in taken:
            waiting[b[j].moves[0].alike].append(j)
    pairs += [
        (i, fits.pop())
        for i, lane in enumerate(a)
        if lane.name not in names and (fits := waiting.get(lane.moves[0].alike))
    ]
    return list(_first_come(a, b, pairs))


def _first_come(a: Sequence[Lane], b: Sequence[Lane], pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[Lane, Lane]]:
    """Those couples of which neither was matched before."""
    taken_a: set[int] = set()
    taken_b: set[int] = set()
    for i, j in pairs:
        if i not in taken_a and j not in taken_b:
            taken_a.add(i)
            taken_b.add(j)
            yield a[i], b[j]
