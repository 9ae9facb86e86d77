"""Durations, counts, tokens and money as people read them."""

from __future__ import annotations

from typing import Final

__all__ = ["cost", "counted", "duration", "tokens"]

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
