"""Whether two wire values are the same, and how far two lists of them are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["common_ends", "identical"]

_T = TypeVar("_T")


def identical(one: object, other: object) -> bool:
    """Whether two values are the same, types included (1, 1.0 and true differ); the order of keys does not count."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(identical(value, other[key]) for key, value in one.items())
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return one == other


def common_ends(
    before: Sequence[_T], after: Sequence[_T], same: Callable[[_T, _T], bool] = identical
) -> tuple[int, int]:
    """How many items two lists have in common at the beginning, and how many of the others at the end."""
    shorter = min(len(before), len(after))
    start = next((index for index in range(shorter) if not same(before[index], after[index])), shorter)
    left = shorter - start
    return start, next((index for index in range(left) if not same(before[-1 - index], after[-1 - index])), left)
