"""Whether two values are equal under rules that let some differences pass.

The rules are those of `agent_tt.comparing.values.ignoring`. `as_judged` makes of a value what the rules leave of it,
without what lies at ignored paths and, where types do not count, without the types; all else works on that form.

Lists whose order does not count are equal when their items can be paired so that each pair is equal. Without a
tolerance equal items have one *shape*, so that takes linear time. With one, being equal is not transitive: 1.0 is near
1.1 and 1.1 near 1.2, so the pairs are found as a largest matching, among items that are alike but for their numbers.
Its work is bounded. DeepDiff, whose options these are named after, pairs the nearest items first, which can miss the
pairs that there are, and has no tolerance inside the items of such lists.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from agent_tt.codec.sameness import identical
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import TYPE, VALUE, envelope_type, is_envelope
from agent_tt.comparing.values.typed_values import CONTAINERS, by_key, exact, is_dict, is_set, number_of, untyped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_tt.codec.paths import Pattern
    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.ignoring import Ignoring

__all__ = ["LooseEquality", "TooManyPairs", "into"]

MOST_WORK: Final = 1_000_000
"""Work that goes into pairing items in one comparison of two states: some seconds at most."""

_COMPARED: Final = 50
_LOOKED: Final = 1
"""What it costs to compare two items, and to look at a pair that need not be compared."""


class TooManyPairs(Exception):
    """There are more pairs to try than may be tried: whether the items are equal stays unknown."""


def into(patterns: tuple[Pattern, ...], step: str | int | None) -> tuple[Pattern, ...]:
    """What is left of patterns one step further; an empty pattern says that the place itself is meant."""
    return tuple(dict.fromkeys(one[1:] for one in patterns if one and (one[0] is None or one[0] == step)))


class LooseEquality:
    """Compares values under rules.

    Args:
        rules: what does not count.
    """

    def __init__(self, rules: Ignoring) -> None:
        self._rules = rules
        self._near = Fraction(0) if rules.tolerance is None else Fraction(rules.tolerance)
        self._blurred = rules.tolerance is not None
        self._left = MOST_WORK

    # What the rules leave of a value.

    def as_judged(self, value: Wire, patterns: tuple[Pattern, ...]) -> Wire:
        """Give a value without what lies at ignored paths, and without types where these do not count."""
        if isinstance(value, list):
            inside = [(item, into(patterns, at)) for at, item in enumerate(value)]
            return [self.as_judged(item, rest) for item, rest in inside if () not in rest]
        if not isinstance(value, dict):
            return value
        kind = envelope_type(value)
        if not is_envelope(value):
            return self._fields(value, patterns)
        payload = value.get(VALUE)
        if kind in CONTAINERS:
            if isinstance(payload, list) and is_dict(value):
                payload = self._entries(payload, patterns)
            else:
                payload = self.as_judged(payload, patterns)
            value = {**value, VALUE: payload}
        return untyped(value) if self._rules.types else value

    def _fields(self, value: dict[str, Wire], patterns: tuple[Pattern, ...]) -> dict[str, Wire]:
        inside = [(key, item, into(patterns, key)) for key, item in value.items()]
        return {key: self.as_judged(item, rest) for key, item, rest in inside if () not in rest}

    def _entries(self, pairs: list[Wire], patterns: tuple[Pattern, ...]) -> list[Wire]:
        """The same of the entries of a dict whose keys are not all plain text."""
        kept: list[Wire] = []
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                kept.append(pair)
                continue
            rest = into(patterns, pair[0] if isinstance(pair[0], str) else None)
            if () not in rest:
                kept.append([pair[0], self.as_judged(pair[1], rest)])
        return kept

    # Whether two such values are equal.

    def equal(self, one: Wire, other: Wire) -> bool:
        """Whether two values are equal, both `as_judged`.

        Raises:
            TooManyPairs: lists without order in them would take too long.
        """
        if self._rules.tolerance is not None or self._rules.types:
            numbers = number_of(one), number_of(other)
            if numbers[0] is not None and numbers[1] is not None:
                return self._near_by(numbers[0], numbers[1])
        if type(one) is not type(other):
            return False
        if isinstance(one, list) and isinstance(other, list):
            return self._items_equal(one, other, ordered=not self._rules.order)
        if not isinstance(one, dict) or not isinstance(other, dict):
            return identical(one, other)
        kind = envelope_type(one)
        if TYPE not in one and TYPE not in other:
            return one.keys() == other.keys() and all(self.equal(value, other[key]) for key, value in one.items())
        if kind not in CONTAINERS or not _same_header(one, other):
            return identical(one, other)
        payload, other_payload = one.get(VALUE), other.get(VALUE)
        if isinstance(payload, list) and isinstance(other_payload, list):
            if is_dict(one):
                entries, others = by_key(payload), by_key(other_payload)
                return entries.keys() == others.keys() and all(
                    self.equal(value, others[key]) for key, value in entries.items()
                )
            return self._items_equal(payload, other_payload, ordered=not is_set(one) and not self._rules.order)
        return self.equal(payload, other_payload)

    def _near_by(self, one: tuple[str, Fraction], other: tuple[str, Fraction]) -> bool:
        return (self._rules.types or one[0] == other[0]) and abs(one[1] - other[1]) <= self._near

    def _items_equal(self, one: list[Wire], other: list[Wire], *, ordered: bool) -> bool:
        if len(one) != len(other):
            return False
        if ordered:
            return all(map(self.equal, one, other))
        return len(self.pairs(one, other)) == len(one)

    # Pairing items whose order does not count.

    def pairs(self, one: Sequence[Wire], other: Sequence[Wire]) -> list[tuple[int, int]]:
        """Pair equal items, as many as can be paired.

        Args:
            one: items, each `as_judged`.
            other: other items.

        Returns:
            Positions in both, each in one pair at most, ascending in `one`.

        Raises:
            TooManyPairs: it would take too long.
        """
        like: dict[bytes, list[int]] = {}
        for at, item in enumerate(other):
            like.setdefault(self._shape(item), []).append(at)
        alike: dict[bytes, list[int]] = {}
        for at, item in enumerate(one):
            shape = self._shape(item)
            if shape in like:
                alike.setdefault(shape, []).append(at)
        found: list[tuple[int, int]] = []
        for shape, olds in alike.items():
            if self._blurred:
                found += _Matching(self, {at: one[at] for at in olds}, {at: other[at] for at in like[shape]}).pairs()
            else:
                found += zip(olds, like[shape], strict=False)
        return sorted(found)

    def tried(self, work: int) -> None:
        """Count the work of trying one more pair.

        Raises:
            TooManyPairs: it is too much.
        """
        self._left -= work
        if self._left < 0:
            raise TooManyPairs

    @property
    def near(self) -> Fraction:
        """How far apart two equal numbers may be."""
        return self._near

    def _shape(self, value: Wire) -> bytes:
        """What equal values have in common; without a tolerance only these have it."""
        return tlv(self._form(value))

    def _form(self, value: Wire) -> object:
        number = number_of(value) if self._blurred or self._rules.types else None
        if number is not None:
            kind = "" if self._rules.types else number[0]
            return ["number", kind] if self._blurred else ["number", kind, str(number[1])]
        if isinstance(value, list):
            return self._row(value, ordered=not self._rules.order)
        if not isinstance(value, dict):
            return ["value", value]
        if not is_envelope(value):
            return ["dict", [[key, self._form(value[key])] for key in sorted(value)]]
        if envelope_type(value) not in CONTAINERS:
            return ["exact", exact(value)]
        header = {key: part for key, part in value.items() if key != VALUE}
        payload = value.get(VALUE)
        if isinstance(payload, list) and is_dict(value):
            entries = by_key(payload)
            form: object = [[key, self._form(entries[key])] for key in sorted(entries)]
        elif isinstance(payload, list):
            form = self._row(payload, ordered=not is_set(value) and not self._rules.order)
        else:
            form = self._form(payload)
        return ["typed", exact(header), form]

    def _row(self, items: list[Wire], *, ordered: bool) -> object:
        if ordered:
            return ["list", [self._form(item) for item in items]]
        return ["bag", sorted(self._shape(item) for item in items)]

    def numbers(self, value: Wire, *, free: bool = False) -> Iterator[Fraction]:
        """The numbers in a value: with `free` all, else those that stand in the same order in all values of its shape.

        In lists without order the numbers of one item cannot be told from those of another.
        """
        number = number_of(value)
        if number is not None:
            yield number[1]
        elif isinstance(value, list):
            for item in value if free or not self._rules.order else ():
                yield from self.numbers(item, free=free)
        elif isinstance(value, dict) and (free or not (is_set(value) or is_dict(value))):
            for key in sorted(value):
                yield from self.numbers(value[key], free=free)


class _Matching:
    """A largest matching of items that are alike but for their numbers.

    Items are paired in the order of their numbers first, which is all there is to do as a rule. What is left over then
    is joined by augmenting paths: partners are passed on until one is free.
    """

    def __init__(self, judge: LooseEquality, one: dict[int, Wire], other: dict[int, Wire]) -> None:
        self._judge = judge
        self._one, self._other = one, other
        self._known: dict[tuple[int, int], bool] = {}
        self._partner: dict[int, int] = {}  # of `other`
        self._chosen: dict[int, int] = {}  # of `one`
        self._rank()

    def _rank(self) -> None:
        """Sort the items by the number that differs most often: two whose numbers are too far apart are not tried."""
        rows = [{at: list(self._judge.numbers(item)) for at, item in side.items()} for side in (self._one, self._other)]
        all_rows = [*rows[0].values(), *rows[1].values()]
        columns = min(map(len, all_rows), default=0)
        best = max(range(columns), key=lambda column: len({row[column] for row in all_rows}), default=None)
        ranked = [
            sorted(
                (Fraction(0) if best is None else row[best], sorted(self._judge.numbers(side[at], free=True)), at)
                for at, row in numbers.items()
            )
            for numbers, side in zip(rows, (self._one, self._other), strict=True)
        ]
        self._value = {at: value for value, _, at in ranked[0]}
        self._ones = [at for _, _, at in ranked[0]]
        self._values, self._others = [value for value, _, _ in ranked[1]], [at for _, _, at in ranked[1]]

    def pairs(self) -> list[tuple[int, int]]:
        self._pair_in_order()
        ends = self._ends()
        for start in self._ones:
            if not ends:
                break
            if start not in self._chosen:
                ends.discard(self._pass_on(start, ends))
        return list(self._chosen.items())

    def _pair_in_order(self) -> None:
        one = other = 0
        near = self._judge.near
        while one < len(self._ones) and other < len(self._others):
            at, to = self._ones[one], self._others[other]
            if self._equal(at, to):
                self._partner[to], self._chosen[at] = at, to
                one, other = one + 1, other + 1
            elif self._values[other] > self._value[at] + near:
                one += 1
            elif self._values[other] < self._value[at] - near:
                other += 1
            else:
                one, other = one + 1, other + 1

    def _ends(self) -> set[int]:
        """Items of `other` that are free and equal to any at all: the others can be left out of all that follows."""
        near, ends = self._judge.near, set()
        values = [self._value[at] for at in self._ones]
        for value, other in zip(self._values, self._others, strict=True):
            if other in self._partner:
                continue
            for at in self._ones[bisect_left(values, value - near) : bisect_right(values, value + near)]:
                self._judge.tried(_LOOKED)
                if self._equal(at, other):
                    ends.add(other)
                    break
        return ends

    def _pass_on(self, start: int, ends: set[int]) -> int:
        """Find a partner for an item by passing others on; gives the item of `other` that was free, -1 for none."""
        waiting, reached = deque([start]), dict[int, int]()
        while waiting:
            at = waiting.popleft()
            for other in self._candidates(at):
                self._judge.tried(_LOOKED)
                if other in reached or not self._equal(at, other):
                    continue
                reached[other] = at
                if other in ends:
                    self._join(other, reached)
                    return other
                if other in self._partner:
                    waiting.append(self._partner[other])
        return -1

    def _join(self, end: int, reached: dict[int, int]) -> None:
        last: int | None = end
        while last is not None:
            at = reached[last]
            before = self._chosen.get(at)
            self._partner[last], self._chosen[at] = at, last
            last = before

    def _candidates(self, at: int) -> Iterable[int]:
        value, near = self._value[at], self._judge.near
        return self._others[bisect_left(self._values, value - near) : bisect_right(self._values, value + near)]

    def _equal(self, at: int, other: int) -> bool:
        known = self._known.get((at, other))
        if known is None:
            self._judge.tried(_COMPARED)
            known = self._known[at, other] = self._judge.equal(self._one[at], self._other[other])
        return known


def _same_header(one: dict[str, Wire], other: dict[str, Wire]) -> bool:
    if one.keys() != other.keys():
        return False
    return all(identical(value, other[key]) for key, value in one.items() if key != VALUE)
