from __future__ import annotations

import re

import pytest

from agent_tt.providers.price_table import PRICES
from agent_tt.providers.prices import cost_of, price_of
from agent_tt.providers.shapes import Tokens


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("claude-3-7-sonnet-20250219", "claude-3-7-sonnet"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("global.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("models/gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("amazon.nova-micro-v1:0", "amazon.nova-micro-v1:0"),
    ],
)
def test_a_model_is_found_by_its_whole_name(name, row):
    assert price_of(name).model == row


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt-4o-realtime",
        "gpt-4o-mini-audio",
        "ft:gpt-4o:me",
        "my-gpt-4o",
        "us.anthropic.claude-haiku-4-5-20251001-v1:0",
        "llama3",
    ],
)
def test_a_name_that_only_looks_alike_has_no_price(name):
    assert price_of(name) is None
    assert cost_of(name, Tokens(1, 1)) is None


def test_long_requests_cost_what_they_cost():
    assert cost_of("gemini-2.5-pro", Tokens(200_000, 100)) == pytest.approx((200_000 * 1.25 + 100 * 10) / 1e6)
    assert cost_of("gemini-2.5-pro", Tokens(200_001, 100)) == pytest.approx((200_001 * 2.5 + 100 * 15) / 1e6)


@pytest.mark.parametrize(
    "tokens",
    [Tokens(None, 1), Tokens(1, None), Tokens(1, 1, cached=2), Tokens(10, 10, audio=3), Tokens(10, 1, written=3)],
)
def test_counts_that_a_row_has_no_price_for_give_no_cost(tokens):
    assert cost_of("gpt-4o", tokens) is None


def test_rows_are_of_use():
    names = [row.model for row in PRICES]
    assert len(names) == len(set(names))
    for row in PRICES:
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", row.source.checked)
        assert row.source.url.startswith("https://")
        assert 0 < row.input <= row.output
        assert row.cached is None or row.cached < row.input
        assert row.above is None or row.above.input >= row.input
