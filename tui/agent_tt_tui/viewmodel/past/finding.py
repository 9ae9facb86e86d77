"""The hits of a search as rows: the same words found again and again take one row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidExpression
from agent_tt_tui.text import clean, cut, cut_start, width
from agent_tt_tui.viewmodel.past.filtering import read_asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.querying.search.hits import By, Hit, Hits

FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "all": (),
    "state": ("state",),
    "asked": ("arguments",),
    "answered": ("result",),
    "errors": ("error",),
    "names": ("name", "agent", "decision", "call"),
}
"""What the panel can be kept to, by the word for it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is searched for.

    Attributes:
        text: What was typed.
        field: One of the words of `FIELDS`.
        regex: Whether the text is a pattern.
        by: The order of the hits.
    """

    text: str = ""
    field: str = "all"
    regex: bool = False
    by: By = "rank"


def is_question(wish: Wish) -> bool:
    """Whether a search of text cannot take what was typed: steps are asked for that are so."""
    if wish.regex and not wish.text.lstrip().startswith("?"):
        return False
    try:
        return not read_asked(wish.text).is_search
    except InvalidExpression:
        return True


@dataclass(slots=True)
class HitRow:
    """A hit, or several later ones with the same words in the same kind of place.

    Attributes:
        hit: The hit; of several, the first.
        last: Step of the last of them.
        count: How many there are.
        like: Step of an earlier row that they repeat; None for words that are new.
        heading: Name of the run whose hits follow, where the row stands for that; any text.
    """

    hit: Hit
    last: int
    count: int = 1
    like: int | None = None
    heading: str = ""


class HitRows:
    """Gathers hits."""

    def __init__(self) -> None:
        self.rows: list[HitRow] = []
        """What is shown, in its order."""
        self.hits = 0
        """How many hits there were."""
        self.steps: list[int] = []
        """The steps with hits, each once, in order; not all of them where there are very many."""
        self.is_complete = True
        """Whether all hits are counted."""
        self.are_steps = False
        """Whether they are steps as wholes, and not texts in them."""
        self.newest: tuple[int, int] | None = None
        """How many of how many runs that may hold it were looked at, the newest; None where all were."""
        self.runs: int | None = None
        """In how many runs they are, where several are searched; None where one is."""
        self._first: dict[tuple[str, str, int], int] = {}

    @classmethod
    def of(cls, found: Hits, by: By, names: Mapping[str, str] | None = None) -> HitRows:
        """Lay out what a search found.

        Args:
            found: What it found.
            by: The order of the hits; by rank each is a row.
            names: Of several runs their names by id: the hits of a run stand together below its name.
        """
        rows = cls()
        if names is not None:
            rows._add_by_run(found.hits, names)
        elif by == "step":
            for hit in found.hits:
                rows.add(hit)
        else:
            rows.rows = [HitRow(hit, hit.last, hit.times) for hit in found.hits]
        rows.hits, rows.steps, rows.is_complete = found.total, list(found.steps), found.is_complete
        rows.newest = None if found.newest is None else (found.newest, found.of or found.newest)
        return rows

    @property
    def repeated(self) -> int:
        """How many hits are not shown one by one."""
        return sum(row.count if row.like is not None else row.count - 1 for row in self.rows if not row.heading)

    def add_steps(self, steps: Sequence[int]) -> None:
        """Take in later steps that were found as wholes: the timeline has their rows."""
        self.are_steps = True
        self.steps += steps
        self.hits = len(self.steps)

    def add(self, hit: Hit) -> None:
        """Take in the next hit, in order of steps."""
        self.hits += 1
        if not self.steps or self.steps[-1] != hit.step:
            self.steps.append(hit.step)
        key = (hit.where, hit.excerpt, hit.start)
        first = self._first.setdefault(key, hit.step)
        last = self.rows[-1] if self.rows else None
        if first == hit.step:
            self.rows.append(HitRow(hit, hit.step))
        elif last is not None and last.like is not None:
            last.count, last.last = last.count + 1, hit.step
        else:
            self.rows.append(HitRow(hit, hit.step, 1, first))

    def _add_by_run(self, hits: Sequence[Hit], names: Mapping[str, str]) -> None:
        by_run: dict[str, list[Hit]] = {}
        for hit in hits:
            by_run.setdefault(hit.run, []).append(hit)
        self.runs = len(by_run)
        for run, found in by_run.items():
            self.rows.append(
                HitRow(found[0], found[0].last, sum(hit.times for hit in found), None, names.get(run, run))
            )
            self.rows += (HitRow(hit, hit.last, hit.times) for hit in found)

    def place_of(self, row: HitRow) -> int | None:
        """Where the same hit stands; None where it does not."""
        for place, other in enumerate(self.rows):
            if other.heading == row.heading and _name(other.hit) == _name(row.hit):
                return place
        return None


def _name(hit: Hit) -> tuple[object, ...]:
    return hit.run, hit.step, hit.where, hit.path, hit.call


def where(hit: Hit) -> str:
    """Say where a hit is: `messages[2].content`, `call 2 answer`, `name`."""
    if hit.where == "state":
        return hit.path or "state"
    words = {"arguments": "asked", "result": "answer", "call": "name"}
    place = words.get(hit.where, hit.where)
    if hit.call is not None:
        return f"call {hit.call} {place}" + (f" {hit.path}" if hit.path else "")
    return place


def where_in(hit: Hit, columns: int, more: str) -> str:
    """Say in so many columns where a hit is; of its path the end says more than the beginning."""
    said, path = clean(where(hit)), clean(hit.path)
    if width(said) <= columns or not path or not said.endswith(path):
        return cut(said, columns, more)
    lead = said.removesuffix(path)
    return lead + cut_start(path, columns - width(lead), more)


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
