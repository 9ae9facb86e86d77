"""Steps kept as stretches: what holds often holds for long, and a run may have a hundred thousand steps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["StepRanges"]


class StepRanges:
    """A set of steps. Adding in order costs next to nothing; each question a few comparisons.

    One thread may add while others ask: what they see then lies between what was there before and after.
    """

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        """How many steps."""
        return self._count

    def __contains__(self, step: object) -> bool:
        return isinstance(step, int) and self._at(step) is not None

    def add(self, step: int) -> None:
        """Take in a step."""
        at = bisect_right(self._firsts, step)  # the stretch after it
        if at and step <= self._lasts[at - 1]:
            return
        self._count += 1
        follows = at > 0 and self._lasts[at - 1] == step - 1
        leads = at < len(self._firsts) and self._firsts[at] == step + 1
        if follows and leads:
            self._lasts[at - 1] = self._lasts[at]
            del self._firsts[at], self._lasts[at]
        elif follows:
            self._lasts[at - 1] = step
        elif leads:
            self._firsts[at] = step
        else:
            self._lasts.insert(at, step)
            self._firsts.insert(at, step)

    @property
    def first(self) -> int | None:
        """The first step of all."""
        return self._firsts[0] if self._firsts else None

    @property
    def last(self) -> int | None:
        """The last step of all."""
        return self._lasts[-1] if self._lasts else None

    def spans(self) -> list[tuple[int, int]]:
        """The stretches in order, each by its first and its last step."""
        return list(zip(self._firsts, self._lasts, strict=False))

    def steps(self) -> Iterator[int]:
        """All steps in order."""
        for first, last in self.spans():
            yield from range(first, last + 1)

    def any_in(self, first: int, last: int) -> bool:
        """Whether one of the steps first..last is there."""
        after = self.after(first - 1)
        return after is not None and after <= last

    def after(self, step: int) -> int | None:
        """The next step after one."""
        at = bisect_right(self._lasts, step)
        return max(step + 1, self._firsts[at]) if at < len(self._firsts) else None

    def before(self, step: int) -> int | None:
        """The last step before one."""
        at = bisect_left(self._firsts, step)
        return min(step - 1, self._lasts[at - 1]) if at else None

    def begin_after(self, step: int) -> int | None:
        """Where a stretch begins next after a step."""
        at = bisect_right(self._firsts, step)
        return self._firsts[at] if at < len(self._firsts) else None

    def begin_before(self, step: int) -> int | None:
        """Where a stretch began last before a step."""
        at = bisect_left(self._firsts, step)
        return self._firsts[at - 1] if at else None

    def _at(self, step: int) -> int | None:
        at = bisect_right(self._firsts, step) - 1
        return at if at >= 0 and step <= self._lasts[at] else None
