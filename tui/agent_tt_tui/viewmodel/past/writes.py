"""Which steps wrote the value at a path: where it began, where it changed, where it was removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from agent_tt.errors import AgentTTError
from agent_tt.history.changes.ops import op_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.ops import Op
    from agent_tt.protocols import RunSource

Sign: TypeAlias = Literal["+", "~", "-"]
"""What a step did to a value: made it, changed it or something in it, removed it."""

_MOST_WRITES: Final = 64
"""Steps looked for in each direction, one by one: more than are seen at once."""

_MOST_PLACES: Final = 400
"""Places looked for beyond them: more than a strip has columns."""

_MOST_LOOKS: Final = 64
"""How often it is looked whether an operation removed the value, which may cost reading a state."""


class Writes(NamedTuple):
    """The writes of one path, as far as they were looked for.

    Attributes:
        signs: By step, what it did.
        first: The first step of which it is known whether it wrote.
        last: The last of these.
        begun: The first step of which that is known for the place where it is shown, which it may share with others.
        ended: The last of these.
    """

    signs: Mapping[int, Sign]
    first: int
    last: int
    begun: int
    ended: int

    def cover(self, number: int) -> bool:
        """Whether it is known what a step wrote."""
        return self.first <= number <= self.last


class PathWrites:
    """Asks a source about the value at one path of a run.

    A source names steps that wrote something the value is, or would be, in. A list that grows is written by every step,
    though only one of them makes its item 40, so it is kept track of whether the value is there at all.
    """

    def __init__(self, source: RunSource, run_id: str, path: Path, last: int) -> None:
        """Ask nothing yet.

        Args:
            source: Where the run is.
            run_id: The run.
            path: The path, in wire coordinates.
            last: Number of the run's last step.
        """
        self._source, self._run_id, self._path, self._last = source, run_id, path, last
        self._looks = 0
        self._known: dict[int, bool] = {}
        self._births: list[int] = []

    def before(self, number: int) -> int | None:
        """The nearest step before one that wrote the value."""
        wrote = self._previous(number, there=self._exists(number))
        if wrote is None or wrote < number:
            return wrote
        return self._previous(number - 1, there=self._exists(number - 1))

    def after(self, number: int) -> int | None:
        """The nearest step after one that wrote the value."""
        return self._next(number, there=self._exists(number))

    def around(
        self,
        number: int,
        cancelled: Callable[[], bool],
        first_beside: Callable[[int], int] = lambda step: step,
        known: Writes | None = None,
    ) -> Writes:
        """The steps on both sides of one that wrote the value: near ones all, of those farther away some.

        Args:
            number: The step.
            cancelled: Whether nobody wants to know any more.
            first_beside: The first of the steps that are shown in one place with a step. Far away, one of them tells
                that something was written there.
            known: What was found from another step, with the same places: what is far away is not looked for again.
        """
        there = self._exists(number)
        signs: dict[int, Sign] = {}
        first = self._look_back((0, number), signs, cancelled, there=there)
        last = self._look_on(number, signs, cancelled, there=there)
        begun, ended = first, last
        if known is not None and known.begun == 0 and known.ended == self._last:
            far: dict[int, int] = {}
            for step in [step for step in known.signs if not first <= step <= last]:
                far.setdefault(first_beside(step), step)
            signs |= {step: known.signs[step] for step in far.values()}
            return Writes(dict(sorted(signs.items())), first, last, 0, self._last)
        if first > 0:
            begun = self._look_far((0, first - 1), signs, cancelled, first_beside)
        if last < self._last and self._look_far((last + 1, self._last), signs, cancelled, first_beside) <= last + 1:
            ended = self._last
        return Writes(dict(sorted(signs.items())), first, last, begun, ended)

    def _look_far(
        self,
        stretch: tuple[int, int],
        signs: dict[int, Sign],
        cancelled: Callable[[], bool],
        first_beside: Callable[[int], int],
    ) -> int:
        there = self._exists(stretch[1])
        return self._look_back(stretch, signs, cancelled, there=there, most=_MOST_PLACES, first_beside=first_beside)

    def _look_back(
        self,
        stretch: tuple[int, int],
        signs: dict[int, Sign],
        cancelled: Callable[[], bool],
        *,
        there: bool,
        most: int = _MOST_WRITES,
        first_beside: Callable[[int], int] = lambda step: step,
    ) -> int:
        """Find the writes in a stretch of steps, from its end; tell from which step on they are known."""
        (least, at), later = stretch, 0
        born = self._birth(max(0, least - 1), at) if there else None
        for _ in range(most):
            wrote = self._previous(at, there=there)
            if wrote is None or wrote < least or cancelled():
                return least
            # What is shown in one place with it is passed over, but not the step that made the value.
            at = min(wrote, max(first_beside(wrote), (born or 0) + 1)) - 1
            if not there or self._removed_by(wrote):
                if later in signs and there:
                    signs[later] = "+"  # what was removed before it came back with it
                signs[wrote] = "-"
                at = wrote - 1
                there, born = True, self._birth(0, at)
            elif wrote == born:
                signs[wrote] = "+"
                at, there = wrote - 1, False
            else:
                signs[wrote] = "~"
            later = wrote
        return at + 1

    def _look_on(self, number: int, signs: dict[int, Sign], cancelled: Callable[[], bool], *, there: bool) -> int:
        """Find the writes after a step; tell up to which step they are all known."""
        at = number
        for _ in range(_MOST_WRITES):
            wrote = self._next(at, there=there)
            if wrote is None or cancelled():
                return self._last
            at = wrote
            if not there:
                signs[at], there = "+", True
            elif self._removed_by(at):
                signs[at], there = "-", False
            else:
                signs[at] = "~"
        return at

    def _previous(self, number: int, *, there: bool) -> int | None:
        """The last write up to a step, after which the value is there or not."""
        wrote = self._source.last_write(self._run_id, number, self._path)
        if not wrote or (not there and not (self._touched_from_above(wrote) and self._exists(wrote - 1))):
            return None
        return wrote

    def _next(self, number: int, *, there: bool) -> int | None:
        """The first write after a step, after which the value is there or not."""
        if there:
            return self._source.next_write(self._run_id, number, self._path)
        return self._birth(number, self._last) if number < self._last and self._exists(self._last) else None

    def _birth(self, absent: int, present: int) -> int | None:
        """A step that made the value, between one without it and one with it; None if the first has it too."""
        if self._exists(absent):
            return None
        known = max((birth for birth in self._births if absent < birth <= present), default=None)
        if known is not None:
            return known
        while present - absent > 1:
            middle = (absent + present) // 2
            if self._exists(middle):
                present = middle
            else:
                absent = middle
        self._births.append(present)
        return present

    def _removed_by(self, number: int) -> bool:
        """Whether a step removed the value, which it is known to have written."""
        return self._touched_from_above(number) and not self._exists(number)

    def _exists(self, number: int) -> bool:
        known = self._known.get(number)
        if known is None:
            try:
                known = self._source.has_value(self._run_id, number, self._path)
            except AgentTTError:
                known = False
            self._known[number] = known
        return known

    def _touched_from_above(self, number: int) -> bool:
        """Whether a step may have removed the value: with what it was in, or by itself."""
        self._looks += 1
        if self._looks > _MOST_LOOKS:
            return False
        try:
            return any(self._may_remove(op) for op in self._source.changes(self._run_id, number))
        except AgentTTError:
            return True

    def _may_remove(self, op: Op) -> bool:
        place, path = op_path(op), self._path
        if path[: len(place)] != place:
            return False
        return op[0] in ("d", "m") or (op[0] in ("s", "x") and len(place) < len(path))
