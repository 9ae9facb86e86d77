"""What a resumed run holds twice, and which of the two counts.

A run that is resumed goes on in its own rows, and no row that was recorded before is changed. So a call that was in
flight when the process died stays there as it was, and stands once more behind it, made again. Which is which stands
in the facts of the later one: `AGAIN` names the call that it replaces, `COPY` the call that it repeats word for word.
What else is left out (an interruption makes an agent clean up, and end its steps) stands in the run's metadata under
`RESUMED`: one mapping for each time the run was resumed, with the `run` itself, because forks inherit metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tt.model import COPY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Delivery, Run

__all__ = [
    "AGAIN",
    "COPY",
    "RESUMED",
    "Marks",
    "Place",
    "entries_of",
    "marks_of",
    "place_of",
    "place_said",
    "repeated",
    "without_repeats",
]

AGAIN: Final = "again"
RESUMED: Final = "resumed"

Place = tuple[int, int]
"""A call of a run: its step, and its number in there."""


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
        return {
            "open": [[*place] for place in sorted(self.open)],
            "cut": [[*place] for place in sorted(self.cut)],
            "steps": [*sorted(self.steps)],
        }


def marks_of(run: Run) -> Marks:
    """What was said each time the run was resumed."""
    marks = Marks()
    for entry in entries_of(run):
        steps = entry.get("steps")
        numbers = (number for number in (steps if isinstance(steps, list) else ()) if isinstance(number, int))
        marks |= Marks(_places(entry.get("open")), _places(entry.get("cut")), frozenset(numbers))
    return marks


def entries_of(run: Run) -> list[dict[str, Wire]]:
    """What the metadata says of each time that this very run was resumed."""
    entries = run.metadata.get(RESUMED)
    every = entries if isinstance(entries, list) else []
    return [entry for entry in every if isinstance(entry, dict) and entry.get("run") == run.id]


def place_of(call: Call) -> Place:
    """Where a call lies."""
    return call.step, call.number


def place_said(said: object) -> Place | None:
    """The place that a call's facts name: `{"step": 3, "call": 1}`; None where they name none."""
    if not isinstance(said, dict):
        return None
    step, number = said.get("step"), said.get("call")
    return (step, number) if isinstance(step, int) and isinstance(number, int) else None


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
        before = place_said(call.meta.get(AGAIN))
        if before is not None:
            gone.add(before)
        if COPY in call.meta:
            gone.add(place_of(call))
    return frozenset(gone)


def _places(found: Wire) -> frozenset[Place]:
    pairs = found if isinstance(found, list) else []
    return frozenset(
        (pair[0], pair[1])
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], int) and isinstance(pair[1], int)
    )
