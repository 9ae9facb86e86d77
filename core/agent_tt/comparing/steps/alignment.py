"""The least costly alignment of two lanes, as `agent_tt.comparing.steps.costs` counts.

Exact where that is affordable, else near it:

1. What both lanes begin and end with is cut off: some least costly alignment always pairs it.
2. A first alignment pairs as many equal moves as can be, and between those as many near matches as can be; in gaps of
   up to 10,000 couples (100 by 100 moves) it is the least costly one.
3. Its cost bounds where a better one can lie: not further from the diagonal than that many moves left out. Where
   that band holds up to 250,000 couples (any two lanes of 500 moves, lanes of 5,000 that differ in some 25 places),
   the least costly path in it is found, and with it the least of all. What does not fit stays as step 2 found it.

Of alignments that cost the same, one is taken with the fewest equal moves that came back with something else. Which
of several that are left depends on the moves alone and not on which side is called A: `align_moves(b, a)` is the mirror
image of `align_moves(a, b)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.codec.sameness import common_ends
from agent_tt.comparing.sequences.sequence import align, gaps
from agent_tt.comparing.steps.costs import ALONE
from agent_tt.history.changes.subsequence import common_subsequence

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from agent_tt.comparing.steps.costs import Costs
    from agent_tt.comparing.steps.moves import Move

__all__ = ["align_moves", "alignment_cost"]

_BAND: Final = 501 * 501
"""Couples that are looked at for the least cost: about a tenth of a second."""

_NEAR: Final = 500
"""Near matches in the first alignment beyond which the band is wider than that, or nearly."""

_GAP: Final = 10_000
"""Couples between two pairs up to which these are aligned at least cost."""

_GAPS: Final = 500_000
"""The same, in all gaps together."""

_EXACT: Final = 100_000_000
"""Product of two lengths up to which as many equal moves are paired as can be: about a tenth of a second."""

_SHIFT: Final = 24
"""Costs are kept above, other results of equal moves are counted below: 16 million of them weigh less than 0.001."""

_ALONE: Final = ALONE << _SHIFT
_FAR: Final = 1 << 80

Pair: TypeAlias = "tuple[int, int]"


def align_moves(
    a: Sequence[Move], b: Sequence[Move], costs: Costs, check: Callable[[], None] = lambda: None
) -> list[Pair]:
    """Pair the moves of two lanes at the least cost, where that is affordable (see the module).

    Args:
        a: the moves of the one lane, in order.
        b: the moves of the other.
        costs: where costs that were found before are kept.
        check: called now and then; what it raises ends the alignment.

    Returns:
        Pairs of indexes (into `a`, into `b`), both ascending, each of two moves that did the same or are a near match;
        what is in no pair stands alone.
    """
    # Sides in an order of their own, so that ties are decided alike whichever side comes first.
    if [(move.did, move.came_back) for move in a] <= [(move.did, move.came_back) for move in b]:
        return _align(a, b, costs, check)
    return [(i, j) for j, i in _align(b, a, costs, check)]


def alignment_cost(a: Sequence[Move], b: Sequence[Move], pairs: Sequence[Pair], costs: Costs) -> int:
    """What an alignment costs, in thousandths."""
    return sum(costs.of(a[i], b[j]) for i, j in pairs) + ALONE * (len(a) + len(b) - 2 * len(pairs))


def _align(a: Sequence[Move], b: Sequence[Move], costs: Costs, check: Callable[[], None]) -> list[Pair]:
    start, behind = common_ends(a, b, _is_same)
    middle_a, middle_b = a[start : len(a) - behind], b[start : len(b) - behind]
    pairs = [(index, index) for index in range(start)]
    pairs += [(start + i, start + j) for i, j in _align_middle(middle_a, middle_b, costs, check)]
    return pairs + [(len(a) - left, len(b) - left) for left in range(behind, 0, -1)]


def _is_same(a: Move, b: Move) -> bool:
    return a.did == b.did and a.came_back == b.came_back


def _align_middle(a: Sequence[Move], b: Sequence[Move], costs: Costs, check: Callable[[], None]) -> list[Pair]:
    if not a or not b:
        return []
    first = _first_alignment(a, b, costs, check)
    near = [(i, j) for i, j in first if a[i].did != b[j].did]
    alone = len(a) + len(b) - 2 * len(first)
    if len(near) > _NEAR or _cells(len(a), len(b), alone) > _BAND:
        return first
    most = alone + sum(costs.of(a[i], b[j]) for i, j in near) // ALONE
    return _least(a, b, most, costs) if _cells(len(a), len(b), most) <= _BAND else first


def _first_alignment(a: Sequence[Move], b: Sequence[Move], costs: Costs, check: Callable[[], None]) -> list[Pair]:
    """Pair equal moves first, then near matches between them."""
    equal = _common([move.did for move in a], [move.did for move in b])
    pairs: list[Pair] = []
    left = _GAPS
    for from_a, to_a, from_b, to_b in gaps(equal, len(a), len(b)):
        check()
        gap_a, gap_b = a[from_a:to_a], b[from_b:to_b]
        cells = len(gap_a) * len(gap_b)
        if cells == 1:
            found = [(0, 0)] if gap_a[0].alike == gap_b[0].alike else []
        elif cells and cells <= min(_GAP, left):
            left -= cells
            found = _least(gap_a, gap_b, len(gap_a) + len(gap_b), costs)
        else:
            found = _common([move.alike for move in gap_a], [move.alike for move in gap_b])
        pairs += [(from_a + i, from_b + j) for i, j in found]
        if to_a < len(a):
            pairs.append((to_a, to_b))
    return pairs


def _common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Pair as many equal elements as can be; of very long sequences perhaps fewer."""
    if len(a) * len(b) <= _EXACT:
        return common_subsequence(a, b)
    codes: dict[Hashable, str] = {}
    return align(*([codes.setdefault(key, str(len(codes))) for key in keys] for keys in (a, b)))


def _cells(length_a: int, length_b: int, most: int) -> int:
    """How many couples a path can come through that leaves out at most so many moves."""
    below, above = _reach(length_a, length_b, most)
    return (length_a + 1) * min(length_b + 1, below + above + 1)


def _reach(length_a: int, length_b: int, most: int) -> Pair:
    """How far a path that leaves out at most so many moves, as many as it must, is ahead of the diagonal in A, in B."""
    longer = length_b - length_a
    return (most - longer) // 2, (most + longer) // 2


def _least(a: Sequence[Move], b: Sequence[Move], most: int, costs: Costs) -> list[Pair]:
    """The least costly alignment, given that it leaves out at most so many moves.

    Row i of the table holds what the first i moves of `a` cost at least beside the first j of `b`, for those j that a
    path can come through; `ways` holds how: 0 beside each other, 1 that of `a` alone, 2 that of `b` alone.
    """
    ahead_a, ahead_b = _reach(len(a), len(b), most)
    dids_b, alikes_b, backs_b = [m.did for m in b], [m.alike for m in b], [m.came_back for m in b]
    near = costs.near
    ways: list[tuple[int, bytearray]] = []
    row = [_ALONE * j for j in range(min(len(b), ahead_b) + 1)]
    low = 0
    for i, move in enumerate(a, start=1):
        did, alike, back = move.did, move.alike, move.came_back
        before, before_low = row, low
        low, high = max(0, i - ahead_a), min(len(b), i + ahead_b)
        row, how = [], bytearray()
        here = _FAR
        for j in range(low, high + 1):
            above = j - before_low
            best, way = here + _ALONE, 2
            if above < len(before) and before[above] + _ALONE <= best:
                best, way = before[above] + _ALONE, 1
            if j and above:
                if dids_b[j - 1] == did:
                    cost = before[above - 1] + (backs_b[j - 1] != back)
                elif alikes_b[j - 1] == alike:
                    cost = before[above - 1] + (near(move, b[j - 1]) << _SHIFT)
                else:
                    cost = _FAR
                if cost <= best:
                    best, way = cost, 0
            here = best
            row.append(best)
            how.append(way)
        ways.append((low, how))
    pairs: list[Pair] = []
    i, j = len(a), len(b)
    while i and j:
        low, how = ways[i - 1]
        way = how[j - low]
        if way == 0:
            pairs.append((i - 1, j - 1))
        i, j = i - (way != 2), j - (way != 1)
    pairs.reverse()
    return pairs
