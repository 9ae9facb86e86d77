"""Which rows a list of steps has: those that are alike share one where not all fit, and so do those that are hidden."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from operator import itemgetter, sub
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt_tui.viewmodel.debugger.overview import Overview

_NOTHING: Final[Mapping[int, int]] = MappingProxyType({})
SHORTEST = 3
"""Steps that must be alike in a row before any of them are folded."""


class Fold(NamedTuple):
    """Steps `first`..`last` as one row.

    Attributes:
        first: The first of them.
        last: The last of them.
        like: The step above them that they are like; None where they are hidden because others were asked for.
    """

    first: int
    last: int
    like: int | None

    @property
    def hidden(self) -> int:
        """How many rows are saved."""
        return self.last - self.first


def alike_runs(overview: Overview) -> list[tuple[int, int]]:
    """The longest stretches of steps that repeat one another, as (first, last), in order."""
    found: list[tuple[int, int]] = []
    start = 1
    for number in range(2, overview.scanned + 2):
        if number <= overview.scanned and overview.like_previous(number):
            continue
        if number - start >= SHORTEST:
            found.append((start, number - 1))
        start = number
    return found


def fold(runs: Iterable[tuple[int, int]], surplus: int) -> list[Fold]:
    """Fold the ends of stretches of alike steps until enough rows are saved.

    Args:
        runs: The stretches, in order.
        surplus: By how many rows the list is too long; 0 or less folds nothing.

    Returns:
        The folds in order; each leaves at least the first step of its stretch, and is at least two steps long.
    """
    folds: list[Fold] = []
    for first, last in sorted(runs, key=lambda run: run[0] - run[1]):
        if surplus <= 0:
            break
        hidden = min(surplus, last - first - 1)
        folds.append(Fold(last - hidden, last, first))
        surplus -= hidden
    return sorted(folds, key=lambda found: found.first)


class Narrowed:
    """Steps that were asked for, with those beside them: all others are folded.

    Args:
        context: How many steps before and after each are shown, too. One step alone is never folded: it has a row.
        looked: The last step that is looked at; later ones are shown, as nobody knows whether they are asked for.
    """

    def __init__(self, context: int, looked: int) -> None:
        self.context = context
        self.looked = looked
        self.steps: list[int] = []
        """Those that were asked for, in order."""
        self._folds: list[Fold] = []
        self._begin = 0

    def add(self, steps: Iterable[int]) -> Narrowed:
        """Take in later steps that were asked for."""
        context, folds, begin = self.context, self._folds, self._begin
        for step in steps:
            if step - context - begin > 1:
                folds.append(Fold(begin, step - context - 1, None))
            begin = step + context + 1
            self.steps.append(step)
        self._begin = begin
        return self

    @property
    def folds(self) -> list[Fold]:
        """What is folded, in order."""
        rest = [Fold(self._begin, self.looked, None)] if self.looked > self._begin else []
        return self._folds + rest

    def has(self, step: int) -> bool:
        """Whether a step was asked for, or nobody knows."""
        at = bisect_left(self.steps, step)
        return step > self.looked or (at < len(self.steps) and self.steps[at] == step)


def fold_of(folds: Sequence[Fold], number: int) -> int | None:
    """Which of some folds, in order, hides a step; None where none does."""
    at = bisect_right(folds, number, key=lambda found: found.first) - 1
    return at if at >= 0 and number <= folds[at].last else None


def around(folds: Sequence[Fold], shown: int) -> Sequence[Fold]:
    """Split the fold that hides a step, so that the step has a row of its own."""
    at = fold_of(folds, shown)
    if at is None:
        return folds
    found = folds[at]
    pieces = ((found.first, shown - 1), (shown + 1, found.last))
    parts = [Fold(first, last, found.like) for first, last in pieces if last > first]
    return [*folds[:at], *parts, *folds[at + 1 :]]


@dataclass(frozen=True, slots=True)
class Below:
    """A row below that of a step: `index` counts those of one step from 0."""

    step: int
    index: int


class Rows:
    """The rows of a list of the steps 0..last: each is a step, a fold, or one of those below a step.

    Args:
        last: the last step.
        folds: the folds, in order.
        below: how many rows stand below a step, by its number; none below steps that a fold hides.
    """

    def __init__(self, last: int, folds: Sequence[Fold] = (), below: Mapping[int, int] = _NOTHING) -> None:
        self.last = last
        self.folds = tuple(folds)
        self._below: list[Below] = []
        self._below_rows: list[int] = []
        # There may be ten thousand folds, and they are laid out again with a key.
        self._starts: list[int] = list(map(itemgetter(0), self.folds))
        self._hidden: list[int] = [0, *accumulate(map(sub, map(itemgetter(1), self.folds), self._starts))]
        self._fold_rows: list[int] = list(map(sub, self._starts, self._hidden))
        for step in sorted(below):
            if not any(fold.first <= step <= fold.last for fold in self._folds_at(step)):
                first = self.row_of(step) + 1
                self._below += [Below(step, index) for index in range(below[step])]
                self._below_rows += range(first, first + below[step])

    def __len__(self) -> int:
        return self.last + 1 - self._hidden[-1] + len(self._below)

    def __getitem__(self, row: int) -> int | Fold | Below:
        """What a row is: the number of a step, a fold, or a row below a step."""
        before = bisect_right(self._below_rows, row)
        if before and self._below_rows[before - 1] == row:
            return self._below[before - 1]
        row -= before
        at = bisect_right(self._fold_rows, row) - 1
        if at >= 0 and self._fold_rows[at] == row:
            return self.folds[at]
        return row + self._hidden[at + 1]

    def row_of(self, number: int) -> int:
        """The row in which a step is, or is hidden."""
        at = bisect_right(self._starts, number) - 1
        before = bisect_left(self._below, number, key=lambda found: found.step)
        if at >= 0 and number <= self.folds[at].last:
            return self._fold_rows[at] + before
        return number - self._hidden[at + 1] + before

    def _folds_at(self, number: int) -> Sequence[Fold]:
        at = bisect_right(self._starts, number)
        return self.folds[max(0, at - 1) : at]
