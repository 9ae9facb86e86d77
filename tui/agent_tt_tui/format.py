"""Numbers and paths as people read them: durations, tokens, money, ages, sizes, files."""

from __future__ import annotations

from pathlib import Path

from agent_tt.model.shown import cost, counted, duration, tokens

__all__ = [
    "age", "change", "cost", "count", "counted", "duration", "percent", "short_path", "size", "tokens", "total_tokens",
]  # fmt: skip

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def age(seconds: float) -> str:
    """Format how long ago something was: `now`, `2 min`, `1 h`, `2 d`.

    Args:
        seconds: the age, rounded down to whole units; less than a minute is `now`.
    """
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h"
    return f"{int(seconds // _DAY):,} d"


def age_since(moment_us: int, now: float) -> str:
    """Format how long ago a moment was, in microseconds since 1970; empty for 0, of which nobody knows when it was."""
    return age(max(0.0, now - moment_us / 1e6)) if moment_us else ""


def total_tokens(tokens_in: int | None, tokens_out: int | None) -> int | None:
    """Tokens in and out together; None where neither is known."""
    return None if tokens_in is None and tokens_out is None else (tokens_in or 0) + (tokens_out or 0)


def count(number: int) -> str:
    """Format a count with its thousands apart: `4,210`."""
    return f"{number:,}"


def short(number: int) -> str:
    """A count in few columns: `9,999`, then `14.2k`, `1.2M`."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"


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
    """Format how much more or less a number is, in at most eight columns: `-98 %`, `<+1 %`, `+118 %`, `×7,499`.

    Only what is the same is `0 %`, and only what is gone `-100 %`.

    Args:
        old: the number before, above 0.
        new: the number now.
        times: the sign of a factor, which is shown from tenfold on.
    """
    factor = new / old
    if factor >= 10:
        return f"{times}{factor:,.0f}" if factor < 999_999 else f"{times}{factor:.0e}"
    percent = round(100 * (factor - 1))
    if not percent and new != old:
        return "<+1 %" if new > old else ">-1 %"
    return f"{max(percent, -99) if new else percent:+d} %" if percent else "0 %"


def short_path(path: Path, base: Path | None = None) -> str:
    """Shorten a path: relative to the working directory, else to the home folder as `~/…`.

    Args:
        path: the path.
        base: what stands for the working directory; the process's own by default.
    """
    path = path.absolute()
    for root, prefix in ((base or Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(root):
            return prefix + str(path.relative_to(root))
    return str(path)
