"""Steps of a trace of very many spans as rows: columns of numbers, and a `Step` for each that is asked for."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import isnan, nan
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, overload

from agent_tt.model import ErrorInfo, Step, Usage
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["FoundSteps"]

_NONE: Final = -1
"""In a column of numbers from 0: nothing is known."""

_COLUMNS: Final = "name_of", "lane_of", "parents", "asked", "began", "ended", "read", "wrote"

Lane: TypeAlias = "tuple[str, str | None]"


class FoundSteps(Sequence[Step]):
    """Rows of steps, each made when it is asked for first.

    Attributes:
        names, name_of: the names of steps, and of each step the place of its name there.
        lanes, lane_of: lanes, each with the agent in it, and of each step the place of its lane there.
        parents: the number of the step that began the lane; 0 of none.
        asked: how many tools the step's model asked for; -1 of a step that is a tool's.
        began, ended: microseconds since 1970.
        read, wrote: tokens; costs: dollars.
        errors: what went wrong, by the number of the step.
        decisions: what was said, in a line.
        unsaid: the numbers of steps of which these two are not here.
        say: gives the decision and the error of one of those, by its number.
    """

    def __init__(self) -> None:
        self.unsaid: set[int] = set()
        self.say: Callable[[int], tuple[str | None, str]] = lambda _: (None, "")
        self.names: list[str] = []
        self.lanes: list[Lane] = []
        self.name_of, self.lane_of, self.parents, self.asked = array("q"), array("q"), array("q"), array("q")
        self.began, self.ended, self.read, self.wrote = array("q"), array("q"), array("q"), array("q")
        self.costs = array("d")
        self.errors: dict[int, str] = {}
        self.decisions: list[str | None] = []
        self._made: list[Step | None] = []
        self._in_lane = array("q")
        self._names: dict[str, int] = {}
        self._lanes: dict[Lane, int] = {}

    def add(
        self,
        name: str,
        lane: Lane,
        parent: int,
        began_us: int,
        ended_us: int | None,
        asked: int = _NONE,
        *,
        tokens: tuple[int | None, int | None] = (None, None),
        cost_usd: float | None = None,
        error: str = "",
        decision: str | None = None,
    ) -> None:
        """Add a step behind the others; `asked` is how many tools its model asked for."""
        self.name_of.append(self._names.setdefault(name, len(self._names)))
        self.lane_of.append(self._lanes.setdefault(lane, len(self._lanes)))
        self.parents.append(parent)
        self.began.append(began_us)
        self.ended.append(began_us if ended_us is None or ended_us < began_us else ended_us)
        self.asked.append(asked)
        read, wrote = tokens
        self.read.append(_NONE if read is None else read)
        self.wrote.append(_NONE if wrote is None else wrote)
        self.costs.append(nan if cost_usd is None else cost_usd)
        if error:
            self.errors[len(self.name_of)] = error
        self.decisions.append(decision)

    def lasts(self, number: int, until_us: int | None) -> None:
        """Say that a step, by its number, lasts at least so long."""
        if until_us is not None and until_us > self.ended[number - 1]:
            self.ended[number - 1] = until_us

    def done(self) -> None:
        """Say that no step follows, and none changes."""
        self.names, self.lanes = [*self._names], [*self._lanes]
        self._made = [None] * len(self)
        counts: dict[str, int] = {}
        of_lane = [name for name, _ in self.lanes]
        for at in self.lane_of:
            counts[of_lane[at]] = counts.get(of_lane[at], 0) + 1
            self._in_lane.append(counts[of_lane[at]])

    def columns(self) -> dict[str, Any]:
        """All that they say, but the texts, for `of_columns`."""
        return {name: getattr(self, name).tolist() for name in _COLUMNS} | {
            "costs": [None if isnan(cost) else cost for cost in self.costs]
        }

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], names: list[str], lanes: list[Lane]) -> Self:
        """Rows of what `columns` gave, without errors and decisions."""
        found = cls()
        for name in _COLUMNS:
            getattr(found, name).extend(columns[name])
        found.costs.extend(nan if cost is None else cost for cost in columns["costs"])
        found._names = {each: at for at, each in enumerate(names)}
        found._lanes = {each: at for at, each in enumerate(lanes)}
        found.decisions = [None] * len(found)
        found.done()
        return found

    def is_model(self, at: int) -> bool:
        """Whether the step at a place, from 0, is an answer of a model."""
        return self.asked[at] != _NONE

    def lane(self, at: int) -> Lane:
        """The lane of the step at a place, from 0, and the agent in it."""
        return self.lanes[self.lane_of[at]]

    @property
    def usage(self) -> Usage:
        """What all of them used."""
        unpriced = sum(map(self._is_unpriced, range(len(self))))
        costs = [cost for cost in self.costs if not isnan(cost)]
        total = None
        for cost in costs:  # one by one, as other runs are summed
            total = cost if total is None else total + cost
        return Usage(_sum(self.read), _sum(self.wrote), total, unpriced or None)

    @property
    def times(self) -> tuple[int, int]:
        """When the first of them began, and when the last one ended."""
        return min(self.began), max(self.ended)

    def __len__(self) -> int:
        return len(self.name_of)

    @overload
    def __getitem__(self, at: int) -> Step: ...

    @overload
    def __getitem__(self, at: slice) -> list[Step]: ...

    def __getitem__(self, at: int | slice) -> Step | list[Step]:
        if isinstance(at, slice):
            return [self._made[each] or self._step(each) for each in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        return self._made[place] or self._step(place)

    def _is_unpriced(self, at: int) -> bool:
        return self.read[at] != _NONE and isnan(self.costs[at])

    def _step(self, at: int) -> Step:
        number = at + 1
        lane, agent = self.lanes[self.lane_of[at]]
        error, decision = self.errors.get(number), self.decisions[at]
        if number in self.unsaid:
            decision, error = self.say(number)
        facts: dict[str, Wire] = {}
        if self._is_unpriced(at):
            StepFacts.unpriced.put(facts, 1)
        asked, cost = self.asked[at], self.costs[at]
        made = self._made[at] = Step(
            number=number,
            name=self.names[self.name_of[at]],
            status="error" if error else "ok",
            kind="llm" if not asked else "write",
            agent=agent,
            lane=lane,
            parent=self.parents[at] or None,
            started_us=self.began[at],
            ended_us=self.ended[at],
            tokens_in=_known(self.read[at]),
            tokens_out=_known(self.wrote[at]),
            cost_usd=None if isnan(cost) else cost,
            error=ErrorInfo("model:Error", error) if error else None,
            track=lane,
            seq=self._in_lane[at],
            decision=decision,
            calls=1 if asked == _NONE else asked + 1,
            extra=facts,
        )
        return made


def _known(found: int) -> int | None:
    return None if found == _NONE else found


def _sum(column: Iterable[int]) -> int | None:
    found = [each for each in column if each != _NONE]
    return sum(found) if found else None
