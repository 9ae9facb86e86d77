"""The hits of a search as rows: the same words found again and again take one row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.querying.find import Hit


@dataclass(frozen=True, slots=True)
class StepHit:
    """A step that was found as a whole: a question holds at it.

    Attributes:
        step: Its number; 0 is the input.
        name: What it is called; any text.
    """

    step: int
    name: str


@dataclass(slots=True)
class HitRow:
    """A hit, or several later ones with the same words in the same kind of place.

    Attributes:
        hit: The hit; of several, the first.
        last: Step of the last of them.
        count: How many there are.
        like: Step of an earlier row that they repeat; None for words that are new.
    """

    hit: Hit | StepHit
    last: int
    count: int = 1
    like: int | None = None


class HitRows:
    """Gathers hits as they come."""

    def __init__(self) -> None:
        self.rows: list[HitRow] = []
        """What is shown, in order of steps."""
        self.hits = 0
        """How many hits there were."""
        self.steps: list[int] = []
        """The steps with hits, each once, in order."""
        self._first: dict[tuple[str, str, int], int] = {}

    @property
    def repeated(self) -> int:
        """How many hits are not shown one by one."""
        return self.hits - sum(1 for row in self.rows if row.like is None)

    def add(self, hit: Hit | StepHit) -> None:
        """Take in the next hit."""
        self.hits += 1
        if not self.steps or self.steps[-1] != hit.step:
            self.steps.append(hit.step)
        if isinstance(hit, StepHit):
            self.rows.append(HitRow(hit, hit.step))
            return
        key = (hit.where, hit.excerpt, hit.start)
        first = self._first.setdefault(key, hit.step)
        last = self.rows[-1] if self.rows else None
        if first == hit.step:
            self.rows.append(HitRow(hit, hit.step))
        elif last is not None and last.like is not None:
            last.count, last.last = last.count + 1, hit.step
        else:
            self.rows.append(HitRow(hit, hit.step, 1, first))


def where(hit: Hit) -> str:
    """Say where a hit is: `messages[2].content`, `call 2 answer`, `name`."""
    if hit.where == "state":
        return hit.path or "state"
    words = {"arguments": "asked", "result": "answer", "call": "name"}
    place = words.get(hit.where, hit.where)
    if hit.call is not None:
        return f"call {hit.call} {place}" + (f" {hit.path}" if hit.path else "")
    return place


def edge_of(steps: Sequence[int], number: int, direction: int) -> tuple[int, bool, bool] | None:
    """The nearest step, of some that are found, with which a stretch of them begins or ends.

    Args:
        steps: The steps, in order, each once.
        number: Where to look from.
        direction: 1 for later steps, -1 for earlier ones.

    Returns:
        The step, whether a stretch begins with it, and whether one ends with it; None where there is none.
    """
    at = bisect_right(steps, number) if direction > 0 else bisect_left(steps, number) - 1
    while 0 <= at < len(steps):
        step = steps[at]
        begins = at == 0 or steps[at - 1] != step - 1
        ends = at == len(steps) - 1 or steps[at + 1] != step + 1
        if begins or ends:
            return step, begins, ends
        at += direction
    return None
