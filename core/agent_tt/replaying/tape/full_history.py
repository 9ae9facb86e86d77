"""All that an agent's process did: the rows of its run, and those of the runs that it was forked from.

A fork whose agent was handed a state began there. One whose agent was re-entered by replay ran from the beginning: what
it did up to its fork step are its parent's rows, and so on up to a run that was begun, or restored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.protocols import check_count, check_proven, check_shown
from agent_tt.replaying.tape.repeats import without_repeats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Delivery, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["Part", "calls_until", "course_of", "first_state", "read_calls", "steps_of_course"]


@dataclass(frozen=True, slots=True)
class Part:
    """Steps `first`..`last` of a course (both included; None: to the end), as rows of one run."""

    run: Run
    first: int
    last: int | None = None


def course_of(source: RunSource, run: Run) -> tuple[Part, ...]:
    """The parts that the process of a run went through, in order; the last is the run's own.

    Raises:
        RunNotFound: a run that it was forked from is gone.
    """
    parts, last = [Part(run, (run.fork_step or 0) + 1)], run.fork_step or 0
    while run.way_back_in == "replay" and run.parent is not None:
        last = min(run.fork_step or 0, last)
        run = source.run(run.parent)
        parts.append(Part(run, (run.fork_step or 0) + 1, last))
    return tuple(reversed(parts))


def first_state(source: RunSource, run: Run) -> Wire:
    """The state that the process of a run began with: its input, or the edited one that it was handed.

    Raises:
        Damaged: it cannot be read.
    """
    first = course_of(source, run)[0].run
    return source.state(first.id, first.fork_step or 0)


def steps_of_course(source: RunSource, run: Run) -> list[Step]:
    """The steps that the process of a run took, those of its parents included."""
    return source.steps(run.id, course_of(source, run)[0].first)


def read_calls(source: RunSource, run: Run, *, from_step: int = 0) -> list[tuple[Call, Sequence[Delivery]]]:
    """The calls that the process of a run made, each with what reached the agent in pieces.

    Args:
        source: where it lies.
        run: the run. Of one that was restored only its own steps are taken: the ones before it did not make.
        from_step: leave out the calls of the steps up to this one.

    Raises:
        RunNotFound, StoreUnreadable: it cannot be read.
        Damaged: something of it is not as it was recorded, or is missing.
    """
    check_proven(source, run)
    found: list[tuple[Call, Sequence[Delivery]]] = []
    for part in course_of(source, run):
        first = max(part.first, from_step + 1)
        if part.last is None:
            found += _calls(source, part.run, source.steps(part.run.id, first))
        elif first <= part.last:
            found += calls_until(source, part.run, part.last, first=first)
    return found


def calls_until(source: RunSource, run: Run, last: int, *, first: int = 1) -> list[tuple[Call, Sequence[Delivery]]]:
    """The calls of the steps up to `last` that do not follow from a later step.

    A step may be open while later ones are taken inside it. What a lane does in it afterwards follows from those. A
    connection may be open, too: what its other side says once the next step has begun may follow from that.

    Args:
        source: where the run lies.
        run: the run.
        last: the last step that is taken.
        first: the first.

    Raises:
        Damaged: something of the run is not as it was recorded, or is missing.
    """
    check_proven(source, run)
    steps = source.steps(run.id, first, last + 1)
    after = source.steps(run.id, last + 1, last + 2)
    over = after[0].started_us if after else None
    calls = [_until(over, call, said) for call, said in without_repeats(run, _calls(source, run, steps))]
    later = _begun_meanwhile(source, run, steps, last)
    if not later:
        return calls
    cuts: dict[str, int] = {}
    for step in later:
        for call in source.calls(run.id, step.number) if step.calls else ():
            cuts[call.lane] = min(call.lane_seq, cuts.get(call.lane, call.lane_seq))
    return [pair for pair in calls if pair[0].lane not in cuts or pair[0].lane_seq < cuts[pair[0].lane]]


def _until(over: int | None, call: Call, said: Sequence[Delivery]) -> tuple[Call, Sequence[Delivery]]:
    """A connection as it stood at the moment `over`, with what its other side had said; any other call as it is."""
    if not (call.facts.connection and said):
        return call, said
    before = tuple(piece for piece in said if over is None or piece.at_us is None or piece.at_us < over)
    return (replace(call, status="ok") if call.status == "pending" else call), before


def _begun_meanwhile(source: RunSource, run: Run, steps: Sequence[Step], last: int) -> list[Step]:
    """The steps after `last` that began before all of `steps` had ended."""
    ends = [step.ended_us for step in steps]
    over = None if None in ends else max((end for end in ends if end is not None), default=0)
    later: list[Step] = []
    for step in source.steps(run.id, last + 1) if ends else ():
        if over is not None and (step.started_us is None or step.started_us >= over):
            break
        later.append(step)
    return later


def _calls(source: RunSource, run: Run, steps: Sequence[Step]) -> list[tuple[Call, Sequence[Delivery]]]:
    found: list[tuple[Call, Sequence[Delivery]]] = []
    for step in steps:
        calls = source.calls(run.id, step.number) if step.calls else []
        check_shown(run, *calls)
        check_count(run, step, len(calls))
        for call in calls:
            pieces = source.deliveries(run.id, step.number, call.number)
            check_shown(run, *pieces)
            found.append((call, pieces))
    return found
