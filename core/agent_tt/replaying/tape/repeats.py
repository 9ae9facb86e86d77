"""What a resumed run holds twice, and which of the two counts.

A run that is resumed goes on in its own rows, and no row that was recorded before is changed. So a call that was in
flight when the process died stays there as it was, and stands once more behind it, made again. Which is which stands
in the facts of the later one: `again` names the call that it replaces, `copy_of` the one that it repeats word for word.
What else is left out (an interruption makes an agent clean up, and end its steps) stands in the run's metadata under
`resumed`: one mapping for each time the run was resumed, with the `run` itself, because forks inherit metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import CallFacts, Place, ResumedFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Delivery, Run

__all__ = [
    "Marks",
    "Place",
    "entries_of",
    "marks_of",
    "place_of",
    "repeated",
    "without_repeats",
]


@dataclass(frozen=True, slots=True)
class Marks:
    """What was said of a run's calls and steps when it was resumed.

    Attributes:
        open: calls that an interruption ended, and not what they asked: they count as not answered.
        cut: calls that the agent made because it was interrupted.
        steps: steps that an interruption ended, or that the agent took because of it.
    """

    open: frozenset[Place] = frozenset()
    cut: frozenset[Place] = frozenset()
    steps: frozenset[int] = frozenset()

    def __or__(self, other: Marks) -> Marks:
        return Marks(self.open | other.open, self.cut | other.cut, self.steps | other.steps)

    def to_wire(self) -> dict[str, Wire]:
        """As the run's metadata keeps them."""
        steps = ResumedFacts.steps.entry([*sorted(self.steps)])
        return {**ResumedFacts.open.entry(self.open), **ResumedFacts.cut.entry(self.cut), **steps}


def marks_of(run: Run) -> Marks:
    """What was said each time the run was resumed."""
    marks = Marks()
    for entry in entries_of(run):
        numbers = (number for number in entry.steps if isinstance(number, int))
        marks |= Marks(entry.open, entry.cut, frozenset(numbers))
    return marks


def entries_of(run: Run) -> list[ResumedFacts]:
    """What the metadata says of each time that this very run was resumed."""
    return [entry for entry in run.facts.resumed if entry.run == run.id]


def place_of(call: Call) -> Place:
    """Where a call lies."""
    return call.step, call.number


def without_repeats(
    run: Run, calls: Iterable[tuple[Call, Sequence[Delivery]]]
) -> list[tuple[Call, Sequence[Delivery]]]:
    """The calls of a run, each as it counts: once."""
    every = list(calls)
    gone = repeated(run, (call for call, _ in every))
    return [pair for pair in every if place_of(pair[0]) not in gone] if gone else every


def repeated(run: Run, calls: Iterable[Call]) -> frozenset[Place]:
    """The calls among those of a run that do not count: made again later, made because of an interruption, or copies.

    Args:
        run: the run.
        calls: all of its calls: the one that counts may be in a later step.
    """
    gone: set[Place] = set(marks_of(run).cut)
    for call in calls:
        before = call.facts.again
        if before is not None:
            gone.add(before)
        if CallFacts.copy_of.is_in(call.meta):
            gone.add(place_of(call))
    return frozenset(gone)
