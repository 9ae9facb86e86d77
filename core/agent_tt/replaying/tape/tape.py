"""A recorded run in memory, laid out for replaying: its calls by lane, by question and by the order of its answers.

Calls that a recorded call made itself are left out: the answer of the outer one replaces them. Numbers of answers are
those of the store (`Call.delivered`, `Delivery.number`); a cancellation is not an answer, nobody waits for its number.
"""

from __future__ import annotations

import base64
import itertools
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.comparing.steps.asked_tools import asked_tools
from agent_tt.model import HELD_BACK
from agent_tt.recording.runs.child_process import is_beside_jobs
from agent_tt.redaction.keyed import keyed_marks_in
from agent_tt.replaying.tape.full_history import read_calls
from agent_tt.replaying.tape.passes import given_out, passes_of
from agent_tt.replaying.tape.repeats import without_repeats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, CallKind, Delivery, Run
    from agent_tt.protocols import RunSource

__all__ = ["DRAWN", "Tape", "TapeCall", "TapeLane", "label_of", "lay_out", "read_tape"]

DRAWN: Final[frozenset[CallKind]] = frozenset({"clock", "rng", "id", "env"})
"""Kinds that a run records only where it was asked to: without any of them, their values are live."""

_LONG_US: Final = 60_000_000
"""A pause for which the agent did not think: it was interrupted, or the machine slept."""

_MOST_CHANGES: Final = 1 << 20
"""Changes of a state between two answers that are told apart."""

_UNFINISHED: Final = frozenset({"crashed", "running"})
_ORDINAL: Final = lazy_re(r"[0-9]{1,18}")


class TapeCall:
    """One recorded call and what became of it in this replay.

    Attributes:
        call: the recorded call.
        lane: its lane.
        index: its place in that lane, from 0.
        pieces: what reached the agent in pieces, with the end; empty for an answer in one piece.
        turns: of each piece (or of the one answer) the number that it waits for; None where nobody waits.
        changed: the number that stands for a change of the state before it was made, between those of answers; None
            where there was none.
        paces: how each came, by its place in `turns`; see `agent_tt.recording.lanes.arrival`.
        served: whether its answer has been handed out, or is being waited for.
        skipped_for: the later call of the same lane that was served before it.
        is_reported: whether it has been reported as missing.
    """

    __slots__ = ("call", "changed", "index", "is_reported", "lane", "paces", "pieces", "served", "skipped_for", "turns")

    def __init__(self, call: Call, pieces: Sequence[Delivery], lane: TapeLane) -> None:
        self.call = call
        # What was held back when the recording broke off is as if it had not come.
        self.pieces = tuple(itertools.takewhile(lambda piece: piece.data != HELD_BACK, pieces))
        self.lane = lane
        self.index = len(lane.calls)
        self.turns = _turns(call, self.pieces)
        self.changed = _changed(call)
        self.paces = _paces(call, self.pieces)
        self.served = False
        self.skipped_for: TapeCall | None = None
        self.is_reported = False

    @property
    def signature(self) -> str:
        """The digest of its question."""
        return self.call.signature or ""

    @property
    def came_us(self) -> tuple[int | None, ...]:
        """When each of `turns` reached the agent, in microseconds since the epoch, as far as that is known."""
        return tuple(piece.at_us for piece in self.pieces) if self.pieces else (self.call.ended_us,)

    def lasted(self) -> dict[float, float]:
        """By number of an answer or piece, the seconds from the question until it reached the agent.

        The time for which deadlines stood still, because a person was asked about a call, is not counted.
        """
        began, stood = self.call.started_us, self.call.facts.stood_still
        return {
            number: max(came - began - _whole(stood.get(index)), 0) / 1e6
            for index, (number, came) in enumerate(zip(self.turns, self.came_us, strict=True))
            if number is not None and came is not None and began is not None
        }

    def after(self) -> tuple[int, float] | None:
        """The last answer of its lane before its question, and the seconds from then on; None where that is long."""
        before = self.lane.calls[self.index - 1] if self.index else None
        number, came, began = None, None, self.call.started_us
        if before is not None:
            number, came = before.turns[-1], before.came_us[-1]
        if number is None or came is None or began is None or not 0 <= began - came <= _LONG_US:
            return None
        return number, (began - came) / 1e6

    @property
    def is_cancelled(self) -> bool:
        """Whether the agent stopped waiting for it before it ended."""
        return self.call.facts.cancelled

    @property
    def never_came(self) -> bool:
        """Whether its answer had not come when the agent stopped waiting for it, or when the run ended."""
        return self.is_cancelled or self.call.status == "pending"


class TapeLane:
    """The calls of one recorded lane, with a pointer to the first that has not been served.

    Attributes:
        id: its id in the recording.
        calls: in the order in which they were asked.
        is_bound: whether a lane of the replay goes along it.
    """

    __slots__ = ("_by_question", "_head", "calls", "id", "is_bound")

    def __init__(self, id: str) -> None:  # noqa: A002  it is the lane's id
        self.id = id
        self.calls: list[TapeCall] = []
        self.is_bound = False
        self._head = 0
        self._by_question: dict[str, deque[TapeCall]] = defaultdict(deque)

    @property
    def parent(self) -> str:
        """Id of the lane that it was created from, "" for main."""
        return self.id.rpartition("/")[0]

    @property
    def label(self) -> str:
        """What made it: the name of a coroutine, `work`, `thread`, or its own name."""
        return label_of(self.id.rpartition("/")[2])

    @property
    def is_beside_jobs(self) -> bool:
        """Whether it is that of a pool's process, and of no job."""
        return is_beside_jobs(self.id)

    @property
    def is_untouched(self) -> bool:
        """Whether none of its calls has been served."""
        return self._head == 0 and bool(self.calls) and not self.calls[0].served

    def add(self, call: TapeCall) -> None:
        """Append a call."""
        self.calls.append(call)
        self._by_question[call.signature].append(call)

    def next(self) -> TapeCall | None:
        """The first call that has not been served."""
        while self._head < len(self.calls) and self.calls[self._head].served:
            self._head += 1
        return self.calls[self._head] if self._head < len(self.calls) else None

    def asking(self, signature: str) -> TapeCall | None:
        """The first call with that question that has not been served."""
        return first_unserved(self._by_question.get(signature))

    def before(self, call: TapeCall) -> Iterator[TapeCall]:
        """The calls before `call` that have not been served."""
        self.next()
        return (earlier for earlier in self.calls[self._head : call.index] if not earlier.served)

    def unserved(self) -> Iterator[TapeCall]:
        """All calls that have not been served."""
        self.next()
        return (call for call in self.calls[self._head :] if not call.served)


class Tape:
    """A recorded run.

    Attributes:
        run: the run.
        place: the file that it was read from; None where that is not known.
        lanes: its lanes by id.
        calls: all calls that an agent asks again, in the order of their steps.
        nested: how many calls are left out, because another recorded call made them.
        nested_steps: the steps that hold nothing but such calls, in order; who asks again does not take them.
        shown_only: by name the first step in which a tool was asked for that only the conversation shows.
    """

    def __init__(self, run: Run, place: Path | None = None) -> None:
        self.run = run
        self.place = place
        self.lanes: dict[str, TapeLane] = {}
        self.calls: list[TapeCall] = []
        self.nested = 0
        self.nested_steps: tuple[int, ...] = ()
        self.shown_only: dict[str, int] = {}
        self._by_question: dict[str, deque[TapeCall]] = defaultdict(deque)
        self._by_first_question: dict[str, list[TapeLane]] = {}
        self._times_asked: Counter[str] = Counter()
        self._names: set[tuple[CallKind, str]] = set()
        self._nested_names: set[tuple[CallKind, str]] = set()
        self._kinds: set[CallKind] = set()
        self._nested_turns: dict[int, int | None] = {}

    def said_of_tools(self) -> Iterator[str]:
        """A line for each tool that ran, as the conversation shows, and of which no call is there to be served."""
        for name, step in self.shown_only.items():
            yield (
                f"no call of {name} is recorded, though the model was given its result (asked in step {step}):"
                " its code runs again in a replay, where nothing stops it. Record it as a tool"
            )

    @property
    def is_unfinished(self) -> bool:
        """Whether the run or its recording broke off: what its open calls would have answered is not known."""
        return self.run.status in _UNFINISHED or self.run.incomplete is not None

    def marks_brought(self) -> Iterator[str]:
        """Yield the marks of personal data that stand in a question before any answer, in their order."""
        given: set[str] = set()
        for entry in sorted(self.calls, key=lambda entry: entry.call.started_us or 0):
            yield from (mark for mark in _marks_in(entry.call.args) if mark not in given)
            given.update(_marks_in([entry.call.result, [piece.data for piece in entry.pieces]]))

    def knows(self, kind: CallKind, name: str) -> bool:
        """Whether the run called that at all, other than inside another call."""
        return (kind, name) in self._names

    def knows_inside(self, kind: CallKind, name: str) -> bool:
        """Whether another call of the run called that."""
        return (kind, name) in self._nested_names

    def knows_kind(self, kind: CallKind) -> bool:
        """Whether the run made any call of that kind."""
        return kind in self._kinds

    def asking(self, signature: str) -> Iterator[TapeCall]:
        """The unserved calls of all lanes with that question."""
        waiting = self._by_question.get(signature)
        if first_unserved(waiting) is None or waiting is None:
            return iter(())
        return (call for call in waiting if not call.served)

    def answered_beside_jobs(self, signature: str) -> TapeCall | None:
        """The first call with that question that a pool's process made beside its jobs, and that was answered."""
        for entry in self.calls:
            if entry.signature == signature and entry.lane.is_beside_jobs and not entry.never_came:
                return entry
        return None

    def times_asked(self, signature: str) -> int:
        """How many calls of the run asked that, served or not."""
        return self._times_asked[signature]

    def is_asked_beside(self, lane: TapeLane, signature: str) -> bool:
        """Whether another lane than that asks the same, too."""
        return self._times_asked[signature] > sum(1 for call in lane.calls if call.signature == signature)

    def starting_with(self, signature: str) -> list[TapeLane]:
        """The lanes whose first question that is, in the order in which they were created."""
        return self._by_first_question.get(signature, [])

    def turns(self) -> Iterator[tuple[float, int | None]]:
        """Every number that somebody waits for, and how many passes of the event loop after the number before it."""
        asked = dict(turn for entry in self.calls for turn in passes_of(entry.turns, entry.paces))
        changes = ((entry.changed, None) for entry in self.calls if entry.changed is not None)
        return itertools.chain(given_out(asked, self._nested_turns), changes)

    def timers(self) -> dict[float, int]:
        """By number of an answer or piece, how many timers had fired since the one before it, where any had."""
        found: dict[float, int] = {}
        for entry in self.calls:
            counts = entry.call.facts.timers
            for index, number in enumerate(entry.turns):
                count = counts.get(index)
                if number is not None and isinstance(count, int):
                    found[number] = count
        return found

    def questions_before(self) -> dict[float, int]:
        """By number of an answer or piece, how many questions had been asked when it reached the agent.

        What was drawn (`DRAWN`) does not count: it is not always written down at once.
        """
        questions = [entry.call for entry in self.calls if entry.call.kind not in DRAWN]
        asked = sorted(call.started_us for call in questions if call.started_us is not None)
        return {
            number: bisect_left(asked, came)
            for entry in self.calls
            for number, came in zip(entry.turns, entry.came_us, strict=True)
            if number is not None and came is not None
        }

    def fill(self, calls: Iterable[tuple[Call, Sequence[Delivery]]]) -> None:
        """Lay out the calls of the run, once."""
        steps: set[int] = set()
        for call, pieces in calls:
            if call.facts.is_nested:
                self.nested += 1
                self._nested_names.add((call.kind, call.name))
                steps.add(call.step)
                self._nested_turns.update(passes_of(_turns(call, pieces), _paces(call, pieces)))
                continue
            lane = self.lanes.get(call.lane)
            if lane is None:
                lane = self.lanes[call.lane] = TapeLane(call.lane)
            entry = TapeCall(call, pieces, lane)
            lane.add(entry)
            self.calls.append(entry)
            self._by_question[entry.signature].append(entry)
            self._times_asked[entry.signature] += 1
            self._names.add((call.kind, call.name))
            self._kinds.add(call.kind)
        self.nested_steps = tuple(sorted(steps - {entry.call.step for entry in self.calls}))
        for lane in sorted(self.lanes.values(), key=_order_of_creation):
            self._by_first_question.setdefault(lane.calls[0].signature, []).append(lane)


def read_tape(source: RunSource, run: Run, *, from_step: int = 0) -> Tape:
    """Read the calls of a run.

    Args:
        source: where it lies.
        run: the run. Of a fork that was restored only its own steps are taken: the ones before it did not make.
        from_step: leave out the calls of the steps up to this one.

    Raises:
        RunNotFound, StoreUnreadable: it cannot be read.
    """
    return lay_out(run, read_calls(source, run, from_step=from_step), source.path)


def lay_out(run: Run, calls: Iterable[tuple[Call, Sequence[Delivery]]], place: Path | None = None) -> Tape:
    """A new tape of a run's calls, to be replayed once; `place` is the file that they were read from."""
    tape, calls = Tape(run, place), list(calls)
    tape.shown_only = asked_tools(call for call, _ in calls).first_steps
    # A lane may be in several steps at once, so the order of steps is not that of its questions.
    tape.fill(sorted(without_repeats(run, calls), key=lambda pair: pair[0].lane_seq))
    tape.calls.sort(key=lambda entry: (entry.call.step, entry.call.number))
    return tape


def _marks_in(value: Wire) -> list[str]:
    """The marks of personal data in a value, also in the bytes of bodies."""
    if isinstance(value, str):
        return keyed_marks_in(value)
    if isinstance(value, list):
        return [mark for item in value for mark in _marks_in(item)]
    if isinstance(value, dict):
        if value.get(TYPE) in ("bytes", "bytearray") and isinstance(packed := value.get(VALUE), str):
            with suppress(ValueError):
                return keyed_marks_in(base64.b64decode(packed).decode("latin-1"))
        return [mark for item in (*value, *value.values()) for mark in _marks_in(item)]
    return []


def first_unserved(waiting: deque[TapeCall] | None) -> TapeCall | None:
    """The first of `waiting` that has not been served; the served ones before it are forgotten."""
    while waiting and waiting[0].served:
        waiting.popleft()
    return waiting[0] if waiting else None


def _whole(found: Wire) -> int:
    return found if isinstance(found, int) else 0


def _changed(call: Call) -> float | None:
    hold = call.facts.hold
    return (hold.after or 0) + ((hold.nth or 0) % _MOST_CHANGES + 1) / (_MOST_CHANGES + 1) if hold.state else None


def _turns(call: Call, pieces: Sequence[Delivery]) -> tuple[int | None, ...]:
    cancelled = call.facts.cancelled
    if not pieces:
        return (None if cancelled else call.delivered,)
    numbers: list[int | None] = [piece.number for piece in pieces]
    is_left = pieces[-1].kind == "closed" and not call.facts.closed_in_turn
    if is_left or (cancelled and pieces[-1].kind == "error"):
        numbers[-1] = None
    return tuple(numbers)


def _paces(call: Call, pieces: Sequence[Delivery]) -> Mapping[int, Wire]:
    return call.facts.paces if pieces else {0: call.facts.pace}


def label_of(part: str) -> str:
    """`ask` of `ask.3`, one part of a lane's id."""
    label, _, ordinal = part.rpartition(".")
    return label if _ORDINAL.fullmatch(ordinal) else part


def _order_of_creation(lane: TapeLane) -> list[tuple[str, int]]:
    """Sort `ask.10` behind `ask.9`."""
    parts: list[tuple[str, int]] = []
    for part in lane.id.split("/"):
        label, _, ordinal = part.rpartition(".")
        parts.append((label, int(ordinal)) if _ORDINAL.fullmatch(ordinal) else (part, -1))
    return parts
