"""Durations, counts, tokens, money and steps as people read them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["cost", "counted", "duration", "step_ranges", "step_span", "tokens"]

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE


def duration(seconds: float) -> str:
    """Format a duration in at most seven columns: `<1 ms`, `203 ms`, `0.4 s`, `20.1 s`, `2 min`, `3 h`.

    Args:
        seconds: the duration; a clock that went backwards gives a negative one, which is shown as nothing at all.
    """
    if seconds < 0.001:
        return "<1 ms" if seconds > 0 else "0 ms"
    if seconds < 0.25:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / _MINUTE)
    return f"{minutes} min" if minutes < 100 else f"{round(seconds / _HOUR):,} h"


def counted(number: int, word: str) -> str:
    """`1 step`, `4,000 steps`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def tokens(number: int) -> str:
    """Format a number of tokens with its unit: `4,210 tok`."""
    return f"{number:,} tok"


def cost(dollars: float, unpriced: int = 0) -> str:
    """Format a cost: `$0.35`, and three digits below a dime, `$0.002`; less than that is `<$0.001`.

    A cost to which calls without a known price are to be added has a plus, `$0.35+`.
    """
    if unpriced:
        return f"{cost(dollars)}+" if dollars >= 0.0005 or not dollars else "$0+"
    if 0 < dollars < 0.0005:
        return "<$0.001"
    return f"${dollars:,.2f}" if dollars == 0 or dollars >= 0.0995 else f"${dollars:.3f}"


def step_span(steps: Iterable[int], span: str, gap: str) -> str:
    """Steps in any order as one label: `4`, `1–3` where `span` is a dash, `1…9` where steps between are not of them."""
    first, *others = sorted(steps)
    if not others:
        return str(first)
    return f"{first}{span if others[-1] - first == len(others) else gap}{others[-1]}"


def step_ranges(steps: Iterable[int], span: str, least: int = 2) -> Iterator[str]:
    """Steps in their order, as many as `least` in a row as a range: `0`, `3`, and `5–9` where `span` is a dash."""
    for _, pairs in groupby(enumerate(steps), lambda pair: pair[1] - pair[0]):
        row = [step for _, step in pairs]
        if len(row) >= least:
            yield f"{row[0]}{span}{row[-1]}"
        else:
            yield from map(str, row)
