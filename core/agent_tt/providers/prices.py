"""What an answer cost, where that is known: the list price of the model's maker times the tokens that were counted.

Nothing is guessed. A model that has no row, a service tier other than the ordinary one, tokens of a kind that a row has
no price for, audio, and tools of the provider's own that it charges for all give no cost. A reseller may charge
otherwise; one that says in its answer what it charged (OpenRouter does) is believed instead, by the reader of that
answer.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.providers.price_table import PRICES

if TYPE_CHECKING:
    from agent_tt.providers.price_table import Above, Price
    from agent_tt.providers.shapes import Tokens

__all__ = ["cost_of", "price_of"]

_MILLION: Final = 1_000_000
_DIGITS: Final = 12
"""Prices have at most four digits after the point, so this is exact but for the noise of floats."""
_ORDINARY: Final = frozenset({None, "", "auto", "default", "standard", "on_demand"})
_ROWS: Final = {row.model: row for row in PRICES}

_DATED: Final = lazy_re(r"(?:-latest|[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-\d{3})$")
"""How makers name one version of a model: `gpt-4o-2024-08-06`, `claude-3-7-sonnet-20250219`, `gemini-2.0-flash-001`."""

_MAKER: Final = lazy_re(r"^(?:models/|publishers/\w+/models/|openai/|anthropic/|google/|global\.anthropic\.)")
"""What routers and clouds put before a maker's name. (Regional names of Bedrock have prices of their own.)"""

_BEDROCK_VERSION: Final = lazy_re(r"-v\d+(?::\d+)?$")


def cost_of(model: str | None, tokens: Tokens, *, tier: str | None = None) -> float | None:
    """US dollars that an answer cost at its maker's list price; None where that is not known.

    Args:
        model: the model, as the provider or the request names it.
        tokens: what was counted.
        tier: the service tier that the provider says it used.
    """
    row = None if model is None else price_of(model)
    if row is None or tier not in _ORDINARY or tokens.input is None or tokens.output is None:
        return None
    if tokens.audio or tokens.services:
        return None
    price: Price | Above = row
    if row.above is not None and tokens.input > row.above.tokens:
        price = row.above
    fresh = tokens.input - tokens.cached - tokens.written - tokens.written_1h
    if fresh < 0:  # parts larger than the whole: the figures do not mean what we think
        return None
    total = fresh * price.input + tokens.output * price.output
    for count, rate in (
        (tokens.cached, price.cached),
        (tokens.written, price.written),
        (tokens.written_1h, price.written_1h),
    ):
        if count and rate is None:
            return None
        total += count * (rate or 0.0)
    return round(total / _MILLION, _DIGITS)


@lru_cache(maxsize=256)
def price_of(model: str) -> Price | None:
    """The row of a model by its whole name, with or without a date; never that of a name that only looks alike."""
    bare = _MAKER.sub("", model.strip().lower())
    names = [bare, _DATED.sub("", bare)]
    if bare != model.strip().lower():
        without = _BEDROCK_VERSION.sub("", bare)
        names += [without, _DATED.sub("", without)]
    return next((_ROWS[name] for name in names if name in _ROWS), None)
