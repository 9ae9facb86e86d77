"""What a row of the price table holds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Above", "Price", "Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where prices come from.

    Attributes:
        url: the maker's own page of prices.
        checked: the day on which the rows were last compared with it, ISO 8601.
    """

    url: str
    checked: str


@dataclass(frozen=True, slots=True)
class Above:
    """What a model costs once a request reads more than `tokens` tokens: then all of its tokens cost this.

    Attributes:
        tokens: the most that a request may read at the ordinary price.
        input, output, cached, written, written_1h: as in `Price`.
    """

    tokens: int
    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    written_1h: float | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """What one model costs, in US dollars per million tokens.

    Attributes:
        source: where this is from.
        model: the maker's name of the model, without a date or `-latest`.
        input: tokens read that were in no cache.
        output: tokens written, reasoning included.
        cached: tokens read from a cache; None where the maker sells none.
        written: tokens written to a cache, for five minutes where the maker tells times apart.
        written_1h: tokens written to a cache for an hour.
        above: the price of long requests, where it is another one.
    """

    source: Source
    model: str
    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    written_1h: float | None = None
    above: Above | None = None
