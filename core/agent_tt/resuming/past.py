"""What a run had done when it broke off: what is served again, what was in flight, and where its steps go on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import CallFacts, ResumedFacts, RunFacts
from agent_tt.replaying.tape.full_history import read_calls, steps_of_course
from agent_tt.replaying.tape.repeats import (
    Marks,
    marks_of,
    place_of,
    without_repeats,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.model import Call, Delivery, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.tape.repeats import Place

__all__ = ["Past", "marks_now", "read_past", "writes"]

_INTERRUPT: Final = "builtins:KeyboardInterrupt"
_INSIDE: Final = CallFacts.inside.key

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that ask for no change (RFC 9110, 9.2.1)."""

Calls: TypeAlias = "list[tuple[Call, Sequence[Delivery]]]"


@dataclass(frozen=True, slots=True)
class Past:
    """A run that broke off.

    Attributes:
        run: the run.
        place: the file that it is read from.
        calls: the calls that its agent asks again: those that were answered, those that were in flight, and what these
            had called themselves.
        open: which of them were in flight.
        covered: those in flight that a function makes which writes, and was in flight itself: it answers for them.
        steps: its steps by lane, in their order, without those that are taken anew.
        last_seq: the last number of a call, by lane.
        copies: those that are answered from the parent's rows, and get a row in this run: their step is taken anew.
        inherited: the steps that are its parent's, of a fork whose agent was re-entered.
        closed: of a fork that is re-entered, the steps that were over where it begins: no call is made for real in
            them. None of a run that is resumed.
        nested: what calls had called that were answered: it is not asked again.
    """

    run: Run
    place: Path | None
    calls: Calls
    open: frozenset[Place]
    covered: frozenset[Place] = frozenset()
    steps: dict[str, list[Step]] = field(default_factory=dict)
    last_seq: dict[str, int] = field(default_factory=dict)
    copies: frozenset[Place] = frozenset()
    inherited: dict[int, Step] = field(default_factory=dict)
    closed: frozenset[int] | None = None
    nested: Calls = field(default_factory=list)

    @property
    def in_flight(self) -> list[Call]:
        """The calls that were begun and not answered, in the order of their steps."""
        return sorted((call for call, _ in self.calls if place_of(call) in self.open), key=place_of)


def read_past(source: RunSource, run: Run, now: Marks | None = None) -> Past:
    """Read what a run had done.

    Args:
        source: where it lies.
        run: the run.
        now: what is to be said of its calls this time; None where its metadata say that already.
    """
    if now is not None:
        entry = ResumedFacts({**ResumedFacts.run.entry(run.id), **now.to_wire()})
        run = replace(run, metadata={**run.metadata, **RunFacts.resumed.entry((*run.facts.resumed, entry))})
    marks, every = marks_of(run), read_calls(source, run)
    last_seq: dict[str, int] = {}
    for call, _ in every:
        last_seq[call.lane] = max(last_seq.get(call.lane, 0), call.lane_seq)
    settled = without_repeats(run, every)
    is_open = frozenset(
        place_of(call) for call, _ in settled if call.status == "pending" or place_of(call) in marks.open
    )
    steps: defaultdict[str, list[Step]] = defaultdict(list)
    for step in steps_of_course(source, run):
        if step.number not in marks.steps:
            steps[step.lane].append(step)
    nesting = _Nesting(every, is_open)
    again = [(call, pieces) for call, pieces in settled if nesting.is_made_again(call)]
    waiting = is_open & {place_of(call) for call, _ in again}
    covered = frozenset(place_of(call) for call, _ in again if place_of(call) in waiting and nesting.is_covered(call))
    kept = run.fork_step or 0
    inherited = {step.number: step for taken in steps.values() for step in taken if step.number <= kept}
    asked = [(_at_top(call), pieces) for call, pieces in again]
    # What a call made that was answered is not made again, nor are steps taken that hold nothing else.
    nested = [(call, pieces) for call, pieces in settled if _INSIDE in call.meta and not nesting.is_made_again(call)]
    left_out = {call.step for call, _ in nested} - {call.step for call, _ in again}
    taken = {lane: [step for step in each if step.number not in left_out] for lane, each in steps.items()}
    return Past(run, source.path, asked, waiting, covered, taken, last_seq, inherited=inherited, nested=nested)


class _Nesting:
    """Which calls a function made, that was called itself."""

    def __init__(self, every: Calls, is_open: frozenset[Place]) -> None:
        self._known = {place_of(call): call for call, _ in every}
        self._later = {place: place_of(call) for call, _ in every if (place := call.facts.again) is not None}
        self._open = is_open

    def is_made_again(self, call: Call) -> bool:
        """Whether the agent's own code makes it, or a function that runs again because it had not ended."""
        if CallFacts.outlives.is_in(call.meta):
            return False
        if _INSIDE not in call.meta:
            return True
        around = self._around(call)
        if around is None or around.kind == "subprocess":  # another process: it is started anew, or not at all
            return False
        return place_of(around) in self._open and self.is_made_again(around)

    def is_covered(self, call: Call) -> bool:
        """Whether a function that writes makes it."""
        around = self._around(call)
        return around is not None and (writes(around) or self.is_covered(around))

    def _around(self, call: Call) -> Call | None:
        place = call.facts.inside
        while place in self._later:
            place = self._later[place]
        return None if place is None else self._known.get(place)


def writes(call: Call) -> bool:
    """Whether a call may have changed the world. A model that is asked changes nothing, even if it costs."""
    if call.kind == "tool":
        return call.effect != "read"
    if call.kind == "subprocess":
        return True
    return call.kind == "http" and call.name.partition(" ")[0] not in _SAFE_METHODS


def _at_top(call: Call) -> Call:
    """The same call as one that the agent asks for itself."""
    if _INSIDE not in call.meta:
        return call
    return replace(call, meta={key: fact for key, fact in call.meta.items() if key != _INSIDE})


# ---------------------------------------------------------------- interruptions


def marks_now(source: RunSource, run: Run) -> Marks:
    """Tell what an interruption did to a run, which then did not simply break off.

    Ctrl-C ends the call that is being made with a `KeyboardInterrupt`, or cancels it, and every step around it; and the
    agent may clean up, which its calls say of themselves. None of that is what the agent was doing.
    """
    if run.status != "interrupted":
        return Marks()
    calls = without_repeats(run, read_calls(source, run))
    known = marks_of(run)
    lanes: defaultdict[str, Calls] = defaultdict(list)
    for call, pieces in sorted(calls, key=lambda pair: pair[0].lane_seq):
        if not call.facts.is_nested and not call.facts.interrupted:
            lanes[call.lane].append((call, pieces))
    is_open: set[Place] = set()
    cut = {place_of(call) for call, _ in calls if call.facts.interrupted}
    only_cut = {step for step, _ in cut} - {call.step for call, _ in calls if place_of(call) not in cut}
    cut_at: dict[str, int] = {}
    for lane, asked in lanes.items():
        stop = next((index for index, (call, _) in enumerate(asked) if _is_interrupted(call)), None)
        if stop is not None:
            is_open.add(place_of(asked[stop][0]))
            cut.update(place_of(call) for call, _ in asked[stop + 1 :])
            cut_at[lane] = asked[stop][0].ended_us or 0
        elif _is_stopped(*asked[-1]):
            is_open.add(place_of(asked[-1][0]))
    for call, pieces in calls:
        outer = call.facts.inside
        if outer in is_open and (_is_interrupted(call) or _is_stopped(call, pieces)):
            is_open.add(place_of(call))
    steps = source.steps(run.id, (run.fork_step or 0) + 1)
    return Marks(frozenset(is_open), frozenset(cut), _ended_steps(steps, known.steps, cut_at, only_cut))


def _ended_steps(
    steps: Sequence[Step], known: frozenset[int], cut_at: dict[str, int], only_cut: set[int]
) -> frozenset[int]:
    """The steps that the interruption ended, and those that were taken because of it."""
    lanes: defaultdict[str, list[Step]] = defaultdict(list)
    ended = only_cut - known
    for step in steps:
        if step.number in known or step.number in ended:
            continue
        if step.lane in cut_at and (step.started_us or 0) >= cut_at[step.lane]:
            ended.add(step.number)
        else:
            lanes[step.lane].append(step)
    for taken in lanes.values():
        last_start = max(step.started_us or 0 for step in taken)
        ended.update(
            step.number for step in taken if step.status == "interrupted" and last_start < (step.ended_us or 0)
        )
    return frozenset(ended)


def _is_interrupted(call: Call) -> bool:
    return call.error is not None and call.error.class_name == _INTERRUPT


def _is_stopped(call: Call, pieces: Sequence[Delivery]) -> bool:
    """Whether the agent stopped waiting for it, or reading it: as the last call of a lane, because it was stopped."""
    return call.facts.cancelled or (bool(pieces) and pieces[-1].kind == "closed")
