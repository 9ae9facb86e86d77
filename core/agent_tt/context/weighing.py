"""Tokens and costs of items and of kinds of origins, which add up to those of the call.

Providers count a request as a whole. What one item has of it is by length: about four bytes of UTF-8 a token.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from agent_tt.context.shown import KINDS, Share
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.context.shown import Item, OriginKind
    from agent_tt.model import Call

__all__ = ["Weighed", "count", "divide", "length_of", "shares_of", "tokens_in", "weigh"]

_BYTES: Final = 4
"""Of a token of text, about."""

_SLACK: Final = 0.15
"""How far our count may be from the provider's before something must be missing."""


class Weighed(NamedTuple):
    """The tokens of a request.

    Attributes:
        items: of each item.
        total: of all.
        is_counted: whether nobody but us counted.
        rest: what the provider counted beside what is recorded.
    """

    items: tuple[int, ...]
    total: int
    is_counted: bool
    rest: int


def count(text: str) -> int:
    """About how many tokens a text has."""
    return tokens_in(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def tokens_in(size: int) -> int:
    """About how many tokens so many bytes of text have."""
    return -(-size // _BYTES)


def length_of(value: Wire) -> int:
    """How many bytes a value has as JSON."""
    try:
        return len(orjson.dumps(value))
    except TypeError:  # a number that JSON of this kind lacks, half of a character
        return len(json.dumps(value))


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


def weigh(texts: Sequence[int], reported: int | None, most: int | None) -> Weighed:
    """Say how many tokens each item has.

    Args:
        texts: our count of each.
        reported: what the provider counted; None where it did not say.
        most: about how many tokens the items can have at most, with names, ids and brackets around their texts; None
            where they are all of the request. What was counted beyond that is of something that is not recorded.
    """
    counted = sum(texts)
    if reported is None or (reported == 0 and counted):
        return Weighed(tuple(texts), counted, is_counted=True, rest=0)
    if texts and (most is None or max(most, counted) * (1 + _SLACK) >= reported):
        return Weighed(tuple(divide(reported, texts)), reported, is_counted=False, rest=0)
    return Weighed(tuple(texts), reported, is_counted=False, rest=reported - counted)


def shares_of(call: Call, items: Sequence[Item], weighed: Weighed) -> tuple[tuple[Share, ...], float | None]:
    """What each kind of origin has of a request, and what the answer cost.

    An item's tokens are divided by the lengths of its tiles. What came from the cache, at the top, cost less.
    """
    cached = min(call.facts.tokens_cached or 0, weighed.total)
    by_kind: dict[OriginKind, list[int]] = {}
    above = 0
    for item in items:
        tiles = [(item.kind if item.is_summary else tile.kind, tile.end - tile.start) for tile in item.tiles]
        parts = [item.tokens] if len(tiles) == 1 else divide(item.tokens, [size for _, size in tiles]) if tiles else []
        for (kind, _), tokens in zip(tiles, parts, strict=True) if tiles else (((item.kind, 0), item.tokens),):
            from_cache = max(min(cached - above, tokens), 0)
            sums = by_kind.setdefault(kind, [0, 0])
            sums[0] += tokens
            sums[1] += from_cache
            above += tokens
    if weighed.rest:
        sums = by_kind.setdefault("unknown", [0, 0])
        sums[0] += weighed.rest
        sums[1] += max(cached - above, 0)
    costs, answer = _costs(call, by_kind, weighed.total)
    ordered = [(kind, by_kind[kind][0]) for kind in KINDS if kind in by_kind]
    return tuple(Share(kind, tokens, costs.get(kind)) for kind, tokens in ordered), answer


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
