"""How sure a success rate is that was seen in a few runs."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["wilson"]

_Z_95: Final = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution: 2.5 % are left out at either end."""


def wilson(successes: int, runs: int) -> tuple[float, float]:
    """The 95 % score interval of a rate: E. B. Wilson, "Probable inference, the law of succession, and statistical
    inference", Journal of the American Statistical Association 22 (1927), 209-212.

    It stays within 0 and 1 and says something at 0 of 5 and 5 of 5 too, where the textbook interval has no width:
    L. D. Brown, T. T. Cai, A. DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16
    (2001), 101-133, recommend it for few runs.

    Args:
        successes: how many of the runs succeeded.
        runs: how many there were; of none nothing is known.

    Returns:
        Its lower and upper end, between 0 and 1.
    """  # noqa: D205  the source of the rule is part of what it is
    if not runs:
        return 0.0, 1.0
    rate, square = successes / runs, _Z_95**2
    middle = (rate + square / (2 * runs)) / (1 + square / runs)
    half = _Z_95 * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs * runs)) / (1 + square / runs)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return low, 1.0 if successes == runs else min(1.0, middle + half)
