"""Numbers and paths as people read them: durations, tokens, money, ages, sizes, files."""

from __future__ import annotations

from pathlib import Path

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def duration(seconds: float) -> str:
    """Format a duration in at most seven columns: `<1 ms`, `203 ms`, `0.4 s`, `20.1 s`, `2 min`, `3 h`.

    Args:
        seconds: The duration; a clock that went backwards gives a negative one, which is shown as nothing at all.
    """
    if seconds < 0.001:
        return "<1 ms" if seconds > 0 else "0 ms"
    if seconds < 0.25:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes = round(seconds / _MINUTE)
    return f"{minutes} min" if minutes < 100 else f"{round(seconds / _HOUR):,} h"


def age(seconds: float) -> str:
    """Format how long ago something was: `now`, `2 min`, `1 h`, `2 d`.

    Args:
        seconds: The age, rounded down to whole units; less than a minute is `now`.
    """
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h"
    return f"{int(seconds // _DAY):,} d"


def counted(number: int, word: str) -> str:
    """`1 step`, `4,000 steps`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def total_tokens(tokens_in: int | None, tokens_out: int | None) -> int | None:
    """Tokens in and out together; None where neither is known."""
    return None if tokens_in is None and tokens_out is None else (tokens_in or 0) + (tokens_out or 0)


def count(number: int) -> str:
    """Format a count with its thousands apart: `4,210`."""
    return f"{number:,}"


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


def percent(part: float) -> str:
    """A part in whole percents, `84 %`; only what is all or nothing is called so."""
    whole = round(part * 100)
    return f"{min(whole, 99) if 0.5 <= part < 1 else max(whole, 1) if part else 0} %"


def size(bytes_: int) -> str:
    """Format a size: `340 B`, `4 KB`, `3.1 MB`; one KB is 1,024 bytes."""
    if bytes_ < 1024:
        return f"{bytes_} B"
    if bytes_ < 1024 * 1023.5:
        return f"{bytes_ / 1024:.0f} KB"
    if bytes_ < 1024**2 * 1023.95:
        return f"{bytes_ / 1024**2:.1f} MB"
    return f"{bytes_ / 1024**3:,.1f} GB"


def change(old: float, new: float, times: str) -> str:
    """Format how much more or less a number is, in at most eight columns: `-98 %`, `0 %`, `+118 %`, `×7,499`.

    Args:
        old: The number before, above 0.
        new: The number now.
        times: The sign of a factor, which is shown from tenfold on.
    """
    factor = new / old
    if factor >= 10:
        return f"{times}{factor:,.0f}" if factor < 999_999 else f"{times}{factor:.0e}"
    percent = round(100 * (factor - 1))
    return f"{percent:+d} %" if percent else "0 %"


def short_path(path: Path, base: Path | None = None) -> str:
    """Shorten a path: relative to the working directory, else to the home folder as `~/…`.

    Args:
        path: The path.
        base: What stands for the working directory; the process's own by default.
    """
    path = path.absolute()
    for root, prefix in ((base or Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(root):
            return prefix + str(path.relative_to(root))
    return str(path)
