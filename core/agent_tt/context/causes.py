"""Which steps fed a step, and which it fed: what is recorded, apart from what texts only suggest."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.context.reading import LOOKED_BACK
from agent_tt.context.shown import Join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_tt.context.shown import CallContext, Item, Place, RunContexts

__all__ = ["MOST_STEPS", "Causes", "Fed", "StepCauses"]

MOST_STEPS: Final = 1_000
"""Steps from which on a run is not read unasked: that takes longer than the rest of what is told of a step."""


class Fed(NamedTuple):
    """Steps on one side of a step, each in one of three.

    Attributes:
        recorded: those of which the recording says so.
        inferred: those whose text it has, and no other step brought that.
        perhaps: those whose text it has, and other steps brought the same.
    """

    recorded: tuple[int, ...] = ()
    inferred: tuple[int, ...] = ()
    perhaps: tuple[int, ...] = ()


class StepCauses(NamedTuple):
    """The steps that fed a step, and those that it fed."""

    sources: Fed = Fed()
    fed: Fed = Fed()


class Causes:
    """Answers from what was read of a run; asking for a step takes a moment, however long the run is."""

    def __init__(self, contexts: RunContexts) -> None:
        """Initialise the answers.

        Args:
            contexts: what each model of the run was shown, and what joins its calls.
        """
        self._contexts = contexts
        self._by_step: dict[int, list[CallContext]] = {}
        self._into: dict[int, _Masks] = {}
        self._of_item: dict[tuple[int, str, str], tuple[Item, _Masks]] = {}
        self._places: dict[int, int] = {}
        """The bit of each step that fed one: numbers of steps are what a file says, and may be of any size."""
        self._joins_into: dict[int, list[Join]] = {}
        for join in contexts.joins.joins:
            self._joins_into.setdefault(join.fed[0], []).append(join)
            self._into[join.fed[0]] = self._into.get(join.fed[0], _NOTHING).plus(self._mask(join))
        lanes: dict[str, deque[tuple[Place, list[_Masks]]]] = {}
        for context in contexts.calls:
            self._by_step.setdefault(context.step, []).append(context)
            lane = lanes.setdefault(context.lane, deque(maxlen=LOOKED_BACK))
            # Down to each item, what fed the request: the next one of the conversation goes on from there.
            down = next((known[: context.shared + 1] for place, known in lane if place == context.before), [_NOTHING])
            for item in context.own:
                down.append(down[-1].plus(self._masks(item)))
            lane.append((context.place, down))
            found = self._into.get(context.step, _NOTHING).plus(down[-1])
            self._into[context.step] = found.without(self._bit(context.step))

    def of(self, step: int) -> StepCauses:
        """The steps that fed a step, and those that it fed."""
        bit = self._bit(step)
        into = self._into.get(step, _NOTHING)
        recorded, inferred, perhaps = [], [], []
        for number, masks in self._into.items():
            if masks.recorded & bit:
                recorded.append(number)
            elif masks.inferred & bit:
                inferred.append(number)
            elif masks.perhaps & bit:
                perhaps.append(number)
        fed = Fed(tuple(sorted(recorded)), tuple(sorted(inferred)), tuple(sorted(perhaps)))
        return StepCauses(self._fed(into), fed)

    def joins(self, step: int) -> tuple[Sequence[Join], Sequence[Join]]:
        """What fed a step, and what it fed, call by call, each with how that is known."""
        bit = self._bit(step)

        def from_here(_number: int, context: CallContext) -> list[Item]:
            return [item for item in context.own if any(mask & bit for mask in self._masks(item))]

        out = {join for joins in self._joins_into.values() for join in joins if join.source[0] == step}
        for context, items in zip(self._contexts.calls, self._contexts.holding(from_here), strict=True):
            if context.step != step and items:
                out |= {join for join in self._joins_by(context, items) if join.source[0] == step}
        into = {*self._joins_into.get(step, ())}
        for context in self._by_step.get(step, ()):
            into |= {join for join in self._joins_by(context, context.items) if join.source[0] != step}
        return sorted(into), sorted(out, key=lambda join: (join.fed, join.source, join.kind))

    def _joins_by(self, context: CallContext, items: Iterable[Item]) -> Iterator[Join]:
        """What some items of a request say of what fed it."""
        found: dict[Join, int] = {}
        for item in items:
            for join in self._joins_in(item, context):
                bare = join._replace(one_of=1)
                found[bare] = min(join.one_of, found.get(bare, join.one_of))
        return (join._replace(one_of=one_of) for join, one_of in found.items())

    def _joins_in(self, item: Item, context: CallContext) -> Iterator[Join]:
        by_id = self._contexts.joins.by_id(item.part)
        if by_id is not None:
            yield Join(by_id[0], context.place, by_id[1])
        for tile in item.tiles:
            # What a program put into an earlier request is no doing of that step.
            places = {origin.place for origin in tile.origins if not origin.is_request}
            if by_id is None or by_id[0] not in places:  # else the id says which of them it is
                for place in places:
                    yield Join(place, context.place, "text", len(places))

    def _masks(self, item: Item) -> _Masks:
        """The steps that an item is from. Items that stay in a conversation share their tiles."""
        key = id(item.tiles), item.part.kind, item.part.joins
        known = self._of_item.get(key)
        if known is None:
            masks = _NOTHING
            by_id = self._contexts.joins.by_id(item.part)
            if by_id is not None:
                masks = masks.plus(_Masks(self._bit(by_id[0][0]), 0, 0))
            for tile in item.tiles:
                places = {origin.place for origin in tile.origins if not origin.is_request}
                if by_id is None or by_id[0] not in places:
                    bits = 0
                    for step in {step for step, _ in places}:
                        bits |= self._bit(step)
                    masks = masks.plus(_Masks(0, bits, 0) if bits.bit_count() == 1 else _Masks(0, 0, bits))
            known = self._of_item[key] = item, masks
        return known[1]

    def _mask(self, join: Join) -> _Masks:
        bit = self._bit(join.source[0])
        if join.is_recorded:
            return _Masks(bit, 0, 0)
        return _Masks(0, bit, 0) if join.one_of == 1 else _Masks(0, 0, bit)

    def _bit(self, step: int) -> int:
        return 1 << self._places.setdefault(step, len(self._places))

    def _fed(self, masks: _Masks) -> Fed:
        inferred = masks.inferred & ~masks.recorded
        perhaps = masks.perhaps & ~masks.recorded & ~inferred
        return Fed(self._steps(masks.recorded), self._steps(inferred), self._steps(perhaps))

    def _steps(self, bits: int) -> tuple[int, ...]:
        return tuple(sorted(step for step, place in self._places.items() if bits >> place & 1)) if bits else ()


class _Masks(NamedTuple):
    """The steps that fed one, as bits: what is asked of each pair of steps takes no room and no time so."""

    recorded: int
    inferred: int
    perhaps: int

    def plus(self, other: _Masks) -> _Masks:
        return _Masks(self[0] | other[0], self[1] | other[1], self[2] | other[2])

    def without(self, bit: int) -> _Masks:
        rest = ~bit
        return _Masks(self[0] & rest, self[1] & rest, self[2] & rest)


_NOTHING = _Masks(0, 0, 0)
