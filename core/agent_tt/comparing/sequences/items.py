"""Which items of two lists belong together: the same ones, those that went elsewhere, and those that were edited.

In this order: items that are the same or have the same `id`, in one order; the same ones at other places; items that
are alike (see `likeness`) and stand between the same neighbours; such that are very alike, anywhere; and what then
stands alone on both sides between the same neighbours, or at the end, where two conversations part. Of all pairs the
most that are in one order *stay*, the others moved. `match_items(b, a)` is `match_items(a, b)` turned around.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.sameness import common_ends
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import VALUE, envelope_type
from agent_tt.comparing.sequences.anchors import once_in_both
from agent_tt.comparing.sequences.increasing import heaviest_rising, longest_rising
from agent_tt.comparing.sequences.sequence import align, gaps
from agent_tt.comparing.sequences.similarity import Item, likeness
from agent_tt.history.changes.align import LCS_LIMIT
from agent_tt.history.changes.diff import same
from agent_tt.history.changes.subsequence import common_subsequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["Gap", "Matching", "match_items", "match_members"]

_ALIKE: Final = 0.4
"""Likeness from which an item between the same neighbours is the same one, edited."""

_VERY_ALIKE: Final = 0.7
"""The same where it went elsewhere as well."""

_SHARED_BY: Final = 3
"""A feature that more items of one side have does not tell which belong together."""

_FEW: Final = 8
"""Up to so many items between two neighbours each is compared with each."""

_LIMIT: Final = 600
"""Places in which two very long lists of recurring items may differ to be aligned as well as can be."""

_MOST_COMPARED: Final = 60_000
"""Pairs of items that are compared at most: about half a second."""

Pair = tuple[int, int]


class Gap(NamedTuple):
    """What stands between two pairs that stayed: positions in the old list and in the new one."""

    old: tuple[int, ...]
    new: tuple[int, ...]


class _Found(NamedTuple):
    """Pairs, and which of them moved or were replaced."""

    pairs: list[Pair]
    moved: frozenset[Pair]
    replaced: frozenset[Pair]

    def turned(self) -> _Found:
        """The same with the sides the other way round."""
        return self._with(lambda pair: (pair[1], pair[0]))

    def shifted(self, by: int) -> _Found:
        """The same for lists with so many more items in front."""
        return self._with(lambda pair: (pair[0] + by, pair[1] + by))

    def _with(self, change: Callable[[Pair], Pair]) -> _Found:
        both = (frozenset(map(change, self.moved)), frozenset(map(change, self.replaced)))
        return _Found(list(map(change, self.pairs)), *both)


class Matching(NamedTuple):
    """Which items of two lists belong together.

    Attributes:
        pairs: Positions in the old and in the new list, ascending in the new one. Each position is in one pair at most.
        moved: Those of the pairs that are not in the order of the others.
        replaced: Those of the pairs that only stand at the same place: the one gave way to the other.
        removed: Positions in the old list that are in no pair, ascending.
        added: The same of the new list.
    """

    pairs: tuple[Pair, ...]
    moved: frozenset[Pair]
    replaced: frozenset[Pair]
    removed: tuple[int, ...]
    added: tuple[int, ...]

    @classmethod
    def of(
        cls,
        pairs: Sequence[Pair],
        length: int,
        new_length: int,
        moved: frozenset[Pair] = frozenset(),
        replaced: frozenset[Pair] = frozenset(),
    ) -> Matching:
        """Complete a matching of lists of these lengths."""
        olds, news = {old for old, _ in pairs}, {new for _, new in pairs}
        return cls(
            tuple(sorted(pairs, key=lambda pair: pair[1])),
            moved,
            replaced,
            tuple(at for at in range(length) if at not in olds),
            tuple(at for at in range(new_length) if at not in news),
        )


def match_items(old: Sequence[Wire], new: Sequence[Wire]) -> Matching:
    """Find out which items of two lists belong together. Bounded in time: about a second for the worst."""
    start, tail = common_ends(old, new, _unchanged)
    stop, new_stop = len(old) - tail, len(new) - tail
    found = _turned(old[start:stop], new[start:new_stop], open_end=not tail).shifted(start)
    ends = [*((at, at) for at in range(start)), *((stop + at, new_stop + at) for at in range(tail))]
    return Matching.of(ends + found.pairs, len(old), len(new), found.moved, found.replaced)


def match_members(old: Sequence[Wire], new: Sequence[Wire]) -> Matching:
    """The same for sets: a member is there or is not."""
    places = {tlv(item): at for at, item in enumerate(new)}
    keys = [tlv(item) for item in old]
    pairs = [(at, places[key]) for at, key in enumerate(keys) if key in places]
    return Matching.of(pairs, len(old), len(new))


def _unchanged(one: Wire, other: Wire) -> bool:
    return one is other or same(one, other)


def _turned(old: Sequence[Wire], new: Sequence[Wire], *, open_end: bool) -> _Found:
    """Match the sides in an order of their own, so that it does not matter which is called old."""
    if not old or not new:
        return _Found([], frozenset(), frozenset())
    plain, new_plain = list(map(tlv, old)), list(map(tlv, new))
    keys, new_keys = _with_ids(old, new, plain, new_plain)
    if plain <= new_plain:
        return _Matcher(old, new, keys, new_keys).match(open_end=open_end)
    return _Matcher(new, old, new_keys, keys).match(open_end=open_end).turned()


def _with_ids(
    old: Sequence[Wire], new: Sequence[Wire], plain: Sequence[bytes], new_plain: Sequence[bytes]
) -> tuple[list[bytes], list[bytes]]:
    """Keys that are equal for items that are the same, or have an `id` that one item of each side has."""
    ids, new_ids = list(map(_id_of, old)), list(map(_id_of, new))
    shared = {ids[at] for at, _ in once_in_both(ids, new_ids)} - {b""}

    def key(own: bytes, plain: bytes) -> bytes:
        return b"\0" + own if own in shared else plain

    return list(map(key, ids, plain)), list(map(key, new_ids, new_plain))


def _id_of(item: Wire) -> bytes:
    """What an item is known by: its `id`, also inside the envelope of an instance; empty where it has none."""
    if envelope_type(item) is not None and isinstance(item, dict):
        item = item.get(VALUE)
        if isinstance(item, list) and len(item) == 2:  # positional and named arguments of what is made again by a call
            item = item[1]
    own = item.get("id") if isinstance(item, dict) else None
    return tlv(own) if isinstance(own, (str, int)) and own != "" and not isinstance(own, bool) else b""


class _Matcher:
    """Matches two lists that have no common ends; finds pairs by one way after the other."""

    def __init__(self, a: Sequence[Wire], b: Sequence[Wire], keys_a: Sequence[bytes], keys_b: Sequence[bytes]) -> None:
        self._a, self._b = a, b
        self._keys_a, self._keys_b = keys_a, keys_b
        self._of_a: dict[int, int] = {}
        self._of_b: dict[int, int] = {}
        self._known_a: dict[int, Item] = {}
        self._known_b: dict[int, Item] = {}

    def match(self, *, open_end: bool) -> _Found:
        """Find all pairs.

        Args:
            open_end: Whether the lists end here, and not in items that both have.
        """
        for pair in _same_in_order(self._keys_a, self._keys_b):
            self._join(pair)
        self._same_elsewhere()
        self._alike()
        replaced: list[Pair] = []
        for gap in self._gaps():
            last = open_end and gap.old[-1] == len(self._a) - 1 and gap.new[-1] == len(self._b) - 1
            for pair in _in_place(gap, self._a, self._b, to_the_end=last):
                self._join(pair)
                if len(gap.old) != len(gap.new) and not _is_filled_anew(self._a[pair[0]], self._b[pair[1]]):
                    replaced.append(pair)
        pairs = sorted(self._of_a.items())
        # Of two items that swapped their places neither stays, but what is between them and still where it was.
        weights = [1 + (one == other) / (len(pairs) + 1) for one, other in pairs]
        moved = set(pairs) - {pairs[at] for at in heaviest_rising(pairs, weights)}
        return _Found(pairs, frozenset(moved), frozenset(replaced))

    def _join(self, pair: Pair) -> None:
        self._of_a[pair[0]], self._of_b[pair[1]] = pair[1], pair[0]

    def _free(self) -> tuple[list[int], list[int]]:
        return (
            [at for at in range(len(self._a)) if at not in self._of_a],
            [at for at in range(len(self._b)) if at not in self._of_b],
        )

    def _staying(self) -> list[Pair]:
        pairs = sorted(self._of_a.items())
        return [pairs[at] for at in longest_rising([other for _, other in pairs])]

    def _gaps(self) -> list[Gap]:
        """What is in no pair, between pairs that stay."""
        free_a, free_b = self._free()
        gaps = []
        at_a = at_b = 0
        for stop_a, stop_b in [*self._staying(), (len(self._a), len(self._b))]:
            end_a, end_b = bisect_left(free_a, stop_a), bisect_left(free_b, stop_b)
            if end_a > at_a and end_b > at_b:
                gaps.append(Gap(tuple(free_a[at_a:end_a]), tuple(free_b[at_b:end_b])))
            at_a, at_b = end_a, end_b
        return gaps

    def _same_elsewhere(self) -> None:
        free_a, free_b = self._free()
        places = defaultdict(list)
        for at in reversed(free_b):
            places[self._keys_b[at]].append(at)
        for at in free_a:
            there = places.get(self._keys_a[at])
            if there:
                self._join((at, there.pop()))

    def _alike(self) -> None:
        """Pair what was edited: first between the same neighbours, then what went elsewhere as well."""
        free_a, free_b = self._free()
        if not free_a or not free_b:
            return
        gaps = self._gaps()
        found: dict[Pair, float] = {}
        for one, other in self._candidates(free_a, free_b, gaps):
            score = likeness(self._known_a[one], self._known_b[other])
            if score >= _ALIKE:
                found[one, other] = score
        gap_a = {at: number for number, gap in enumerate(gaps) for at in gap.old}
        gap_b = {at: number for number, gap in enumerate(gaps) for at in gap.new}
        inside = [pair for pair in found if pair[0] in gap_a and gap_a[pair[0]] == gap_b.get(pair[1])]
        for at in heaviest_rising(inside, [found[pair] for pair in inside]):
            self._join(inside[at])
        far = [pair for pair, score in found.items() if score >= _VERY_ALIKE]
        for pair in sorted(far, key=lambda pair: (-found[pair], abs(pair[0] - pair[1]), pair)):
            if pair[0] not in self._of_a and pair[1] not in self._of_b:
                self._join(pair)

    def _candidates(self, free_a: Sequence[int], free_b: Sequence[int], gaps: Sequence[Gap]) -> Iterator[Pair]:
        """Pairs that may be alike: all of few, of many those that have a feature which few others have."""
        seen: set[Pair] = set()
        for gap in gaps:
            if len(gap.old) <= _FEW and len(gap.new) <= _FEW:
                seen.update((one, other) for one in gap.old for other in gap.new)
        with_a: dict[int, list[int]] = {}
        with_b: dict[int, list[int]] = {}
        for at in free_a:
            item = self._known_a[at] = Item.of(self._a[at])
            for sign in item.signs:
                with_a.setdefault(sign, []).append(at)
        for at in free_b:
            item = self._known_b[at] = Item.of(self._b[at])
            for sign in item.signs & with_a.keys():
                with_b.setdefault(sign, []).append(at)
        for sign, others in with_b.items():
            ones = with_a[sign]
            if len(ones) <= _SHARED_BY and len(others) <= _SHARED_BY:
                seen.update((one, other) for one in ones for other in others)
            if len(seen) > _MOST_COMPARED:
                break
        yield from sorted(seen)


def _same_in_order(a: Sequence[bytes], b: Sequence[bytes]) -> list[Pair]:
    """Pairs of equal keys in one order: the most there can be, for very long lists first those that are there once."""
    if not _are_long(a, b):
        return common_subsequence(a, b)
    once = once_in_both(a, b)
    anchors = [once[at] for at in longest_rising([other for _, other in once])]
    pairs: list[Pair] = []
    for from_a, to_a, from_b, to_b in gaps(anchors, len(a), len(b)):
        pairs += [(from_a + one, from_b + other) for one, other in _common(a[from_a:to_a], b[from_b:to_b])]
        if to_a < len(a):
            pairs.append((to_a, to_b))
    return pairs


def _common(a: Sequence[bytes], b: Sequence[bytes]) -> list[Pair]:
    """A longest common subsequence; of very long lists that have much in common at least."""
    return align(a, b, limit=_LIMIT) if _are_long(a, b) else common_subsequence(a, b)


def _are_long(a: Sequence[bytes], b: Sequence[bytes]) -> bool:
    return max(len(a), len(b)) > LCS_LIMIT


def _in_place(gap: Gap, a: Sequence[Wire], b: Sequence[Wire], *, to_the_end: bool) -> Iterator[Pair]:
    """Of as many old items as new ones each replaced one; of others the first did, bare values or at the lists' end."""
    as_many = len(gap.old) == len(gap.new)
    for one, other in zip(gap.old, gap.new, strict=False):
        kinds = _kind(a[one]), _kind(b[other])
        if kinds[0] == kinds[1] and (as_many or to_the_end or not kinds[0]):
            yield one, other
        elif not as_many:
            break


def _is_filled_anew(one: Wire, other: Wire) -> bool:
    """Whether two dicts are the same form, filled in differently: then it is said what is different in them."""
    if not isinstance(one, dict) or not isinstance(other, dict) or one.keys() != other.keys():
        return False
    return any(same(value, other[key]) for key, value in one.items())


def _kind(item: Wire) -> str:
    """What an item must have in common with another to have been replaced by it; empty for bare values."""
    if isinstance(item, (dict, list)):
        return envelope_type(item) or type(item).__name__
    return ""
