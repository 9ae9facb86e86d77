"""The prices themselves: US dollars per million tokens, by the name that a model's maker gives it.

Every row names its source, and a source says where the maker publishes its prices and on which day the rows were
last compared with that page (through genai-prices 0.2.3 of Pydantic, MIT). To maintain: change the rows of a source,
then its day. Rows are for text at the ordinary service tier; other tiers, and models that are no longer sold by the
token, have none.
"""

from __future__ import annotations

from typing import Final

from agent_tt._dataclass import dataclass

__all__ = ["PRICES", "Above", "Price", "Source"]


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
    """The price of a request of more than `tokens` input tokens; it holds for all of its tokens.

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


_OPENAI: Final = Source("https://platform.openai.com/docs/pricing", "2026-11-21")
_ANTHROPIC: Final = Source("https://www.anthropic.com/pricing#api", "2026-11-21")
_GOOGLE: Final = Source("https://ai.google.dev/gemini-api/docs/pricing", "2026-11-21")
_AMAZON: Final = Source("https://aws.amazon.com/bedrock/pricing/", "2026-11-21")

PRICES: Final[tuple[Price, ...]] = (
    Price(_OPENAI, "gpt-3.5-turbo", 0.5, 1.5),
    Price(_OPENAI, "gpt-35-turbo", 0.5, 1.5),
    Price(_OPENAI, "gpt-3.5-turbo-16k", 3.0, 4.0),
    Price(_OPENAI, "gpt-4", 30.0, 60.0),
    Price(_OPENAI, "gpt-4-32k", 60.0, 120.0),
    Price(_OPENAI, "gpt-4-turbo", 10.0, 30.0),
    Price(_OPENAI, "gpt-4.1", 2.0, 8.0, cached=0.5),
    Price(_OPENAI, "gpt-4.1-mini", 0.4, 1.6, cached=0.1),
    Price(_OPENAI, "gpt-4.1-nano", 0.1, 0.4, cached=0.025),
    Price(_OPENAI, "gpt-4.5-preview", 75.0, 150.0, cached=37.5),
    Price(_OPENAI, "gpt-4o", 2.5, 10.0, cached=1.25),
    Price(_OPENAI, "gpt-4o-2024-05-13", 5.0, 15.0),
    Price(_OPENAI, "gpt-4o-mini", 0.15, 0.6, cached=0.075),
    Price(_OPENAI, "gpt-5", 1.25, 10.0, cached=0.125),
    Price(_OPENAI, "gpt-5-codex", 1.25, 10.0, cached=0.125),
    Price(_OPENAI, "gpt-5-chat", 1.25, 10.0, cached=0.125),
    Price(_OPENAI, "gpt-5-mini", 0.25, 2.0, cached=0.025),
    Price(_OPENAI, "gpt-5-nano", 0.05, 0.4, cached=0.005),
    Price(_OPENAI, "gpt-5-pro", 15.0, 120.0),
    Price(_OPENAI, "gpt-5.1", 1.25, 10.0, cached=0.125),
    Price(_OPENAI, "gpt-5.1-codex-max", 1.25, 10.0, cached=0.125),
    Price(_OPENAI, "gpt-5.1-codex", 1.25, 10.0, cached=0.125),
    Price(_OPENAI, "gpt-5.1-chat", 1.25, 10.0, cached=0.125),
    Price(_OPENAI, "gpt-5.2", 1.75, 14.0, cached=0.175),
    Price(_OPENAI, "gpt-5.2-chat", 1.75, 14.0, cached=0.175),
    Price(_OPENAI, "gpt-5.2-codex", 1.75, 14.0, cached=0.175),
    Price(_OPENAI, "gpt-5.2-pro", 21.0, 168.0),
    Price(_OPENAI, "gpt-5.3", 1.75, 14.0, cached=0.175),
    Price(_OPENAI, "gpt-5.3-codex", 1.75, 14.0, cached=0.175),
    Price(_OPENAI, "gpt-5.4", 2.5, 15.0, cached=0.25, above=Above(272_000, 5.0, 22.5, cached=0.5)),
    Price(_OPENAI, "gpt-5.4-mini", 0.75, 4.5, cached=0.075),
    Price(_OPENAI, "gpt-5.4-nano", 0.2, 1.25, cached=0.02),
    Price(_OPENAI, "gpt-5.4-pro", 30.0, 180.0, above=Above(272_000, 60.0, 270.0)),
    Price(_OPENAI, "gpt-5.5", 5.0, 30.0, cached=0.5, above=Above(272_000, 10.0, 45.0, cached=1.0)),
    Price(_OPENAI, "gpt-5.5-codex", 5.0, 30.0, cached=0.5, above=Above(272_000, 10.0, 45.0, cached=1.0)),
    Price(_OPENAI, "gpt-5.5-pro", 30.0, 180.0, above=Above(272_000, 60.0, 270.0)),
    Price(
        _OPENAI,
        "gpt-5.6-luna",
        0.2,
        1.2,
        cached=0.02,
        written=0.25,
        above=Above(272_000, 0.4, 1.8, cached=0.04, written=0.5),
    ),
    Price(
        _OPENAI,
        "gpt-5.6-sol",
        4.0,
        20.0,
        cached=0.4,
        written=5.0,
        above=Above(272_000, 8.0, 30.0, cached=0.8, written=10.0),
    ),
    Price(
        _OPENAI,
        "gpt-5.6",
        4.0,
        20.0,
        cached=0.4,
        written=5.0,
        above=Above(272_000, 8.0, 30.0, cached=0.8, written=10.0),
    ),
    Price(
        _OPENAI,
        "gpt-5.6-terra",
        2.0,
        12.0,
        cached=0.2,
        written=2.5,
        above=Above(272_000, 4.0, 18.0, cached=0.4, written=5.0),
    ),
    Price(
        _OPENAI,
        "gpt-6-astra",
        10.0,
        50.0,
        cached=1.0,
        written=12.5,
        above=Above(272_000, 20.0, 75.0, cached=2.0, written=25.0),
    ),
    Price(
        _OPENAI,
        "gpt-6-luna",
        0.1,
        0.5,
        cached=0.01,
        written=0.125,
        above=Above(272_000, 0.2, 0.75, cached=0.02, written=0.25),
    ),
    Price(
        _OPENAI,
        "gpt-6-sol",
        2.0,
        10.0,
        cached=0.2,
        written=2.5,
        above=Above(272_000, 4.0, 15.0, cached=0.4, written=5.0),
    ),
    Price(
        _OPENAI,
        "gpt-6.1-sol",
        2.0,
        10.0,
        cached=0.1,
        written=2.5,
        above=Above(272_000, 4.0, 15.0, cached=0.2, written=5.0),
    ),
    Price(
        _OPENAI,
        "gpt-6.1-terra",
        1.0,
        5.0,
        cached=0.05,
        written=1.25,
        above=Above(272_000, 2.0, 7.5, cached=0.1, written=2.5),
    ),
    Price(_OPENAI, "o1", 15.0, 60.0, cached=7.5),
    Price(_OPENAI, "o1-mini", 1.1, 4.4, cached=0.55),
    Price(_OPENAI, "o1-preview", 15.0, 60.0, cached=7.5),
    Price(_OPENAI, "o1-pro", 150.0, 600.0),
    Price(_OPENAI, "o3", 2.0, 8.0, cached=0.5),
    Price(_OPENAI, "o3-mini", 1.1, 4.4, cached=0.55),
    Price(_OPENAI, "o3-pro", 20.0, 80.0),
    Price(_OPENAI, "o4-mini", 1.1, 4.4, cached=0.275),
    Price(_ANTHROPIC, "claude-3-5-haiku", 0.8, 4.0, cached=0.08, written=1.0, written_1h=1.6),
    Price(_ANTHROPIC, "claude-3-5-sonnet", 3.0, 15.0, cached=0.3, written=3.75, written_1h=6.0),
    Price(_ANTHROPIC, "claude-3-7-sonnet", 3.0, 15.0, cached=0.3, written=3.75, written_1h=6.0),
    Price(_ANTHROPIC, "claude-3-haiku", 0.25, 1.25, cached=0.03, written=0.3, written_1h=0.5),
    Price(_ANTHROPIC, "claude-3-opus", 15.0, 75.0, cached=1.5, written=18.75, written_1h=30.0),
    Price(_ANTHROPIC, "claude-3-sonnet", 3.0, 15.0, cached=0.3, written=3.75, written_1h=6.0),
    Price(_ANTHROPIC, "claude-fable-5", 10.0, 50.0, cached=1.0, written=12.5, written_1h=20.0),
    Price(_ANTHROPIC, "claude-fable-5-1", 10.0, 50.0, cached=0.25, written=12.5, written_1h=20.0),
    Price(_ANTHROPIC, "claude-fable-5-2", 8.0, 40.0, cached=0.2, written=10.0, written_1h=16.0),
    Price(_ANTHROPIC, "claude-haiku-4-5", 1.0, 5.0, cached=0.1, written=1.25, written_1h=2.0),
    Price(
        _ANTHROPIC,
        "claude-haiku-5-5",
        0.1,
        0.5,
        cached=0.01,
        written=0.125,
        written_1h=0.2,
        above=Above(100_000, 0.5, 2.5, cached=0.05, written=0.625, written_1h=1.0),
    ),
    Price(_ANTHROPIC, "claude-mythos-5-2", 8.0, 40.0, cached=0.2, written=10.0, written_1h=16.0),
    Price(_ANTHROPIC, "claude-opus-4", 15.0, 75.0, cached=1.5, written=18.75, written_1h=30.0),
    Price(_ANTHROPIC, "claude-opus-4-1", 15.0, 75.0, cached=1.5, written=18.75, written_1h=30.0),
    Price(_ANTHROPIC, "claude-opus-4-5", 5.0, 25.0, cached=0.5, written=6.25, written_1h=10.0),
    Price(_ANTHROPIC, "claude-opus-4-6", 5.0, 25.0, cached=0.5, written=6.25, written_1h=10.0),
    Price(_ANTHROPIC, "claude-opus-4-7", 5.0, 25.0, cached=0.5, written=6.25, written_1h=10.0),
    Price(_ANTHROPIC, "claude-opus-4-8", 5.0, 25.0, cached=0.5, written=6.25, written_1h=10.0),
    Price(_ANTHROPIC, "claude-opus-5", 5.0, 25.0, cached=0.5, written=6.25, written_1h=10.0),
    Price(_ANTHROPIC, "claude-opus-5-5", 4.0, 20.0, cached=0.2, written=5.0, written_1h=8.0),
    Price(_ANTHROPIC, "claude-sonnet-4", 3.0, 15.0, cached=0.3, written=3.75, written_1h=6.0),
    Price(
        _ANTHROPIC,
        "claude-sonnet-4-5",
        3.0,
        15.0,
        cached=0.3,
        written=3.75,
        written_1h=6.0,
        above=Above(200_000, 6.0, 22.5, cached=0.6, written=7.5, written_1h=12.0),
    ),
    Price(_ANTHROPIC, "claude-sonnet-4-6", 3.0, 15.0, cached=0.3, written=3.75, written_1h=6.0),
    Price(_ANTHROPIC, "claude-sonnet-5", 2.0, 10.0, cached=0.2, written=2.5, written_1h=4.0),
    Price(_ANTHROPIC, "claude-sonnet-5-5", 2.0, 10.0, cached=0.1, written=2.5, written_1h=4.0),
    Price(_GOOGLE, "gemini-1.5-flash", 0.075, 0.3, cached=0.01875, above=Above(128_000, 0.15, 0.6, cached=0.0375)),
    Price(_GOOGLE, "gemini-1.5-pro", 1.25, 5.0, above=Above(128_000, 2.5, 10.0)),
    Price(_GOOGLE, "gemini-2.0-flash", 0.1, 0.4, cached=0.025),
    Price(_GOOGLE, "gemini-2.0-flash-lite", 0.075, 0.3),
    Price(_GOOGLE, "gemini-2.5-flash", 0.3, 2.5, cached=0.03),
    Price(_GOOGLE, "gemini-2.5-flash-lite", 0.1, 0.4, cached=0.01),
    Price(_GOOGLE, "gemini-2.5-flash-preview", 0.15, 0.6),
    Price(_GOOGLE, "gemini-2.5-pro", 1.25, 10.0, cached=0.125, above=Above(200_000, 2.5, 15.0, cached=0.25)),
    Price(_GOOGLE, "gemini-3-flash-preview", 0.5, 3.0, cached=0.05),
    Price(_GOOGLE, "gemini-3-pro-preview", 2.0, 12.0, cached=0.2, above=Above(200_000, 4.0, 18.0, cached=0.4)),
    Price(_GOOGLE, "gemini-3.1-flash-lite", 0.25, 1.5, cached=0.025),
    Price(_GOOGLE, "gemini-3.1-pro-preview", 2.0, 12.0, cached=0.2, above=Above(200_000, 4.0, 18.0, cached=0.4)),
    Price(_GOOGLE, "gemini-3.5-flash", 1.5, 9.0, cached=0.15),
    Price(_GOOGLE, "gemini-3.5-flash-lite", 0.3, 2.5, cached=0.03),
    Price(_GOOGLE, "gemini-3.6-flash", 0.75, 3.75, cached=0.075),
    Price(_GOOGLE, "gemini-3.7-flash", 0.75, 3.75, cached=0.075),
    Price(_GOOGLE, "gemini-3.8-flash", 0.75, 3.75, cached=0.075),
    Price(_GOOGLE, "gemini-4-argon", 2.0, 10.0, cached=0.1),
    Price(_AMAZON, "amazon.nova-lite-v1:0", 0.06, 0.24, cached=0.015),
    Price(_AMAZON, "amazon.nova-micro-v1:0", 0.035, 0.14, cached=0.00875),
    Price(_AMAZON, "amazon.nova-premier-v1:0", 2.5, 12.5, cached=0.625),
    Price(_AMAZON, "amazon.nova-pro-v1:0", 0.8, 3.2, cached=0.2),
)
