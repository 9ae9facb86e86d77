"""Tokens and costs of items and of kinds of origins, which add up to those of the call.

Providers count a request as a whole. What one item has of it is by length: about four bytes of UTF-8 a token.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agent_tt.context.shown import KINDS, Share
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.context.shown import Item, OriginKind, Tile
    from agent_tt.model import Call

__all__ = [
    "NOTHING", "Scale", "Sums", "Weighed", "count", "divide", "is_pictured", "plus", "portions_of",
    "shares_of", "tokens_in", "weigh",
]  # fmt: skip

_BYTES: Final = 4
"""Of a token of text, about."""

_SLACK: Final = 0.15
"""How far our count may be from the provider's before something must be missing."""

_AROUND: Final = 12
"""Tokens around a part: names, ids, brackets."""

_NOTE: Final = re.compile(r"\[(?:audio|document|file|image|input_\w+|media|video)\b[^\]\n]{0,120}\]")
"""What stands for pictures, sounds and files: how many tokens these have cannot be told by its length."""

_NAMES: Final = tuple(KINDS)
_PLACES: Final = {kind: place for place, kind in enumerate(_NAMES)}
_KINDS: Final = len(_NAMES)

NOTHING: Final = (0,) * (_KINDS + 1)
"""The sums above the first item."""


Sums: TypeAlias = tuple[int, ...]
"""Of the items of a request down to some place: by kind of origin, in the order of `KINDS`, what they weigh together;
then in how many something stands for a picture, a sound or a file."""


class Scale(NamedTuple):
    """What a provider counted, divided among kinds of origins, and in each of these among items by what they weigh.

    Attributes:
        weights: by kind, what all items weigh.
        tokens: by kind, how many tokens that is.
    """

    weights: Sums
    tokens: tuple[int, ...]

    def between(self, start: Sums, end: Sums) -> int:
        """How many tokens the items between two places have: of one or of many, all such numbers add up."""
        return sum(
            (tokens * last // weight - tokens * first // weight if tokens else 0)
            for tokens, weight, first, last in zip(self.tokens, self.weights, start, end, strict=False)
            if last > first
        )


class Weighed(NamedTuple):
    """The tokens of a request.

    Attributes:
        scale: divides them; None where an item has as many as it weighs.
        total: all.
        is_counted: whether nobody but us counted.
        rest: what the provider counted beside what is recorded.
    """

    scale: Scale | None
    total: int
    is_counted: bool
    rest: int

    def between(self, start: Sums, end: Sums) -> int:
        """How many tokens the items between two places have."""
        return sum(end[:_KINDS]) - sum(start[:_KINDS]) if self.scale is None else self.scale.between(start, end)


def count(text: str) -> int:
    """About how many tokens a text has."""
    return tokens_in(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def tokens_in(size: int) -> int:
    """About how many tokens so many bytes of text have."""
    return -(-size // _BYTES)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a number by weights into whole numbers that add up to it; the largest remainders are rounded up."""
    whole = sum(weights)
    if not whole:
        weights, whole = [1] * len(weights), len(weights)
    if not whole:
        return []
    parts = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda at: (-(total * weights[at] % whole), at))
    for at in by_remainder[: total - sum(parts)]:
        parts[at] += 1
    return parts


def portions_of(weight: int, tiles: Sequence[Tile], whole: OriginKind | None) -> tuple[tuple[int, int], ...]:
    """What each kind of origin has of the weight of an item: the place of the kind in `KINDS`, and its part.

    Args:
        weight: what the item weighs.
        tiles: its parts by origin.
        whole: the kind that all of it counts as; None where that is told by its tiles.
    """
    kinds = [_PLACES[tile.kind] for tile in tiles] if whole is None else [_PLACES[whole]]
    if len(kinds) <= 1:
        return tuple((kind, weight) for kind in kinds)
    parts: dict[int, int] = {}
    for kind, part in zip(kinds, divide(weight, [tile.end - tile.start for tile in tiles]), strict=True):
        parts[kind] = parts.get(kind, 0) + part
    return tuple(parts.items())


def plus(sums: Sums, item: Item) -> Sums:
    """Add one item to the running sums of a request."""
    found = list(sums)
    for kind, weight in item.portions:
        found[kind] += weight
    found[_KINDS] += item.is_pictured
    return tuple(found)


def is_pictured(text: str) -> bool:
    """Whether something in a text stands for a picture, a sound or a file, whose tokens its length does not tell."""
    return "[" in text and _NOTE.search(text) is not None


def weigh(sums: Sums, count_of_items: int, reported: int | None, most: Callable[[], int] | None) -> Weighed:
    """Say how many tokens the items of a request have.

    Args:
        sums: of all of them.
        count_of_items: how many there are.
        reported: what the provider counted; None where it did not say.
        most: says about how many bytes is recorded of the request; None where that is all of it. What was counted
            beyond that is of something that is not recorded.
    """
    weights = sums[:_KINDS]
    counted = sum(weights)
    if reported is None or (reported == 0 and counted):
        return Weighed(None, counted, is_counted=True, rest=0)
    known = counted
    if most is not None and counted * (1 + _SLACK) < reported:
        known = tokens_in(most())
    elif most is None and sums[_KINDS]:
        known = counted + count_of_items * _AROUND
    elif most is None:
        known = reported
    if counted and max(known, counted) * (1 + _SLACK) >= reported:
        return Weighed(Scale(sums, tuple(divide(reported, weights))), reported, is_counted=False, rest=0)
    return Weighed(None, reported, is_counted=False, rest=reported - counted)


def shares_of(
    call: Call, items: Sequence[Item], sums: Sequence[Sums], weighed: Weighed
) -> tuple[tuple[Share, ...], float | None]:
    """What each kind of origin has of a request, and what the answer cost.

    An item's tokens are divided by the lengths of its tiles. What came from the cache, at the top, cost less.

    Args:
        call: the call.
        items: its items.
        sums: before each of them, and after the last.
        weighed: their tokens.
    """
    cached = min(call.facts.tokens_cached or 0, weighed.total)
    by_kind = {kind: [_tokens(weighed, sums[-1], place), 0] for kind, place in _PLACES.items() if sums[-1][place]}
    if cached:
        _share_cache(cached, by_kind, items, sums, weighed)
    if weighed.rest:
        own = by_kind.setdefault("unknown", [0, 0])
        own[0] += weighed.rest
        own[1] += max(cached - weighed.total + weighed.rest, 0)
    costs, answer = _costs(call, by_kind, weighed.total)
    return tuple(Share(kind, tokens, costs.get(kind)) for kind, (tokens, _) in _ordered(by_kind)), answer


def _ordered(by_kind: Mapping[OriginKind, Sequence[int]]) -> list[tuple[OriginKind, Sequence[int]]]:
    return [(kind, by_kind[kind]) for kind in KINDS if kind in by_kind]


def _tokens(weighed: Weighed, sums: Sums, kind: int) -> int:
    """How many tokens the items down to a place have of one kind."""
    if weighed.scale is None or not sums[kind]:
        return sums[kind]
    return weighed.scale.tokens[kind] * sums[kind] // weighed.scale.weights[kind]


def _share_cache(
    cached: int,
    by_kind: Mapping[OriginKind, list[int]],
    items: Sequence[Item],
    sums: Sequence[Sums],
    weighed: Weighed,
) -> None:
    """Add what came from the cache: all items at the top that it holds, and a part of the next one."""
    at = bisect_right(sums, cached, key=lambda each: weighed.between(sums[0], each)) - 1
    left = cached - weighed.between(sums[0], sums[at])
    for kind, place in _PLACES.items():
        if sums[at][place]:
            by_kind[kind][1] += _tokens(weighed, sums[at], place)
    for place, _ in items[at].portions if at < len(items) else ():
        part = min(left, _tokens(weighed, sums[at + 1], place) - _tokens(weighed, sums[at], place))
        if part:
            by_kind[_NAMES[place]][1] += part
            left -= part


def _costs(
    call: Call, by_kind: Mapping[OriginKind, Sequence[int]], total: int
) -> tuple[dict[OriginKind, float], float | None]:
    """Divide what a call cost: the answer at the model's price, where one is known, and the rest by tokens.

    Without a known price nobody can say what of it the answer cost; then nothing is divided.
    """
    cost, facts = call.facts.cost_usd, call.facts
    if cost is None:
        return {}, None
    written = facts.tokens_out
    answer = 0.0 if written == 0 else None
    if written:
        answer = cost_of(facts.model or call.name, Tokens(input=0, output=written))
    if answer is None or answer > cost or not total:
        return {}, None
    cached = sum(sums[1] for sums in by_kind.values())
    dear, cheap = _rates(facts.model or call.name, cached)
    weights = {kind: Fraction(sums[0] - sums[1]) * dear + sums[1] * cheap for kind, sums in by_kind.items()}
    whole = sum(weights.values())
    if not whole:
        return {}, None
    left = Fraction(cost) - Fraction(answer)
    return {kind: float(left * weight / whole) for kind, weight in weights.items()}, answer


def _rates(model: str, cached: int) -> tuple[Fraction, Fraction]:
    """What a token costs beside one from the cache; the same where no prices of these are known."""
    million = 1_000_000
    dear = cost_of(model, Tokens(input=million, output=0))
    cheap = cost_of(model, Tokens(input=million, output=0, cached=million)) if cached else dear
    return (Fraction(1), Fraction(1)) if not dear or cheap is None else (Fraction(dear), Fraction(cheap))
